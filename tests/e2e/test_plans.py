"""A plan holds on a real cluster: what it launches appears there, and the real scheduler finds the places it found."""

from collections.abc import AsyncIterator, Sequence

import pytest

from karpenter.model import labels
from karpenter.model.core import Node, Pod
from karpenter.runtime.kube import NODES
from karpenter.runtime.kubehttp import HttpKubeClient
from karpenter.scheduling import Demand, Snapshot, Solution, solve
from tests.builders import a_node_view, a_pod, a_pool, a_snapshot, an_instance_type
from tests.e2e.nodes import node_of_plan, node_of_view
from tests.e2e.pods import create_all, delete_all, judged, nodes_ready, pod_manifest

pytestmark = pytest.mark.real_time

SPECIAL = {"key": "dedicated", "operator": "Equal", "value": "special", "effect": "NoSchedule"}
TYPES = (
    an_instance_type("m.2", cpu="2", memory="8Gi", price=0.1),
    an_instance_type("m.8", cpu="8", memory="32Gi", price=0.38),
)


@pytest.fixture
async def nodes_go(kube: HttpKubeClient) -> AsyncIterator[None]:
    """Delete the nodes that a test made."""
    yield
    await delete_all(kube, NODES, (await kube.list(NODES)).items)


async def launch(kube: HttpKubeClient, snapshot: Snapshot, solution: Solution) -> None:
    """Bring up the nodes of the snapshot and those that were planned."""
    pools = {view.pool.key: view for view in snapshot.pools}
    manifests = [node_of_view(view) for view in snapshot.nodes]
    for plan in solution.new_claims:
        offered = {each.name: each for each in pools[plan.pool].instance_types}
        manifests.append(node_of_plan(plan, pools[plan.pool].pool, offered[plan.instance_type]))
    await create_all(kube, manifests)
    await nodes_ready(kube, [each["metadata"]["name"] for each in manifests])


def shown(node: Node) -> tuple[str, str, str, str]:
    keys = (labels.NODEPOOL, labels.INSTANCE_TYPE, labels.ZONE, labels.CAPACITY_TYPE)
    pool, instance_type, zone, capacity_type = (node.metadata.labels[key] for key in keys)
    return pool, instance_type, zone, capacity_type


async def test_planned_nodes_appear_as_planned(kube: HttpKubeClient, nodes_go: None) -> None:
    pool = a_pool(kind="NodePool", taints=["dedicated=special:NoSchedule"], labels={"team": "a"})
    snapshot = a_snapshot(pools=[pool], types=TYPES)
    solution = solve(
        snapshot, Demand.each([a_pod(cpu="1500m", tolerations=[SPECIAL], node_selector={labels.ZONE: "b"})])
    )
    await launch(kube, snapshot, solution)
    (plan,) = solution.new_claims
    node = await kube.get(NODES, plan.name)
    assert shown(node) == ("default", "m.2", "b", "spot")
    assert (node.metadata.labels["team"], [str(each) for each in node.spec.taints]) == (
        "a",
        ["dedicated=special:NoSchedule"],
    )
    assert (node.status.allocatable["cpu"], node.status.capacity["memory"]) == ("2", "8Gi")


async def test_every_planned_pod_binds_and_no_launched_node_stays_empty(
    kube: HttpKubeClient, namespace: str, nodes_go: None
) -> None:
    snapshot = a_snapshot(
        nodes=[a_node_view("old", cpu="2", zone="c", labels={"age": "old"})],
        pools=[
            a_pool("plain", kind="NodePool"),
            a_pool("special", kind="NodePool", taints=["dedicated=special:NoSchedule"], labels={"special": "yes"}),
        ],
        types=TYPES,
    )
    pods: Sequence[Pod] = [
        *(a_pod(f"small-{number}", cpu="900m", node_selector={labels.ZONE: "a"}) for number in range(9)),
        *(
            a_pod(f"special-{number}", cpu="3", tolerations=[SPECIAL], node_selector={"special": "yes"})
            for number in range(4)
        ),
        *(a_pod(f"stays-{number}", cpu="500m", node_selector={"age": "old"}) for number in range(3)),
        a_pod("never", node_selector={labels.ZONE: "nowhere"}),
    ]
    solution = solve(snapshot, Demand.each(pods))
    await launch(kube, snapshot, solution)
    await create_all(kube, [pod_manifest(pod, namespace) for pod in pods])

    bound = {key.name: node for key, node in (await judged(kube, namespace)).items()}
    planned = {pod.metadata.name for plan in solution.new_claims for pod in plan.pods}
    assert {name for name, node in bound.items() if not node} == {"never"}
    assert {bound[name] for name in planned} == {plan.name for plan in solution.new_claims}
    assert {bound[f"stays-{number}"] for number in range(3)} == {"old"}
