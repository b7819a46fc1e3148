"""The cluster state: views, pending pods, usage; order and repetition of events do not matter."""

import random
from collections.abc import Callable

from msgspec.structs import replace

from karpenter.model import labels
from karpenter.model.core import DaemonSet, DaemonSetSpec, PodSpec, PodTemplate
from karpenter.model.meta import ObjectMeta
from karpenter.model.nodeclaim import INITIALIZED, LAUNCHED
from karpenter.model.units import ObjectKey, UnixSeconds
from karpenter.state.cluster import ClusterState
from karpenter.state.offers import Offers
from tests.builders import EPOCH, a_claim, a_container, a_node, a_pod, a_pool, an_instance_type

POOL = a_pool()


def a_booting_node(**fields: object) -> object:
    return a_node("node", pool=POOL, provider_id="sim:///1", **fields)


def test_a_claim_and_its_node_are_one_view() -> None:
    state = ClusterState()
    state.set_claim(a_claim("claim", pool=POOL, provider_id="sim:///1", conditions=[LAUNCHED]))
    assert [view.name for view in state.snapshot(EPOCH).nodes] == ["claim"]
    state.set_node(a_booting_node())
    views = state.snapshot(EPOCH).nodes
    assert [(view.name, view.claim.name, view.pool) for view in views] == [("node", "claim", POOL.key)]
    state.drop_node("node")
    assert [view.name for view in state.snapshot(EPOCH).nodes] == ["claim"]


def test_sch5_startup_and_ephemeral_taints_count_only_once_the_node_is_initialized() -> None:
    taints = ["a:NoSchedule", "b:NoSchedule", "node.kubernetes.io/not-ready:NoSchedule"]
    state = ClusterState()
    state.set_node(a_booting_node(taints=taints))
    state.set_claim(a_claim("claim", pool=POOL, provider_id="sim:///1", startup_taints=["b:NoSchedule"]))
    assert [str(taint) for taint in state.snapshot(EPOCH).nodes[0].taints] == ["a:NoSchedule"]
    state.set_node(a_booting_node(taints=taints, labels={labels.INITIALIZED: "true"}))
    assert len(state.snapshot(EPOCH).nodes[0].taints) == 3


def test_sch6_until_a_node_is_initialized_missing_amounts_are_those_its_claim_promised() -> None:
    state = ClusterState()
    promised = {"cpu": 4000, "nvidia.com/gpu": 1}
    state.set_claim(a_claim("claim", pool=POOL, provider_id="sim:///1", capacity=promised, allocatable=promised))
    state.set_node(a_booting_node(cpu="3", resources={"nvidia.com/gpu": "0"}))
    assert state.snapshot(EPOCH).nodes[0].allocatable["cpu"] == 3000
    assert state.snapshot(EPOCH).nodes[0].allocatable["nvidia.com/gpu"] == 1
    state.set_claim(
        a_claim("claim", pool=POOL, provider_id="sim:///1", capacity=promised, conditions=[LAUNCHED, INITIALIZED])
    )
    assert state.snapshot(EPOCH).nodes[0].allocatable["nvidia.com/gpu"] == 0


def test_pods_follow_their_binding_and_terminal_ones_use_nothing() -> None:
    state = ClusterState()
    state.set_node(a_node("node"))
    state.set_pod(a_pod("p"))
    assert state.snapshot(EPOCH).nodes[0].pods == ()
    state.set_pod(a_pod("p", node="node"))
    assert [pod.metadata.name for pod in state.snapshot(EPOCH).nodes[0].pods] == ["p"]
    state.set_pod(a_pod("p", node="node", phase="Succeeded"))
    assert state.snapshot(EPOCH).nodes[0].pods == ()
    state.drop_pod(ObjectKey("default", "p"))
    assert state.pods_on("node") == ()


def test_pod5_pods_of_a_leaving_node_are_pending_beside_the_provisionable_ones() -> None:
    state = ClusterState()
    state.set_node(a_node("leaving"))
    state.set_pod(a_pod("moves", node="leaving"))
    state.set_pod(a_pod("daemon", node="leaving", owner="DaemonSet"))
    state.set_pod(a_pod("waits"))
    state.set_pod(a_pod("gated", unschedulable=False))
    assert [pod.metadata.name for pod in state.snapshot(EPOCH).pending] == ["waits"]
    state.mark_for_deletion("leaving")
    assert [pod.metadata.name for pod in state.snapshot(EPOCH).pending] == ["moves", "waits"]
    state.unmark("leaving")
    assert [pod.metadata.name for pod in state.snapshot(EPOCH).pending] == ["waits"]


def test_a_nomination_ends_by_itself() -> None:
    state = ClusterState()
    state.set_node(a_node("node"))
    state.nominate("node", UnixSeconds(EPOCH + 20))
    assert state.snapshot(UnixSeconds(EPOCH + 19)).nodes[0].is_nominated
    assert not state.snapshot(UnixSeconds(EPOCH + 20)).nodes[0].is_nominated


def test_a_nomination_of_a_claim_holds_for_its_node() -> None:
    state = ClusterState()
    state.set_claim(a_claim("claim", pool=POOL, provider_id="sim:///1"))
    state.nominate("claim", UnixSeconds(EPOCH + 20))
    state.set_node(a_booting_node())
    assert state.snapshot(EPOCH).nodes[0].is_nominated
    assert not state.snapshot(UnixSeconds(EPOCH + 20)).nodes[0].is_nominated


def test_usage_counts_the_capacity_of_nodes_and_claims_that_stay() -> None:
    state = ClusterState()
    state.pools[POOL.key] = POOL
    state.set_node(a_node("a", pool=POOL, cpu="4", memory="8Gi"))
    state.set_claim(a_claim("b", pool=POOL, provider_id="sim:///b", capacity={"cpu": 2000}))
    state.set_node(a_node("foreign", cpu="64"))
    assert state.snapshot(EPOCH).pools[0].usage == {"cpu": 6000, "memory": 8 << 30, "pods": 110, "nodes": 2}
    state.mark_for_deletion("a")
    assert state.snapshot(EPOCH).pools[0].usage == {"cpu": 2000, "nodes": 1}


def test_pools_come_by_weight_and_one_without_types_says_why() -> None:
    state = ClusterState()
    light, heavy = a_pool("light", weight=1), a_pool("heavy", weight=10)
    for pool in (light, heavy):
        state.pools[pool.key] = pool
    state.set_offers(Offers({heavy.key: (an_instance_type(),)}, {light.key: "no class"}))
    views = state.snapshot(EPOCH).pools
    assert [(view.pool.name, view.unready) for view in views] == [("heavy", None), ("light", "no class")]


def test_nodes_carry_the_price_of_their_offering() -> None:
    state = ClusterState()
    state.set_node(a_node("n", pool=POOL, instance_type="m.4", zone="a", capacity_type="on-demand"))
    assert state.snapshot(EPOCH).nodes[0].price is None
    state.set_offers(Offers({POOL.key: (an_instance_type("m.4", price=0.2),)}))
    assert state.snapshot(EPOCH).nodes[0].price == 0.2


def test_claims_without_a_machine_are_named_until_they_go() -> None:
    state = ClusterState()
    state.set_claim(a_claim("waits", pool=POOL))
    assert state.unlaunched_claims() == ("waits",)
    state.set_claim(a_claim("waits", pool=POOL, provider_id="sim:///1"))
    assert state.unlaunched_claims() == ()


def test_sch3_a_daemon_is_its_newest_pod_with_the_templates_affinity() -> None:
    state = ClusterState()
    template = PodTemplate(spec=PodSpec(containers=(a_container(cpu="100m"),)))
    metadata = ObjectMeta(name="logs", namespace="kube-system", uid="uid-daemonset-owner")
    state.daemon_sets[metadata.key] = DaemonSet(metadata=metadata, spec=DaemonSetSpec(template=template))
    assert state.snapshot(EPOCH).daemons[0].spec.containers[0].resources.requests == {"cpu": "100m"}
    pinned = {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": []}}}
    state.set_pod(a_pod("logs-x", owner="DaemonSet", cpu="250m", node="n", affinity=pinned))
    daemon = state.snapshot(EPOCH).daemons[0]
    assert daemon.spec.containers[0].resources.requests["cpu"] == "250m"
    assert (daemon.spec.affinity, daemon.spec.node_name) == (None, "")


def test_events_in_any_order_and_repeated_end_in_the_same_state() -> None:
    node = a_node("node", pool=POOL, provider_id="sim:///1")
    claim = a_claim("claim", pool=POOL, provider_id="sim:///1", conditions=[LAUNCHED])
    bound = [a_pod(f"p{i}", node="node") for i in range(3)]

    def state_after(order: list[Callable[[ClusterState], None]]) -> object:
        state = ClusterState()
        state.pools[POOL.key] = POOL
        for event in order:
            event(state)
            state.snapshot(EPOCH)
        snapshot = state.snapshot(EPOCH)
        return snapshot.nodes, snapshot.pools, snapshot.pending

    events: list[Callable[[ClusterState], None]] = [
        lambda state: state.set_node(node),
        lambda state: state.set_claim(claim),
        *[lambda state, pod=pod: state.set_pod(pod) for pod in bound],
        lambda state: state.set_node(node),
        lambda state: state.set_claim(claim),
    ]
    expected = state_after(events)
    shuffler = random.Random(7)
    for _ in range(50):
        shuffler.shuffle(events)
        assert state_after(list(events)) == expected


def test_a_planned_pod_takes_its_room_and_is_not_pending_until_its_place_had_its_chance() -> None:
    state = ClusterState()
    pod = a_pod("p")
    state.set_pod(pod)
    state.set_claim(a_claim("claim", pool=POOL, provider_id="sim:///1", conditions=[LAUNCHED]))
    state.plan(pod, "claim", now=EPOCH, keep_s=20)
    assert [(view.name, [p.metadata.name for p in view.pods]) for view in state.snapshot(EPOCH).nodes] == [
        ("claim", ["p"])
    ]
    assert state.snapshot(UnixSeconds(EPOCH + 300)).pending == ()
    state.set_node(a_booting_node(labels={labels.INITIALIZED: "true"}))
    ready = state.snapshot(UnixSeconds(EPOCH + 19))
    assert [(view.name, [p.spec.node_name for p in view.pods]) for view in ready.nodes] == [("node", ["node"])]
    assert [pod.metadata.name for pod in state.snapshot(UnixSeconds(EPOCH + 20)).pending] == ["p"]


def test_a_plan_ends_with_its_place_and_when_its_pod_is_bound_or_another_one() -> None:
    state = ClusterState()
    pod = a_pod("p")
    state.set_pod(pod)
    state.set_claim(a_claim("claim", pool=POOL, provider_id="sim:///1"))

    def plan() -> None:
        state.plan(pod, "claim", now=EPOCH, keep_s=20)
        assert state.snapshot(EPOCH).pending == ()

    plan()
    state.drop_claim("claim")
    assert state.snapshot(EPOCH).pending == (pod,)
    state.set_claim(a_claim("claim", pool=POOL, provider_id="sim:///1"))
    plan()
    state.set_pod(a_pod("p", uid="another"))
    assert [waiting.metadata.uid for waiting in state.snapshot(EPOCH).pending] == ["another"]
    state.set_pod(pod)
    plan()
    state.set_pod(a_pod("p", node="elsewhere"))
    assert state.snapshot(EPOCH).nodes[0].pods == ()


def test_a_pod_bound_where_an_equal_one_was_planned_leaves_it_its_own_room() -> None:
    state = ClusterState()
    first, second = a_pod("first"), a_pod("second")
    for name, pod in (("a", first), ("b", second)):
        state.set_pod(pod)
        state.set_node(a_node(name))
        state.plan(pod, name, now=EPOCH, keep_s=20)
    state.set_pod(a_pod("first", node="b"))
    views = state.snapshot(EPOCH).nodes
    assert {view.name: [pod.metadata.name for pod in view.pods] for view in views} == {"a": ["second"], "b": ["first"]}


def test_listeners_hear_of_every_change_but_not_of_heartbeats_and_equal_offers() -> None:
    state, heard = ClusterState(), []
    state.on_change(lambda: heard.append(state.generation))
    node = a_node("node", pool=POOL)
    state.set_node(node)
    assert heard[-1] == state.generation
    heard.clear()
    state.set_node(replace(node, metadata=replace(node.metadata, resource_version="2")))
    state.set_offers(Offers())
    assert not heard
    state.touch()
    assert heard == [state.generation]
