"""Rules of pods that stay: no move may break a spread that holds for them now. Pure.

The solver places moved pods under their own rules and under what bound pods keep away from themselves. A spread of pods
that stay counts others too: their leaving and arriving must not make it more uneven than its owner allows. Nobody would
be evicted for that, but the owner asked for a state, not for the moment of binding. Source: issue 6, point 2.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

import msgspec

from karpenter.disruption.relocation import Relocation, pods_to_move
from karpenter.model.core import Pod, TopologySpreadConstraint
from karpenter.model.labels import HOSTNAME, ZONE
from karpenter.model.pods import is_terminal, is_terminating
from karpenter.model.units import ObjectKey
from karpenter.scheduling import ClaimPlan
from karpenter.scheduling.snapshot import NodeView, Snapshot


@dataclass(frozen=True, slots=True)
class _Spread:
    """A hard spread, as pods of one namespace with equal values of its label keys state it."""

    namespace: str
    rule: TopologySpreadConstraint
    same: tuple[tuple[str, str | None], ...]
    """Labels that a pod has to have for being counted, beside what the selector says."""

    def counts(self, pod: Pod) -> bool:
        selector, own = self.rule.label_selector, pod.metadata.labels
        if selector is None or pod.metadata.namespace != self.namespace or is_terminal(pod) or is_terminating(pod):
            return False
        return selector.matches(own) and all(own.get(key) == value for key, value in self.same)


class StayingSpreads:
    """The spreads of all bound pods of a snapshot."""

    def __init__(self, snapshot: Snapshot) -> None:
        self._snapshot = snapshot
        self._spreads = _spreads(pod for view in snapshot.nodes if not view.is_deleting for pod in view.pods)

    def broken_by(self, nodes: frozenset[str], relocation: Relocation) -> str | None:
        """Return the spread that the move would break for pods that stay, in words; None when it breaks none."""
        if not self._spreads:
            return None
        moved = pods_to_move(self._snapshot, nodes)
        for spread, owners in self._spreads:
            strangers = [pod for pod in moved if pod.metadata.key not in owners and spread.counts(pod)]
            if strangers and owners.difference(pod.metadata.key for pod in moved):
                before, after = self._skews(spread, nodes, relocation, moved=moved)
                if after > max(before, spread.rule.max_skew):
                    stranger = strangers[0].metadata.key
                    key = spread.rule.topology_key
                    return f"pod {stranger} would find no place that keeps the spread of other pods over {key}"
        return None

    def _skews(
        self, spread: _Spread, nodes: frozenset[str], relocation: Relocation, *, moved: Iterable[Pod]
    ) -> tuple[int, int]:
        key = spread.rule.topology_key
        there = [view for view in self._snapshot.nodes if not view.is_deleting]
        before = {view.name: _domain(view, key) for view in there}
        after = {name: domain for name, domain in before.items() if name not in nodes}
        after |= {plan.name: _domain_of_plan(plan, key) for plan in relocation.replacements}
        bound = [(pod, view.name) for view in there for pod in view.pods if spread.counts(pod)]
        gone = {pod.metadata.key for pod in moved}
        kept = [(pod, name) for pod, name in bound if pod.metadata.key not in gone]
        arriving = [(pod, relocation.placements[pod.metadata.key]) for pod in moved if spread.counts(pod)]
        return _skew(before, bound), _skew(after, kept + arriving)


def _spreads(pods: Iterable[Pod]) -> tuple[tuple[_Spread, set[ObjectKey]], ...]:
    """Return every hard spread with the keys of the pods that state it."""
    found: dict[bytes, tuple[_Spread, set[ObjectKey]]] = {}
    for pod in pods:
        for rule in pod.spec.topology_spread_constraints:
            if rule.when_unsatisfiable != "DoNotSchedule":
                continue
            same = tuple((key, pod.metadata.labels.get(key)) for key in rule.match_label_keys)
            spread = _Spread(pod.metadata.namespace, rule, same)
            known = msgspec.msgpack.encode((spread.namespace, rule, same))
            found.setdefault(known, (spread, set()))[1].add(pod.metadata.key)
    return tuple(found.values())


def _skew(domains: Mapping[str, str | None], pods: Iterable[tuple[Pod, str]]) -> int:
    """Return the largest count less the smallest over the domains of these nodes."""
    counts: Counter[str] = Counter({domain: 0 for domain in domains.values() if domain is not None})
    for _, name in pods:
        domain = domains.get(name)
        if domain is not None:
            counts[domain] += 1
    return max(counts.values(), default=0) - min(counts.values(), default=0)


def _domain(view: NodeView, key: str) -> str | None:
    return view.labels.get(key, view.name if key == HOSTNAME else None)


def _domain_of_plan(plan: ClaimPlan, key: str) -> str | None:
    if key in {HOSTNAME, ZONE}:
        return plan.name if key == HOSTNAME else plan.zone
    allowed = plan.requirements.allowed(key)
    return min(allowed.values) if not allowed.complement and len(allowed.values) == 1 else None
