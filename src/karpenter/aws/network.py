"""Subnets and security groups: what selectors find, and which subnet a launch takes.

Source: spec v1 A-4, A-5, A-37; spec v1alpha5 AWS-45, AWS-60.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final

from cachetools import TTLCache

from karpenter.aws.resolved import SecurityGroup, Subnet
from karpenter.aws.session import AwsSession, collect
from karpenter.model.aws.nodeclass import ANY, SelectorTerm
from karpenter.runtime.clock import Clock

_REMEMBERED_S: Final = 60.0
_MOST_REMEMBERED: Final = 500

Filters = list[dict[str, Any]]


class Network:
    """What a node class's selectors find. Answers are remembered for a minute, whatever class asks."""

    def __init__(self, aws: AwsSession, clock: Clock) -> None:
        self._aws = aws
        self._subnets: TTLCache[object, tuple[Subnet, ...]] = TTLCache(_MOST_REMEMBERED, _REMEMBERED_S, clock.now)
        self._groups: TTLCache[object, tuple[SecurityGroup, ...]] = TTLCache(_MOST_REMEMBERED, _REMEMBERED_S, clock.now)

    async def subnets(self, terms: Sequence[SelectorTerm]) -> tuple[Subnet, ...]:
        """Return the subnets that any term selects: most free addresses first, then by id (A-4). Raises CloudError."""
        key = terms_key(terms)
        known = self._subnets.get(key)
        if known is None:
            found = await self._find("DescribeSubnets", "Subnets", requests(terms, "subnet-id"))
            by_id = {raw["SubnetId"]: _subnet(raw) for raw in found}
            known = tuple(sorted(by_id.values(), key=lambda subnet: (-subnet.free_addresses, subnet.id)))
            self._subnets[key] = known
        return known

    async def security_groups(self, terms: Sequence[SelectorTerm]) -> tuple[SecurityGroup, ...]:
        """Return the security groups that any term selects, by id (A-5). Raises CloudError."""
        key = terms_key(terms)
        known = self._groups.get(key)
        if known is None:
            found = await self._find("DescribeSecurityGroups", "SecurityGroups", requests(terms, "group-id"))
            by_id = {raw["GroupId"]: SecurityGroup(raw["GroupId"], raw.get("GroupName", "")) for raw in found}
            known = tuple(by_id[group] for group in sorted(by_id))
            self._groups[key] = known
        return known

    async def _find(self, operation: str, key: str, asked: Iterable[Filters]) -> list[Any]:
        answers = [collect(self._aws, ("ec2", operation), key, Filters=filters) for filters in asked]
        return [raw for answer in await asyncio.gather(*answers) for raw in answer]


def _subnet(raw: Mapping[str, Any]) -> Subnet:
    return Subnet(
        id=raw["SubnetId"],
        zone=raw["AvailabilityZone"],
        zone_id=raw.get("AvailabilityZoneId", ""),
        free_addresses=raw.get("AvailableIpAddressCount", 0),
        gives_public_ip=raw.get("MapPublicIpOnLaunch", False),
    )


def terms_key(terms: Sequence[SelectorTerm]) -> object:
    """Return a hashable stand-in of terms."""
    return tuple((*sorted(term.tags.items()), term.id, term.name, term.owner, term.ssm_parameter) for term in terms)


def requests(terms: Sequence[SelectorTerm], id_filter: str) -> list[Filters]:
    """Return the filters of each call that finds what terms select: one a term, but one for all ids together."""
    ids = [term.id for term in terms if term.id]
    asked: list[Filters] = [[{"Name": id_filter, "Values": ids}]] if ids else []
    return [*asked, *(_filters(term) for term in terms if not term.id)]


def _filters(term: SelectorTerm) -> Filters:
    by_name: Filters = [{"Name": "group-name", "Values": [term.name]}] if term.name else []
    return [*by_name, *tag_filters(term.tags)]


def tag_filters(tags: Mapping[str, str]) -> Filters:
    """Return the filters for tags: `*` asks only that the key is there (AWS-60)."""
    return [
        {"Name": "tag-key", "Values": [key]} if value == ANY else {"Name": f"tag:{key}", "Values": [value]}
        for key, value in tags.items()
    ]


class FreeAddresses:
    """How many addresses subnets have left, launches that EC2 does not show yet being taken off (A-37, AWS-45)."""

    def __init__(self) -> None:
        self._seen: dict[str, int] = {}
        self._taken: dict[str, int] = {}

    def choose(self, subnets: Iterable[Subnet]) -> dict[str, Subnet]:
        """Return the subnet of each zone with the most addresses left; ties go to the lower id."""
        chosen: dict[str, Subnet] = {}
        for subnet in subnets:
            present = chosen.get(subnet.zone)
            if present is None or self._rank(subnet) < self._rank(present):
                chosen[subnet.zone] = subnet
        return chosen

    def _rank(self, subnet: Subnet) -> tuple[int, str]:
        return -self.left(subnet), subnet.id

    def left(self, subnet: Subnet) -> int:
        """Return how many addresses a subnet is believed to have left; a new count of EC2's starts afresh."""
        if self._seen.get(subnet.id) != subnet.free_addresses:
            self._seen[subnet.id] = subnet.free_addresses
            self._taken.pop(subnet.id, None)
        return subnet.free_addresses - self._taken.get(subnet.id, 0)

    def take(self, subnet_id: str, addresses: int) -> None:
        """Note that a launch takes addresses of a subnet; negative when it did not after all."""
        self._taken[subnet_id] = self._taken.get(subnet_id, 0) + addresses
