"""Which label keys are the user's to set (API-10 to 13; spec v1 §1.4, A-27)."""

import pytest

from karpenter.model.labels import canonical, is_restricted, is_restricted_in_nodepool, normalized


@pytest.mark.parametrize(
    "key, restricted",
    [
        ("kubernetes.io/hostname", True),
        ("foo.kubernetes.io/x", True),
        ("node.kubernetes.io/x", False),
        ("kops.k8s.io/x", False),
        ("karpenter.sh/x", True),
        ("example.com/x", False),
    ],
)
def test_keys_of_restricted_domains_are_restricted(key: str, restricted: bool) -> None:
    """TV-13."""
    assert is_restricted(key) is restricted


@pytest.mark.parametrize(
    "key, restricted",
    [
        ("topology.kubernetes.io/zone", False),
        ("karpenter.sh/capacity-type", False),
        ("karpenter.k8s.aws/instance-cpu", False),
        ("karpenter.k8s.aws/instance-ami-id", True),
        ("node-restriction.kubernetes.io/x", False),
        ("x.node.kubernetes.io/y", True),
        ("karpenter.sh/emptiness-timestamp", True),
        ("team", False),
        ("xkubernetes.io/y", True),  # quirk 17: a plain suffix
    ],
)
def test_well_known_keys_and_excepted_domains_are_free(key: str, restricted: bool) -> None:
    """API-10."""
    assert is_restricted(key) is restricted


@pytest.mark.parametrize("key", ["karpenter.sh/provisioner-name", "karpenter.sh/nodepool"])
def test_what_ties_a_node_to_its_pool_is_never_the_users(key: str) -> None:
    """API-11, API-13, V9."""
    assert is_restricted(key)
    assert is_restricted_in_nodepool(key)


@pytest.mark.parametrize(
    "key, restricted",
    [
        ("karpenter.sh/x", True),
        ("sub.karpenter.sh/x", True),
        ("kubernetes.io/hostname", True),
        ("karpenter.sh/capacity-type", False),
        ("node-restriction.kubernetes.io/x", False),
        ("foo.kubernetes.io/x", False),
        ("karpenter.k8s.aws/instance-tenancy", False),
        ("karpenter.k8s.aws/instance-pods", True),
        ("notkarpenter.sh/x", False),
    ],
)
def test_a_nodepool_may_use_the_domains_of_kubernetes(key: str, restricted: bool) -> None:
    """V9, A-27."""
    assert is_restricted_in_nodepool(key) is restricted


@pytest.mark.parametrize(
    "old, new",
    [
        ("failure-domain.beta.kubernetes.io/zone", "topology.kubernetes.io/zone"),
        ("failure-domain.beta.kubernetes.io/region", "topology.kubernetes.io/region"),
        ("beta.kubernetes.io/arch", "kubernetes.io/arch"),
        ("beta.kubernetes.io/os", "kubernetes.io/os"),
        ("beta.kubernetes.io/instance-type", "node.kubernetes.io/instance-type"),
        ("topology.ebs.csi.aws.com/zone", "topology.kubernetes.io/zone"),
        ("example.com/x", "example.com/x"),
    ],
)
def test_old_keys_have_a_modern_spelling(old: str, new: str) -> None:
    assert canonical(old) == new


def test_a_modern_label_of_a_node_wins_over_an_old_one() -> None:
    node = {"beta.kubernetes.io/arch": "arm64", "kubernetes.io/arch": "amd64", "beta.kubernetes.io/os": "linux"}
    assert normalized(node) == {"kubernetes.io/arch": "amd64", "kubernetes.io/os": "linux"}
