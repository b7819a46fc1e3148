"""The writes about pods and claims of a StatefulSet, each with the event that tells of it."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from karpenter.model.core import Pod
from karpenter.model.units import ObjectKey
from karpenter.runtime import kube as api
from karpenter.runtime.events import EventType, ref_to
from karpenter.runtime.kube import AlreadyExists, Conflict, KubeError, NotFound, RawObject
from karpenter.sim.controllers.stateful.identity import (
    REVISION,
    claim_name,
    claims_for,
    identity_labels,
    ordinal_of,
    pod_for,
    pod_name,
)
from karpenter.sim.controllers.stateful.retention import blocks_pod, new_owners
from karpenter.sim.kinds import STATEFUL_SETS, StatefulSet
from karpenter.sim.standins import Context
from karpenter.sim.storagekinds import CLAIMS, Claim

COMPONENT: Final = "statefulset-controller"


class Members:
    """Creates, mends and deletes pods of StatefulSets."""

    def __init__(self, context: Context) -> None:
        self._kube = context.kube
        self._informers = context.informers
        self._recorder = context.events.of(COMPONENT)

    async def create(self, stateful_set: StatefulSet, ordinal: int, template: RawObject, revision: str) -> bool:  # noqa: PLR0917 - whose, which, of what
        """Create a pod and the claims that it lacks; return False when a claim of an earlier pod is in the way.

        Raises:
            KubeError: the API refused; the event says so.
        """
        name = pod_name(stateful_set, ordinal)
        claims = self._claims(stateful_set, ordinal)
        going = any(claim.metadata.is_deleting for claim in claims)
        if going or blocks_pod(stateful_set, (claim.metadata for claim in claims), name):
            return False
        try:
            await self._create_claims(stateful_set, ordinal)
            body = pod_for(stateful_set, template, revision, ordinal)
            pod = await self._kube.create(api.PODS, body, namespace=stateful_set.metadata.namespace)
        except AlreadyExists:
            raise  # one of somebody else, or one that the news have not come of
        except KubeError as error:
            self._tell(stateful_set, "Warning", "FailedCreate", self._about("Create", name, stateful_set, error))
            raise
        self._informers.pods.fold(pod)
        await self._hand_over_claims(stateful_set, pod, ordinal)
        self._tell(stateful_set, "Normal", "SuccessfulCreate", self._about("Create", name, stateful_set))
        return True

    async def mend(self, stateful_set: StatefulSet, pod: Pod) -> None:
        """Give a pod its labels and its claims, and the claims their owners."""
        ordinal = ordinal_of(stateful_set, pod)
        assert ordinal is not None
        if pod.status.phase == "Pending":
            await self._create_claims(stateful_set, ordinal)
        await self._hand_over_claims(stateful_set, pod, ordinal)
        labels = identity_labels(pod.metadata.name, ordinal)
        if not labels.items() <= pod.metadata.labels.items():
            patch = {"metadata": {"uid": pod.metadata.uid, "labels": labels}}
            namespace, name = pod.metadata.key
            self._informers.pods.fold(await self._kube.patch(api.PODS, name, patch, namespace=namespace))
            self._tell(stateful_set, "Normal", "SuccessfulUpdate", self._about("Update", name, stateful_set))

    async def delete(self, stateful_set: StatefulSet, pod: Pod) -> bool:
        """Delete a pod; return whether it takes its time to go."""
        namespace, name = pod.metadata.key
        uid = pod.metadata.uid
        try:
            await self._kube.delete(api.PODS, name, namespace=namespace, uid=uid)
        except (NotFound, Conflict):
            self._informers.pods.fold_deleted(pod.metadata.key, uid)
            return False
        except KubeError as error:
            self._tell(stateful_set, "Warning", "FailedDelete", self._about("Delete", name, stateful_set, error))
            raise
        self._tell(stateful_set, "Normal", "SuccessfulDelete", self._about("Delete", name, stateful_set))
        return True

    def _claims(self, stateful_set: StatefulSet, ordinal: int) -> list[Claim]:
        namespace, templates = stateful_set.metadata.namespace, stateful_set.spec.volume_claim_templates
        keys = (ObjectKey(namespace, claim_name(stateful_set, template, ordinal)) for template in templates)
        return [claim for key in keys if (claim := self._informers.claims.get(key)) is not None]

    async def _create_claims(self, stateful_set: StatefulSet, ordinal: int) -> None:
        namespace, pod = stateful_set.metadata.namespace, pod_name(stateful_set, ordinal)
        for body in claims_for(stateful_set, ordinal):
            name = body["metadata"]["name"]
            if self._informers.claims.get(ObjectKey(namespace, name)) is not None:
                continue
            about = f"Create Claim {name} Pod {pod} in StatefulSet {stateful_set.metadata.name}"
            try:
                claim = await self._kube.create(CLAIMS, body, namespace=namespace)
            except AlreadyExists:
                claim = await self._kube.get(CLAIMS, name, namespace=namespace)
            except KubeError as error:
                self._tell(stateful_set, "Warning", "FailedCreate", f"{about} failed error: {error}")
                raise
            else:
                self._tell(stateful_set, "Normal", "SuccessfulCreate", f"{about} success")
            self._informers.claims.fold(claim)

    async def _hand_over_claims(self, stateful_set: StatefulSet, pod: Pod, ordinal: int) -> None:
        for claim in self._claims(stateful_set, ordinal):
            owners = new_owners(stateful_set, pod, claim.metadata)
            if owners is None:
                continue
            namespace, name = claim.metadata.key
            version = {"resourceVersion": claim.metadata.resource_version}
            patch = {"metadata": {**version, "ownerReferences": owners or None}}
            self._informers.claims.fold(await self._kube.patch(CLAIMS, name, patch, namespace=namespace))

    def _tell(self, stateful_set: StatefulSet, kind: EventType, reason: str, message: str) -> None:  # noqa: PLR0917 - as kubectl shows
        self._recorder.record(ref_to(STATEFUL_SETS, stateful_set), kind, reason, message)

    def _about(self, verb: str, pod: str, stateful_set: StatefulSet, error: KubeError | None = None) -> str:  # noqa: PLR0917 - a sentence
        outcome = "successful" if error is None else f"failed error: {error}"
        return f"{verb} Pod {pod} in StatefulSet {stateful_set.metadata.name} {outcome}"


def revisions_of(pods: Iterable[Pod]) -> set[str]:
    """Return the names of the revisions that pods are of."""
    return {pod.metadata.labels[REVISION] for pod in pods if REVISION in pod.metadata.labels}
