"""A NodePool takes over the nodes of the Provisioner that it was converted from, so that no pod has to move.

It does so when it carries the annotation `karpenter.sh/adopts-provisioner`, one claim after the other, as far as each
is what the pool would launch. Once all are handed over, the Provisioner can be deleted and nothing is drained.
The node is written first, and the claim last: whoever crashes in between begins again. Source: spec v1 §7.2.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from karpenter.lifecycle.writer import Writer
from karpenter.model import labels
from karpenter.model.meta import ObjectMeta
from karpenter.model.nodeclaim import LAUNCHED, NodeClaim
from karpenter.model.nodepool import NodePool
from karpenter.model.requirements import Requirements
from karpenter.model.v1.nodeclaim import encode_owner
from karpenter.runtime import logs
from karpenter.runtime.controller import DONE, Result
from karpenter.runtime.events import EventRecorder
from karpenter.runtime.kube import NotFound
from karpenter.state.cluster import ClusterState
from karpenter.state.refs import claim_ref

log = logs.get("nodeclaim.adoption")
_OLD_KIND: Final = "Provisioner"
NOT_ADOPTED: Final = "NotAdopted"


class Adoption:
    """Hands claims of Provisioners over to their heirs: controller `nodeclaim.adoption`."""

    name = "nodeclaim.adoption"

    def __init__(self, state: ClusterState, writer: Writer, recorder: EventRecorder) -> None:
        self._state = state
        self._writer = writer
        self._recorder = recorder

    async def reconcile(self, key: str) -> Result:
        """Hand one claim over, by name, if its pool has an heir that it fits."""
        claim = self._state.claims.get(key)
        if claim is None or claim.metadata.is_deleting or not claim.is_true(LAUNCHED):
            return DONE
        heir = heir_of(claim, self._state.pools.values())
        if heir is None:
            return DONE
        why_not = misfit(claim, heir)
        if why_not is not None:
            message = f"stays with {claim.pool}: {why_not}"
            self._recorder.record(claim_ref(claim), "Warning", NOT_ADOPTED, message, dedupe_key=heir.name)
            return DONE
        try:
            await self._hand_over(claim, heir)
        except NotFound:
            # Gone meanwhile; its event is on the way.
            return DONE
        self._recorder.record(claim_ref(claim), "Normal", "Adopted", f"{heir.key} takes over from {claim.pool}")
        log.info("adopted", nodeclaim=claim.name, nodepool=heir.name)
        return DONE

    async def _hand_over(self, claim: NodeClaim, heir: NodePool) -> None:
        node = self._state.nodes.get(claim.node_name)
        if node is not None:
            await self._writer.patch_node(node, {"metadata": {"labels": _labels(heir)}})
        await self._writer.patch_claim(claim, {"metadata": _claim_metadata(claim.metadata, heir)})


def heir_of(claim: NodeClaim, pools: Iterable[NodePool]) -> NodePool | None:
    """Return the NodePool that takes over from the claim's Provisioner: the first by name; None without one."""
    if claim.pool is None or claim.pool.kind != _OLD_KIND:
        return None
    named = [pool for pool in pools if pool.metadata.annotations.get(labels.ADOPTS_PROVISIONER) == claim.pool.name]
    return min(named, key=lambda pool: pool.name, default=None)


def misfit(claim: NodeClaim, heir: NodePool) -> str | None:
    """Return in words why the pool would not have launched this; None when it would, so that it has not drifted."""
    template = heir.template
    wanted = template.requirements.intersect(Requirements.from_labels(template.labels))
    unmet = wanted.unmet(claim.labels)
    if unmet is not None:
        says = repr(claim.labels[unmet.key]) if unmet.key in claim.labels else "nothing"
        return f"{heir.key} asks for {unmet}, its label says {says}"
    if set(claim.taints) != set(template.taints) or set(claim.startup_taints) != set(template.startup_taints):
        return f"{heir.key} has other taints"
    return None


def _labels(heir: NodePool) -> dict[str, str | None]:
    return {labels.NODEPOOL: heir.name, labels.PROVISIONER: None}


def _claim_metadata(metadata: ObjectMeta, heir: NodePool) -> dict[str, object]:
    """The heir owns the claim from now on, and its template is what drift is judged by."""
    others = [owner for owner in metadata.owner_references if owner.kind != _OLD_KIND]
    return {
        "resourceVersion": metadata.resource_version,
        "labels": _labels(heir),
        "annotations": {**heir.hash_annotations, labels.PROVISIONER_HASH: None},
        "ownerReferences": [encode_owner(owner) for owner in (*others, heir.owner_reference())],
    }
