"""What a node class's status says: what its selectors find, and whether it can be used. Source: spec v1 A-1, C-15.

A class may be kept out of use by somebody else's `Ready=False`: where an admission policy refuses our status, theirs
stays, and the cloud goes by it.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable, Mapping
from typing import Final

from karpenter.app.nodeclasses import NodeClasses
from karpenter.model.aws.classstatus import ClassReport, refused, rolled_up
from karpenter.model.aws.nodeclass import AwsNodeClass
from karpenter.model.envelope import read_conditions
from karpenter.model.errors import ManifestError
from karpenter.model.meta import Condition, changed_condition, merged_conditions
from karpenter.model.nodepool import NodeClassRef
from karpenter.runtime import logs
from karpenter.runtime.clock import Clock
from karpenter.runtime.controller import DONE, Result
from karpenter.runtime.kube import (
    AWS_NODE_TEMPLATES,
    EC2_NODE_CLASSES,
    Forbidden,
    Invalid,
    KubeClient,
    NotFound,
)

log = logs.get("nodeclass.status")

_RESOURCES: Final = {each.kind: each for each in (AWS_NODE_TEMPLATES, EC2_NODE_CLASSES)}

Inspect = Callable[[AwsNodeClass], Awaitable[ClassReport]]


class NodeClassStatus:
    """Keeps the status of each node class true."""

    name = "nodeclass.status"

    def __init__(self, client: KubeClient, classes: NodeClasses, inspect: Inspect, *, clock: Clock) -> None:
        """`inspect` asks the cloud what a class means now."""
        self._client = client
        self._classes = classes
        self._inspect = inspect
        self._clock = clock

    async def reconcile(self, key: NodeClassRef) -> Result:
        """Look at one node class."""
        raw = self._classes.raw(key)
        if raw is None or raw["metadata"].get("deletionTimestamp"):
            return DONE
        before = read_conditions(raw.get("status") or {})
        try:
            found = self._classes.find(key)
        except ManifestError as error:
            await self._write(key, self._changes(refused(error), before))
            return DONE
        if found is None:
            return DONE
        report = await self._inspect(found)
        status = raw.get("status") or {}
        fields = {name: value for name, value in report.found.items() if status.get(name) != value}
        await self._write(key, {**fields, **self._changes(rolled_up(report.conditions, before), before)})
        self._tell(key, before, report)
        return Result(report.look_again_s)

    def _changes(self, wanted: Iterable[Condition], before: Iterable[Condition]) -> dict[str, object]:
        now = self._clock.now()
        changed = [new for one in wanted if (new := changed_condition(before, one, now)) is not None]
        return {"conditions": merged_conditions(before, changed)} if changed else {}

    async def _write(self, key: NodeClassRef, status: Mapping[str, object]) -> None:
        if not status:
            return
        try:
            await self._client.patch(_RESOURCES[key.kind], key.name, {"status": status}, subresource="status")
        except NotFound:
            return
        except (Forbidden, Invalid) as error:
            log.warning("status of a node class refused", kind=key.kind, name=key.name, error=error)

    def _tell(self, key: NodeClassRef, before: Iterable[Condition], report: ClassReport) -> None:
        """Log what went wrong since; what is wrong still is in the status."""
        known = {(one.type, one.message) for one in before}
        for one in report.conditions:
            if one.status != "True" and (one.type, one.message) not in known:
                log.warning("node class is not ready", kind=key.kind, name=key.name, reason=one.reason, why=one.message)
