"""What is wrong with a node class whatever the account has. Source: spec v1 A-16, A-32."""

import pytest

from karpenter.model.aws.classfaults import class_fault
from karpenter.model.aws.classstatus import is_there, rolled_up, selects_nothing
from tests.awsbuilders import a_kubelet, an_aws_node_class

UNKNOWN = {"kubelet": {"registryPullQPS": 5}}


@pytest.mark.parametrize(
    "family, other, per_core, named",
    [
        ("AL2", UNKNOWN, None, "spec.kubelet.registryPullQPS"),
        ("Bottlerocket", UNKNOWN, 2, "spec.kubelet.podsPerCore, spec.kubelet.registryPullQPS"),
        ("AL2023", UNKNOWN, 2, None),
        ("Custom", UNKNOWN, 2, None),
        ("AL2", {}, 2, None),
    ],
)
def test_settings_that_a_family_cannot_be_told_are_refused_by_name(
    family: str, other: dict[str, object], per_core: int | None, named: str | None
) -> None:
    """A-32."""
    fault = class_fault(an_aws_node_class(family=family, other=other, kubelet=a_kubelet(pods_per_core=per_core)))
    if named is None:
        assert fault is None
        return
    assert fault is not None
    assert (fault.type, fault.status, fault.reason) == (
        "ValidationSucceeded",
        "False",
        "UnsupportedKubeletConfiguration",
    )
    assert f"cannot be told {named};" in fault.message


def test_a_class_that_is_wrong_by_itself_says_so_also_where_something_is_missing() -> None:
    """A-16: in this order."""
    fault = class_fault(an_aws_node_class(other=UNKNOWN))
    assert fault is not None
    missing = selects_nothing("SubnetsReady", "default", "make one")
    valid = next(one for one in rolled_up([missing, is_there("AMIsReady"), fault], ()) if one.type == fault.type)
    assert valid.reason == "UnsupportedKubeletConfiguration"
