import asyncio

from karpenter.runtime import kube as api
from karpenter.sim.kinds import SERVICE_ACCOUNTS
from tests.sim.simulations import Simulation, a_simulation


async def accounts(cluster: Simulation, namespace: str) -> list[str]:
    found = await cluster.kube.list(SERVICE_ACCOUNTS, namespace=namespace)
    return [one.metadata.name for one in found.items]


async def test_a_new_namespace_gets_its_account_and_gets_it_back() -> None:
    async with a_simulation("n1") as cluster:
        await cluster.apply({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "team"}})
        await asyncio.sleep(1.0)
        assert await accounts(cluster, "team") == ["default"]
        await cluster.kube.delete(SERVICE_ACCOUNTS, "default", namespace="team")
        await asyncio.sleep(1.0)
        assert await accounts(cluster, "team") == ["default"]


async def test_a_namespace_that_is_going_gets_none_and_goes() -> None:
    async with a_simulation("n1") as cluster:
        await cluster.apply({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "team"}})
        await asyncio.sleep(1.0)
        await cluster.kube.delete(api.NAMESPACES, "team")
        await asyncio.sleep(10.0)
        assert "team" not in {one.metadata.name for one in (await cluster.kube.list(api.NAMESPACES)).items}
        assert await accounts(cluster, "team") == []
