"""Pods that no server has seen get what the API server would have given them."""

from karpenter.app.manifests.admission import Admission, judged
from karpenter.model.core import (
    Container,
    LimitRange,
    LimitRangeItem,
    LimitRangeSpec,
    Pod,
    PodSpec,
    PodStatus,
    PriorityClass,
    ResourceRequirements,
    SchedulingGate,
)
from karpenter.model.meta import ObjectMeta
from karpenter.model.pods import is_provisionable, pod_requests
from karpenter.model.resources import parse_resources

NONE = Admission((), ())


def a_new_pod(created: str | None = None, **spec: object) -> Pod:
    return Pod(metadata=ObjectMeta(name="a", namespace="web", creation_timestamp=created), spec=PodSpec(**spec))


def a_container(requests: dict[str, str] | None = None, limits: dict[str, str] | None = None) -> Container:
    return Container(name="c", resources=ResourceRequirements(requests=requests or {}, limits=limits or {}))


def limits(namespace: str = "web", **item: object) -> LimitRange:
    spec = LimitRangeSpec(limits=(LimitRangeItem(type="Container", **item),))
    return LimitRange(metadata=ObjectMeta(name="limits", namespace=namespace), spec=spec)


def test_a_limit_range_fills_requests_that_containers_leave_out() -> None:
    admission = Admission([limits(default_request={"cpu": "200m", "memory": "256Mi"}, default={"cpu": "1"})], ())
    pod = admission.admitted(
        a_new_pod(containers=(a_container(), a_container({"cpu": "2"}), a_container(limits={"memory": "1Gi"})))
    )
    # 200m + 2 + 200m; 256Mi + 256Mi + the third one's own limit
    assert pod_requests(pod) == parse_resources({"cpu": "2400m", "memory": "1536Mi", "pods": 1})


def test_a_default_limit_alone_is_the_default_request_too() -> None:
    admission = Admission([limits(default={"cpu": "500m"})], ())
    assert pod_requests(admission.admitted(a_new_pod(containers=(a_container(),))))["cpu"] == 500


def test_limit_ranges_of_other_namespaces_and_pods_that_a_server_has_stored_are_left_alone() -> None:
    elsewhere = Admission([limits("other", default={"cpu": "500m"})], ())
    here = Admission([limits(default={"cpu": "500m"})], ())
    new, stored = (a_new_pod(created, containers=(a_container(),)) for created in (None, "2026-11-30T12:00:00Z"))
    assert (elsewhere.admitted(new), here.admitted(stored)) == (new, stored)


def test_priority_comes_from_the_class_the_builtin_classes_or_the_global_default() -> None:
    classes = [
        PriorityClass(metadata=ObjectMeta(name="gold"), value=1000),
        PriorityClass(metadata=ObjectMeta(name="usual"), value=10, global_default=True),
    ]
    admission = Admission((), classes)
    names = ("gold", "system-node-critical", "")
    priorities = [admission.admitted(a_new_pod(priority_class_name=name)).spec.priority for name in names]
    assert priorities == [1000, 2_000_001_000, 10]


def test_an_unbound_pod_that_nobody_looked_at_counts_as_unschedulable() -> None:
    assert is_provisionable(judged(a_new_pod()))


def test_bound_gated_and_ended_pods_stay_as_they_are() -> None:
    ended = Pod(metadata=ObjectMeta(name="a"), status=PodStatus(phase="Succeeded"))
    pods = (a_new_pod(node_name="n"), a_new_pod(scheduling_gates=(SchedulingGate("quota"),)), ended)
    assert tuple(judged(pod) for pod in pods) == pods
