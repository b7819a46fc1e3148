"""Writes on each pool the digest of its template, and lets claims follow when the digest is computed in a new way.

Controller `nodepool.hash`. Source: spec v1 §1.4.3.
"""

from __future__ import annotations

from collections.abc import Mapping

from karpenter.lifecycle.writer import Writer
from karpenter.model import labels
from karpenter.model.nodeclaim import DRIFTED, NodeClaim
from karpenter.model.nodepool import NodePool
from karpenter.model.units import PoolKey
from karpenter.runtime.controller import DONE, Result
from karpenter.runtime.kube import NODE_POOLS, PROVISIONERS, KubeClient, NotFound
from karpenter.state.cluster import ClusterState


class PoolHash:
    """Keeps the hash annotations of each pool, and of its claims, at the version that we compute."""

    name = "nodepool.hash"

    def __init__(self, client: KubeClient, state: ClusterState, writer: Writer) -> None:
        self._client = client
        self._state = state
        self._writer = writer

    async def reconcile(self, key: PoolKey) -> Result:
        """Look at one pool."""
        pool = self._state.pools.get(key)
        if pool is None or _has(pool.metadata.annotations, pool.hash_annotations):
            return DONE
        version = labels.NODEPOOL_HASH_VERSION
        if pool.metadata.annotations.get(version) not in {None, pool.hash_annotations.get(version)}:
            await self._move_claims(pool)
        resource = PROVISIONERS if pool.origin.kind == PROVISIONERS.kind else NODE_POOLS
        try:
            patch = {"metadata": {"annotations": dict(pool.hash_annotations)}}
            await self._client.patch(resource, pool.name, patch)
        except NotFound:
            # Deleted meanwhile; its event is on the way.
            return DONE
        return DONE

    async def _move_claims(self, pool: NodePool) -> None:
        """Claims of the old way of computing get the new digest; those that had drifted already only its version."""
        for claim in [claim for claim in self._state.claims.values() if claim.pool == pool.key]:
            wanted = _wanted(claim, pool)
            if not _has(claim.metadata.annotations, wanted):
                try:
                    await self._writer.patch_claim(claim, {"metadata": {"annotations": wanted}})
                except NotFound:
                    continue


def _wanted(claim: NodeClaim, pool: NodePool) -> dict[str, str]:
    if not claim.is_true(DRIFTED):
        return dict(pool.hash_annotations)
    version = labels.NODEPOOL_HASH_VERSION
    return {version: pool.hash_annotations[version]}


def _has(present: Mapping[str, str], wanted: Mapping[str, str]) -> bool:
    return wanted.items() <= present.items()
