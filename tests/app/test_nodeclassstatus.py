"""An EC2NodeClass says by itself whether what it selects is there (spec v1 C-15)."""

import asyncio
import contextlib
from collections.abc import AsyncIterator, Mapping

from karpenter.app.nodeclasses import NodeClasses
from karpenter.app.nodeclassstatus import LOOK_AGAIN_S, NodeClassStatus
from karpenter.model.aws.nodeclass import AwsNodeClass
from karpenter.runtime import kube
from karpenter.runtime.clock import LoopClock
from karpenter.runtime.controller import Controller
from karpenter.runtime.kube import Forbidden
from karpenter.runtime.kubememory import MemoryKubeClient
from karpenter.runtime.metrics import Metrics
from tests.builders import an_ec2_node_class


class Account:
    """What the cloud says is missing."""

    def __init__(self) -> None:
        self.missing: Mapping[str, str] = {}

    def __call__(self, _: AwsNodeClass) -> Mapping[str, str]:
        return self.missing


@contextlib.asynccontextmanager
async def running(client: MemoryKubeClient, clock: LoopClock, account: Account) -> AsyncIterator[None]:
    metrics = Metrics(clock)
    classes = NodeClasses(client, clock=clock, metrics=metrics)
    controller = Controller(NodeClassStatus(client, classes.find, account, clock=clock), clock=clock, metrics=metrics)
    classes.on_ec2_change(controller.enqueue)
    tasks = [asyncio.create_task(classes.run()), asyncio.create_task(controller.run())]
    await classes.wait_synced()
    yield
    for task in tasks:
        task.cancel()


async def conditions(client: MemoryKubeClient) -> dict[str, tuple[str, str]]:
    found = await client.get(kube.EC2_NODE_CLASSES, "default")
    return {one["type"]: (one["status"], one["reason"]) for one in found.get("status", {}).get("conditions", ())}


async def test_a_class_whose_selectors_find_something_is_ready(client: MemoryKubeClient, clock: LoopClock) -> None:
    async with running(client, clock, Account()):
        await client.create(kube.EC2_NODE_CLASSES, an_ec2_node_class())
        await clock.sleep(1)
        found = await conditions(client)
    assert set(found) == {"SubnetsReady", "SecurityGroupsReady", "AMIsReady", "ValidationSucceeded", "Ready"}
    assert {status for status, _ in found.values()} == {"True"}


async def test_what_is_not_there_is_named_and_looked_for_again(client: MemoryKubeClient, clock: LoopClock) -> None:
    account = Account()
    account.missing = {"SubnetsReady": "selects no subnets"}
    async with running(client, clock, account):
        await client.create(kube.EC2_NODE_CLASSES, an_ec2_node_class())
        await clock.sleep(1)
        found = await conditions(client)
        assert found["SubnetsReady"] == ("False", "SubnetsNotFound")
        assert (found["AMIsReady"][0], found["Ready"][0]) == ("True", "False")
        account.missing = {}
        await clock.sleep(LOOK_AGAIN_S + 1)
        assert (await conditions(client))["Ready"][0] == "True"


async def test_a_policy_that_refuses_our_status_is_lived_with(client: MemoryKubeClient, clock: LoopClock) -> None:
    refused: list[str] = []

    class Refusing(MemoryKubeClient):
        async def patch(self, resource, name, patch, **options):
            refused.append(name)
            raise Forbidden("denied by policy")

    async with running(Refusing(client.store), clock, Account()):
        await client.create(kube.EC2_NODE_CLASSES, an_ec2_node_class())
        await clock.sleep(2 * LOOK_AGAIN_S + 1)
        assert await conditions(client) == {}
        assert refused == ["default"] * 3
