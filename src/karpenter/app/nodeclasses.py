"""The node classes of the cluster, as a cloud in this process looks them up."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from karpenter.model.aws.nodeclass import AwsNodeClass
from karpenter.model.aws.nodeclasses import decode_node_class
from karpenter.model.nodepool import NodeClassRef
from karpenter.model.units import ObjectKey
from karpenter.runtime import kube
from karpenter.runtime.clock import Clock
from karpenter.runtime.controller import run_all
from karpenter.runtime.informer import Informer
from karpenter.runtime.kube import KubeClient, RawObject, WatchEvent
from karpenter.runtime.metrics import Metrics

_KINDS: Final = (kube.AWS_NODE_TEMPLATES, kube.EC2_NODE_CLASSES)


class NodeClasses:
    """Watches AWSNodeTemplates and EC2NodeClasses and decodes them when they are asked for."""

    def __init__(self, client: KubeClient, *, clock: Clock, metrics: Metrics, ca_bundle: str = "") -> None:
        """`ca_bundle` is the cluster's certificate authority where nodes are told it, as user data has it."""
        self._ca_bundle = ca_bundle
        self._informers = {each.kind: Informer(client, each, clock=clock, metrics=metrics) for each in _KINDS}
        self._decoded: dict[tuple[str, str], tuple[RawObject, AwsNodeClass]] = {}

    def find(self, reference: NodeClassRef) -> AwsNodeClass | None:
        """Return a node class; None when it does not exist. Raises ManifestError when it is not valid."""
        raw = self.raw(reference)
        if raw is None:
            return None
        key = (reference.kind, reference.name)
        known = self._decoded.get(key)
        if known is None or known[0] is not raw:
            known = self._decoded[key] = (raw, decode_node_class(raw, ca_bundle=self._ca_bundle))
        return known[1]

    def raw(self, reference: NodeClassRef) -> RawObject | None:
        """Return a node class as the server has it; None when it does not exist."""
        informer = self._informers.get(reference.kind)
        return informer.get(ObjectKey("", reference.name)) if informer else None

    def generation(self, reference: NodeClassRef | None) -> int:
        """Return which edit of a node class this is; 0 when it does not exist."""
        raw = self.raw(reference) if reference else None
        return int(raw["metadata"].get("generation") or 0) if raw else 0

    def on_change(self, call: Callable[[], None]) -> None:
        """Call whenever a node class appears, changes or goes."""

        def changed(_: WatchEvent[RawObject]) -> None:
            call()

        for informer in self._informers.values():
            informer.subscribe(changed)

    def on_each_change(self, call: Callable[[NodeClassRef], None]) -> None:
        """Call with each node class that is there, and with each that appears, changes or goes."""

        def changed(event: WatchEvent[RawObject]) -> None:
            if event.object is not None:
                raw = event.object
                group = raw["apiVersion"].partition("/")[0]
                call(NodeClassRef(group, raw["kind"], raw["metadata"]["name"]))

        for informer in self._informers.values():
            informer.subscribe(changed)

    async def wait_synced(self) -> None:
        """Return once all node classes have been listed."""
        for informer in self._informers.values():
            await informer.wait_synced()

    async def run(self) -> None:
        """Watch until cancelled."""
        await run_all(*self._informers.values())
