"""Subnets and security groups of the simulated account, and how selectors find them (spec v1alpha5 AWS-60)."""

import itertools

import pytest

from karpenter.sim.market.account import make_account
from tests.awsbuilders import terms

ZONES = ("us-west-2a", "us-west-2b", "us-west-2c", "us-west-2d")
ACCOUNT = make_account("us-west-2", ZONES)


def test_each_zone_has_a_private_and_a_public_subnet() -> None:
    assert ACCOUNT.zones == ZONES
    assert [(s.zone[-1], s.tags["tier"], str(s.network), s.size) for s in ACCOUNT.subnets[:4]] == [
        ("a", "private", "10.0.0.0/19", 8187),
        ("a", "public", "10.0.224.0/24", 251),
        ("b", "private", "10.0.32.0/19", 8187),
        ("b", "public", "10.0.225.0/24", 251),
    ]


def test_addresses_are_those_that_a_cloud_gives_out() -> None:
    subnet = ACCOUNT.subnets[0]
    assert (subnet.address(0), subnet.address(subnet.size - 1)) == ("10.0.0.4", "10.0.31.254")


@pytest.mark.parametrize("value", ["my-cluster", "anything", "*"])
def test_any_discovery_tag_selects_everything(value: str) -> None:
    wanted = terms({"tags": {"karpenter.sh/discovery": value}})
    assert ACCOUNT.select_subnets(wanted) == ACCOUNT.subnets
    assert ACCOUNT.select_security_groups(wanted) == ACCOUNT.security_groups


def test_any_cluster_tag_selects_everything() -> None:
    assert ACCOUNT.select_subnets(terms({"tags": {"kubernetes.io/cluster/mine": "owned"}})) == ACCOUNT.subnets


def test_other_tags_select_by_value_or_by_being_there() -> None:
    private = ACCOUNT.select_subnets(terms({"tags": {"tier": "private"}}))
    assert [subnet.tags["Name"] for subnet in private] == [f"simulated-private-{zone}" for zone in ZONES]
    assert ACCOUNT.select_subnets(terms({"tags": {"kubernetes.io/role/internal-elb": "*"}})) == private
    assert ACCOUNT.select_subnets(terms({"tags": {"tier": "private", "team": "web"}})) == ()


def test_terms_are_alternatives() -> None:
    both = terms({"tags": {"Name": "simulated-public-us-west-2a"}}, {"id": ACCOUNT.subnets[2].id})
    assert ACCOUNT.select_subnets(both) == (ACCOUNT.subnets[1], ACCOUNT.subnets[2])


def test_security_groups_are_found_by_id_and_name() -> None:
    first, second = ACCOUNT.security_groups
    assert ACCOUNT.select_security_groups(terms({"id": first.id})) == (first,)
    assert ACCOUNT.select_security_groups(terms({"name": "node-shared"})) == (second,)


def test_no_terms_select_nothing() -> None:
    assert ACCOUNT.select_subnets(()) == ()


def test_ids_are_the_same_in_every_simulation() -> None:
    assert [subnet.id for subnet in make_account("us-west-2", ZONES).subnets] == [s.id for s in ACCOUNT.subnets]


def test_many_zones_get_subnets_that_do_not_overlap() -> None:
    subnets = make_account("far", [f"zone-{number}" for number in range(40)]).subnets
    addresses = sorted((subnet.network.network_address, subnet.network.broadcast_address) for subnet in subnets)
    assert len({subnet.id for subnet in subnets}) == len(subnets) == 80
    assert all(end < start for (_, end), (start, _) in itertools.pairwise(addresses))
