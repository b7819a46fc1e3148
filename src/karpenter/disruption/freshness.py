"""Reads what a decision hangs on from the API itself, since watches may be late (case DND-RACE)."""

from __future__ import annotations

from collections.abc import Iterable

from karpenter.runtime.kube import PDBS, PODS, KubeClient
from karpenter.state.cluster import ClusterState
from karpenter.state.informers import ClusterInformers


class Freshness:
    """Brings pods and budgets in the cluster state up to this moment."""

    def __init__(self, client: KubeClient, state: ClusterState, informers: ClusterInformers) -> None:
        self._client = client
        self._state = state
        self._informers = informers

    async def refresh(self, nodes: Iterable[str]) -> None:
        """Take in the pods of these nodes, and all disruption budgets, as they are now."""
        for name in nodes:
            await self._refresh_pods(name)
        for pdb in (await self._client.list(PDBS)).items:
            self._informers.pdbs.fold(pdb)

    async def _refresh_pods(self, name: str) -> None:
        here = (await self._client.list(PODS, field_selector=f"spec.nodeName={name}")).items
        for pod in here:
            self._informers.pods.fold(pod)
        there = {pod.metadata.uid for pod in here}
        for pod in self._state.pods_on(name):
            if pod.metadata.uid not in there:
                self._informers.pods.fold_deleted(pod.metadata.key, pod.metadata.uid)
