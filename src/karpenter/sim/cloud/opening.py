"""Opening a simulated cloud, for a demo, a simulation or a test."""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache, partial
from typing import Any, Final, TypeVar

from karpenter.cloud.registry import ProviderContext
from karpenter.cloud.unavailable import UnavailableOfferings
from karpenter.model import labels
from karpenter.model.aws.catalog import load_aws_catalog
from karpenter.model.aws.instancetypes import InstanceTypeCache
from karpenter.model.aws.nodeclass import AwsNodeClass
from karpenter.model.aws.nodeclasses import decode_node_class
from karpenter.model.aws.orders import FindNodeClass
from karpenter.model.aws.settings import DEFAULT_SETTINGS, AwsSettings
from karpenter.model.catalog import Catalog
from karpenter.model.nodepool import NodeClassRef
from karpenter.runtime.clock import Clock
from karpenter.sim.cloud.custom import CatalogSupply
from karpenter.sim.cloud.ec2 import Ec2Supply
from karpenter.sim.cloud.provider import FindPool, SimulatedCloud
from karpenter.sim.cloud.supply import Supply
from karpenter.sim.market.account import make_account
from karpenter.sim.market.market import Market, OnChange
from karpenter.sim.market.prices import CatalogPrices, Ec2Prices
from karpenter.sim.market.state import DEFAULT_MARKET, MarketSettings, MarketState, read_state

T = TypeVar("T")

REGION: Final = "us-west-2"


def open_cloud(
    clock: Clock,
    *,
    node_class: FindNodeClass,
    pool: FindPool,
    cluster_name: str = "simulated",
    settings: MarketSettings = DEFAULT_MARKET,
    aws: AwsSettings = DEFAULT_SETTINGS,
    catalog: Catalog | None = None,
    saved: Mapping[str, Any] | None = None,
    on_change: OnChange | None = None,
) -> SimulatedCloud:
    """Return a cloud that sells EC2's instance types in us-west-2, or those of a `catalog`.

    `saved` is what an earlier cloud's market gave to store (`Market.dump`, kept up to date by `on_change`): the market
    goes on where it was, with the seed it had.

    Raises:
        SavedMarketError: `saved` cannot be read.
    """
    state = read_state(saved) if saved else MarketState(seed=settings.seed, started_at=clock.now())
    facts = load_aws_catalog()
    unavailable = UnavailableOfferings(clock)
    make_market = partial(Market, settings=settings, state=state, on_change=on_change)
    if catalog is not None:
        account = make_account(_region(catalog), _zones(catalog))
        market = make_market(account, CatalogPrices(catalog), clock)
        version = f"v{facts.kubernetes}.0"
        supply: Supply = CatalogSupply(catalog, market, unavailable, kubelet_version=version)
    else:
        prices = _ec2_prices(REGION, state.seed)
        market = make_market(make_account(REGION, facts.zones(REGION)), prices, clock)
        built = _instance_types(REGION, aws)
        supply = Ec2Supply(facts, market, prices=prices, unavailable=unavailable, built=built)
    return SimulatedCloud(
        market,
        supply,
        clock,
        unavailable=unavailable,
        cluster_name=cluster_name,
        node_class=node_class,
        pool=pool,
        well_known=catalog.well_known if catalog else frozenset(),
    )


def from_context(context: ProviderContext) -> SimulatedCloud:
    """Return the cloud that `--cloud simulated` names: the factory of the entry point.

    Of the settings it reads `aws` (AwsSettings), `market` (MarketSettings) and `catalog` (Catalog).
    """

    def node_class(reference: NodeClassRef) -> AwsNodeClass | None:
        raw = context.node_class(reference)
        return None if raw is None else decode_node_class(raw)

    return open_cloud(
        context.clock,
        node_class=node_class,
        pool=context.pool,
        cluster_name=context.cluster_name,
        settings=_part(context, "market", MarketSettings) or DEFAULT_MARKET,
        aws=_part(context, "aws", AwsSettings) or DEFAULT_SETTINGS,
        catalog=_part(context, "catalog", Catalog),
    )


def _part(context: ProviderContext, name: str, kind: type[T]) -> T | None:
    value = context.settings.get(name)
    if value is not None and not isinstance(value, kind):
        raise TypeError(f"setting {name!r} of the simulated cloud: expected {kind.__name__}, got {value!r}")
    return value


# Both are functions of their arguments and of the shipped facts: a second cloud in this process gets them for nothing.


@lru_cache(maxsize=8)
def _ec2_prices(region: str, seed: int) -> Ec2Prices:
    return Ec2Prices(load_aws_catalog(), region, seed=seed)


@lru_cache(maxsize=8)
def _instance_types(region: str, settings: AwsSettings) -> InstanceTypeCache:
    return InstanceTypeCache(region, settings)


def _zones(catalog: Catalog) -> set[str]:
    return {offering.zone for found in catalog.instance_types for offering in found.offerings}


def _region(catalog: Catalog) -> str:
    """Return the one region that the catalogue's types name; `simulated` when they name none or several."""
    named = {value for found in catalog.instance_types for value in found.requirements.allowed(labels.REGION).values}
    return named.pop() if len(named) == 1 else "simulated"
