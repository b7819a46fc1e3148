"""Nodes without pods go once they have been empty for long enough. Pure.

Source: spec v1alpha5 §5.5 (DEP-40 … DEP-42) and §1.2; spec v1 D-10.
"""

from __future__ import annotations

from collections import defaultdict

from karpenter.disruption.budgets import allowance
from karpenter.disruption.verdict import Blocked, Command, Verdict
from karpenter.model.nodepool import NodePool
from karpenter.model.pods import is_reschedulable
from karpenter.model.units import PoolKey, UnixSeconds
from karpenter.scheduling.snapshot import NodeView, Snapshot


def is_empty(view: NodeView) -> bool:
    """Return whether no pod on the node would have to move: daemon, static and finished pods do not count."""
    return not any(is_reschedulable(pod) for pod in view.pods)


def emptiness(snapshot: Snapshot) -> Verdict:
    """Return the empty nodes that are due, as one command, and why other empty nodes stay."""
    pools = {view.pool.key: view.pool for view in snapshot.pools}
    due: defaultdict[PoolKey, list[NodeView]] = defaultdict(list)
    blocked: list[Blocked] = []
    for view in snapshot.nodes:
        pool = pools.get(view.pool) if view.pool else None
        if pool is None or view.node is None or view.is_deleting or not is_empty(view):
            continue
        reason = _not_due(view, pool, snapshot)
        if reason is None:
            due[pool.key].append(view)
        else:
            blocked.append(reason)
    chosen: list[NodeView] = []
    for key in sorted(due):
        allowed = allowance(pools[key], "Empty", views=snapshot.nodes, now=snapshot.taken_at)
        oldest_first = sorted(due[key], key=lambda view: (view.empty_since or 0.0, view.name))
        chosen.extend(oldest_first[:allowed])
        blocked.extend(_over_budget(view) for view in oldest_first[allowed:])
    if not chosen:
        return Verdict(blocked=tuple(blocked))
    names = tuple(sorted(view.name for view in chosen))
    savings = sum(view.price or 0.0 for view in chosen)
    return Verdict((Command("Empty", names, savings=savings),), tuple(blocked))


def _not_due(view: NodeView, pool: NodePool, snapshot: Snapshot) -> Blocked | None:
    """Return why an empty node stays; None when it may go now, budgets apart."""
    if not view.is_initialized:
        return Blocked(view.name, "Uninitialized", "it has not been initialized yet", price=view.price)
    if view.is_nominated:
        return Blocked(view.name, "Nominated", "pods are expected to arrive", price=view.price)
    ttl_s = pool.disruption.empty_after_s
    if ttl_s is None:
        message = f"{pool.key} does not say when empty nodes go"
        return Blocked(view.name, "PolicyOff", message, view.empty_since, price=view.price)
    if view.empty_since is None:
        return Blocked(view.name, "Timer", "it was not seen empty yet", price=view.price)
    due_at = view.empty_since + ttl_s
    if snapshot.taken_at < due_at:
        message = f"it has to be empty for {ttl_s:g} s first"
        return Blocked(view.name, "Timer", message, view.empty_since, UnixSeconds(due_at), view.price)
    return None


def _over_budget(view: NodeView) -> Blocked:
    return Blocked(
        view.name, "Budget", "the pool's budget for empty nodes is used up", view.empty_since, price=view.price
    )
