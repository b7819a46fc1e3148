"""A real user's manifest, word for word: accepted in `compat`, refused in `strict` (spec v1alpha5 §1.2)."""

from copy import copy
from pathlib import Path

import pytest
import yaml

from karpenter.model import labels
from karpenter.model.errors import ManifestError, ManifestWarning
from karpenter.model.nodepool import Disruption, NodeClassRef
from karpenter.model.requirements import Requirement, Requirements
from karpenter.model.v1alpha5 import decode_provisioner, default_provisioner
from karpenter.model.v1alpha5.budgets import DEFAULT
from tests.builders import a_taint

GIB = 2**30
MIB = 2**20


@pytest.fixture
def manifest() -> dict:
    return yaml.safe_load((Path(__file__).parents[2] / "data" / "provisioner.yaml").read_text(encoding="utf-8"))


def test_it_is_accepted_with_exactly_two_warnings(manifest) -> None:
    """TV-2."""
    _, warnings = decode_provisioner(manifest)
    assert [(warning.code, warning.path) for warning in warnings] == [
        ("W-EXCLUSIVE", "spec.ttlSecondsAfterEmpty"),
        ("W-DURATION", "spec.kubeletConfiguration.evictionMaxPodGracePeriod"),
    ]


def test_the_duration_warning_says_what_was_read_and_what_to_write(manifest) -> None:
    _, warnings = decode_provisioner(manifest)
    assert warnings[1] == ManifestWarning(
        code="W-DURATION",
        path="spec.kubeletConfiguration.evictionMaxPodGracePeriod",
        message="expected whole seconds, got '3m', read as 180; write 180",
    )


def test_stored_requirements_are_the_six_given_and_the_operating_system(manifest) -> None:
    """TV-2."""
    stored = default_provisioner(manifest)["spec"]["requirements"]
    given = manifest["spec"]["requirements"]
    assert stored == [*given, {"key": "kubernetes.io/os", "operator": "In", "values": ["linux"]}]


def test_storing_it_again_changes_nothing(manifest) -> None:
    """TV-3."""
    stored = default_provisioner(manifest)
    assert default_provisioner(stored) == stored
    assert decode_provisioner(stored) == decode_provisioner(manifest)


def test_strict_refuses_the_duration_and_the_exclusive_fields(manifest) -> None:
    """TV-1."""
    with pytest.raises(ManifestError) as caught:
        decode_provisioner(manifest, mode="strict")
    assert [error.path for error in caught.value.errors] == [
        "spec.ttlSecondsAfterEmpty",
        "spec.kubeletConfiguration.evictionMaxPodGracePeriod",
    ]


def test_strict_still_refuses_the_exclusive_fields_with_whole_seconds(manifest) -> None:
    """TV-1."""
    corrected = copy(manifest)
    corrected["spec"]["kubeletConfiguration"]["evictionMaxPodGracePeriod"] = 180
    with pytest.raises(ManifestError) as caught:
        decode_provisioner(corrected, mode="strict")
    assert [error.path for error in caught.value.errors] == ["spec.ttlSecondsAfterEmpty"]


def test_its_template_is_read_whole(manifest) -> None:
    template = decode_provisioner(manifest)[0].template
    assert template.node_class_ref == NodeClassRef("karpenter.k8s.aws", "AWSNodeTemplate", "default")
    assert template.labels == {"billing-team": "my-team"}
    assert template.taints == (a_taint("example.com/special-taint:NoSchedule"),)
    assert template.startup_taints == (a_taint("example.com/another-taint:NoSchedule"),)
    assert template.expire_after_s == 30 * 24 * 3600
    assert template.requirements == Requirements(
        Requirement.of(key, "In", values)
        for key, values in {
            labels.INSTANCE_CATEGORY: ("c", "m", "r"),
            labels.INSTANCE_CPU: ("4", "8", "16", "32"),
            labels.INSTANCE_HYPERVISOR: ("nitro",),
            labels.ZONE: ("us-west-2a", "us-west-2b"),
            labels.ARCH: ("arm64", "amd64"),
            labels.CAPACITY_TYPE: ("spot", "on-demand"),
            labels.OS: ("linux",),
        }.items()
    )


def test_its_nodes_carry_the_provisioners_name_and_labels(manifest) -> None:
    """SCH-2, API-12."""
    pool = decode_provisioner(manifest)[0]
    assert pool.identity == ("karpenter.sh/provisioner-name", "default")
    own = pool.node_requirements()
    assert [str(own[key]) for key in ("billing-team", "karpenter.sh/provisioner-name")] == [
        "billing-team In [my-team]",
        "karpenter.sh/provisioner-name In [default]",
    ]


def test_its_time_to_live_rules_empty_nodes_and_consolidation_the_others(manifest) -> None:
    """§1.2, architecture §2."""
    assert decode_provisioner(manifest)[0].disruption == Disruption(
        policy="WhenEmptyOrUnderutilized",
        consolidate_after_s=0.0,
        empty_after_s=30.0,
        budgets=DEFAULT,
        expires_by_pool=True,
    )


def test_its_limits_and_weight_are_exact(manifest) -> None:
    pool = decode_provisioner(manifest)[0]
    assert (pool.limits, pool.weight) == ({"cpu": 1_000_000, "memory": 1000 * GIB}, 10)


def test_its_kubelet_settings_are_exact(manifest) -> None:
    kubelet = decode_provisioner(manifest)[0].kubelet
    assert kubelet.cluster_dns == ("10.0.1.100",)
    assert (kubelet.max_pods, kubelet.pods_per_core, kubelet.container_runtime) == (20, 2, "containerd")
    assert kubelet.system_reserved == {"cpu": 100, "memory": 100 * MIB, "ephemeral-storage": GIB}
    assert kubelet.kube_reserved == {"cpu": 200, "memory": 100 * MIB, "ephemeral-storage": 3 * GIB}
    assert kubelet.eviction_hard == {
        "memory.available": "5%",
        "nodefs.available": "10%",
        "nodefs.inodesFree": "10%",
    }
    assert kubelet.eviction_soft == {
        "memory.available": "500Mi",
        "nodefs.available": "15%",
        "nodefs.inodesFree": "15%",
    }
    assert kubelet.eviction_soft_grace_period_s == {
        "memory.available": 60,
        "nodefs.available": 90,
        "nodefs.inodesFree": 120,
    }
    assert kubelet.eviction_max_pod_grace_period_s == 180
