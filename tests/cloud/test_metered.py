"""Metrics of cloud calls (spec v1 §5.3, `cloudprovider_*`)."""

import pytest

from karpenter.cloud.conformance import Harness, ProviderConformance
from karpenter.cloud.errors import CloudError, InstanceNotFoundError
from karpenter.cloud.metered import MeteredProvider
from karpenter.model.units import ProviderID
from karpenter.runtime import logs
from karpenter.runtime.clock import LoopClock
from karpenter.runtime.metrics import Metrics
from karpenter.sim.cloud import SimulatedCloud
from karpenter.sim.market.faults import Fault, FaultKind
from tests.sim.cloud.clouds import a_catalog, a_catalog_claim, a_cloud, a_harness


class TestMeteredProviderConformance(ProviderConformance):
    """A measured provider is a provider still."""

    @pytest.fixture
    async def harness(self, clock: LoopClock) -> Harness:
        cloud = a_cloud(clock, catalog=a_catalog())
        provider = MeteredProvider(cloud, Metrics(clock), clock)
        return a_harness(cloud, clock, provider=provider, claim=a_catalog_claim, orphan=None)


@pytest.fixture
async def cloud(clock: LoopClock) -> SimulatedCloud:
    return a_cloud(clock, catalog=a_catalog(), launch_s=15.0)


@pytest.fixture
async def metrics(clock: LoopClock) -> Metrics:
    return Metrics(clock)


@pytest.fixture
async def metered(cloud: SimulatedCloud, metrics: Metrics, clock: LoopClock) -> MeteredProvider:
    return MeteredProvider(cloud, metrics, clock)


def value(metrics: Metrics, name: str, **labels: str) -> float | None:
    return metrics.registry.get_sample_value(f"karpenter_cloudprovider_{name}", labels)


async def test_the_duration_of_a_call_is_measured_under_the_controller_that_made_it(
    metered: MeteredProvider, metrics: Metrics
) -> None:
    with logs.bound(controller="nodeclaim.lifecycle"):
        await metered.create(a_catalog_claim())
    asked = {"controller": "nodeclaim.lifecycle", "method": "Create", "provider": "simulated"}
    assert value(metrics, "duration_seconds_count", **asked) == 1
    assert value(metrics, "duration_seconds_sum", **asked) == pytest.approx(1.5)


@pytest.mark.parametrize("kind, shown", [(FaultKind.ERROR, "CreateError"), (FaultKind.THROTTLE, "")])
async def test_failures_are_counted_by_kind(
    cloud: SimulatedCloud, metered: MeteredProvider, metrics: Metrics, kind: FaultKind, shown: str
) -> None:
    cloud.market.inject(Fault(kind, "create"))
    with pytest.raises(CloudError):
        await metered.create(a_catalog_claim())
    asked = {"controller": "", "method": "Create", "provider": "simulated"}
    assert value(metrics, "errors_total", **asked, error=shown) == 1
    assert value(metrics, "duration_seconds_count", **asked) == 1


async def test_a_missing_machine_is_counted_under_karpenters_name(metered: MeteredProvider, metrics: Metrics) -> None:
    with pytest.raises(InstanceNotFoundError):
        await metered.get(ProviderID("aws:///us-west-2a/i-0123456789abcdef0"))
    asked = {"controller": "", "method": "Get", "provider": "simulated"}
    assert value(metrics, "errors_total", **asked, error="NodeClaimNotFoundError") == 1
