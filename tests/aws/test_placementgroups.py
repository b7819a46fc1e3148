"""Placement groups by name or id, over the real SDK. Source: spec v1 A-12."""

from typing import Any

import pytest

from karpenter.aws.placementgroups import PlacementGroups
from karpenter.aws.resolved import PlacementGroup
from karpenter.aws.session import AwsSession
from tests.aws.canned import CannedEc2
from tests.aws.clocks import HandClock
from tests.awsbuilders import an_aws_node_class

pytestmark = pytest.mark.real_time

FOUND = (
    "<placementGroupSet><item><groupId>pg-1</groupId><groupName>mine</groupName><strategy>partition</strategy>"
    "<partitionCount>3</partitionCount></item></placementGroupSet>"
)


def naming(**selector: str) -> Any:
    return an_aws_node_class(other={"placementGroupSelector": selector})


@pytest.fixture
def groups(canned_aws: AwsSession, hand_clock: HandClock) -> PlacementGroups:
    return PlacementGroups(canned_aws, hand_clock)


@pytest.mark.parametrize(
    "selector, name, value", [({"name": "mine"}, "group-name", "mine"), ({"id": "pg-1"}, "group-id", "pg-1")]
)
async def test_a_group_is_found_by_name_or_id_and_remembered(
    ec2: CannedEc2, groups: PlacementGroups, selector: dict[str, str], name: str, value: str
) -> None:
    ec2.answers = {"DescribePlacementGroups": FOUND}
    expected = PlacementGroup("pg-1", "mine", "partition", 3)
    assert await groups.find(naming(**selector)) == await groups.find(naming(**selector)) == expected
    assert [(one["Filter.1.Name"], one["Filter.1.Value.1"]) for one in ec2.asked] == [(name, value)]


async def test_a_group_that_is_not_there_is_looked_for_each_time(ec2: CannedEc2, groups: PlacementGroups) -> None:
    ec2.answers = {"DescribePlacementGroups": "<placementGroupSet/>"}
    assert await groups.find(naming(name="mine")) is None
    ec2.answers = {"DescribePlacementGroups": FOUND}
    assert await groups.find(naming(name="mine")) is not None


async def test_a_class_that_names_none_asks_for_none(ec2: CannedEc2, groups: PlacementGroups) -> None:
    assert await groups.find(an_aws_node_class()) is None
    assert ec2.asked == []
