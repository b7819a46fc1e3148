"""Zones, subnets and security groups."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from karpenter.model.aws.tags import tag_list
from karpenter.sim.ec2.backend import ACCOUNT_ID, Backend, Handler, Params, Result
from karpenter.sim.ec2.filters import Facts, by_ids, no_tags, page, select
from karpenter.sim.market.account import SecurityGroup, Subnet

VPC_ID: Final = "vpc-0a1b2c3d4e5f60718"
_DISCOVERY: Final = "karpenter.sh/discovery"


class Network:
    """What lies in the account's one VPC."""

    def __init__(self, backend: Backend) -> None:
        self._backend = backend
        account = backend.market.account
        self._subnets = {subnet.id: subnet for subnet in account.subnets}
        self._groups = {group.id: group for group in account.security_groups}
        self._zone_ids = {f"{backend.region}{letter}": one for letter, one in _letters(backend).items()}

    def operations(self) -> Mapping[str, Handler]:
        """Return what it answers."""
        return {
            "ec2:DescribeAvailabilityZones": self._describe_zones,
            "ec2:DescribeSubnets": self._describe_subnets,
            "ec2:DescribeSecurityGroups": self._describe_groups,
            "ec2:DeleteSubnet": self._delete_subnet,
        }

    def zone_id(self, zone: str) -> str:
        """Return the id of a zone, such as `usw2-az1`."""
        return self._zone_ids[zone]

    def subnet(self, subnet_id: str) -> Subnet:
        """Return a subnet. Raises AwsError."""
        return by_ids(self._subnets, [subnet_id], code="InvalidSubnetID.NotFound", what="subnet")[0]

    def check_groups(self, ids: list[str]) -> None:
        """Raise AwsError unless all the security groups exist."""
        by_ids(self._groups, ids, code="InvalidGroup.NotFound", what="security group")

    def _describe_zones(self, params: Params) -> Result:
        region = self._backend.region
        zones = [
            {
                "ZoneName": zone,
                "ZoneId": identity,
                "RegionName": region,
                "State": "available",
                "OptInStatus": "opt-in-not-required",
                "ZoneType": "availability-zone",
                "GroupName": region,
            }
            for zone, identity in self._zone_ids.items()
        ]
        wanted = [(params.get("ZoneNames"), "ZoneName"), (params.get("ZoneIds"), "ZoneId")]
        kept = [zone for zone in zones if all(not names or zone[key] in names for names, key in wanted)]
        chosen = select(kept, params, _zone_facts, tags=no_tags)
        return {"AvailabilityZones": chosen}

    def _describe_subnets(self, params: Params) -> Result:
        found = by_ids(self._subnets, params.get("SubnetIds"), code="InvalidSubnetID.NotFound", what="subnet")
        chosen = select(found, params, self._subnet_facts, tags=lambda subnet: subnet.tags)
        shown, more = page(chosen, params, key="subnets")
        return {"Subnets": [self._subnet(subnet) for subnet in shown], **more}

    def _subnet(self, subnet: Subnet) -> Result:
        return {
            "SubnetId": subnet.id,
            "SubnetArn": self._backend.arn("ec2", f"subnet/{subnet.id}"),
            "VpcId": VPC_ID,
            "OwnerId": ACCOUNT_ID,
            "State": "available",
            "AvailabilityZone": subnet.zone,
            "AvailabilityZoneId": self._zone_ids.get(subnet.zone, subnet.zone),
            "CidrBlock": str(subnet.network),
            "AvailableIpAddressCount": self._backend.market.free_addresses(subnet.id),
            "MapPublicIpOnLaunch": subnet.tags["tier"] == "public",
            "DefaultForAz": False,
            "Tags": self._tags(subnet.tags),
        }

    def _subnet_facts(self, subnet: Subnet) -> Facts:
        return {
            "subnet-id": (subnet.id,),
            "availability-zone": (subnet.zone,),
            "availability-zone-id": (self._zone_ids.get(subnet.zone, subnet.zone),),
            "vpc-id": (VPC_ID,),
            "owner-id": (ACCOUNT_ID,),
            "cidr-block": (str(subnet.network),),
            "state": ("available",),
        }

    def _describe_groups(self, params: Params) -> Result:
        found = by_ids(self._groups, params.get("GroupIds"), code="InvalidGroup.NotFound", what="security group")
        names = params.get("GroupNames")
        found = [group for group in found if not names or group.name in names]
        chosen = select(found, params, _group_facts, tags=lambda group: group.tags)
        shown, more = page(chosen, params, key="groups")
        return {"SecurityGroups": [self._group(group) for group in shown], **more}

    def _group(self, group: SecurityGroup) -> Result:
        return {
            "GroupId": group.id,
            "GroupName": group.name,
            "Description": f"{group.name} (simulated)",
            "VpcId": VPC_ID,
            "OwnerId": ACCOUNT_ID,
            "Tags": self._tags(group.tags),
        }

    def _delete_subnet(self, params: Params) -> Result:
        del self._subnets[self.subnet(params["SubnetId"]).id]
        return {}

    def _tags(self, tags: Mapping[str, str]) -> list[dict[str, str]]:
        return tag_list({**tags, _DISCOVERY: self._backend.cluster.name})


def _letters(backend: Backend) -> Mapping[str, str]:
    zones = set(backend.market.account.zones)
    known = backend.catalog.regions.get(backend.region, {})
    return {letter: identity for letter, identity in sorted(known.items()) if f"{backend.region}{letter}" in zones}


def _zone_facts(zone: Mapping[str, str]) -> Facts:
    return {
        "zone-name": (zone["ZoneName"],),
        "zone-id": (zone["ZoneId"],),
        "zone-type": (zone["ZoneType"],),
        "region-name": (zone["RegionName"],),
        "state": (zone["State"],),
        "opt-in-status": (zone["OptInStatus"],),
    }


def _group_facts(group: SecurityGroup) -> Facts:
    return {
        "group-id": (group.id,),
        "group-name": (group.name,),
        "vpc-id": (VPC_ID,),
        "owner-id": (ACCOUNT_ID,),
    }
