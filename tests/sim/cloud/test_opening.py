"""Opening the simulated cloud through the registry, as `--cloud simulated` does."""

from typing import Any

import pytest

from karpenter.cloud.registry import ProviderContext, provider_factory, provider_names
from karpenter.model.aws.settings import AwsSettings
from karpenter.model.nodepool import NodeClassRef
from karpenter.runtime.clock import LoopClock
from karpenter.sim.cloud import SimulatedCloud
from karpenter.sim.market.state import MarketSettings
from tests.builders import a_node_template
from tests.sim.cloud.clouds import POOL, a_catalog, a_small_claim


def opened(clock: LoopClock, **settings: Any) -> SimulatedCloud:
    def node_class(reference: NodeClassRef) -> dict[str, Any] | None:
        return a_node_template() if reference.name == "default" else None

    cloud = provider_factory("simulated")(
        ProviderContext(
            kube=None,  # type: ignore[arg-type] - this provider only looks up what the context offers
            clock=clock,
            cluster_name="my-cluster",
            node_class=node_class,
            pool={POOL.key: POOL}.get,
            settings=settings,
        )
    )
    assert isinstance(cloud, SimulatedCloud)
    return cloud


def test_the_simulated_cloud_is_an_installed_provider() -> None:
    assert "simulated" in provider_names()


async def test_it_decodes_node_classes_and_serves_its_cluster(clock: LoopClock) -> None:
    cloud = opened(clock)
    await cloud.create(a_small_claim())
    assert cloud.market.instances()[0].tags["karpenter.sh/managed-by"] == "my-cluster"


async def test_it_reads_the_settings_it_knows(clock: LoopClock) -> None:
    cloud = opened(clock, market=MarketSettings(seed=3, speed=2.0), aws=AwsSettings(eni_limited_pod_density=False))
    assert cloud.market.settings.speed == 2.0
    types = {found.name: found for found in await cloud.instance_types(POOL)}
    assert types["m5.large"].allocatable["pods"] == 110


async def test_it_sells_a_catalogue_of_ones_own(clock: LoopClock) -> None:
    types = await opened(clock, catalog=a_catalog()).instance_types(POOL)
    assert [found.name for found in types] == ["c.2", "m.2", "m.4"]


async def test_a_setting_of_another_kind_is_refused(clock: LoopClock) -> None:
    with pytest.raises(TypeError, match="setting 'market' of the simulated cloud: expected MarketSettings, got 3"):
        opened(clock, market=3)
