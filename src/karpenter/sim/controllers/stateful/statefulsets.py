"""StatefulSets: pods that keep their names and claims, brought up, updated and taken down in order."""

from __future__ import annotations

import contextlib
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final, assert_never

from karpenter.model.core import Pod
from karpenter.model.units import ObjectKey
from karpenter.runtime import kube as api
from karpenter.runtime.controller import DONE, Result
from karpenter.runtime.kube import AlreadyExists, NotFound, WatchEvent
from karpenter.sim.controllers.ownership import claim
from karpenter.sim.controllers.podstate import available_at, is_active
from karpenter.sim.controllers.stateful import history
from karpenter.sim.controllers.stateful.identity import ordinal_of, ordinals
from karpenter.sim.controllers.stateful.members import Members, revisions_of
from karpenter.sim.controllers.stateful.steps import (
    Create,
    Delete,
    Mend,
    Step,
    next_steps,
    partition,
    stateful_set_status,
)
from karpenter.sim.controllers.templates import controlled_by, status_manifest
from karpenter.sim.kinds import CONTROLLER_REVISIONS, STATEFUL_SETS, ControllerRevision, StatefulSet
from karpenter.sim.standins import Context, Enqueue
from karpenter.sim.storagekinds import Claim

_STATUS_FIELDS: Final = ("replicas", "availableReplicas", "collisionCount", "observedGeneration")
_LOOK_AGAIN_S: Final = 1.0
"""For what nobody tells of: the claim of an earlier pod that has to go first."""


@dataclass(frozen=True, slots=True)
class _Revisions:
    current: ControllerRevision
    update: ControllerRevision
    """Of the template as it is."""


class StatefulSets:
    """Brings each StatefulSet the next steps closer to its template and size."""

    name = "sim.statefulset"

    def __init__(self, context: Context) -> None:
        self._kube = context.kube
        self._clock = context.clock
        self._informers = context.informers
        self._members = Members(context)
        self._leaving: set[str] = set()
        """Uids of pods that were deleted and whose news have not come yet."""

    def watch(self, enqueue: Enqueue[ObjectKey]) -> None:
        """Look at a set when it, one of its pods or claims changes, or an orphan that it could adopt."""

        def pod_changed(event: WatchEvent[Pod]) -> None:
            pod = event.object
            assert pod is not None
            if event.type == "DELETED" or pod.metadata.is_deleting:
                self._leaving.discard(pod.metadata.uid)
            owner = pod.metadata.controller()
            if owner is not None:
                if owner.kind == "StatefulSet":
                    enqueue(ObjectKey(pod.metadata.namespace, owner.name))
            elif event.type != "DELETED":
                for one in self._adopters(pod):
                    enqueue(one.metadata.key)

        def claim_changed(event: WatchEvent[Claim]) -> None:
            if event.type == "DELETED" and event.object is not None:
                for pod in self._informers.pods_by_claim.get(str(event.object.metadata.key)):
                    owner = pod.metadata.controller_key("StatefulSet")
                    if owner is not None:
                        enqueue(owner)

        def set_changed(event: WatchEvent[StatefulSet]) -> None:
            if event.object is not None:
                enqueue(event.object.metadata.key)

        self._informers.stateful_sets.subscribe(set_changed)
        self._informers.pods.subscribe(pod_changed)
        self._informers.claims.subscribe(claim_changed)

    def _adopters(self, pod: Pod) -> Sequence[StatefulSet]:
        return [
            one
            for one in self._informers.stateful_sets.values()
            if one.metadata.namespace == pod.metadata.namespace
            and ordinal_of(one, pod) is not None
            and one.spec.selector.matches(pod.metadata.labels)
        ]

    async def reconcile(self, key: ObjectKey) -> Result:
        """Take the next steps with one set and report how its pods stand."""
        one = self._informers.stateful_sets.get(key)
        if one is None:
            return DONE
        await self._own_pods(one)
        revisions = await self._revisions(one)
        if revisions is None:
            return DONE
        went_on = one.metadata.is_deleting or await self._go_on(one, revisions)
        one = await self._report(one, revisions)
        await self._forget_old(one, revisions)
        return self._when_to_look_again(one) if went_on else Result(_LOOK_AGAIN_S)

    # pods -------------------------------------------------------------------------------------------------------------

    def _pods(self, one: StatefulSet) -> list[Pod]:
        mine = self._informers.pods_by_controller.get(one.metadata.uid)
        return [pod for pod in mine if one.spec.selector.matches(pod.metadata.labels)]

    async def _own_pods(self, one: StatefulSet) -> None:
        mine = self._informers.pods_by_controller.get(one.metadata.uid)
        orphans = self._informers.orphans_by_namespace.get(one.metadata.namespace)
        namesakes = (pod for pod in orphans if ordinal_of(one, pod) is not None and is_active(pod))
        found = claim(one.metadata, one.spec.selector, (*mine, *namesakes))
        for orphan in found.orphans:
            await self._patch_owner(orphan, [controlled_by(STATEFUL_SETS, one.metadata)])
        for stray in found.strays:
            await self._patch_owner(stray, None)

    async def _patch_owner(self, pod: Pod, owners: list[dict[str, Any]] | None) -> None:
        patch = {"metadata": {"uid": pod.metadata.uid, "ownerReferences": owners}}
        namespace, name = pod.metadata.key
        self._informers.pods.fold(await self._kube.patch(api.PODS, name, patch, namespace=namespace))

    async def _go_on(self, one: StatefulSet, revisions: _Revisions) -> bool:
        """Take the next steps; return False when something is in the way that nobody tells of."""
        pods = self._pods(one)
        if any(pod.metadata.uid in self._leaving for pod in pods):
            return True  # their news will wake us, and nothing is to be decided without
        steps = next_steps(one, pods, update=revisions.update.metadata.name, now=self._clock.now())
        outcomes = [await self._take(step, one, revisions) for step in steps]
        return all(outcomes)

    async def _take(self, step: Step, one: StatefulSet, revisions: _Revisions) -> bool:
        match step:
            case Create(ordinal):
                is_held_back = ordinal in ordinals(one)[: partition(one)]
                revision = revisions.current if is_held_back else revisions.update
                template = history.template_of(revision)
                return await self._members.create(one, ordinal, template, revision.metadata.name)
            case Mend(pod):
                await self._members.mend(one, pod)
            case Delete(pod):
                self._leaving.add(pod.metadata.uid)  # before: the news may come while we wait for the answer
                is_leaving = False
                try:
                    is_leaving = await self._members.delete(one, pod)
                finally:
                    if not is_leaving:
                        self._leaving.discard(pod.metadata.uid)
            case _:
                assert_never(step)
        return True

    # revisions --------------------------------------------------------------------------------------------------------

    async def _revisions(self, one: StatefulSet) -> _Revisions | None:
        """Return the set's revisions, the one of its template made or numbered anew; None when it goes without any."""
        found = history.sort_out(one, await self._own_revisions(one), current=one.status.current_revision)
        update = found.equal
        if update is None:
            if one.metadata.is_deleting:
                return None
            update = await self._create_revision(one, found.number)
        elif update.revision != found.number and not one.metadata.is_deleting:
            namespace, name = update.metadata.key
            update = await self._kube.patch(CONTROLLER_REVISIONS, name, {"revision": found.number}, namespace=namespace)
            self._informers.revisions.fold(update)
        return _Revisions(found.current or update, update)

    async def _own_revisions(self, one: StatefulSet) -> list[ControllerRevision]:
        revisions = list(self._informers.revisions_by_owner.get(one.metadata.uid))
        if one.metadata.is_deleting:
            return revisions
        for orphan in self._informers.revisions.values():
            metadata = orphan.metadata
            if metadata.namespace != one.metadata.namespace or metadata.controller() is not None:
                continue
            if metadata.is_deleting or not one.spec.selector.matches(metadata.labels):
                continue
            patch = {"metadata": {"uid": metadata.uid, "ownerReferences": [controlled_by(STATEFUL_SETS, one.metadata)]}}
            adopted = await self._kube.patch(CONTROLLER_REVISIONS, metadata.name, patch, namespace=metadata.namespace)
            self._informers.revisions.fold(adopted)
            revisions.append(adopted)
        return revisions

    async def _create_revision(self, one: StatefulSet, number: int) -> ControllerRevision:
        body, namespace = history.new_revision(one, number), one.metadata.namespace
        try:
            made = await self._kube.create(CONTROLLER_REVISIONS, body, namespace=namespace)
        except AlreadyExists:
            made = await self._kube.get(CONTROLLER_REVISIONS, body["metadata"]["name"], namespace=namespace)
            if made.data != body["data"]:
                # Another template has the same hash: count it, so that the next hash is another one.
                count = (one.status.collision_count or 0) + 1
                await self._patch_status(one, {"collisionCount": count})
                raise
        self._informers.revisions.fold(made)
        return made

    async def _forget_old(self, one: StatefulSet, revisions: _Revisions) -> None:
        live = {revisions.current.metadata.name, revisions.update.metadata.name} | revisions_of(self._pods(one))
        owned = self._informers.revisions_by_owner.get(one.metadata.uid)
        for old in history.forgotten(one, owned, live):
            metadata = old.metadata
            with contextlib.suppress(NotFound):
                await self._kube.delete(
                    CONTROLLER_REVISIONS, metadata.name, namespace=metadata.namespace, uid=metadata.uid
                )
            self._informers.revisions.fold_deleted(metadata.key, metadata.uid)

    # status -----------------------------------------------------------------------------------------------------------

    async def _report(self, one: StatefulSet, revisions: _Revisions) -> StatefulSet:
        names = {"current": revisions.current.metadata.name, "update": revisions.update.metadata.name}
        status = stateful_set_status(one, self._pods(one), now=self._clock.now(), **names)
        if status == one.status:
            return one
        return await self._patch_status(one, status_manifest(status, always=_STATUS_FIELDS))

    async def _patch_status(self, one: StatefulSet, status: dict[str, Any]) -> StatefulSet:
        namespace, name = one.metadata.key
        written = await self._kube.patch(
            STATEFUL_SETS, name, {"status": status}, namespace=namespace, subresource="status"
        )
        self._informers.stateful_sets.fold(written)
        return written

    def _when_to_look_again(self, one: StatefulSet) -> Result:
        now = self._clock.now()
        moments = (available_at(pod, one.spec.min_ready_seconds) for pod in self._pods(one))
        ahead = [moment - now for moment in moments if moment is not None and moment > now]
        return Result(min(ahead)) if ahead else DONE
