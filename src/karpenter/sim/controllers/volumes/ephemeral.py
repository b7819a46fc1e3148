"""Generic ephemeral volumes: a claim for each, that goes with its pod.

Source: kubernetes.io/docs/concepts/storage/ephemeral-volumes, Generic ephemeral volumes.
"""

from __future__ import annotations

from typing import Any, Final

from karpenter.model.core import Pod
from karpenter.model.units import ObjectKey
from karpenter.runtime import kube as api
from karpenter.runtime.controller import DONE, Result
from karpenter.runtime.events import ref_to
from karpenter.runtime.kube import AlreadyExists, Conflict, KubeError, RawObject, Resource, WatchEvent
from karpenter.sim.controllers.templates import controlled_by
from karpenter.sim.standins import Context, Enqueue
from karpenter.sim.storagekinds import CLAIMS, Claim

COMPONENT: Final = "ephemeral_volume"
_RAW_PODS: Final[Resource[RawObject]] = Resource("", "v1", "pods", "Pod", dict, namespaced=True)


class EphemeralVolumes:
    """Creates the claims of pods with ephemeral volumes."""

    name = "sim.volumes.ephemeral"

    def __init__(self, context: Context) -> None:
        self._kube = context.kube
        self._informers = context.informers
        self._recorder = context.events.of(COMPONENT)

    def watch(self, enqueue: Enqueue[ObjectKey]) -> None:
        """Look at a pod when it is new, and when a claim that it mounts is gone."""

        def pod_changed(event: WatchEvent[Pod]) -> None:
            if event.type == "ADDED" and event.object is not None and _has_ephemeral(event.object):
                enqueue(event.object.metadata.key)

        def claim_changed(event: WatchEvent[Claim]) -> None:
            if event.type == "DELETED" and event.object is not None:
                for pod in self._informers.pods_by_claim.get(str(event.object.metadata.key)):
                    if _has_ephemeral(pod):
                        enqueue(pod.metadata.key)

        self._informers.pods.subscribe(pod_changed)
        self._informers.claims.subscribe(claim_changed)

    async def reconcile(self, key: ObjectKey) -> Result:
        """Create the claims that one pod lacks."""
        pod = self._informers.pods.get(key)
        if pod is None or pod.metadata.is_deleting:
            return DONE
        missing = [
            volume.name for volume in pod.spec.volumes if volume.ephemeral and not self._has_claim(pod, volume.name)
        ]
        if not missing:
            return DONE
        # The pod as it was written: a claim's template may say more than we read.
        raw = await self._kube.get(_RAW_PODS, key.name, namespace=key.namespace)
        if raw["metadata"]["uid"] != pod.metadata.uid:
            return DONE
        for volume in raw["spec"]["volumes"]:
            if volume["name"] in missing:
                await self._create(pod, volume)
        return DONE

    def _has_claim(self, pod: Pod, volume: str) -> bool:
        claim = self._informers.claims.get(ObjectKey(pod.metadata.namespace, f"{pod.metadata.name}-{volume}"))
        return claim is not None and _is_of(claim, pod)

    async def _create(self, pod: Pod, volume: dict[str, Any]) -> None:
        template, name = volume["ephemeral"]["volumeClaimTemplate"], f"{pod.metadata.name}-{volume['name']}"
        given = template.get("metadata") or {}
        body = {
            "apiVersion": "v1",
            "kind": "PersistentVolumeClaim",
            "metadata": {
                "name": name,
                "ownerReferences": [controlled_by(api.PODS, pod.metadata)],
                **{key: given[key] for key in ("labels", "annotations") if given.get(key)},
            },
            "spec": template["spec"],
        }
        try:
            claim = await self._kube.create(CLAIMS, body, namespace=pod.metadata.namespace)
        except AlreadyExists as error:
            claim = await self._kube.get(CLAIMS, name, namespace=pod.metadata.namespace)
            if not _is_of(claim, pod):
                why = f"PVC {claim.metadata.key} was not created for pod {pod.metadata.key} (pod is not owner)"
                self._tell(pod, volume["name"], why)
                raise Conflict(why) from error
        except KubeError as error:
            self._tell(pod, volume["name"], f"create PVC {name}: {error}")
            raise
        self._informers.claims.fold(claim)

    def _tell(self, pod: Pod, volume: str, why: str) -> None:
        self._recorder.record(ref_to(api.PODS, pod), "Warning", "FailedBinding", f"ephemeral volume {volume}: {why}")


def _has_ephemeral(pod: Pod) -> bool:
    return any(volume.ephemeral is not None for volume in pod.spec.volumes)


def _is_of(claim: Claim, pod: Pod) -> bool:
    owner = claim.metadata.controller()
    return owner is not None and owner.uid == pod.metadata.uid
