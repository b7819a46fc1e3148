"""Which nodes may be disrupted for a reason, and what stands in the way of the others. Pure.

Source: spec v1 §3.3 (B-1 … B-4), spec v1alpha5 DEP-3 … DEP-5, DEP-50; cases PDB-BLOCK, DND-RACE, JOB-DONE.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Final

from karpenter.disruption.verdict import BlockCode, Blocked
from karpenter.lifecycle.drain import is_drained
from karpenter.model import labels
from karpenter.model.core import Pod
from karpenter.model.nodepool import DisruptionReason, NodePool
from karpenter.model.pdbs import Pdbs, refusing_since
from karpenter.model.pods import is_reschedulable, is_terminal, is_terminating
from karpenter.model.protection import protection
from karpenter.model.units import UnixSeconds
from karpenter.scheduling.snapshot import NodeView, PoolView, Snapshot

EVENTUAL: Final = frozenset({"Drifted", "Expired"})
"""Reasons for which pods do not hold a node for ever when its claim limits how long a drain may take (D-20)."""


@dataclass(frozen=True, slots=True)
class Candidate:
    """A node that may be disrupted."""

    view: NodeView
    pool: NodePool
    pods: tuple[Pod, ...]
    """Those that would have to find another node."""

    @property
    def name(self) -> str:
        """The node's name."""
        return self.view.name

    @property
    def price(self) -> float:
        """USD per hour; 0 when unknown (D-3)."""
        return self.view.price or 0.0


class Candidates:
    """One snapshot's nodes as candidates; pools and budgets are looked up once for all of them."""

    def __init__(self, snapshot: Snapshot) -> None:
        self._now = snapshot.taken_at
        self._views = snapshot.nodes
        self._pools = {view.pool.key: view for view in snapshot.pools}
        self._pdbs = Pdbs(snapshot.pdbs)

    def all(self) -> tuple[Candidate, ...]:
        """Return every node of our live pools that is there and not leaving, by name; none of them is judged yet."""
        found = (self.candidate(view) for view in self._views)
        return tuple(candidate for candidate in found if candidate is not None)

    def candidate(self, view: NodeView) -> Candidate | None:
        """Return a node as a candidate; None for one that no method looks at: foreign, in flight or leaving."""
        pool = self._pool(view)
        if pool is None or view.node is None or view.is_deleting:
            return None
        return Candidate(view, pool.pool, tuple(pod for pod in view.pods if is_reschedulable(pod)))

    def obstacle(self, view: NodeView, reason: DisruptionReason) -> Blocked | None:
        """Return what keeps a node from being disrupted for a reason, budgets apart; None when nothing does."""
        blocked = self._by_operator(view) or self._by_node(view, reason)
        if blocked is None and not (reason in EVENTUAL and _has_grace_period(view)):
            blocked = self.obstacle_of_pods(view, view.pods)
        return None if blocked is None else replace(blocked, reason=reason)

    def obstacle_of_pods(self, view: NodeView, pods: Iterable[Pod]) -> Blocked | None:
        """Return what keeps pods of the node from being moved: protection first, it is the stronger wish."""
        moved = [pod for pod in pods if not is_terminal(pod) and not is_terminating(pod)]
        return self._protected(view, moved) or self._budgeted(view, [pod for pod in moved if is_drained(pod)])

    def _pool(self, view: NodeView) -> PoolView | None:
        return self._pools.get(view.pool) if view.pool else None

    def _by_operator(self, view: NodeView) -> Blocked | None:
        pool = self._pool(view)
        if pool is not None and pool.is_paused:
            return _blocked(view, "Paused", "disruption is paused; karpenter resume ends that")
        if view.held_until is not None and self._now < view.held_until:
            message = "the last attempt failed; it is tried again later"
            return _blocked(view, "BackOff", message, until=view.held_until)
        if not view.is_initialized:
            since = view.claim.metadata.created_at if view.claim else None
            return _blocked(view, "Uninitialized", "it has not been initialized yet", since=since)
        if view.is_nominated:
            return _blocked(view, "Nominated", "pods are expected to arrive")
        return None

    def _by_node(self, view: NodeView, reason: DisruptionReason) -> Blocked | None:
        annotations = view.node.metadata.annotations if view.node else {}
        if annotations.get(labels.DO_NOT_DISRUPT) == "true":
            return _blocked(view, "NodeDoNotDisrupt", f"the node says {labels.DO_NOT_DISRUPT}: true")
        if reason == "Underutilized" and annotations.get(labels.DO_NOT_CONSOLIDATE) == "true":
            return _blocked(view, "DoNotConsolidate", f"the node says {labels.DO_NOT_CONSOLIDATE}: true")
        return None

    def _protected(self, view: NodeView, pods: Iterable[Pod]) -> Blocked | None:
        """Return the pod that must not be moved; a daemon's or a mirror pod's word counts too (B-2)."""
        for pod in pods:
            found = protection(pod, self._now)
            if found is not None:
                message = f"pod {pod.metadata.key} says {found.annotation}"
                since = pod.metadata.created_at
                return _blocked(view, "DoNotDisrupt", message, since=since, until=found.until)
        return None

    def _budgeted(self, view: NodeView, pods: Iterable[Pod]) -> Blocked | None:
        for pod in pods:
            refusing = self._pdbs.refusing(pod)
            if len(refusing) > 1:
                names = " and ".join(str(pdb.metadata.key) for pdb in refusing)
                message = f"pod {pod.metadata.key} is covered by two budgets, {names}, which no eviction can satisfy"
                return _blocked(view, "PodDisruptionBudget", message, since=pod.metadata.created_at)
            if refusing:
                message = f"budget {refusing[0].metadata.key} allows no eviction of pod {pod.metadata.key}"
                return _blocked(view, "PodDisruptionBudget", message, since=refusing_since(refusing[0]))
        return None


def _has_grace_period(view: NodeView) -> bool:
    return view.claim is not None and view.claim.termination_grace_period_s is not None


def _blocked(
    view: NodeView,
    code: BlockCode,
    message: str,
    *,
    since: UnixSeconds | None = None,
    until: UnixSeconds | None = None,
) -> Blocked:
    return Blocked(view.name, code, message, since, until, view.price)
