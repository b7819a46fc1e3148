"""What users ask of the simulated cloud with kubectl."""

import asyncio
from typing import Any

import pytest

from karpenter.cloud.errors import InsufficientCapacityError, LaunchError
from karpenter.model.instance import Instance
from karpenter.runtime import kube as api
from karpenter.sim.cloud import SimulatedCloud
from karpenter.sim.cloud.requests import ANNOTATION, CONFIG_MAP, CloudRequests
from tests.sim.cloud.clouds import a_catalog, a_catalog_claim, a_cloud
from tests.sim.clusters import Cluster, node


class Asked:
    """A cluster, a cloud, and the requests between them."""

    def __init__(self) -> None:
        self.cluster = Cluster()
        self.cloud: SimulatedCloud = a_cloud(self.cluster.clock, catalog=a_catalog())  # type: ignore[arg-type]
        self.requests = self.served()

    def served(self) -> CloudRequests:
        context = self.cluster.context
        return CloudRequests(
            context.kube,
            self.cloud.market,
            nodes=context.informers.nodes,
            clock=context.clock,
            metrics=context.metrics,
        )

    def running(self) -> Any:
        return self.cluster.running(self.requests)

    async def configure(self, **data: str) -> None:
        body = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": CONFIG_MAP.name}, "data": data}
        await self.cluster.kube.create(api.CONFIG_MAPS, body, namespace=CONFIG_MAP.namespace)
        await asyncio.sleep(1)

    async def change(self, **data: str | None) -> None:
        patch = {"data": data}
        await self.cluster.kube.patch(api.CONFIG_MAPS, CONFIG_MAP.name, patch, namespace=CONFIG_MAP.namespace)
        await asyncio.sleep(1)

    async def with_node(self) -> Instance:
        instance = await self.cloud.create(a_catalog_claim())
        await self.cluster.apply(node("n1", providerID=instance.provider_id))
        return instance

    async def annotate(self, request: str) -> None:
        await self.cluster.kube.patch(api.NODES, "n1", {"metadata": {"annotations": {ANNOTATION: request}}})
        await asyncio.sleep(1)


async def test_a_shortage_lasts_as_long_as_it_is_declared() -> None:
    asked = Asked()
    async with asked.running():
        await asked.configure(shortages="* * spot")
        with pytest.raises(InsufficientCapacityError):
            await asked.cloud.create(a_catalog_claim(kinds=("spot",)))
        await asked.change(shortages=None)
        await asyncio.sleep(180)
        await asked.cloud.create(a_catalog_claim(kinds=("spot",)))


async def test_deleting_the_config_map_ends_what_it_declared_and_nothing_else() -> None:
    asked = Asked()
    asked.cloud.market.exhaust(zone="b")
    async with asked.running():
        await asked.configure(shortages="* a", stock="1 c.*")
        await asked.cluster.kube.delete(api.CONFIG_MAPS, CONFIG_MAP.name, namespace=CONFIG_MAP.namespace)
        await asyncio.sleep(1)
        with pytest.raises(InsufficientCapacityError):
            await asked.cloud.create(a_catalog_claim(zones=("b",)))
        await asked.cloud.create(a_catalog_claim(zones=("a",)))


async def test_a_declaration_that_went_while_we_were_down_is_forgotten() -> None:
    before = Asked()
    async with before.running():
        await before.configure(shortages="*")
    again = Asked()
    again.cloud = a_cloud(
        again.cluster.clock,  # type: ignore[arg-type]
        catalog=a_catalog(),
        saved=before.cloud.market.dump(),
    )
    again.requests = again.served()
    async with again.running():
        await asyncio.sleep(1)
        await again.cloud.create(a_catalog_claim())


async def test_faults_are_taken_in_once() -> None:
    asked = Asked()
    async with asked.running():
        await asked.configure(faults="create error code=Oops", shortages="m.4")
        found = await asked.cluster.kube.get(api.CONFIG_MAPS, CONFIG_MAP.name, namespace=CONFIG_MAP.namespace)
        assert found["data"] == {"shortages": "m.4"}
        with pytest.raises(LaunchError, match="Oops"):
            await asked.cloud.create(a_catalog_claim())
        await asked.cloud.create(a_catalog_claim())


async def test_what_is_not_understood_is_told_in_an_event() -> None:
    asked = Asked()
    async with asked.running():
        await asked.configure(stock="many c5.*")
        await asyncio.sleep(5)
        assert await asked.cluster.events("NotUnderstood") == [
            ("simulated-cloud", "'many c5.*': expected a number of instances first, got 'many'")
        ]


@pytest.mark.parametrize(
    "request_, kind",
    [
        ("interrupt", "SpotInterrupted"),
        ("rebalance", "SpotRebalanceRecommendation"),
        ("maintenance", "InstanceUnhealthy"),
        ("terminate", "InstanceTerminating"),
    ],
)
async def test_an_annotation_makes_the_cloud_give_notice_once(request_: str, kind: str) -> None:
    asked = Asked()
    async with asked.running():
        instance = await asked.with_node()
        await asked.annotate(request_)
        async with asyncio.timeout(1):
            notice = await anext(asked.cloud.interruptions())
        assert (notice.kind.value, notice.provider_id) == (kind, instance.provider_id)
        assert ANNOTATION not in (await asked.cluster.nodes())["n1"].metadata.annotations


async def test_an_interrupted_instance_is_gone_two_minutes_later() -> None:
    asked = Asked()
    async with asked.running():
        await asked.with_node()
        await asked.annotate("interrupt")
        await asyncio.sleep(125)
        assert asked.cloud.market.instances() == ()


@pytest.mark.parametrize(
    "request_, message",
    [("explode", "simulated-cloud/request=explode: write one of interrupt, rebalance, maintenance, terminate")],
)
async def test_a_request_that_makes_no_sense_is_taken_off_with_an_event(request_: str, message: str) -> None:
    asked = Asked()
    async with asked.running():
        await asked.with_node()
        await asked.annotate(request_)
        await asyncio.sleep(5)
        assert await asked.cluster.events("NotUnderstood") == [("n1", message)]
        assert ANNOTATION not in (await asked.cluster.nodes())["n1"].metadata.annotations


async def test_a_node_of_another_cloud_cannot_be_interrupted() -> None:
    asked = Asked()
    async with asked.running():
        await asked.cluster.apply(node("n1", providerID="gce://elsewhere"))
        await asked.annotate("interrupt")
        await asyncio.sleep(5)
        assert await asked.cluster.events("NotUnderstood") == [("n1", "there is no instance 'gce://elsewhere'")]
