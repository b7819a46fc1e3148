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

    def means(self, pod: Pod) -> bool:
        """Return whether the spread counts a pod of this namespace and with these labels."""
        selector, own = self.rule.label_selector, pod.metadata.labels
        if selector is None or pod.metadata.namespace != self.namespace:
            return False
        return selector.matches(own) and all(own.get(key) == value for key, value in self.same)


class StayingSpreads:
    """The spreads of all bound pods of a snapshot."""

    def __init__(self, snapshot: Snapshot) -> None:
        self._snapshot = snapshot
        staying = [view for view in snapshot.nodes if not view.is_deleting]
        self._spreads = _spreads(pod for view in staying for pod in view.pods)
        self._alike: dict[tuple[str, frozenset[tuple[str, str]]], list[Pod]] = {}
        """Bound pods by namespace and labels."""
        self._by_pair: dict[tuple[str, str, str], list[list[Pod]]] = {}
        for view in staying if self._spreads else ():
            for pod in view.pods:
                self._know(pod)

    def _know(self, pod: Pod) -> None:
        namespace, own = pod.metadata.namespace, pod.metadata.labels
        signature = namespace, frozenset(own.items())
        if signature not in self._alike:
            self._alike[signature] = []
            for key, value in own.items():
                self._by_pair.setdefault((namespace, key, value), []).append(self._alike[signature])
        self._alike[signature].append(pod)

    def _counted(self, spread: _Spread) -> dict[ObjectKey, Pod]:
        """Return the bound pods that a spread counts."""
        selector = spread.rule.label_selector
        groups: Iterable[list[Pod]] = self._alike.values()
        for key, value in selector.match_labels.items() if selector is not None else ():
            groups = self._by_pair.get((spread.namespace, key, value), ())
            break
        alike = (group for group in groups if spread.means(group[0]))
        return {
            pod.metadata.key: pod
            for group in alike
            for pod in group
            if not is_terminal(pod) and not is_terminating(pod)
        }

    def broken_by(self, nodes: frozenset[str], relocation: Relocation) -> str | None:
        """Return the spread that the move would break for pods that stay, in words; None when it breaks none."""
        moved = {pod.metadata.key: pod for pod in pods_to_move(self._snapshot, nodes)} if self._spreads else {}
        for spread, owners in self._spreads:
            if owners <= moved.keys():
                continue
            counted = self._counted(spread)
            strangers = (counted.keys() - owners) & moved.keys()
            if strangers:
                before, after = self._skews(spread, nodes, relocation, counted=counted)
                if after > max(before, spread.rule.max_skew):
                    key = spread.rule.topology_key
                    return f"pod {min(strangers)} would find no place that keeps the spread of other pods over {key}"
        return None

    def _skews(
        self, spread: _Spread, nodes: frozenset[str], relocation: Relocation, *, counted: Mapping[ObjectKey, Pod]
    ) -> tuple[int, int]:
        key = spread.rule.topology_key
        before = {view.name: _domain(view, key) for view in self._snapshot.nodes if not view.is_deleting}
        after = {name: domain for name, domain in before.items() if name not in nodes}
        after |= {plan.name: _domain_of_plan(plan, key) for plan in relocation.replacements}
        places = {key: relocation.placements.get(key, pod.spec.node_name) for key, pod in counted.items()}
        return _skew(before, (pod.spec.node_name for pod in counted.values())), _skew(after, places.values())


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


def _skew(domains: Mapping[str, str | None], places: Iterable[str]) -> int:
    """Return the largest count less the smallest over the domains of these nodes."""
    counts: Counter[str] = Counter({domain: 0 for domain in domains.values() if domain is not None})
    for name in places:
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
