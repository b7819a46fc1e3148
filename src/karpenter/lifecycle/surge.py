"""A new pod before the old one ends, for workloads of one replica whose owner allows it.

A pod that says `karpenter.sh/surge: "true"` and is the only replica of a Deployment is not evicted: its Deployment is
rolled over instead, as `kubectl rollout restart` does. The rolling update then brings a new pod up elsewhere, since the
node takes none, and ends the old one when that is ready. The pod template names the pod that the rollover is for, so it
happens once however often we ask, also over restarts. A Deployment that makes no progress gives the wish up. Source:
issue 6, point 6; case SINGLE-REPLICA.
"""

from __future__ import annotations

import contextlib
from typing import Any, Final, NamedTuple

from karpenter.model import labels
from karpenter.model.core import Pod
from karpenter.runtime import logs
from karpenter.runtime.kube import Conflict, Forbidden, KubeClient, NotFound, RawObject, Resource

log = logs.get("eviction-queue")

_DEPLOYMENTS: Final[Resource[RawObject]] = Resource("apps", "v1", "deployments", "Deployment", dict, namespaced=True)
_REPLICA_SETS: Final[Resource[RawObject]] = Resource("apps", "v1", "replicasets", "ReplicaSet", dict, namespaced=True)
_SERIAL: Final = frozenset({"Recreate"})
"""Strategies that end the old pod first: a rollover would win nothing."""


class Surging(NamedTuple):
    """A pod whose owner wants a successor first."""

    namespace: str
    replica_set: str
    uid: str


def surging(pod: Pod) -> Surging | None:
    """Return what a pod's annotation asks for; None when it asks for nothing, or belongs to no ReplicaSet."""
    owner = pod.metadata.controller()
    if pod.metadata.annotations.get(labels.SURGE) != "true" or owner is None or owner.kind != "ReplicaSet":
        return None
    return Surging(pod.metadata.namespace, owner.name, pod.metadata.uid)


class Surge:
    """Rolls Deployments over."""

    def __init__(self, client: KubeClient) -> None:
        self._client = client

    async def holds(self, pod: Surging) -> bool:
        """Have a successor made; return whether the pod is to be left alone meanwhile.

        Raises KubeError when the API cannot answer now. One that forbids it decides as well: the pod is not held.
        """
        try:
            return await self._hold(pod)
        except Forbidden as error:
            log.warning("may not roll a deployment over", namespace=pod.namespace, error=error)
            return False

    async def _hold(self, pod: Surging) -> bool:
        deployment = await self._deployment(pod)
        if deployment is None or not _can_surge(deployment):
            return False
        if _rolled_over_for(deployment) == pod.uid:
            return not _is_stuck(deployment)
        await self._roll_over(deployment, pod)
        return True

    async def _roll_over(self, deployment: RawObject, pod: Surging) -> None:
        name = deployment["metadata"]["name"]
        template = {"metadata": {"annotations": {labels.SURGE_FOR: pod.uid}}}
        patch = {
            "metadata": {"resourceVersion": deployment["metadata"]["resourceVersion"]},
            "spec": {"template": template},
        }
        with contextlib.suppress(Conflict):  # somebody else was faster, and what they wrote is looked at next time
            await self._client.patch(_DEPLOYMENTS, name, patch, namespace=pod.namespace)
            log.info("rolling a deployment over, its only pod has to move", namespace=pod.namespace, deployment=name)

    async def _deployment(self, pod: Surging) -> RawObject | None:
        try:
            replica_set = await self._client.get(_REPLICA_SETS, pod.replica_set, namespace=pod.namespace)
            owners = replica_set["metadata"].get("ownerReferences", ())
            owner = next((one for one in owners if one.get("controller") and one["kind"] == "Deployment"), None)
            if owner is None:
                return None
            return await self._client.get(_DEPLOYMENTS, owner["name"], namespace=pod.namespace)
        except NotFound:
            return None


def _can_surge(deployment: RawObject) -> bool:
    spec = deployment["spec"]
    strategy = spec.get("strategy") or {}
    surge = (strategy.get("rollingUpdate") or {}).get("maxSurge", "25%")
    allows = str(surge).removesuffix("%") != "0"
    is_single = spec.get("replicas", 1) == 1 and not spec.get("paused")
    return is_single and strategy.get("type") not in _SERIAL and allows


def _rolled_over_for(deployment: RawObject) -> str | None:
    metadata: dict[str, Any] = deployment["spec"]["template"].get("metadata") or {}
    uid: str | None = (metadata.get("annotations") or {}).get(labels.SURGE_FOR)
    return uid


def _is_stuck(deployment: RawObject) -> bool:
    """Return whether the rollover made no progress for the Deployment's own deadline, ten minutes by default."""
    conditions = (deployment.get("status") or {}).get("conditions") or ()
    return any(
        one["type"] == "Progressing" and one["status"] == "False" and one.get("reason") == "ProgressDeadlineExceeded"
        for one in conditions
    )
