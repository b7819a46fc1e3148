"""Opening a simulated AWS account, for a demo or a test."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from karpenter.model.aws.catalog import load_aws_catalog
from karpenter.runtime.clock import Clock
from karpenter.sim.ec2.backend import Backend
from karpenter.sim.ec2.desk import Desk
from karpenter.sim.ec2.server import Endpoint
from karpenter.sim.market.account import make_account
from karpenter.sim.market.market import Market, OnChange
from karpenter.sim.market.prices import Ec2Prices
from karpenter.sim.market.state import MarketSettings, MarketState, read_state

REGION: Final = "us-west-2"


@dataclass(frozen=True, slots=True)
class LocalAccount:
    """An account, and the endpoint that serves it once it is started."""

    market: Market
    backend: Backend
    desk: Desk
    endpoint: Endpoint


def open_account(
    clock: Clock,
    settings: MarketSettings,
    *,
    saved: Mapping[str, Any] | None = None,
    on_change: OnChange | None = None,
) -> LocalAccount:
    """Return an account in us-west-2; `saved` and `on_change` are those of `sim.cloud.open_cloud`.

    Raises:
        SavedMarketError: `saved` cannot be read.
    """
    catalog = load_aws_catalog()
    state = read_state(saved) if saved else MarketState(seed=settings.seed, started_at=clock.now())
    prices = Ec2Prices(catalog, REGION, seed=state.seed)
    zones = make_account(REGION, catalog.zones(REGION))
    market = Market(zones, prices, clock, settings=settings, state=state, on_change=on_change)
    backend = Backend(market, catalog, clock, seed=state.seed)
    desk = Desk(backend)
    return LocalAccount(market, backend, desk, Endpoint(desk))
