"""The simulated account: subnets and security groups, and how a node class's selectors find them.

For people's manifests to work as they are, a `karpenter.sh/discovery` tag of any value is on everything, and so is
`kubernetes.io/cluster/<any>`. Everything else is in the tables of `docs/simulated-cloud.md`. Source: AWS-60.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from ipaddress import IPv4Network
from typing import Final

from karpenter.model.aws.nodeclass import ANY, SelectorTerm
from karpenter.sim.market.dice import hex_digits

_DISCOVERY: Final = "karpenter.sh/discovery"
_CLUSTER: Final = "kubernetes.io/cluster/"
_PRIVATE_BITS: Final = 19
_PUBLIC_BITS: Final = 24
_VPC: Final = IPv4Network("10.0.0.0/16")
_RESERVED_ADDRESSES: Final = 5
"""Addresses of a subnet that the cloud keeps: the first four and the last."""
_IDS: Final = 20231130
"""Seed of the ids: the same in every simulation, so that manifests may name them."""


@dataclass(frozen=True, slots=True)
class Subnet:
    """A range of addresses in one zone."""

    id: str
    zone: str
    network: IPv4Network
    tags: Mapping[str, str] = field(default_factory=dict)

    @property
    def size(self) -> int:
        """How many instances have an address in it."""
        return self.network.num_addresses - _RESERVED_ADDRESSES

    def address(self, index: int) -> str:
        """Return the address at an index below `size`."""
        return str(self.network[index + _RESERVED_ADDRESSES - 1])


@dataclass(frozen=True, slots=True)
class SecurityGroup:
    """A named set of firewall rules."""

    id: str
    name: str
    tags: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Account:
    """What there is before any instance runs."""

    region: str
    subnets: tuple[Subnet, ...]
    security_groups: tuple[SecurityGroup, ...]

    @property
    def zones(self) -> tuple[str, ...]:
        """Names of the zones that have subnets, sorted."""
        return tuple(sorted({subnet.zone for subnet in self.subnets}))

    def subnet(self, subnet_id: str) -> Subnet:
        """Return one subnet. Raises KeyError."""
        for subnet in self.subnets:
            if subnet.id == subnet_id:
                return subnet
        raise KeyError(subnet_id)

    def select_subnets(self, terms: Sequence[SelectorTerm]) -> tuple[Subnet, ...]:
        """Return the subnets that any of the terms selects, in the account's order."""
        return tuple(subnet for subnet in self.subnets if any(_selects(term, subnet.id, subnet.tags) for term in terms))

    def select_security_groups(self, terms: Sequence[SelectorTerm]) -> tuple[SecurityGroup, ...]:
        """Return the security groups that any of the terms selects, in the account's order."""
        return tuple(
            group
            for group in self.security_groups
            if any(_selects(term, group.id, group.tags, name=group.name) for term in terms)
        )


def make_account(region: str, zones: Iterable[str]) -> Account:
    """Return an account with one private (/19) and one public (/24) subnet per zone, seven zones at most.

    Beyond seven zones private subnets are as small as the public ones.
    """
    names = sorted(zones)
    large = list(_VPC.subnets(new_prefix=_PRIVATE_BITS))
    small = iter(list(large[-1].subnets(new_prefix=_PUBLIC_BITS)) + list(IPv4Network("10.1.0.0/16").subnets(8)))
    roomy = len(names) < len(large)
    subnets = []
    for index, zone in enumerate(names):
        subnets.append(_subnet(zone, "private", large[index] if roomy else next(small)))
        subnets.append(_subnet(zone, "public", next(small)))
    groups = (
        _security_group("eks-cluster-sg", {"aws:eks:cluster-name": "simulated"}),
        _security_group("node-shared", {"role": "node"}),
    )
    return Account(region, tuple(subnets), groups)


def is_discoverable(key: str) -> bool:
    """Return whether a tag of this key is on everything in the account, whatever its value."""
    return key == _DISCOVERY or key.startswith(_CLUSTER)


def has_tags(wanted: Mapping[str, str], tags: Mapping[str, str]) -> bool:
    """Return whether something with these tags has all the wanted ones; `*` wants any value."""
    return all(is_discoverable(key) or (key in tags and value in {ANY, tags[key]}) for key, value in wanted.items())


def _selects(term: SelectorTerm, identity: str, tags: Mapping[str, str], *, name: str = "") -> bool:
    if term.id:
        return term.id == identity
    if term.name and term.name != name:
        return False
    return has_tags(term.tags, tags)


def _subnet(zone: str, kind: str, network: IPv4Network) -> Subnet:
    role = "internal-elb" if kind == "private" else "elb"
    tags = {"Name": f"simulated-{kind}-{zone}", "tier": kind, f"kubernetes.io/role/{role}": "1"}
    return Subnet(f"subnet-0{hex_digits(_IDS, 'subnet', zone, kind, digits=16)}", zone, network, tags)


def _security_group(name: str, tags: Mapping[str, str]) -> SecurityGroup:
    identity = f"sg-0{hex_digits(_IDS, 'security group', name, digits=16)}"
    return SecurityGroup(identity, name, {"Name": name, **tags})
