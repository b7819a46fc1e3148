"""The simulated cloud passes the suite of all providers, with EC2's types and with a catalogue of one's own."""

import pytest

from karpenter.cloud.conformance import Harness, ProviderConformance
from karpenter.runtime.clock import LoopClock
from tests.sim.cloud.clouds import a_catalog, a_catalog_claim, a_cloud, a_harness


class TestEc2Conformance(ProviderConformance):
    @pytest.fixture
    async def harness(self, clock: LoopClock) -> Harness:
        return a_harness(a_cloud(clock), clock)


class TestCatalogConformance(ProviderConformance):
    @pytest.fixture
    async def harness(self, clock: LoopClock) -> Harness:
        return a_harness(a_cloud(clock, catalog=a_catalog()), clock, claim=a_catalog_claim, orphan=None)
