"""Sees every change of nodes, claims and pods as the API tells it: what must hold at every moment is asked at each."""

import asyncio
import contextlib
from collections.abc import AsyncIterator, Callable
from typing import Any

from karpenter.model import labels
from karpenter.model.core import Node, Pod
from karpenter.runtime import kube as api
from karpenter.runtime.kube import RawObject
from tests.scenarios.world import World


class Sight:
    """Nodes, claims and pods as of the last change, by name, and the extremes that were reached on the way."""

    def __init__(self) -> None:
        self.nodes: dict[str, Node] = {}
        self.claims: dict[str, RawObject] = {}
        self.pods: dict[str, Pod] = {}
        self.drift_reasons: set[str] = set()
        self.most_leaving = 0
        self.most_nodes = 0
        self.fewest_ready_nodes = 10**6
        self.checks: list[Callable[[], None]] = []
        """Called after every change; they raise AssertionError."""

    def leaving(self) -> list[str]:
        return [name for name, node in self.nodes.items() if node.metadata.is_deleting]

    def ready_nodes(self) -> list[str]:
        """The nodes that pods can run on, leaving ones among them while they are there."""
        return [name for name, node in self.nodes.items() if node.metadata.labels.get(labels.INITIALIZED) == "true"]

    def looked(self) -> None:
        """Take in that something changed."""
        for claim in self.claims.values():
            for one in claim.get("status", {}).get("conditions", ()):
                if one["type"] == "Drifted" and one["status"] == "True":
                    self.drift_reasons.add(one["reason"])
        self.most_leaving = max(self.most_leaving, len(self.leaving()))
        self.most_nodes = max(self.most_nodes, len(self.nodes))
        self.fewest_ready_nodes = min(self.fewest_ready_nodes, len(self.ready_nodes()))
        for check in self.checks:
            check()


@contextlib.asynccontextmanager
async def watched(world: World) -> AsyncIterator[Sight]:
    """Watch for as long as the block runs; a check that fails ends it."""
    sight = Sight()
    kinds: list[tuple[Any, dict[str, Any]]] = [
        (api.NODES, sight.nodes),
        (api.NODE_CLAIMS, sight.claims),
        (api.PODS, sight.pods),
    ]
    async with asyncio.TaskGroup() as group:
        tasks = []
        for resource, into in kinds:
            listing = await world.kube.list(resource)
            into.update({_name(one): one for one in listing.items})
            tasks.append(group.create_task(_follow(world, resource, into, sight, version=listing.resource_version)))
        sight.looked()
        yield sight
        for task in tasks:
            task.cancel()


async def _follow(world: World, resource: Any, into: dict[str, Any], sight: Sight, *, version: str) -> None:
    async for event in world.kube.watch(resource, resource_version=version):
        if event.object is None:
            continue
        if event.type == "DELETED":
            into.pop(_name(event.object), None)
        else:
            into[_name(event.object)] = event.object
        sight.looked()


def _name(one: Any) -> str:
    return one["metadata"]["name"] if isinstance(one, dict) else one.metadata.name
