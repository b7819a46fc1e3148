"""Nimbus does what every provider must: the suite that the built-in ones pass."""

import asyncio

import pytest
from karpenter_nimbus import SIZES, ZONES, Nimbus, NimbusProvider

from karpenter.cloud.conformance import Harness, ProviderConformance
from karpenter.cloud.unavailable import OfferingKey
from karpenter.model import labels
from karpenter.model.meta import ObjectMeta
from karpenter.model.nodeclaim import NodeClaim
from karpenter.model.resources import parse_resources
from karpenter.model.units import UnixSeconds
from karpenter.model.v1.nodepool import decode_nodepool

POOL, _ = decode_nodepool(
    {
        "apiVersion": "karpenter.sh/v1",
        "kind": "NodePool",
        "metadata": {"name": "default"},
        "spec": {
            "template": {
                "spec": {
                    "requirements": [],
                    "nodeClassRef": {"group": "nimbus.example.com", "kind": "NimbusNodeClass", "name": "any"},
                }
            }
        },
    }
)


class HandClock:
    """Time that passes when it is told to."""

    def __init__(self) -> None:
        self._now = 1_700_000_000.0

    def now(self) -> UnixSeconds:
        return UnixSeconds(self._now)

    async def sleep(self, seconds: float) -> None:
        self._now += seconds
        await asyncio.sleep(0)


def a_claim(name: str) -> NodeClaim:
    return NodeClaim(ObjectMeta(name=name, uid=f"uid-{name}"), pool=POOL.key, requests=parse_resources({"cpu": "1"}))


class TestNimbus(ProviderConformance):
    @pytest.fixture
    def harness(self) -> Harness:
        clock = HandClock()
        api = Nimbus(clock)
        every = {OfferingKey(name, zone, labels.ON_DEMAND) for name in SIZES for zone in ZONES}
        return Harness(
            provider=NimbusProvider(api, clock, "mine"),
            pool=POOL,
            claim=a_claim,
            wait=clock.sleep,
            sell_out=lambda: api.sold_out.update(every),
        )
