"""Rules of kubelet settings (spec v1alpha5 §1.3, §7.1)."""

import pytest

from karpenter.model.errors import FieldError
from karpenter.model.kubelet import EVICTION_SIGNALS
from karpenter.model.v1alpha5 import decode_provisioner
from tests.builders import a_provisioner
from tests.refusals import errors_of, paths_of

PATH = "spec.kubeletConfiguration"


def decode(**kubelet):
    return decode_provisioner(a_provisioner(kubeletConfiguration=kubelet))[0].kubelet


def refused(**kubelet) -> list[str]:
    return [path.removeprefix(f"{PATH}.") for path in paths_of(decode_provisioner, manifest(**kubelet))]


def manifest(**kubelet) -> dict:
    return a_provisioner(kubeletConfiguration=kubelet)


def test_absent_settings_are_none_and_an_empty_object_is_not() -> None:
    assert decode_provisioner(a_provisioner())[0].kubelet is None
    assert decode().max_pods is None


@pytest.mark.parametrize("field", ["kubeReserved", "systemReserved"])
@pytest.mark.parametrize("key, value", [("gpu", "1"), ("cpu", "-1"), ("memory", -1), ("cpu", "much"), ("cpu", 0.5)])
def test_only_four_resources_can_be_reserved_and_none_negatively(field: str, key: str, value: object) -> None:
    """TV-19, API-43."""
    assert refused(**{field: {key: value}}) == [f"{field}.{key}"]


def test_reserved_amounts_are_exact() -> None:
    reserved = {"cpu": "0.1", "memory": "100Mi", "ephemeral-storage": 5, "pid": "1k"}
    assert decode(kubeReserved=reserved).kube_reserved == {
        "cpu": 100,
        "memory": 100 * 2**20,
        "ephemeral-storage": 5,
        "pid": 1000,
    }


@pytest.mark.parametrize(
    "value, is_accepted",
    [
        ("5%", True),
        ("-5%", False),
        ("110%", False),
        ("5Gi", True),
        ("abc", False),
        ("0%", True),
        ("100%", True),
        ("7.5%", True),
        ("five%", False),
        ("nan%", False),
        ("%", False),
        ("-5Mi", True),  # API-41
    ],
)
def test_a_threshold_is_a_percentage_or_a_quantity(value: str, is_accepted: bool) -> None:
    """TV-20, API-40, API-41."""
    given = {"memory.available": value}
    if is_accepted:
        assert decode(evictionHard=given).eviction_hard == given
    else:
        assert refused(evictionHard=given) == ["evictionHard[memory.available]"]


@pytest.mark.parametrize("value", [5, 0.5, True])
def test_a_threshold_without_quotes_is_no_string(value: object) -> None:
    """API-41."""
    assert errors_of(decode_provisioner, manifest(evictionHard={"memory.available": value}))[0].fix.startswith(
        'write "'
    )


@pytest.mark.parametrize("field", ["evictionHard", "evictionSoft"])
def test_a_signal_is_one_of_six(field: str) -> None:
    """API-43."""
    assert refused(**{field: {"memory.free": "5%"}}) == [f"{field}[memory.free]"]
    assert decode(evictionHard=dict.fromkeys(EVICTION_SIGNALS, "5%")).eviction_hard == dict.fromkeys(
        EVICTION_SIGNALS, "5%"
    )


def test_each_soft_threshold_needs_a_grace_period_and_the_reverse() -> None:
    """TV-21, API-42."""
    assert errors_of(decode_provisioner, manifest(evictionSoft={"memory.available": "5%"})) == (
        FieldError(
            f"{PATH}.evictionSoft",
            "memory.available has no entry in evictionSoftGracePeriod",
            "each soft threshold needs one",
        ),
    )
    grace = {"memory.available": "1m", "nodefs.available": "1m"}
    assert errors_of(decode_provisioner, manifest(evictionSoftGracePeriod=grace)) == tuple(
        FieldError(
            f"{PATH}.evictionSoftGracePeriod", f"{key} has no entry in evictionSoft", "remove it or add the threshold"
        )
        for key in grace
    )


@pytest.mark.parametrize("value", ["soon", 60, "-1m", "1d"])
def test_a_grace_period_is_a_duration(value: object) -> None:
    """§1.3; the threshold beside it is not blamed too."""
    given = {"evictionSoft": {"memory.available": "5%"}, "evictionSoftGracePeriod": {"memory.available": value}}
    assert refused(**given) == ["evictionSoftGracePeriod[memory.available]"]


def test_grace_periods_are_read_in_seconds() -> None:
    given = {"evictionSoft": {"memory.available": "5%"}, "evictionSoftGracePeriod": {"memory.available": "1m30s"}}
    assert decode(**given).eviction_soft_grace_period_s == {"memory.available": 90}


@pytest.mark.parametrize(
    "high, low, is_accepted",
    [(50, 60, False), (60, 60, True), (90, None, True), (None, 90, True), (101, None, False), (None, -1, False)],
)
def test_the_marks_of_image_collection_are_percentages_in_order(
    high: int | None, low: int | None, is_accepted: bool
) -> None:
    """TV-22."""
    given = {"imageGCHighThresholdPercent": high, "imageGCLowThresholdPercent": low}
    if is_accepted:
        kubelet = decode(**given)
        assert (kubelet.image_gc_high_threshold_percent, kubelet.image_gc_low_threshold_percent) == (high, low)
    else:
        assert len(refused(**given)) == 1


@pytest.mark.parametrize("field", ["maxPods", "podsPerCore"])
@pytest.mark.parametrize("value", [-1, 2**31, "20", 1.5])
def test_numbers_of_pods_are_whole_and_not_negative(field: str, value: object) -> None:
    """§1.3."""
    assert refused(**{field: value}) == [field]


def test_the_other_settings_are_kept() -> None:
    kubelet = decode(clusterDNS=["10.0.1.100", "fd00::a"], containerRuntime="dockerd", cpuCFSQuota=False, podsPerCore=0)
    assert (kubelet.cluster_dns, kubelet.container_runtime, kubelet.cpu_cfs_quota, kubelet.pods_per_core) == (
        ("10.0.1.100", "fd00::a"),
        "dockerd",
        False,
        0,
    )
