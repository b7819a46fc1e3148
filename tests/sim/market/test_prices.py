"""What the market asks for: list prices, and spot prices around a base (issue: 30 to 45 % of on-demand)."""

import itertools

import pytest
from hypothesis import given
from hypothesis import strategies as st

from karpenter.cloud.unavailable import OfferingKey
from karpenter.model.aws.catalog import load_aws_catalog
from karpenter.sim.market.prices import CatalogPrices, Ec2Prices
from tests.awsbuilders import REGION
from tests.sim.cloud.clouds import a_catalog

PRICES = Ec2Prices(load_aws_catalog(), REGION, seed=0)
SEEDED = [Ec2Prices(load_aws_catalog(), REGION, seed=seed) for seed in range(10)]
TYPES = sorted(load_aws_catalog().on_demand)
SPOT = OfferingKey("m5.xlarge", "us-west-2a", "spot")


@pytest.mark.parametrize(
    "name, price", [("c6g.xlarge", 0.136), ("c5.xlarge", 0.17), ("m5.xlarge", 0.192), ("m5.large", 0.096)]
)
def test_on_demand_costs_what_the_list_says_at_any_time(name: str, price: float) -> None:
    """§3.4, static sample."""
    key = OfferingKey(name, "us-west-2b", "on-demand")
    assert PRICES.price(key, 0) == PRICES.price(key, 1000) == price


@given(st.sampled_from(TYPES), st.sampled_from("abcd"), st.integers(0, 9))
def test_spot_begins_at_30_to_45_percent_of_on_demand(name: str, letter: str, seed: int) -> None:
    price = SEEDED[seed].price(OfferingKey(name, f"us-west-2{letter}", "spot"), 0)
    if price is not None:
        on_demand = load_aws_catalog().on_demand[name]
        assert 0.3 * on_demand - 0.0001 <= price <= 0.45 * on_demand + 0.0001


@given(st.sampled_from(TYPES), st.integers(0, 10_000))
def test_spot_never_wanders_far_from_where_it_began(name: str, step: int) -> None:
    key = OfferingKey(name, "us-west-2a", "spot")
    first, later = PRICES.price(key, 0), PRICES.price(key, step)
    if first is not None:
        assert later is not None
        assert 0.6 * first - 0.0001 <= later <= 1.66 * first + 0.0001


def test_spot_wanders_hour_by_hour_and_not_in_jumps() -> None:
    walk = [PRICES.price(SPOT, step) or 0 for step in range(500)]
    assert len(set(walk)) > 100
    assert max(abs(after / before - 1) for before, after in itertools.pairwise(walk)) < 0.08


def test_zones_and_seeds_have_prices_of_their_own() -> None:
    other_zone = PRICES.price(SPOT._replace(zone="us-west-2b"), 5)
    other_seed = Ec2Prices(load_aws_catalog(), REGION, seed=1).price(SPOT, 5)
    assert len({PRICES.price(SPOT, 5), other_zone, other_seed}) == 3


def test_a_price_does_not_depend_on_what_was_asked_before() -> None:
    fresh = Ec2Prices(load_aws_catalog(), REGION, seed=0)
    expected = fresh.price(SPOT, 77)
    asked = Ec2Prices(load_aws_catalog(), REGION, seed=0)
    for step in (500, 3, 76):
        asked.price(SPOT, step)
    assert asked.price(SPOT, 77) == expected


@pytest.mark.parametrize(
    "key",
    [
        OfferingKey("m5.xlarge", "us-west-2z", "spot"),
        OfferingKey("x9.huge", "us-west-2a", "spot"),
        OfferingKey("m5.xlarge", "us-west-2a", "reserved"),
        OfferingKey("a1.large", "us-west-2b", "spot"),
    ],
)
def test_what_is_not_sold_has_no_price(key: OfferingKey) -> None:
    assert PRICES.price(key, 0) is None


def test_a_catalogue_of_ones_own_has_its_own_prices_for_ever() -> None:
    prices = CatalogPrices(a_catalog())
    assert prices.price(OfferingKey("m.4", "a", "spot"), 0) == prices.price(OfferingKey("m.4", "a", "spot"), 99) == 0.06
    assert prices.price(OfferingKey("m.4", "z", "spot"), 0) is None
