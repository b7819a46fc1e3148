"""What `/metrics` says of a whole cluster (spec v1 §5.3)."""

from collections.abc import Awaitable, Callable
from typing import Any

from karpenter.runtime.clock import LoopClock
from tests.scenarios.world import NODE_TEMPLATE, PROVISIONER, World, a_world

MOST_SAMPLES = 3000
"""At 100 nodes, with the default settings."""


def _samples(text: str) -> list[str]:
    return [line for line in text.splitlines() if line and not line.startswith("#")]


async def test_nodes_and_pools_show_and_a_hundred_nodes_have_less_than_three_thousand_samples(
    clock: LoopClock,
) -> None:
    async with a_world(clock) as world:
        await world.apply(PROVISIONER, NODE_TEMPLATE)
        apart: Any = {
            "podAntiAffinity": {
                "requiredDuringSchedulingIgnoredDuringExecution": [
                    {"labelSelector": {"matchLabels": {"app": "web"}}, "topologyKey": "kubernetes.io/hostname"}
                ]
            }
        }
        await world.deploy("web", 100, cpu="1", affinity=apart)
        await world.all_running(100)
        text = world.metrics.render().decode()
        samples = _samples(text)
        names = {line.partition("{")[0].partition(" ")[0] for line in samples}
        assert len(samples) <= MOST_SAMPLES
        assert sum(line.startswith("karpenter_nodes_allocatable{") for line in samples) >= 200
        assert 'karpenter_nodepools_allowed_disruptions{nodepool="default",reason="Drifted"} 1.0' in samples
        cost = next(line for line in samples if line.startswith("karpenter_nodepools_cost_total"))
        assert float(cost.split()[-1]) > 1.0
        assert "karpenter_cluster_state_synced 1.0" in samples
        assert "karpenter_cluster_state_node_count 100.0" in samples
        assert "karpenter_pods_startup_duration_seconds_count 100.0" in samples
        assert "karpenter_pods_provisioning_bound_duration_seconds_count 100.0" in samples
        assert "karpenter_cluster_utilization_percent" in names
        assert "operator_nodeclaim_status_condition_transitions_total" in names


async def test_decisions_are_counted_by_pool_and_pods_by_zone(clock: LoopClock) -> None:
    async with a_world(clock) as world:
        await world.apply(PROVISIONER, NODE_TEMPLATE)
        await world.deploy("web", 3)
        await world.deploy("stuck", 1, cpu="1000")
        await world.until(_running(world, 3))
        first = _samples(world.metrics.render().decode())
        zone = 'karpenter_scheduler_pending_pods_by_effective_zone_count{controller="provisioner",zone="none"} 1.0'
        assert zone in first
        await world.scale("web", 0)
        await world.nothing_left()
        decided = 'decisions_by_nodepool_total{consolidation_type="empty",decision="delete",nodepool="default"'
        assert any(decided in line for line in _samples(world.metrics.render().decode()))


def _running(world: World, count: int) -> Callable[[], Awaitable[bool]]:
    async def enough() -> bool:
        return await world.running() == count

    return enough
