"""The order of a drain: spec v1 T-5, T-6, T-8; v1alpha5 LIF-32, LIF-33, LIF-35; vectors TV-127, V37, V38."""

from karpenter.lifecycle.drain import ForcedDeletion, drain_step
from karpenter.model.core import Pod
from karpenter.model.units import UnixSeconds, to_rfc3339
from tests.builders import EPOCH, a_pod

NODE_CRITICAL = "system-node-critical"


def names(pods: tuple[Pod, ...]) -> list[str]:
    return [pod.metadata.name for pod in pods]


def test_tv127_ordinary_pods_go_first_then_daemons_then_critical_ones() -> None:
    ordinary = a_pod("a", node="n")
    daemon = a_pod("ds", node="n", owner="DaemonSet")
    critical = a_pod("b", node="n", priority_class=NODE_CRITICAL)
    critical_daemon = a_pod("c", node="n", owner="DaemonSet", priority_class=NODE_CRITICAL)
    everything = [critical_daemon, critical, daemon, ordinary]
    order = []
    while everything:
        step = drain_step(everything, EPOCH)
        order.append(names(step.evict))
        everything = [pod for pod in everything if pod not in step.evict]
    assert order == [["a"], ["ds"], ["b"], ["c"]]


def test_the_next_tier_waits_for_pods_that_are_still_terminating() -> None:
    leaving = a_pod("a", node="n", deleted=to_rfc3339(UnixSeconds(EPOCH + 30)))
    step = drain_step([leaving, a_pod("b", node="n", priority_class=NODE_CRITICAL)], EPOCH)
    assert step.evict == ()
    assert names(step.waiting) == ["a", "b"]


def test_pods_that_tolerate_the_disrupted_taint_static_and_finished_pods_do_not_hold_the_node_t6() -> None:
    step = drain_step(
        [
            a_pod("tolerates", node="n", tolerations=[{"operator": "Exists"}]),
            a_pod("static", node="n", owner="Node"),
            a_pod("done", node="n", phase="Succeeded"),
        ],
        EPOCH,
    )
    assert step.is_done


def test_a_pod_stuck_a_minute_past_its_deadline_does_not_hold_the_node_t6() -> None:
    stuck = a_pod("stuck", node="n", deleted=to_rfc3339(UnixSeconds(EPOCH - 61)))
    assert drain_step([stuck], EPOCH).is_done
    late = a_pod("late", node="n", deleted=to_rfc3339(UnixSeconds(EPOCH - 60)))
    assert not drain_step([late], EPOCH).is_done


def test_protected_pods_are_evicted_last() -> None:
    protected = a_pod("protected", node="n", annotations={"karpenter.sh/do-not-evict": "true"})
    critical = a_pod("critical", node="n", priority_class=NODE_CRITICAL)
    assert names(drain_step([protected, critical], EPOCH).evict) == ["critical"]
    assert names(drain_step([protected], EPOCH).evict) == ["protected"]


def test_v37_near_the_deadline_a_protected_pod_is_deleted_with_the_time_that_is_left() -> None:
    pod = a_pod("p", node="n", grace_s=300, annotations={"karpenter.sh/do-not-disrupt": "true"})
    deadline = UnixSeconds(EPOCH + 3600)
    assert drain_step([pod], UnixSeconds(EPOCH + 3300), deadline=deadline).delete == ()
    assert drain_step([pod], UnixSeconds(EPOCH + 3301), deadline=deadline).delete == (ForcedDeletion(pod, 299),)


def test_v38_a_pod_with_more_grace_than_the_node_is_deleted_at_once_with_the_nodes() -> None:
    pod = a_pod("p", node="n", grace_s=60)
    assert drain_step([pod], EPOCH, deadline=UnixSeconds(EPOCH + 30)).delete == (ForcedDeletion(pod, 30),)


def test_a_pod_that_will_be_gone_in_time_is_not_deleted_again() -> None:
    pod = a_pod("p", node="n", grace_s=60, deleted=to_rfc3339(UnixSeconds(EPOCH + 20)))
    assert drain_step([pod], EPOCH, deadline=UnixSeconds(EPOCH + 30)).delete == ()
