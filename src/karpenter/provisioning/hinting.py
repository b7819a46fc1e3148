"""Tells kube-scheduler where pods were planned: controller `placement.hints`."""

from __future__ import annotations

from typing import Final

from karpenter.model.core import Node, Pod
from karpenter.model.nodeclaim import REGISTERED
from karpenter.model.units import ObjectKey
from karpenter.provisioning.hints import HintBook, HintSettings
from karpenter.runtime import logs
from karpenter.runtime.clock import Clock
from karpenter.runtime.controller import DONE, Result
from karpenter.runtime.kube import PODS, Conflict, Forbidden, Invalid, KubeClient, NotFound
from karpenter.state.cluster import ClusterState
from karpenter.state.informers import ClusterInformers

log = logs.get("placement.hints")

RECHECK_S: Final = 5.0
"""A pod that waits for its node is looked at again after this long: equal pods may have changed places."""


class PlacementHints:
    """Hints at the node of one planned pod once that node has registered.

    Level-triggered: it compares the plan with what stands in the pod. Plans and hints are in memory only, so after a
    restart nothing is hinted at until something is planned again.
    """

    name = "placement.hints"

    def __init__(
        self,
        client: KubeClient,
        state: ClusterState,
        informers: ClusterInformers,
        *,
        clock: Clock,
        settings: HintSettings,
    ) -> None:
        self._client = client
        self._state = state
        self._informers = informers
        self._clock = clock
        self._is_on = settings.hints
        self._book = HintBook()

    def concerned(self, pod: Pod) -> bool:
        """Return whether a change of this pod is worth a look."""
        return self._is_on and (pod.metadata.key in self._book or self._state.planned_node(pod) is not None)

    def on(self, node: Node) -> tuple[ObjectKey, ...]:
        """Return the pods that a change of this node may concern."""
        return self._state.planned_on(node) if self._is_on else ()

    async def reconcile(self, key: ObjectKey) -> Result:
        """Look at one pod."""
        pod = self._state.pods.get(key)
        if pod is None or pod.spec.node_name:
            self._book.forget(key)
            return DONE
        node = self._state.planned_node(pod) if self._is_on else None
        if node is None or not self._is_ours_to_fill(node):
            return DONE
        wait_s = self._book.due_in(pod, node.metadata.name, self._clock.now())
        if wait_s == 0.0:
            await self._tell(pod, node.metadata.name)
        return Result(wait_s or RECHECK_S)

    def _is_ours_to_fill(self, node: Node) -> bool:
        """Return whether a node is there for pods that were planned: it joined, stays, and nobody paused its pool."""
        claim = self._state.claim_of(node)
        if node.metadata.is_deleting or (claim is not None and claim.metadata.is_deleting):
            return False
        if self._state.pauses.stops_everything(claim.pool if claim else None):
            return False
        return claim is None or claim.is_true(REGISTERED)

    async def _tell(self, pod: Pod, node: str) -> None:
        namespace, name = pod.metadata.key
        self._book.told(pod, node)
        # The uid holds it to this very pod; the API server refuses it for one that is bound by now.
        patch = {"metadata": {"uid": pod.metadata.uid}, "status": {"nominatedNodeName": node}}
        try:
            written = await self._client.patch(PODS, name, patch, namespace=namespace, subresource="status")
        except (Invalid, NotFound, Conflict) as error:
            log.debug("pod needs no hint any more", namespace=namespace, name=name, error=error)
            return
        except Forbidden as error:
            log.warning("no placement hints from now on: patch of pods/status is not allowed", error=error)
            self._is_on = False
            return
        self._informers.pods.fold(written)
