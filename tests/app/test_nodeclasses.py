"""Node classes are found as they are now, decoded once a version, and their changes are told."""

import asyncio
import contextlib
from collections.abc import AsyncIterator

import pytest

from karpenter.app.nodeclasses import NodeClasses
from karpenter.model.errors import ManifestError
from karpenter.model.nodepool import NodeClassRef
from karpenter.runtime import kube
from karpenter.runtime.clock import LoopClock
from karpenter.runtime.kubememory import MemoryKubeClient
from karpenter.runtime.metrics import Metrics
from tests.builders import a_node_template, an_ec2_node_class

TEMPLATE = NodeClassRef("karpenter.k8s.aws", "AWSNodeTemplate", "default")
CLASS = NodeClassRef("karpenter.k8s.aws", "EC2NodeClass", "default")


@contextlib.asynccontextmanager
async def watching(client: MemoryKubeClient, clock: LoopClock) -> AsyncIterator[NodeClasses]:
    classes = NodeClasses(client, clock=clock, metrics=Metrics(clock))
    task = asyncio.create_task(classes.run())
    await classes.wait_synced()
    yield classes
    task.cancel()


async def test_both_kinds_are_found_and_others_are_not(client: MemoryKubeClient, clock: LoopClock) -> None:
    await client.create(kube.AWS_NODE_TEMPLATES, a_node_template(amiFamily="Bottlerocket"))
    await client.create(kube.EC2_NODE_CLASSES, an_ec2_node_class())
    async with watching(client, clock) as classes:
        assert classes.find(TEMPLATE).ami_family == "Bottlerocket"
        assert classes.find(CLASS).role == "KarpenterNodeRole-my-cluster"
        assert classes.find(NodeClassRef("karpenter.k8s.aws", "AWSNodeTemplate", "absent")) is None
        assert classes.find(NodeClassRef("example.com", "ToyClass", "default")) is None


async def test_an_edit_is_seen_and_told(client: MemoryKubeClient, clock: LoopClock) -> None:
    await client.create(kube.AWS_NODE_TEMPLATES, a_node_template())
    async with watching(client, clock) as classes:
        told: list[str] = []
        before = classes.find(TEMPLATE)
        classes.on_change(lambda: told.append(classes.find(TEMPLATE).ami_family))
        assert classes.find(TEMPLATE) is before
        await client.patch(kube.AWS_NODE_TEMPLATES, "default", {"spec": {"amiFamily": "Ubuntu"}})
        await clock.sleep(1)
        assert told == ["AL2", "Ubuntu"]  # those there are, then what changes


async def test_one_that_breaks_a_rule_is_not_taken_for_absent(client: MemoryKubeClient, clock: LoopClock) -> None:
    # A rule that the schema cannot state: the server takes it, the codec does not.
    disk = {"deviceName": "/dev/xvda", "ebs": {"volumeSize": "65Ti"}}
    await client.create(kube.AWS_NODE_TEMPLATES, a_node_template(blockDeviceMappings=[disk]))
    async with watching(client, clock) as classes:
        with pytest.raises(ManifestError, match="volumeSize"):
            classes.find(TEMPLATE)
