"""Verdicts carried out in memory: issue 6, point 11."""

from dataclasses import replace

from karpenter.disruption.decide import decide
from karpenter.disruption.options import DisruptionOptions, Expiration
from karpenter.disruption.settling import Settled, settle
from karpenter.model.core import Pod
from karpenter.model.nodepool import Budget, Disruption
from karpenter.model.resources import NODES
from karpenter.model.units import UnixSeconds
from karpenter.scheduling.snapshot import NodeView, Snapshot
from tests.builders import EPOCH, a_node, a_node_view, a_pod, a_pool, a_snapshot, an_instance_type
from tests.disruption.test_drift import a_drifted_view
from tests.disruption.test_expiration import POOL as EXPIRING
from tests.disruption.test_expiration import a_view as an_expired_view

TYPE = an_instance_type("m.4", cpu="4", zones=("a",), capacity_types=("on-demand",))
POOL = a_pool(disruption=Disruption(empty_after_s=30, budgets=(Budget("1"),)))


def a_cluster(*views: NodeView, pending: tuple[Pod, ...] = (), pool: object = POOL) -> Snapshot:
    return a_snapshot(nodes=views, pools=[pool], types=[TYPE], pending=pending)


def drifted_and_full(name: str, cpu: str = "3") -> NodeView:
    return a_drifted_view(name, a_pod(f"p-{name}", node=name, cpu=cpu), pool=POOL)


def an_empty_view(name: str) -> NodeView:
    view = a_node_view(name, pool=POOL, node=a_node(name, pool=POOL))
    return replace(view, empty_since=UnixSeconds(EPOCH - 60))


def pods_on(settled: Settled) -> dict[str, list[str]]:
    return {view.name: [pod.metadata.name for pod in view.pods] for view in settled.snapshot.nodes}


def test_one_look_carries_out_one_verdict_and_says_that_more_would_follow() -> None:
    settled = settle(a_cluster(drifted_and_full("n1"), drifted_and_full("n2")), rounds=1)
    assert [command.nodes for command in settled.commands] == [("n1",)]
    assert not settled.complete
    assert pods_on(settled) == {"default-1": ["p-n1"], "n2": ["p-n2"]}


def test_a_fixpoint_is_reached_and_kept() -> None:
    settled = settle(a_cluster(*(drifted_and_full(f"n{i}") for i in range(4)), an_empty_view("e")))
    assert settled.complete
    assert sorted(pods_on(settled).values()) == [["p-n0"], ["p-n1"], ["p-n2"], ["p-n3"]]
    assert decide(settled.snapshot).commands == ()
    assert settle(settled.snapshot).commands == ()


def test_new_nodes_have_names_that_nobody_had_before_and_commands_use_them() -> None:
    settled = settle(a_cluster(drifted_and_full("n1"), drifted_and_full("default-1")))
    assert [plan.name for command in settled.commands for plan in command.replacements] == ["default-2", "default-3"]
    assert {place for command in settled.commands for place in command.placements.values()} == set(pods_on(settled))


def test_pods_move_onto_room_that_is_there_and_their_nodes_emptiness_ends() -> None:
    settled = settle(a_cluster(drifted_and_full("n", cpu="1"), replace(an_empty_view("roomy"), empty_since=EPOCH)))
    assert pods_on(settled) == {"roomy": ["p-n"]}
    assert settled.snapshot.nodes[0].empty_since is None


def test_pods_that_ride_along_on_a_replacement_wait_no_more() -> None:
    rider = a_pod("rider", cpu="1")
    settled = settle(a_cluster(drifted_and_full("n", cpu="2"), pending=(rider,)))
    assert (pods_on(settled), settled.snapshot.pending) == ({"default-1": ["p-n", "rider"]}, ())


def test_what_pools_use_follows_so_that_limits_hold() -> None:
    limited = a_pool(disruption=POOL.disruption, limits={"nodes": "2"})
    before = a_cluster(drifted_and_full("n"), an_empty_view("e"), pool=limited)
    settled = settle(before)
    assert before.pools[0].usage[NODES] == 2
    assert settled.snapshot.pools[0].usage == {"cpu": 4000, "memory": 16 * 2**30, "pods": 110, NODES: 1}


def test_nodes_that_go_whatever_becomes_of_their_pods_show_what_would_be_launched_for_these() -> None:
    views = [an_expired_view(name, a_pod(f"p-{name}", node=name, cpu="3")) for name in ("n1", "n2")]
    forceful = DisruptionOptions(expiration=Expiration(mode="forceful"))
    settled = settle(a_cluster(*views, pool=EXPIRING), forceful)
    assert [(command.nodes, len(command.replacements)) for command in settled.commands] == [(("n1", "n2"), 2)]
    assert sorted(pods_on(settled).values()) == [["p-n1"], ["p-n2"]]


def test_a_pod_without_a_place_is_pending_in_the_end() -> None:
    huge = a_pod("huge", node="n", cpu="64")
    forceful = DisruptionOptions(expiration=Expiration(mode="forceful"))
    settled = settle(a_cluster(an_expired_view("n", huge), pool=EXPIRING), forceful)
    assert [(pod.metadata.name, pod.spec.node_name) for pod in settled.snapshot.pending] == [("huge", "")]


def test_stopped_it_says_so() -> None:
    assert not settle(a_cluster(drifted_and_full("n")), stop=lambda: True).complete
