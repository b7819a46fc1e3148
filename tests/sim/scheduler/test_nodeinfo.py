"""What is left on nodes, whatever order the news comes in."""

from hypothesis import given
from hypothesis import strategies as st

from karpenter.sim.scheduler.nodeinfo import ClusterCache
from karpenter.sim.scheduler.podfacts import facts_of
from tests.builders import a_node, a_pod

FACTS = [facts_of(a_pod(cpu="1")), facts_of(a_pod(cpu="250m", memory="2Gi", ports=[{"hostPort": 80}]))]


def cache_with(*names: str) -> ClusterCache:
    cache = ClusterCache()
    for name in names:
        cache.set_node(a_node(name))
    return cache


def test_an_assumed_pod_takes_room_until_it_is_taken_back() -> None:
    cache = cache_with("n1")
    cache.assume("p", FACTS[0], "n1", priority=0)
    assert cache.is_assumed("p")
    assert cache.node("n1").requested["cpu"] == 1000
    assert cache.remove_pod("p") == "n1"
    assert cache.node("n1").requested["cpu"] == 0
    assert not cache.is_assumed("p")


def test_confirmation_of_an_assumed_pod_changes_nothing() -> None:
    cache = cache_with("n1")
    cache.assume("p", FACTS[0], "n1", priority=0)
    stamp = cache.stamp
    cache.set_pod("p", FACTS[0], "n1", priority=0, is_terminating=False)
    assert cache.stamp == stamp
    assert not cache.is_assumed("p")


def test_a_heartbeat_changes_nothing() -> None:
    cache = cache_with("n1")
    stamp = cache.stamp
    assert cache.set_node(a_node("n1")) is False
    assert cache.stamp == stamp


def test_pods_of_a_node_not_seen_yet_are_counted_once_it_appears() -> None:
    cache = ClusterCache()
    cache.set_pod("p", FACTS[0], "n1", priority=0, is_terminating=False)
    assert cache.nodes() == ()
    cache.set_node(a_node("n1"))
    assert cache.node("n1").requested["cpu"] == 1000


def test_a_node_that_is_gone_is_forgotten_with_its_last_pod() -> None:
    cache = cache_with("n1")
    cache.set_pod("p", FACTS[0], "n1", priority=0, is_terminating=False)
    cache.remove_node("n1")
    assert cache.node("n1") is None
    cache.remove_pod("p")
    cache.set_node(a_node("n1"))
    assert cache.node("n1").requested == {}


PODS = st.sampled_from(["a", "b", "c"])
NODES = st.sampled_from(["n1", "n2"])
STEPS = st.one_of(
    st.tuples(st.just("set"), PODS, NODES, st.integers(0, 1), st.booleans()),
    st.tuples(st.just("assume"), PODS, NODES, st.integers(0, 1), st.booleans()),
    st.tuples(st.just("remove"), PODS, NODES, st.integers(0, 1), st.booleans()),
)


@given(st.lists(STEPS, max_size=20))
def test_the_sums_are_those_of_the_pods_that_are_there(steps: list[tuple[str, str, str, int, bool]]) -> None:
    cache, there = cache_with("n1", "n2"), dict[str, tuple[str, int]]()
    for what, pod, node, kind, leaving in steps:
        if what == "set":
            cache.set_pod(pod, FACTS[kind], node, priority=0, is_terminating=leaving)
        elif what == "assume":
            cache.assume(pod, FACTS[kind], node, priority=0)
        else:
            cache.remove_pod(pod)
        there.pop(pod, None)
        if what != "remove":
            there[pod] = (node, kind)
    for name in ("n1", "n2"):
        facts = [FACTS[kind] for node, kind in there.values() if node == name]
        info = cache.node(name)
        for resource in ("cpu", "memory", "pods"):
            assert info.requested.get(resource, 0) == sum(one.requests.get(resource, 0) for one in facts)
        assert sorted(info.ports) == sorted(port for one in facts for port in one.ports)
        assert sum(info.classes.values()) == len(facts)
