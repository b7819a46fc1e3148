"""Placement groups that node classes name. Source: spec v1 A-12."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from cachetools import TTLCache

from karpenter.aws.resolved import PlacementGroup
from karpenter.aws.session import AwsSession
from karpenter.model.aws.nodeclass import AwsNodeClass
from karpenter.runtime.clock import Clock

_REMEMBERED_S: Final = 86_400.0
_MOST_REMEMBERED: Final = 500
_SELECTOR: Final = "placementGroupSelector"


class PlacementGroups:
    """Finds placement groups. One that is there is remembered for a day; one that is not is looked for each time."""

    def __init__(self, aws: AwsSession, clock: Clock) -> None:
        self._aws = aws
        self._found: TTLCache[tuple[str, str], PlacementGroup] = TTLCache(_MOST_REMEMBERED, _REMEMBERED_S, clock.now)

    async def find(self, node_class: AwsNodeClass) -> PlacementGroup | None:
        """Return the group that a class names; None when it names none, or one that is not there. Raises CloudError."""
        selector = node_class.other.get(_SELECTOR)
        if not isinstance(selector, Mapping) or not selector:
            return None
        name, identity = selector.get("name"), selector.get("id")
        wanted = ("group-name", str(name)) if name else ("group-id", str(identity))
        if wanted not in self._found:
            filters = [{"Name": wanted[0], "Values": [wanted[1]]}, {"Name": "state", "Values": ["available"]}]
            answer = await self._aws.call("ec2", "DescribePlacementGroups", Filters=filters)
            if not answer["PlacementGroups"]:
                return None
            raw = answer["PlacementGroups"][0]
            partitions = raw.get("PartitionCount") or 0
            self._found[wanted] = PlacementGroup(raw["GroupId"], raw["GroupName"], raw["Strategy"], partitions)
        return self._found[wanted]


def names_group(node_class: AwsNodeClass) -> bool:
    """Return whether a class names a placement group."""
    return bool(node_class.other.get(_SELECTOR))
