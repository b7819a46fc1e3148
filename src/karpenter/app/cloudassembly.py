"""The operator over a cloud: our controllers, those of node classes, and what the cloud does by itself."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Generic, Protocol, TypeVar, runtime_checkable

from karpenter.app.nodeclasses import NodeClasses
from karpenter.app.nodeclasslife import NodeClassLife
from karpenter.app.nodeclassstatus import NodeClassStatus
from karpenter.app.settings import Settings
from karpenter.app.wiring import Operator
from karpenter.cloud.metered import MeteredProvider
from karpenter.cloud.provider import CloudProvider
from karpenter.model.aws.classstatus import ClassReport
from karpenter.model.aws.nodeclass import AwsNodeClass
from karpenter.model.nodeclaim import NodeClaim
from karpenter.model.nodepool import NodeClassRef, NodePool
from karpenter.model.units import PoolKey
from karpenter.runtime.clock import Clock
from karpenter.runtime.controller import Controller, Reconciler, Runnable
from karpenter.runtime.kube import KubeClient
from karpenter.runtime.metrics import Metrics


@runtime_checkable
class WorksByItself(Protocol):
    """A provider with work of its own beside the calls, such as looking prices up."""

    async def run(self) -> None:
        """Work until cancelled."""
        ...


@runtime_checkable
class InspectsNodeClasses(Protocol):
    """A provider that says what the status of AWS's node classes is to be."""

    async def inspect(self, node_class: AwsNodeClass, /) -> ClassReport:
        """Return what its selectors find, and what stands against its use."""
        ...


@runtime_checkable
class CleansUpNodeClasses(Protocol):
    """A provider that makes things for AWS's node classes, and removes them."""

    async def clean_up(self, node_class: AwsNodeClass, /) -> None:
        """Delete what was made for a class, which goes. Raises CloudError."""
        ...


C = TypeVar("C", bound=CloudProvider)
FindPool = Callable[[PoolKey], NodePool | None]


class CloudAssembly(Generic[C]):
    """Our controllers, and the cloud they launch in."""

    name = "karpenter"

    def __init__(
        self,
        client: KubeClient,
        open_cloud: Callable[[NodeClasses, FindPool], C],
        *,
        clock: Clock,
        metrics: Metrics,
        settings: Settings,
    ) -> None:
        """`open_cloud` is given what finds node classes and pools as they are when it is asked."""
        self._node_classes = NodeClasses(client, clock=clock, metrics=metrics)
        self.cloud = open_cloud(self._node_classes, self._pool)
        self.operator = Operator(
            client,
            MeteredProvider(self.cloud, metrics, clock),
            clock=clock,
            settings=settings,
            metrics=metrics,
            well_known=getattr(self.cloud, "well_known", frozenset()),
            class_generation=self._node_classes.generation,
        )
        self._node_classes.on_change(self.operator.node_classes_changed)
        self._of_classes = tuple(self._class_controllers(client, clock, metrics))

    def _class_controllers(self, client: KubeClient, clock: Clock, metrics: Metrics) -> Iterator[Runnable]:
        reconcilers: list[Reconciler[NodeClassRef]] = []
        if isinstance(self.cloud, InspectsNodeClasses):
            reconcilers.append(NodeClassStatus(client, self._node_classes, self.cloud.inspect, clock=clock))
        if isinstance(self.cloud, CleansUpNodeClasses):
            recorder, clean_up = self.operator.recorder, self.cloud.clean_up
            reconcilers.append(
                NodeClassLife(client, self._node_classes, self._claims, clean_up=clean_up, recorder=recorder)
            )
        for reconciler in reconcilers:
            controller: Controller[NodeClassRef] = Controller(reconciler, clock=clock, metrics=metrics)
            self._node_classes.on_each_change(controller.enqueue)
            yield controller

    @property
    def is_ready(self) -> bool:
        """Whether the cluster has been read once."""
        return self.operator.informers.has_synced

    async def run(self) -> None:
        """Run until cancelled. Node classes come first: without them every pool would look broken."""
        async with asyncio.TaskGroup() as group:
            group.create_task(self._node_classes.run(), name="nodeclasses")
            await self._node_classes.wait_synced()
            if isinstance(self.cloud, WorksByItself):
                group.create_task(self.cloud.run(), name=f"cloud {self.cloud.name}")
            for each in self._of_classes:
                group.create_task(each.run(), name="nodeclass")
            group.create_task(self.operator.run(), name="operator")
            for companion in self._companions():
                group.create_task(companion.run(), name=type(companion).__name__)

    def _companions(self) -> Sequence[Runnable]:
        """Return what runs beside the operator."""
        return ()

    def _claims(self) -> Iterable[NodeClaim]:
        return self.operator.state.claims.values()

    def _pool(self, key: PoolKey) -> NodePool | None:
        return self.operator.state.pools.get(key)
