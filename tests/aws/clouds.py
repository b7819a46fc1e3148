"""An AWS provider over the simulated account, by the real SDK."""

from __future__ import annotations

import contextlib
from collections.abc import AsyncIterator
from dataclasses import dataclass, replace
from typing import Any

import pytest

from karpenter.aws.opening import open_aws
from karpenter.aws.provider import AwsCloud
from karpenter.cloud.conformance import Harness
from karpenter.model.aws.catalog import load_aws_catalog
from karpenter.model.aws.nodeclass import AwsNodeClass
from karpenter.model.aws.settings import AwsAccount, AwsSettings
from karpenter.runtime.clock import WallClock
from karpenter.sim.ec2.backend import ACCESS_KEY
from karpenter.sim.market.state import MarketSettings
from tests.awsbuilders import REGION, an_aws_node_class
from tests.sim.cloud.clouds import ORPHAN, POOL, a_small_claim
from tests.sim.ec2.endpoints import Aws, an_account

TYPES = ("m5.large", "m5.xlarge", "c5.xlarge", "c5.large", "m6g.large", "g4dn.xlarge", "m5.metal")
"""What the account sells: few types are quick to read."""
CLUSTER = "simulated"
QUEUE = "simulated"


@dataclass(frozen=True)
class Cloud:
    """A provider, and the account behind it."""

    provider: AwsCloud
    account: Aws

    def another(self, **settings: Any) -> AwsCloud:
        """Return the provider of another process."""
        return a_provider(self.account, **settings)

    def harness(self) -> Harness:
        """Return what the conformance suite needs."""
        return Harness(
            provider=self.provider,
            pool=POOL,
            claim=a_small_claim,
            wait=lambda seconds: WallClock().sleep(seconds / 50),
            sell_out=self.account.market.exhaust,
            orphan=ORPHAN,
        )


def a_provider(account: Aws, *, node_class: AwsNodeClass | None = None, **settings: Any) -> AwsCloud:
    """Return a provider of the pool and class `default`; `settings` are those of the account."""
    found = node_class or an_aws_node_class(instance_profile="nodes")
    usual = {"cluster_name": CLUSTER, "region": REGION, "endpoint_url": account.endpoint.url}
    pools = {one.key: one for one in (POOL, ORPHAN)}
    return open_aws(
        WallClock(),
        node_class=lambda reference: found if reference.name == found.name else None,
        pool=pools.get,
        settings=AwsSettings(account=AwsAccount(**{**usual, **settings})),
    )


@contextlib.asynccontextmanager
async def a_cloud(
    monkeypatch: pytest.MonkeyPatch, market: MarketSettings | None = None, **settings: Any
) -> AsyncIterator[Cloud]:
    """Yield a provider whose account begins empty."""
    for name, value in {"AWS_ACCESS_KEY_ID": ACCESS_KEY, "AWS_SECRET_ACCESS_KEY": "any"}.items():
        monkeypatch.setenv(name, value)
    every = load_aws_catalog()
    few = replace(every, records={name: every.records[name] for name in sorted(TYPES)})
    async with an_account(market or MarketSettings(speed=1000.0), catalog=few) as account:
        provider = a_provider(account, **settings)
        yield Cloud(provider, account)
        provider.session.close()
