"""A simulated AWS on loopback, and the real SDK's clients for it."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import boto3
from botocore.config import Config

from karpenter.model.aws.catalog import AwsCatalog, load_aws_catalog
from karpenter.runtime.clock import WallClock
from karpenter.sim.ec2.backend import ACCESS_KEY, Backend
from karpenter.sim.ec2.codec.messages import Call, Caller
from karpenter.sim.ec2.desk import Desk
from karpenter.sim.ec2.server import Endpoint
from karpenter.sim.market.account import make_account
from karpenter.sim.market.market import Market
from karpenter.sim.market.prices import Ec2Prices
from karpenter.sim.market.state import MarketSettings

REGION = "us-west-2"


@dataclass(frozen=True)
class Aws:
    """A running account."""

    market: Market
    backend: Backend
    desk: Desk
    endpoint: Endpoint

    async def call(self, service: str, operation: str, **params: Any) -> Any:
        """Call an operation, by the name that boto3 gives it, without retries."""
        return await asyncio.to_thread(getattr(self.client(service), operation), **params)

    async def desk_call(self, service: str, operation: str, **params: Any) -> Any:
        """Call an operation without HTTP."""
        return await self.desk.answer(Call(service, operation, params, Caller(ACCESS_KEY, REGION)), "ec2")

    async def pages(self, service: str, operation: str, **params: Any) -> list[Any]:
        """Return all pages of an operation."""
        paginator = self.client(service).get_paginator(operation)
        return await asyncio.to_thread(lambda: list(paginator.paginate(**params)))

    def client(self, service: str, *, access_key: str = ACCESS_KEY) -> Any:
        """Return a client of the real SDK."""
        return a_session(access_key).client(
            service, endpoint_url=self.endpoint.url, config=Config(retries={"total_max_attempts": 1})
        )


@lru_cache(maxsize=4)
def a_session(access_key: str) -> boto3.session.Session:
    """Return a session of the SDK; it keeps the service models, which take long to read."""
    return boto3.session.Session(aws_access_key_id=access_key, aws_secret_access_key="any", region_name=REGION)


@contextlib.asynccontextmanager
async def an_account(
    settings: MarketSettings | None = None,
    *,
    change: Callable[[Backend], None] = lambda _: None,
    catalog: AwsCatalog | None = None,
) -> AsyncIterator[Aws]:
    """Yield an account whose endpoint listens; `change` may set it up first."""
    clock, catalog = WallClock(), catalog or load_aws_catalog()
    settings = settings or MarketSettings(speed=1000.0)
    market = Market(
        make_account(REGION, catalog.zones(REGION)),
        Ec2Prices(catalog, REGION, seed=settings.seed),
        clock,
        settings=settings,
    )
    backend = Backend(market, catalog, clock)
    change(backend)
    desk = Desk(backend)
    endpoint = Endpoint(desk)
    await endpoint.start()
    try:
        yield Aws(market, backend, desk, endpoint)
    finally:
        await endpoint.stop()
