"""Deployments: a ReplicaSet for each revision of the template, sized step by step."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Final

from karpenter.model.core import Pod
from karpenter.model.pods import is_terminal
from karpenter.model.units import ObjectKey
from karpenter.runtime.controller import DONE, Result
from karpenter.runtime.events import ref_to
from karpenter.runtime.kube import AlreadyExists, NotFound, WatchEvent
from karpenter.sim.controllers import deploystatus
from karpenter.sim.controllers.ownership import claim
from karpenter.sim.controllers.revisions import (
    REVISION,
    Revisions,
    forgotten,
    history_of,
    new_replica_set,
    revision_of,
    size_annotations,
    sort_out,
    wanted_annotations,
)
from karpenter.sim.controllers.rollout import (
    Sizes,
    next_recreate_sizes,
    next_rolling_sizes,
    scaled_sizes,
    was_scaled,
)
from karpenter.sim.controllers.templates import controlled_by, same_template, status_manifest
from karpenter.sim.kinds import DEPLOYMENTS, REPLICA_SETS, Deployment, ReplicaSet
from karpenter.sim.standins import Context, Enqueue

COMPONENT: Final = "deployment-controller"


class Deployments:
    """Brings each Deployment one step closer to its template and size."""

    name = "sim.deployment"

    def __init__(self, context: Context) -> None:
        self._kube = context.kube
        self._clock = context.clock
        self._informers = context.informers
        self._recorder = context.events.of(COMPONENT)

    def watch(self, enqueue: Enqueue[ObjectKey]) -> None:
        """Look at a Deployment when it, one of its ReplicaSets or, as pods vanish, one of their pods changes."""

        def replica_set_changed(event: WatchEvent[ReplicaSet]) -> None:
            assert event.object is not None
            for key in self._deployments_of(event.object):
                enqueue(key)

        def pod_changed(event: WatchEvent[Pod]) -> None:
            assert event.object is not None
            if event.type == "DELETED":  # recreation waits for the last old pod
                owner = event.object.metadata.controller_key("ReplicaSet")
                if owner is not None:
                    one = self._informers.replica_sets.get(owner)
                    for key in self._deployments_of(one) if one is not None else ():
                        enqueue(key)

        self._informers.deployments.subscribe(lambda event: _enqueue_object(event, enqueue))
        self._informers.replica_sets.subscribe(replica_set_changed)
        self._informers.pods.subscribe(pod_changed)

    def _deployments_of(self, one: ReplicaSet) -> Iterable[ObjectKey]:
        namespace, owner = one.metadata.namespace, one.metadata.controller()
        if owner is not None:
            return (ObjectKey(namespace, owner.name),) if owner.kind == "Deployment" else ()
        return tuple(
            deployment.metadata.key
            for deployment in self._informers.deployments.values()
            if deployment.metadata.namespace == namespace and deployment.spec.selector.matches(one.metadata.labels)
        )

    async def reconcile(self, key: ObjectKey) -> Result:
        """Take the next step of one Deployment."""
        deployment = self._informers.deployments.get(key)
        if deployment is None:
            return DONE
        revisions = sort_out(deployment, await self._own(deployment))
        if not deployment.metadata.is_deleting:
            deployment, revisions = await self._step(deployment, revisions)
        return await self._report(deployment, revisions)

    async def _step(self, deployment: Deployment, revisions: Revisions) -> tuple[Deployment, Revisions]:
        if was_scaled(deployment, revisions.every):
            sizes = scaled_sizes(deployment, revisions.new, revisions.olds)
            noted = {one.metadata.name: one.spec.replicas for one in revisions.every if one.spec.replicas}
            return deployment, await self._resize(deployment, revisions, {**noted, **sizes})
        if deployment.spec.paused:
            return await self._with_current(deployment, revisions) if revisions.new else (deployment, revisions)
        if deployment.spec.strategy.type == "RollingUpdate":
            return await self._roll(deployment, revisions)
        return await self._recreate(deployment, revisions)

    async def _roll(self, deployment: Deployment, revisions: Revisions) -> tuple[Deployment, Revisions]:
        deployment, revisions = await self._with_current(deployment, revisions)
        if revisions.new is not None:
            sizes = next_rolling_sizes(deployment, revisions.new, revisions.olds)
            revisions = await self._resize(deployment, revisions, sizes)
        return deployment, revisions

    async def _recreate(self, deployment: Deployment, revisions: Revisions) -> tuple[Deployment, Revisions]:
        left = any(
            not is_terminal(pod)
            for one in revisions.olds
            for pod in self._informers.pods_by_controller.get(one.metadata.uid)
        )
        sizes = next_recreate_sizes(deployment, revisions.new, revisions.olds, old_pods_left=left)
        revisions = await self._resize(deployment, revisions, sizes)
        if left or any(one.spec.replicas for one in revisions.olds):
            return deployment, revisions
        return await self._with_current(deployment, revisions)

    # ReplicaSets ------------------------------------------------------------------------------------------------------

    async def _own(self, deployment: Deployment) -> list[ReplicaSet]:
        namespace = deployment.metadata.namespace
        there = [one for one in self._informers.replica_sets.values() if one.metadata.namespace == namespace]
        found = claim(deployment.metadata, deployment.spec.selector, there)
        owner = [controlled_by(DEPLOYMENTS, deployment.metadata)]
        adopted = [await self._patch_owner(orphan, owner) for orphan in found.orphans]
        for stray in found.strays:
            await self._patch_owner(stray, None)
        return [*found.owned, *adopted]

    async def _patch_owner(self, one: ReplicaSet, owners: list[dict[str, Any]] | None) -> ReplicaSet:
        return await self._patch(one, {"metadata": {"uid": one.metadata.uid, "ownerReferences": owners}})

    async def _patch(self, one: ReplicaSet, patch: dict[str, Any]) -> ReplicaSet:
        metadata = one.metadata
        written = await self._kube.patch(REPLICA_SETS, metadata.name, patch, namespace=metadata.namespace)
        self._informers.replica_sets.fold(written)
        return written

    async def _with_current(self, deployment: Deployment, revisions: Revisions) -> tuple[Deployment, Revisions]:
        """Return the Deployment and its ReplicaSets, the one for its template among them and numbered as the newest."""
        if revisions.new is None:
            revisions = await self._create(deployment, revisions)
        else:
            revisions = await self._annotate(deployment, revisions, revisions.new)
        if revisions.new is None:
            return deployment, revisions
        number = revisions.new.metadata.annotations.get(REVISION)
        if number is not None and deployment.metadata.annotations.get(REVISION) != number:
            deployment = await self._patch_deployment(deployment, {"metadata": {"annotations": {REVISION: number}}})
        return deployment, revisions

    async def _annotate(self, deployment: Deployment, revisions: Revisions, new: ReplicaSet) -> Revisions:
        """Hand on the Deployment's annotations; number the ReplicaSet anew when an old template is the current one."""
        number = max(revision_of(new), revisions.next_number)
        annotations = wanted_annotations(deployment, number) | history_of(new, number)
        if annotations.items() <= new.metadata.annotations.items():
            return revisions
        return Revisions(await self._patch(new, {"metadata": {"annotations": annotations}}), revisions.olds)

    async def _create(self, deployment: Deployment, revisions: Revisions) -> Revisions:
        body, namespace = new_replica_set(deployment, revisions), deployment.metadata.namespace
        name = body["metadata"]["name"]
        try:
            new = await self._kube.create(REPLICA_SETS, body, namespace=namespace)
        except AlreadyExists:
            found = await self._kube.get(REPLICA_SETS, name, namespace=namespace)
            owner = found.metadata.controller()
            is_ours = owner is not None and owner.uid == deployment.metadata.uid
            if not is_ours or not same_template(found.spec.template, deployment.spec.template):
                await self._note_collision(deployment)
                return revisions
            new = found
        self._informers.replica_sets.fold(new)
        self._tell_scaling(deployment, new, before=0)
        return Revisions(new, revisions.olds)

    async def _note_collision(self, deployment: Deployment) -> None:
        """Another template has the same hash: count it, so that the next hash is another one."""
        count = (deployment.status.collision_count or 0) + 1
        await self._patch_deployment(deployment, {"status": {"collisionCount": count}}, subresource="status")

    async def _resize(self, deployment: Deployment, revisions: Revisions, sizes: Sizes) -> Revisions:
        changed: dict[str, ReplicaSet] = {}
        annotations = size_annotations(deployment)
        for one in revisions.every:
            size = sizes.get(one.metadata.name)
            if size is None or (size == one.spec.replicas and annotations.items() <= one.metadata.annotations.items()):
                continue
            patch = {"metadata": {"annotations": annotations}, "spec": {"replicas": size}}
            changed[one.metadata.name] = await self._patch(one, patch)
            self._tell_scaling(deployment, changed[one.metadata.name], before=one.spec.replicas)
        new = revisions.new
        return Revisions(
            changed.get(new.metadata.name, new) if new is not None else None,
            tuple(changed.get(one.metadata.name, one) for one in revisions.olds),
        )

    def _tell_scaling(self, deployment: Deployment, one: ReplicaSet, *, before: int) -> None:
        after = one.spec.replicas
        if after == before:
            return
        way = "up" if after > before else "down"
        message = f"Scaled {way} replica set {one.metadata.name} from {before} to {after}"
        self._recorder.record(ref_to(DEPLOYMENTS, deployment), "Normal", "ScalingReplicaSet", message)

    # status -----------------------------------------------------------------------------------------------------------

    async def _report(self, deployment: Deployment, revisions: Revisions) -> Result:
        now = self._clock.now()
        status = deploystatus.deployment_status(deployment, revisions, now=now)
        if status != deployment.status:
            body = {"status": status_manifest(status, always=("observedGeneration",))}
            deployment = await self._patch_deployment(deployment, body, subresource="status")
        if deploystatus.is_complete(deployment, status) and not deployment.metadata.is_deleting:
            await self._forget_old(deployment, revisions)
        late_at = deploystatus.progress_deadline(deployment, status)
        return DONE if late_at is None else Result(max(0.0, late_at - now) + 1.0)

    async def _forget_old(self, deployment: Deployment, revisions: Revisions) -> None:
        for one in forgotten(deployment, revisions.olds):
            metadata = one.metadata
            try:
                await self._kube.delete(REPLICA_SETS, metadata.name, namespace=metadata.namespace, uid=metadata.uid)
            except NotFound:
                continue
            self._informers.replica_sets.fold_deleted(metadata.key, metadata.uid)

    async def _patch_deployment(
        self, deployment: Deployment, patch: dict[str, Any], *, subresource: str = ""
    ) -> Deployment:
        metadata = deployment.metadata
        written = await self._kube.patch(
            DEPLOYMENTS, metadata.name, patch, namespace=metadata.namespace, subresource=subresource
        )
        self._informers.deployments.fold(written)
        return written


def _enqueue_object(event: WatchEvent[Any], enqueue: Enqueue[ObjectKey]) -> None:
    if event.object is not None:
        enqueue(event.object.metadata.key)
