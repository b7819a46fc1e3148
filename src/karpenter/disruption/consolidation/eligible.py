"""Which nodes consolidation may look at, and why it leaves the others alone. Pure.

Source: spec v1 D-7, D-8; spec v1alpha5 DEP-3, DEP-5, DEP-50 and §1.2; issue 6, point 3.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from karpenter.disruption.candidates import Candidate, Candidates
from karpenter.disruption.costs import EMPTY_COST, node_cost
from karpenter.disruption.podevents import last_pod_event
from karpenter.disruption.verdict import BlockCode, Blocked
from karpenter.model.nodeclaim import CONSOLIDATABLE, NodeClaim
from karpenter.model.nodepool import DisruptionReason
from karpenter.model.units import UnixSeconds, from_rfc3339
from karpenter.scheduling import Policy
from karpenter.scheduling.snapshot import Snapshot

REASON: Final[DisruptionReason] = "Underutilized"


@dataclass(frozen=True, slots=True)
class Eligible:
    """The nodes with pods, sorted out."""

    free: tuple[Candidate, ...]
    """May go if that is cheaper, budgets apart; by name."""
    blocked: tuple[Blocked, ...]


def eligible(snapshot: Snapshot, policy: Policy) -> Eligible:
    """Return the nodes that may be consolidated. Empty ones are not looked at: emptiness rules them (D-8).

    A node whose pods may all be evicted for nothing counts as empty (D-5), but goes only when they have a place.
    """
    candidates = Candidates(snapshot)
    free: list[Candidate] = []
    blocked: list[Blocked] = []
    for candidate in candidates.all():
        if not candidate.pods:
            continue
        found = (
            _by_pool(candidate)
            or candidates.obstacle(candidate.view, REASON)
            or _by_price(candidate)
            or _by_timer(candidate, snapshot.taken_at)
            or (_by_age(candidate, policy, snapshot.taken_at) if policy.rails else None)
        )
        if found is None:
            free.append(candidate)
        else:
            blocked.append(found)
    return Eligible(tuple(free), tuple(blocked))


def stays(
    candidate: Candidate,
    code: BlockCode,
    message: str,
    *,
    since: UnixSeconds | None = None,
    until: UnixSeconds | None = None,
) -> Blocked:
    """Return that a node stays."""
    return Blocked(candidate.name, code, message, since, until, candidate.view.price, REASON)


def _by_pool(candidate: Candidate) -> Blocked | None:
    pool = candidate.pool
    if pool.replicas is not None:
        return stays(candidate, "PolicyOff", f"{pool.key} has a fixed number of nodes")
    counts_as_empty = pool.disruption.policy == "WhenEmpty" and node_cost(candidate.pods) <= EMPTY_COST
    if pool.disruption.policy in {"Off", "WhenEmpty"} and not counts_as_empty:
        what = "no nodes" if pool.disruption.policy == "Off" else "empty nodes only"
        return stays(candidate, "PolicyOff", f"{pool.key} gives {what} back")
    if pool.disruption.consolidate_after_s is None:
        return stays(candidate, "PolicyOff", f"{pool.key} says consolidateAfter: Never")
    return None


def _by_price(candidate: Candidate) -> Blocked | None:
    if candidate.view.price is None:
        kind = candidate.view.instance_type or "a machine of unknown type"
        return stays(candidate, "UnknownPrice", f"nobody knows what {kind} costs there, so nothing can be saved")
    return None


def _by_timer(candidate: Candidate, now: UnixSeconds) -> Blocked | None:
    """A claim says by a condition that its node was quiet for long enough; a dump without conditions says nothing."""
    claim = candidate.view.claim
    if claim is None or not claim.conditions or claim.is_true(CONSOLIDATABLE):
        return None
    after_s = candidate.pool.disruption.consolidate_after_s or 0.0
    quiet_since = _quiet_since(candidate, claim)
    until = UnixSeconds(quiet_since + after_s) if quiet_since is not None else None
    message = f"its pods have to be unchanged for {after_s:g} s first"
    return stays(candidate, "Timer", message, since=quiet_since, until=until if until and until > now else None)


def _quiet_since(candidate: Candidate, claim: NodeClaim) -> UnixSeconds | None:
    noted = from_rfc3339(claim.last_pod_event_time) if claim.last_pod_event_time else None
    moments = (last_pod_event(candidate.view.pods), noted, candidate.view.initialized_at)
    return max((moment for moment in moments if moment is not None), default=None)


def _by_age(candidate: Candidate, policy: Policy, now: UnixSeconds) -> Blocked | None:
    """Nodes whose age nobody knows count as old enough."""
    objects = (candidate.view.claim, candidate.view.node)
    created = [one.metadata.created_at for one in objects if one is not None]
    known = [moment for moment in created if moment is not None]
    if not known:
        return None
    until = UnixSeconds(min(known) + policy.churn.least_age_s)
    if now >= until:
        return None
    message = f"it is younger than {policy.churn.least_age_s:g} s"
    return stays(candidate, "ChurnRail", message, since=min(known), until=until)
