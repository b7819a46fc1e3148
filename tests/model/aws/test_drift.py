"""Which part of a machine is not what a new one would have. Source: spec v1 A-50, A-51."""

from dataclasses import replace

import pytest

from karpenter.model import labels
from karpenter.model.aws.drift import MachineParts, SelectedParts, drifted_part, is_of_another_class
from karpenter.model.aws.nodeclass import AwsNodeClass
from karpenter.model.aws.nodetemplate import decode_aws_node_template
from karpenter.model.meta import ObjectMeta
from tests.awsbuilders import an_aws_node_class
from tests.builders import a_claim, a_node_template

HAS = MachineParts("ami-1", "subnet-1", frozenset({"sg-1", "sg-2"}), "cr-1", "pg-1")
NOW = SelectedParts("ami-1", frozenset({"subnet-1", "subnet-2"}), HAS.security_group_ids, frozenset({"cr-1"}), "pg-1")


def test_a_machine_as_a_new_one_has_not_drifted() -> None:
    assert drifted_part(HAS, NOW) is None


@pytest.mark.parametrize(
    "change, reason",
    [
        ({"image_id": "ami-2"}, "AMIDrift"),
        ({"security_group_ids": frozenset({"sg-1"})}, "SecurityGroupDrift"),
        ({"subnet_ids": frozenset({"subnet-2"})}, "SubnetDrift"),
        ({"reservation_ids": frozenset({"cr-2"})}, "CapacityReservationDrift"),
        ({"placement_group_id": ""}, "PlacementGroupDrift"),
    ],
)
def test_each_part_drifts_by_itself(change: dict[str, object], reason: str) -> None:
    """A-51: images by type, groups as a set, subnets and reservations as members."""
    assert drifted_part(HAS, replace(NOW, **change)) == reason


def test_the_image_is_named_before_the_network() -> None:
    """A-50."""
    changed = replace(NOW, image_id="ami-2", security_group_ids=frozenset(), subnet_ids=frozenset())
    assert drifted_part(HAS, changed) == "AMIDrift"


def test_what_a_class_leaves_open_does_not_drift() -> None:
    """DEP-31: neither image nor groups with a launch template of the user's own."""
    assert drifted_part(HAS, replace(NOW, image_id=None, security_group_ids=None)) is None


def test_a_class_drifts_only_by_a_digest_of_the_same_kind() -> None:
    """A-50, DEP-35."""

    def claim(digest: str, version: str) -> object:
        made = a_claim()
        annotations = {labels.NODE_CLASS_HASH: digest, labels.NODE_CLASS_HASH_VERSION: version}
        return replace(made, metadata=type(made.metadata)(name="one", annotations=annotations))

    node_class = an_aws_node_class(hash_annotations={labels.NODE_CLASS_HASH: "1", labels.NODE_CLASS_HASH_VERSION: "v6"})
    assert is_of_another_class(claim("2", "v6"), node_class)
    assert not is_of_another_class(claim("1", "v6"), node_class)
    assert not is_of_another_class(claim("2", "v5"), node_class)
    assert not is_of_another_class(a_claim(), node_class)
    assert not is_of_another_class(claim("2", "v6"), an_aws_node_class())
    assert not is_of_another_class(claim("2", "v6"), None)


def test_a_node_template_drifts_by_what_machines_are_built_from() -> None:
    """DEP-32, DEP-33, DEP-35: not by its selectors, nor by what is empty."""

    def template(**spec: object) -> AwsNodeClass:
        return decode_aws_node_template(a_node_template(**spec))

    before = template(userData="one", tags={})
    claim = replace(a_claim(), metadata=ObjectMeta(name="one", annotations=dict(before.hash_annotations)))
    assert not is_of_another_class(claim, template(userData="one"))
    assert not is_of_another_class(claim, template(userData="one", subnetSelector={"other": "subnets"}))
    assert is_of_another_class(claim, template(userData="two"))
    assert is_of_another_class(claim, template(userData="one", tags={"team": "red"}))
    assert not is_of_another_class(a_claim(), before), "launched before there was a digest"
