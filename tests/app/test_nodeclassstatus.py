"""An EC2NodeClass says by itself whether what it selects is there (spec v1 C-15)."""

import asyncio
import contextlib
from collections.abc import AsyncIterator

from karpenter.app.nodeclasses import NodeClasses
from karpenter.app.nodeclassstatus import NodeClassStatus
from karpenter.model.aws.classstatus import ClassReport, is_there, selects_nothing
from karpenter.model.aws.nodeclass import AwsNodeClass
from karpenter.model.meta import Condition
from karpenter.runtime import kube
from karpenter.runtime.clock import LoopClock
from karpenter.runtime.controller import Controller
from karpenter.runtime.kube import Forbidden
from karpenter.runtime.kubememory import MemoryKubeClient
from karpenter.runtime.metrics import Metrics
from tests.builders import a_node_template, an_ec2_node_class

ALL_THERE = tuple(is_there(kind) for kind in ("SubnetsReady", "SecurityGroupsReady", "AMIsReady"))
LOOK_AGAIN_S = ClassReport(()).look_again_s


class Account:
    """What the cloud says of every class."""

    def __init__(self, *conditions: Condition, **found: object) -> None:
        self.report = ClassReport(conditions or ALL_THERE, found)

    async def __call__(self, _: AwsNodeClass) -> ClassReport:
        return self.report


@contextlib.asynccontextmanager
async def running(client: MemoryKubeClient, clock: LoopClock, account: Account) -> AsyncIterator[None]:
    metrics = Metrics(clock)
    classes = NodeClasses(client, clock=clock, metrics=metrics)
    controller = Controller(NodeClassStatus(client, classes, account, clock=clock), clock=clock, metrics=metrics)
    classes.on_each_change(controller.enqueue)
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
    account = Account(selects_nothing("SubnetsReady", "default", "make one"), is_there("AMIsReady"))
    async with running(client, clock, account):
        await client.create(kube.EC2_NODE_CLASSES, an_ec2_node_class())
        await clock.sleep(1)
        found = await conditions(client)
        assert found["SubnetsReady"] == ("False", "SubnetsNotFound")
        assert (found["AMIsReady"][0], found["Ready"][0]) == ("True", "False")
        account.report = ClassReport(ALL_THERE)
        await clock.sleep(LOOK_AGAIN_S + 1)
        assert (await conditions(client))["Ready"][0] == "True"


async def test_what_selectors_found_is_shown_and_taken_away_again(client: MemoryKubeClient, clock: LoopClock) -> None:
    """Spec v1alpha5 §1.8, for both kinds."""
    account = Account(subnets=[{"id": "subnet-1", "zone": "a"}])
    async with running(client, clock, account):
        await client.create(kube.AWS_NODE_TEMPLATES, a_node_template())
        await clock.sleep(1)
        found = (await client.get(kube.AWS_NODE_TEMPLATES, "default"))["status"]
        assert found["subnets"] == [{"id": "subnet-1", "zone": "a"}]
        account.report = ClassReport(ALL_THERE, {"subnets": None})
        await clock.sleep(LOOK_AGAIN_S + 1)
        assert "subnets" not in (await client.get(kube.AWS_NODE_TEMPLATES, "default"))["status"]


async def test_a_class_that_breaks_a_rule_of_ours_says_so_itself(client: MemoryKubeClient, clock: LoopClock) -> None:
    """Spec v1 A-16, A-30: the server's schema does not know the kubelet's fields."""
    kubelet = {"evictionSoft": {"memory.available": "1Gi"}}
    async with running(client, clock, Account()):
        await client.create(kube.EC2_NODE_CLASSES, an_ec2_node_class(kubelet=kubelet))
        await clock.sleep(1)
        found = await conditions(client)
    assert found == {
        "ValidationSucceeded": ("False", "InvalidKubeletConfiguration"),
        "Ready": ("False", "UnhealthyDependents"),
    }


async def test_a_status_that_holds_is_not_written_again(client: MemoryKubeClient, clock: LoopClock) -> None:
    async with running(client, clock, Account(subnets=[{"id": "subnet-1", "zone": "a"}])):
        await client.create(kube.EC2_NODE_CLASSES, an_ec2_node_class())
        await clock.sleep(1)
        version = (await client.get(kube.EC2_NODE_CLASSES, "default"))["metadata"]["resourceVersion"]
        await clock.sleep(3 * LOOK_AGAIN_S)
        after = (await client.get(kube.EC2_NODE_CLASSES, "default"))["metadata"]["resourceVersion"]
    assert version == after


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
