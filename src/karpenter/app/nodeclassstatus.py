"""What an EC2NodeClass's status says: whether its selectors find anything. Source: spec v1 §1.3, C-15.

A class may be kept out of use by somebody else's `Ready=False`: where an admission policy refuses our status, theirs
stays, and the cloud goes by it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Final

from karpenter.model.aws.nodeclass import AwsNodeClass
from karpenter.model.errors import ManifestError
from karpenter.model.meta import Condition, changed_condition, merged_conditions
from karpenter.model.nodepool import NodeClassRef
from karpenter.runtime import logs
from karpenter.runtime.clock import Clock
from karpenter.runtime.controller import DONE, Result
from karpenter.runtime.kube import EC2_NODE_CLASSES, Forbidden, Invalid, KubeClient, NotFound

log = logs.get("nodeclass.status")

LOOK_AGAIN_S: Final = 60.0
"""The account changes without telling anybody."""
_REASONS: Final = {
    "SubnetsReady": "SubnetsNotFound",
    "SecurityGroupsReady": "SecurityGroupsNotFound",
    "AMIsReady": "AMINotFound",
}

FindNodeClass = Callable[[NodeClassRef], AwsNodeClass | None]
Missing = Callable[[AwsNodeClass], Mapping[str, str]]


class NodeClassStatus:
    """Keeps the conditions of each EC2NodeClass true. Keys are names."""

    name = "nodeclass.status"

    def __init__(self, client: KubeClient, find: FindNodeClass, missing: Missing, *, clock: Clock) -> None:
        self._client = client
        self._find = find
        self._missing = missing
        self._clock = clock

    async def reconcile(self, key: str) -> Result:
        """Look at one node class."""
        try:
            found = self._find(NodeClassRef(EC2_NODE_CLASSES.group, EC2_NODE_CLASSES.kind, key))
        except ManifestError:
            return DONE  # nothing that the CRD's rules accept; pools that use it say what is wrong
        if found is None:
            return DONE
        now = self._clock.now()
        wanted = conditions(self._missing(found))
        changed = [new for one in wanted if (new := changed_condition(found.conditions, one, now)) is not None]
        if changed:
            await self._write(key, {"status": {"conditions": merged_conditions(found.conditions, changed)}})
        return Result(LOOK_AGAIN_S)

    async def _write(self, name: str, patch: Mapping[str, object]) -> None:
        try:
            await self._client.patch(EC2_NODE_CLASSES, name, patch, subresource="status")
        except NotFound:
            return
        except (Forbidden, Invalid) as error:
            log.warning("status of a node class refused", name=name, error=error)


def conditions(missing: Mapping[str, str]) -> Iterator[Condition]:
    """Yield the conditions of a class whose selectors find nothing for `missing`: condition → why."""
    for kind, reason in _REASONS.items():
        yield Condition(kind, "False", reason, missing[kind]) if kind in missing else Condition(kind, "True")
    if not missing:
        yield Condition("ValidationSucceeded", "True")
        yield Condition("Ready", "True")
        return
    why = "; ".join(missing.values())
    yield Condition("ValidationSucceeded", "False", "DependenciesNotReady", "what it selects is not there")
    yield Condition("Ready", "False", "UnhealthyDependents", why)
