"""What a DaemonSet's template was before: a revision for each, so that it can be rolled back."""

from __future__ import annotations

from karpenter.runtime.kube import AlreadyExists, NotFound
from karpenter.sim.controllers.daemons import REVISION_HASH
from karpenter.sim.controllers.stateful import history
from karpenter.sim.kinds import CONTROLLER_REVISIONS, DaemonSet
from karpenter.sim.standins import Context


class DaemonHistory:
    """Keeps the revisions of DaemonSets."""

    def __init__(self, context: Context) -> None:
        self._kube = context.kube
        self._informers = context.informers

    async def note(self, one: DaemonSet, digest: str) -> None:
        """See to it that the template as it is has a revision, and the highest number; forget what is too old."""
        namespace = one.metadata.namespace
        found = history.sort_out(one, self._informers.revisions_by_owner.get(one.metadata.uid))
        if found.equal is None:
            try:
                body = history.new_revision(one, found.number, digest=digest)
                made = await self._kube.create(CONTROLLER_REVISIONS, body, namespace=namespace)
            except AlreadyExists:
                return  # its news are on their way
            self._informers.revisions.fold(made)
        elif found.equal.revision != found.number:
            patch, name = {"revision": found.number}, found.equal.metadata.name
            changed = await self._kube.patch(CONTROLLER_REVISIONS, name, patch, namespace=namespace)
            self._informers.revisions.fold(changed)
        await self._forget(one)

    async def _forget(self, one: DaemonSet) -> None:
        owned = self._informers.revisions_by_owner.get(one.metadata.uid)
        pods = self._informers.pods_by_controller.get(one.metadata.uid)
        live = {f"{one.metadata.name}-{pod.metadata.labels.get(REVISION_HASH, '')}" for pod in pods}
        for old in history.forgotten(one, owned, live):
            metadata = old.metadata
            try:
                await self._kube.delete(
                    CONTROLLER_REVISIONS, metadata.name, namespace=metadata.namespace, uid=metadata.uid
                )
            except NotFound:
                continue
            self._informers.revisions.fold_deleted(metadata.key, metadata.uid)
