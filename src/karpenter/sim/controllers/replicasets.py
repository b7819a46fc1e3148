"""ReplicaSets: as many pods of a template as they should have."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import Any, Final

from karpenter.model.core import Pod
from karpenter.model.meta import Condition
from karpenter.model.units import ObjectKey, UnixSeconds, to_rfc3339
from karpenter.runtime import kube as api
from karpenter.runtime.controller import DONE, Result
from karpenter.runtime.events import EventType, ref_to
from karpenter.runtime.kube import Conflict, KubeError, NotFound, WatchEvent
from karpenter.sim.controllers.ownership import claim
from karpenter.sim.controllers.podstate import available_at, is_active, is_ready
from karpenter.sim.controllers.templates import controlled_by, pod_from, status_manifest, template_labels
from karpenter.sim.controllers.victims import choose_victims
from karpenter.sim.kinds import REPLICA_SETS, ReplicaSet, ReplicaSetStatus
from karpenter.sim.standins import Context, Enqueue

COMPONENT: Final = "replicaset-controller"
_GATHER_S: Final = 0.1
"""Changes of pods within so long are answered together: each answer looks at all pods."""
_BURST: Final = 500
"""Pods that are created or deleted at one go."""


class ReplicaSets:
    """Creates and deletes pods until there are as many as wanted."""

    name = "sim.replicaset"

    def __init__(self, context: Context) -> None:
        self._kube = context.kube
        self._clock = context.clock
        self._informers = context.informers
        self._recorder = context.events.of(COMPONENT)
        self._leaving: set[str] = set()
        """Uids of pods that were deleted and whose news have not come yet: they no longer count."""

    def watch(self, enqueue: Enqueue[ObjectKey]) -> None:
        """Look at a ReplicaSet when it or one of its pods changes, or an orphan that it could adopt."""

        def pod_changed(event: WatchEvent[Pod]) -> None:
            pod = event.object
            assert pod is not None
            if event.type == "DELETED" or pod.metadata.is_deleting:
                self._leaving.discard(pod.metadata.uid)
            owner = pod.metadata.controller()
            if owner is not None:
                if owner.kind == "ReplicaSet":
                    enqueue(ObjectKey(pod.metadata.namespace, owner.name), after_s=_GATHER_S)
            elif pod.metadata.labels and event.type != "DELETED":
                self._enqueue_adopters(pod, enqueue)

        def replica_set_changed(event: WatchEvent[ReplicaSet]) -> None:
            if event.object is not None:
                enqueue(event.object.metadata.key)

        self._informers.replica_sets.subscribe(replica_set_changed)
        self._informers.pods.subscribe(pod_changed)

    def _enqueue_adopters(self, pod: Pod, enqueue: Enqueue[ObjectKey]) -> None:
        for one in self._informers.replica_sets.values():
            if one.metadata.namespace == pod.metadata.namespace and one.spec.selector.matches(pod.metadata.labels):
                enqueue(one.metadata.key)

    async def reconcile(self, key: ObjectKey) -> Result:
        """Bring one ReplicaSet to its size and report how its pods stand."""
        one = self._informers.replica_sets.get(key)
        if one is None:
            return DONE
        active = [pod for pod in await self._own(one) if is_active(pod) and pod.metadata.uid not in self._leaving]
        failure: KubeError | None = None
        if not one.metadata.is_deleting:
            active, failure = await self._resize(one, active)
        result = await self._report(one, active, failure)
        if failure is not None:
            raise failure
        return result

    async def _own(self, one: ReplicaSet) -> list[Pod]:
        mine = self._informers.pods_by_controller.get(one.metadata.uid)
        orphans = self._informers.orphans_by_namespace.get(one.metadata.namespace)
        found = claim(one.metadata, one.spec.selector, (*mine, *orphans))
        owner = [controlled_by(REPLICA_SETS, one.metadata)]
        adopted = [await self._patch_owner(orphan, owner) for orphan in found.orphans if is_active(orphan)]
        for stray in found.strays:
            await self._patch_owner(stray, None)
        return [*found.owned, *adopted]

    async def _patch_owner(self, pod: Pod, owners: list[dict[str, Any]] | None) -> Pod:
        metadata = pod.metadata
        patch = {"metadata": {"uid": metadata.uid, "ownerReferences": owners}}
        written = await self._kube.patch(api.PODS, metadata.name, patch, namespace=metadata.namespace)
        self._informers.pods.fold(written)
        return written

    # size -------------------------------------------------------------------------------------------------------------

    async def _resize(self, one: ReplicaSet, active: list[Pod]) -> tuple[list[Pod], KubeError | None]:
        missing = one.spec.replicas - len(active)
        if missing > 0:
            created, failure = await self._create(one, min(missing, _BURST))
            return active + created, failure
        if missing < 0:
            related = self._related(one)
            victims = choose_victims(active, related, min(-missing, _BURST), now=self._clock.now())
            failure = await self._delete(one, victims)
            return [pod for pod in active if pod.metadata.uid not in self._leaving], failure
        return active, None

    async def _create(self, one: ReplicaSet, number: int) -> tuple[list[Pod], KubeError | None]:
        """Create pods in batches that double: where one is refused, a thousand are not tried."""
        owner = controlled_by(REPLICA_SETS, one.metadata)
        namespace, name = one.metadata.key
        body = pod_from(one.spec.template, owner, namespace=namespace, generate_name=f"{name}-")
        created: list[Pod] = []
        batch = 1
        while len(created) < number:
            batch = min(batch, number - len(created))
            tasks = (self._kube.create(api.PODS, body, namespace=namespace) for _ in range(batch))
            outcomes = await asyncio.gather(*tasks, return_exceptions=True)
            for outcome in outcomes:
                if isinstance(outcome, Pod):
                    self._informers.pods.fold(outcome)
                    self._tell(one, "Normal", "SuccessfulCreate", f"Created pod: {outcome.metadata.name}")
                    created.append(outcome)
            failure = next((outcome for outcome in outcomes if isinstance(outcome, BaseException)), None)
            if isinstance(failure, KubeError):
                self._tell(one, "Warning", "FailedCreate", f"Error creating: {failure}")
                return created, failure
            if failure is not None:
                raise failure
            batch *= 2
        return created, None

    async def _delete(self, one: ReplicaSet, victims: Sequence[Pod]) -> KubeError | None:
        for pod in victims:
            metadata = pod.metadata
            try:
                await self._kube.delete(api.PODS, metadata.name, namespace=metadata.namespace, uid=metadata.uid)
            except (NotFound, Conflict):
                self._informers.pods.fold_deleted(metadata.key, metadata.uid)
                continue
            except KubeError as error:
                self._tell(one, "Warning", "FailedDelete", f"Error deleting: {error}")
                return error
            self._leaving.add(metadata.uid)
            self._tell(one, "Normal", "SuccessfulDelete", f"Deleted pod: {metadata.name}")
        return None

    def _related(self, one: ReplicaSet) -> list[Pod]:
        """Return the active pods of all ReplicaSets of the same owner: a rollout's old pods crowd a node too."""
        owner = one.metadata.controller()
        siblings = (
            [one]
            if owner is None
            else [
                other
                for other in self._informers.replica_sets.values()
                if (theirs := other.metadata.controller()) is not None and theirs.uid == owner.uid
            ]
        )
        return [
            pod
            for sibling in siblings
            for pod in self._informers.pods_by_controller.get(sibling.metadata.uid)
            if is_active(pod)
        ]

    def _tell(self, one: ReplicaSet, kind: EventType, reason: str, message: str) -> None:  # noqa: PLR0917 - as kubectl shows
        self._recorder.record(ref_to(REPLICA_SETS, one), kind, reason, message)

    # status -----------------------------------------------------------------------------------------------------------

    async def _report(self, one: ReplicaSet, active: Sequence[Pod], failure: KubeError | None) -> Result:
        now = self._clock.now()
        status = replica_set_status(one, active, failure=failure, now=now)
        if status != one.status:
            body = status_manifest(status, always=("replicas", "observedGeneration"))
            try:
                written = await self._kube.patch(
                    REPLICA_SETS,
                    one.metadata.name,
                    {"status": body},
                    namespace=one.metadata.namespace,
                    subresource="status",
                )
            except NotFound:
                return DONE
            self._informers.replica_sets.fold(written)
        return _when_next_is_available(one, active, now)


def replica_set_status(
    one: ReplicaSet, active: Sequence[Pod], *, failure: KubeError | None, now: UnixSeconds
) -> ReplicaSetStatus:
    """Return the status of a ReplicaSet with these active pods."""
    wanted_labels = template_labels(one.spec.template).items()
    moments = [available_at(pod, one.spec.min_ready_seconds) for pod in active]
    conditions = tuple(known for known in one.status.conditions if known.type != "ReplicaFailure")
    if failure is not None:
        since = next((c.last_transition_time for c in one.status.conditions if c.type == "ReplicaFailure"), None)
        conditions += (Condition("ReplicaFailure", "True", "FailedCreate", str(failure), since or to_rfc3339(now)),)
    return ReplicaSetStatus(
        replicas=len(active),
        fully_labeled_replicas=sum(wanted_labels <= pod.metadata.labels.items() for pod in active),
        ready_replicas=sum(is_ready(pod) for pod in active),
        available_replicas=sum(moment is not None and moment <= now for moment in moments),
        observed_generation=one.metadata.generation,
        conditions=conditions,
    )


def _when_next_is_available(one: ReplicaSet, active: Sequence[Pod], now: UnixSeconds) -> Result:
    ahead = [
        moment - now
        for pod in active
        if (moment := available_at(pod, one.spec.min_ready_seconds)) is not None and moment > now
    ]
    return Result(min(ahead)) if ahead else DONE
