"""A node class is kept until its claims are gone, and leaves nothing behind. Source: spec v1 A-2, A-3."""

import asyncio
import contextlib
from collections.abc import AsyncIterator, Sequence
from dataclasses import replace

from karpenter.app.nodeclasses import NodeClasses
from karpenter.app.nodeclasslife import NodeClassLife
from karpenter.model import labels
from karpenter.model.aws.nodeclass import AwsNodeClass
from karpenter.model.nodeclaim import NodeClaim
from karpenter.model.nodepool import NodeClassRef
from karpenter.runtime import kube
from karpenter.runtime.clock import LoopClock
from karpenter.runtime.controller import Controller
from karpenter.runtime.events import EventRecorder
from karpenter.runtime.kube import NotFound, RawObject
from karpenter.runtime.kubememory import MemoryKubeClient
from karpenter.runtime.metrics import Metrics
from tests.builders import a_claim, an_ec2_node_class

FINALIZER = "karpenter.k8s.aws/termination"
REFERENCE = NodeClassRef("karpenter.k8s.aws", "EC2NodeClass", "default")


def claim_of_class(name: str, *, conditions: Sequence[str] = ()) -> NodeClaim:
    return replace(a_claim(name, conditions=conditions), node_class_ref=REFERENCE)


class World:
    """The claims there are, and the classes that were cleaned up after."""

    def __init__(self, *claims: NodeClaim) -> None:
        self.claims = claims
        self.cleaned: list[str] = []

    async def clean_up(self, node_class: AwsNodeClass) -> None:
        self.cleaned.append(node_class.name)


@contextlib.asynccontextmanager
async def running(
    client: MemoryKubeClient, clock: LoopClock, world: World, *, ca_bundle: str = ""
) -> AsyncIterator[None]:
    metrics = Metrics(clock)
    classes = NodeClasses(client, clock=clock, metrics=metrics, ca_bundle=ca_bundle)
    recorder = EventRecorder(client, clock, metrics=metrics)
    life = NodeClassLife(client, classes, lambda: world.claims, clean_up=world.clean_up, recorder=recorder)
    controller = Controller(life, clock=clock, metrics=metrics)
    classes.on_each_change(controller.enqueue)
    tasks = [asyncio.create_task(one.run()) for one in (classes, controller, recorder)]
    await classes.wait_synced()
    yield
    for task in tasks:
        task.cancel()


async def the_class(client: MemoryKubeClient) -> RawObject | None:
    try:
        return await client.get(kube.EC2_NODE_CLASSES, "default")
    except NotFound:
        return None


async def test_a_class_gets_its_finalizer_and_digest(client: MemoryKubeClient, clock: LoopClock) -> None:
    """A-2."""
    async with running(client, clock, World()):
        await client.create(kube.EC2_NODE_CLASSES, an_ec2_node_class())
        await clock.sleep(1)
        found = await the_class(client)
    assert found is not None
    assert found["metadata"]["finalizers"] == [FINALIZER]
    assert found["metadata"]["annotations"][labels.NODE_CLASS_HASH].isdecimal()
    assert found["metadata"]["annotations"][labels.NODE_CLASS_HASH_VERSION] == "v6"


async def test_another_certificate_authority_is_another_digest(client: MemoryKubeClient, clock: LoopClock) -> None:
    """Spec v1 §1.8: rotating it is drift."""
    await client.create(kube.EC2_NODE_CLASSES, an_ec2_node_class())
    digests = set()
    for bundle in ("Q0E=", "TkVX"):
        async with running(client, clock, World(), ca_bundle=bundle):
            await clock.sleep(1)
            found = await the_class(client)
            assert found is not None
            digests.add(found["metadata"]["annotations"][labels.NODE_CLASS_HASH])
    assert len(digests) == 2


async def test_a_class_waits_for_its_claims_and_then_leaves_nothing_behind(
    client: MemoryKubeClient, clock: LoopClock
) -> None:
    """A-3."""
    world = World(claim_of_class("mine"), a_claim("other"))
    async with running(client, clock, world):
        await client.create(kube.EC2_NODE_CLASSES, an_ec2_node_class())
        await clock.sleep(1)
        await client.delete(kube.EC2_NODE_CLASSES, "default")
        await clock.sleep(60)
        assert await the_class(client) is not None
        assert world.cleaned == []
        events = (await client.list(kube.EVENTS)).items
        assert [(event["reason"], event["message"]) for event in events] == [
            ("WaitingOnNodeClaimTermination", "waits for the end of NodeClaims mine")
        ]
        world.claims = world.claims[1:]
        await clock.sleep(11)
        assert (await the_class(client), world.cleaned) == (None, ["default"])


async def test_claims_follow_a_digest_of_a_new_kind_unless_they_had_drifted(
    client: MemoryKubeClient, clock: LoopClock
) -> None:
    """A-2."""
    old = {labels.NODE_CLASS_HASH: "1", labels.NODE_CLASS_HASH_VERSION: "v5"}
    for name in ("steady", "drifted"):
        raw = {
            "apiVersion": "karpenter.sh/v1",
            "kind": "NodeClaim",
            "metadata": {"name": name, "annotations": dict(old)},
            "spec": {
                "requirements": [],
                "nodeClassRef": {"group": REFERENCE.group, "kind": REFERENCE.kind, "name": REFERENCE.name},
            },
        }
        await client.create(kube.NODE_CLAIMS, raw)
    claims = [
        claim_of_class("steady"),
        claim_of_class("drifted", conditions=["Drifted"]),
    ]
    made = an_ec2_node_class()
    made["metadata"]["annotations"] = dict(old)
    async with running(client, clock, World(*claims)):
        await client.create(kube.EC2_NODE_CLASSES, made)
        await clock.sleep(1)
        found = await the_class(client)
        assert found is not None
        digest = found["metadata"]["annotations"][labels.NODE_CLASS_HASH]
        written = {
            name: (await client.get(kube.NODE_CLAIMS, name))["metadata"]["annotations"]
            for name in ("steady", "drifted")
        }
    assert {name: one[labels.NODE_CLASS_HASH] for name, one in written.items()} == {"steady": digest, "drifted": "1"}
    assert {one[labels.NODE_CLASS_HASH_VERSION] for one in written.values()} == {"v6"}
