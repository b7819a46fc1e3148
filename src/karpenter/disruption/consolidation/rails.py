"""Rails against churn: how much may move within an hour, what a move has to save, what was moved lately. Pure.

They bind consolidation only. `policy.rails=off` takes them away; pools' budgets stay. Source: issue 6, points 3, 4.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable
from typing import Final

from karpenter.disruption.budgets import allowance
from karpenter.disruption.candidates import Candidate
from karpenter.disruption.consolidation.care import Care, workload_of
from karpenter.disruption.consolidation.eligible import REASON, stays
from karpenter.disruption.consolidation.moves import Move, Refusal
from karpenter.disruption.past import Past
from karpenter.disruption.verdict import Blocked
from karpenter.model import labels
from karpenter.model.units import PoolKey, UnixSeconds
from karpenter.scheduling import Policy
from karpenter.scheduling.snapshot import PoolView, Snapshot

_HOUR_S: Final = 3600.0


class Allowance:
    """How many nodes and pods of each pool may go now; it is used up by those that are chosen."""

    def __init__(self, snapshot: Snapshot, policy: Policy, past: Past) -> None:
        self._policy = policy
        self._nodes = {
            view.pool.key: allowance(view.pool, REASON, views=snapshot.nodes, now=snapshot.taken_at)
            for view in snapshot.pools
        }
        self._moved: Counter[PoolKey] = Counter()
        self._eased_at: dict[PoolKey, UnixSeconds] = {}
        for move in past.moves:
            if move.at > snapshot.taken_at - _HOUR_S:
                self._moved[move.pool] += move.pods
                eased_at = UnixSeconds(move.at + _HOUR_S)
                self._eased_at[move.pool] = min(eased_at, self._eased_at.get(move.pool, eased_at))
        self._most = _most_pods(snapshot, policy)

    def copy(self) -> Allowance:
        """Return an allowance of its own with as much left."""
        other = object.__new__(Allowance)
        other._policy, other._nodes, other._moved = self._policy, dict(self._nodes), Counter(self._moved)
        other._most, other._eased_at = self._most, self._eased_at
        return other

    def objection(self, candidate: Candidate) -> Blocked | None:
        """Return why this node may not go beside those that were taken; None when it may."""
        key = candidate.pool.key
        if self._nodes.get(key, 0) < 1:
            return stays(candidate, "Budget", f"the budget of {key} for {REASON} is used up")
        moved, most = self._moved[key], self._most.get(key, 0.0)
        if self._policy.rails and moved and moved + len(candidate.pods) > most:
            message = f"{moved} pods of {key} move within this hour, and no more than {most:g} may"
            return stays(candidate, "ChurnRail", message, until=self._eased_at.get(key))
        return None

    def take(self, candidate: Candidate) -> None:
        """Count a node as chosen."""
        self._nodes[candidate.pool.key] -= 1
        self._moved[candidate.pool.key] += len(candidate.pods)

    def first(self, candidates: Iterable[Candidate]) -> list[Candidate]:
        """Return those that may go together, in the order given; one for which there is no room left is passed over."""
        left, chosen = self.copy(), []
        for candidate in candidates:
            if left.objection(candidate) is None:
                left.take(candidate)
                chosen.append(candidate)
        return chosen


class Rails:
    """What has to speak for a move."""

    def __init__(self, snapshot: Snapshot, policy: Policy, past: Past, *, care: Care) -> None:
        self._policy = policy
        self._now = snapshot.taken_at
        self._past = past
        self._care = care
        self._pools = {view.pool.key: view for view in snapshot.pools}
        self._moved_at = {
            workload: move.at
            for move in past.moves
            if move.at > snapshot.taken_at - policy.churn.singleton_interval_s
            for workload in move.singletons
        }

    def on_node(self, candidate: Candidate) -> Blocked | None:
        """Return the rail that keeps a node whatever could be saved; None when none does."""
        if not self._policy.rails:
            return None
        rest = self._past.rests_until
        if rest is not None and self._now < rest:
            message = "the last commands did not save what they promised, so nothing is moved for its price"
            return stays(candidate, "ChurnRail", message, until=rest)
        for pod in candidate.pods:
            at = self._moved_at.get(workload_of(pod) or "")
            if at is not None and self._care.is_singleton(pod):
                hours = self._policy.churn.singleton_interval_s / _HOUR_S
                message = f"pod {pod.metadata.key} is alone and was moved within the last {hours:g} h"
                until = UnixSeconds(at + self._policy.churn.singleton_interval_s)
                return stays(candidate, "ChurnRail", message, since=at, until=until)
        return None

    def on_move(self, move: Move) -> Refusal | None:
        """Return the rail that a move does not keep; None when it keeps all."""
        churn = self._policy.churn
        if not self._policy.rails:
            return None
        if move.saving < churn.saving or move.saving < churn.saving_share * move.price:
            what = f"{move.saving:.4g} of {move.price:.4g} $/h would be saved"
            return Refusal("ChurnRail", f"{what}; a move has to save {churn.saving_share:.0%} and {churn.saving:g} $/h")
        return self._on_type(move) or self._on_spot(move)

    def _on_type(self, move: Move) -> Refusal | None:
        """A machine that the cloud gave instead of the planned one has its hour before it is bettered."""
        for candidate in move.candidates if move.relocation.replacements else ():
            claim = candidate.view.claim
            created = claim.metadata.created_at if claim else None
            if created is None or self._now >= created + self._policy.churn.settled_s:
                continue
            if _is_dearer_than_planned(candidate, self._pools[candidate.pool.key]):
                until = UnixSeconds(created + self._policy.churn.settled_s)
                message = "the cloud gave another type than planned less than an hour ago"
                return Refusal("ChurnRail", message, since=created, until=until)
        return None

    def _on_spot(self, move: Move) -> Refusal | None:
        """A spot price that has fallen moves nobody at once, and nobody for little."""
        if not move.is_spot_swap:
            return None
        (candidate,), churn = move.candidates, self._policy.churn
        if move.saving < churn.spot_change * candidate.price:
            return Refusal("ChurnRail", f"spot prices move nobody for less than {churn.spot_change:.0%}")
        since = self._past.cheaper_since.get(candidate.name)
        until = UnixSeconds((self._now if since is None else since) + churn.spot_change_s)
        if self._now < until:
            message = f"spot is cheaper elsewhere, but has to be so for {churn.spot_change_s:g} s"
            return Refusal("ChurnRail", message, since=since or self._now, until=until, is_watched=True)
        return None


def _most_pods(snapshot: Snapshot, policy: Policy) -> dict[PoolKey, float]:
    pods: defaultdict[PoolKey, int] = defaultdict(int)
    for view in snapshot.nodes:
        if view.pool is not None:
            pods[view.pool] += len(view.pods)
    return {key: max(policy.churn.pods_share * count, policy.churn.pods) for key, count in pods.items()}


def _is_dearer_than_planned(candidate: Candidate, pool: PoolView) -> bool:
    """Return whether the claim asked for something cheaper than what came; the cheapest is what is planned."""
    claim = candidate.view.claim
    if claim is None:
        return False
    kind, zone, capacity_type = (
        claim.requirements.allowed(key) for key in (labels.INSTANCE_TYPE, labels.ZONE, labels.CAPACITY_TYPE)
    )
    asked = (
        offering.price
        for one in pool.instance_types
        if not kind.complement and kind.allows(one.name)
        for offering in one.offerings
        if zone.allows(offering.zone) and capacity_type.allows(offering.capacity_type)
    )
    return min(asked, default=candidate.price) < candidate.price
