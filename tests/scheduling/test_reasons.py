"""Why pods stay pending: what a user reads, and what programs can rely on."""

from dataclasses import replace

import msgspec

from karpenter.model import core, labels
from karpenter.model.units import PoolKey, UnixSeconds
from karpenter.scheduling import PoolView, Reason
from tests.builders import EPOCH, a_daemon, a_pod, a_pool_view
from tests.scheduling.toys import on_demand, solved, toys, why

KEY = PoolKey("Provisioner", "default")


def test_a_missing_label_is_named_with_the_fix() -> None:
    """Case WHY-PENDING (a)."""
    (refused,) = solved([a_pod("web", node_selector={"team": "x"})]).unschedulable
    assert refused.pod.metadata.name == "web"
    assert refused.reasons == (
        Reason(
            KEY,
            "pool",
            "LabelUndefined",
            "asks for team In [x], but label 'team' has no known values; "
            "add the label to the pool, or 'team' Exists to its requirements",
        ),
    )


def test_a_misspelt_label_comes_with_the_right_spelling() -> None:
    message = why(solved([a_pod(node_selector={"topology.kubernetes.io/zon": "a"})]))[0][1]
    assert "(did you mean 'topology.kubernetes.io/zone'?)" in message


def test_the_nearest_type_and_the_resource_it_is_short_of_are_named() -> None:
    """Case WHY-PENDING (b)."""
    small = on_demand(requirements={labels.INSTANCE_TYPE: ["c.1", "c.2", "c.4", "c.8", "c.16"]})
    daemon = a_daemon(cpu="100m", memory="800Mi")
    (refused,) = solved([a_pod(cpu="5800m", memory="46Gi")], pools=[small], daemons=[daemon]).unschedulable
    assert refused.reasons == (
        Reason(
            KEY,
            "pool",
            "InsufficientResources",
            "needs 46Gi memory (46.78Gi with daemons); the nearest allowed type, c.16, has 32Gi (short 14.78Gi)",
        ),
    )


def test_when_the_cloud_has_no_larger_type_the_cloud_is_the_layer() -> None:
    (refused,) = solved([a_pod(cpu="70")]).unschedulable
    assert refused.reasons == (
        Reason(
            KEY, "cloud", "InsufficientResources", "needs 70 cpu; the nearest allowed type, c.32, has 32 (short 38)"
        ),
    )


def test_each_pool_has_its_own_reason_and_the_nearest_miss_comes_first() -> None:
    """Case WHY-PENDING (c)."""
    pools = [
        on_demand("tainted", taints=["dedicated:NoSchedule"]),
        on_demand("labelled", requirements={labels.ZONE: ["b"]}),
        on_demand("small", requirements={labels.INSTANCE_TYPE: ["c.1"]}),
    ]
    pod = a_pod(cpu="3", node_selector={labels.ZONE: "a"})
    (refused,) = solved([pod], pools=pools).unschedulable
    assert [(reason.pool.name, reason.layer, reason.code) for reason in refused.reasons if reason.pool] == [
        ("small", "pool", "InsufficientResources"),
        ("labelled", "pod", "RequirementsConflict"),
        ("tainted", "pod", "TaintNotTolerated"),
    ]
    assert (
        refused.reasons[1].message
        == "topology.kubernetes.io/zone In [a] conflicts with topology.kubernetes.io/zone In [b]"
    )


def test_all_that_is_wrong_with_one_pool_is_said_at_once() -> None:
    pool = on_demand(taints=["dedicated:NoSchedule"], requirements={labels.INSTANCE_TYPE: ["c.1"]})
    ((code, message),) = why(solved([a_pod(cpu="3")], pools=[pool]))
    assert code == "TaintNotTolerated"
    assert (
        message == "does not tolerate dedicated:NoSchedule; needs 3 cpu; the nearest allowed type, c.1, has 1 (short 2)"
    )


def test_a_cpu_request_in_millions_is_taken_for_a_slip() -> None:
    """SCH-25, TV-85: 2M was meant to be 2m."""
    (refused,) = solved([a_pod(cpu="2M")]).unschedulable
    assert (refused.reasons[0].layer, refused.reasons[0].code) == ("pod", "InsufficientResources")
    assert refused.reasons[0].message.endswith(
        "(is its CPU request written with M, millions, instead of m, thousandths?)"
    )


def test_an_extended_resource_that_no_type_has_is_named() -> None:
    """SCH-12."""
    pool = on_demand(requirements={labels.INSTANCE_CATEGORY: ["c"]})
    assert why(solved([a_pod(requests={"nvidia.com/gpu": "1"})], pools=[pool]))[0][1].startswith(
        "needs 1 nvidia.com/gpu; "
    )


def test_types_that_cannot_be_had_just_now_are_the_clouds_affair() -> None:
    out = toys("c.1", unavailable=[(zone, "on-demand") for zone in "abc"])
    (refused,) = solved([a_pod()], types=out).unschedulable
    assert refused.reasons == (
        Reason(
            KEY,
            "cloud",
            "OfferingUnavailable",
            "the cloud has no capacity now for any type that would do (karpenter.sh/capacity-type In [on-demand])",
        ),
    )


def test_a_zone_without_offerings_is_named() -> None:
    """SCH-52."""
    (refused,) = solved([a_pod(node_selector={labels.ZONE: "d"})]).unschedulable
    assert (refused.reasons[0].layer, refused.reasons[0].code) == ("cloud", "NotOffered")
    assert "topology.kubernetes.io/zone In [d]" in refused.reasons[0].message


def test_a_property_that_no_type_of_the_pool_has_is_named() -> None:
    (refused,) = solved([a_pod(node_selector={labels.INSTANCE_CPU: "5"})]).unschedulable
    assert refused.reasons == (
        Reason(
            KEY,
            "pod",
            "NoMatchingInstanceType",
            "no instance type of the pool has karpenter.k8s.aws/instance-cpu In [5]",
        ),
    )


def test_a_pool_that_cannot_launch_says_why() -> None:
    view = PoolView(on_demand(), toys("c.1"), unready="AWSNodeTemplate default does not exist")
    (refused,) = solved([a_pod()], pools=[view]).unschedulable
    assert refused.reasons == (
        Reason(KEY, "pool", "PoolNotReady", "the pool is not ready: AWSNodeTemplate default does not exist"),
    )


def test_a_pool_whose_requirements_no_type_meets_says_so() -> None:
    """TV-7."""
    pool = on_demand(requirements={labels.ARCH: ["arm64"]})
    assert why(solved([a_pod()], pools=[pool])) == [
        ("NoInstanceTypes", "no instance type meets the pool's own requirements")
    ]


def test_without_any_pool_that_is_the_reason() -> None:
    """POD-12."""
    (refused,) = solved([a_pod()], pools=[]).unschedulable
    assert refused.reasons == (
        Reason(None, "pool", "NoPools", "there is no NodePool or Provisioner that could launch a node for it"),
    )


def test_an_amount_that_is_no_quantity_is_a_fault_of_the_pod() -> None:
    ((code, message),) = why(solved([a_pod(cpu="two")]))
    assert (code, message) == ("InvalidPod", "cpu: 'two' is not a quantity such as 500m, 2 or 4Gi")


def test_a_pool_of_fixed_size_opens_nothing_for_pods() -> None:
    """S-65."""
    static = replace(on_demand(), replicas=3)
    assert why(solved([a_pod()], pools=[a_pool_view(static)])) == [
        ("StaticPool", "the pool keeps a fixed number of nodes and opens none for pods")
    ]


def test_it_says_when_the_cloud_is_asked_again() -> None:
    """Case WHY-PENDING (d)."""
    (kind,) = toys("c.1", unavailable=[(zone, "on-demand") for zone in "abc"])
    moments = {"a": 120.0, "b": 90.0, "c": 150.0}
    offerings = tuple(
        offering if offering.available else replace(offering, retry_at=UnixSeconds(EPOCH + moments[offering.zone]))
        for offering in kind.offerings
    )
    ((code, message),) = why(solved([a_pod()], types=[replace(kind, offerings=offerings)]))
    assert code == "OfferingUnavailable"
    assert message.endswith("; retry in 90 s")


def test_every_miss_names_what_it_is_about() -> None:
    """Case WHY-PENDING (c): the machine-readable twin of the message."""
    pool = on_demand(taints=["dedicated:NoSchedule"], requirements={labels.INSTANCE_TYPE: ["c.1"]})
    (refused,) = solved([a_pod(cpu="3", node_selector={"team": "x"})], pools=[pool]).unschedulable
    assert [(miss.code, miss.subject) for miss in refused.reasons[0].misses] == [
        ("TaintNotTolerated", "dedicated:NoSchedule"),
        ("LabelUndefined", "team"),
        ("InsufficientResources", "cpu"),
    ]


def test_v50_devices_asked_for_by_resource_claims_launch_nothing() -> None:
    """S-56: the pod is refused with the claim's name; an equal one without it is served."""
    plain = a_pod("plain")
    claims = (core.PodResourceClaim("gpu"),)
    asking = msgspec.structs.replace(a_pod("asking"), spec=msgspec.structs.replace(plain.spec, resource_claims=claims))
    solution = solved([plain, asking])
    assert why(solution) == [
        ("ResourceClaims", "it asks for devices by resource claim gpu; no node is launched for these")
    ]
    assert list(solution.placements) == [plain.metadata.key]
