"""Pod topology spread: the filter for `DoNotSchedule`, the score for `ScheduleAnyway`.

How many pods count on a node is worked out per node (`counts_on`) and remembered by the caller; these functions put the
counts of all nodes together.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, TypeAlias

from karpenter.model.labels import HOSTNAME, ZONE
from karpenter.model.meta import LabelSelector
from karpenter.sim.scheduler.nodefilters import Rejection, first_untolerated, matches_node
from karpenter.sim.scheduler.nodeinfo import NodeInfo
from karpenter.sim.scheduler.podfacts import PodFacts, SpreadRule
from karpenter.sim.scheduler.scores import BEST

NodeCounts: TypeAlias = tuple[int | None, ...]
"""Matching pods of one node, per rule; None where the node does not take part in the rule."""
Counted: TypeAlias = Sequence[tuple[NodeInfo, NodeCounts]]

MISSING_LABEL: Final = Rejection(
    "PodTopologySpread", ("node(s) didn't match pod topology spread constraints (missing required label)",)
)
SKEWED: Final = Rejection(
    "PodTopologySpread", ("node(s) didn't match pod topology spread constraints",), helps_to_remove_pods=True
)


def default_rules(selectors: tuple[LabelSelector, ...]) -> tuple[SpreadRule, ...]:
    """Return the soft rules for pods of a workload or service that state none: by host (3) and by zone (5)."""
    if not selectors:
        return ()
    return (SpreadRule(3, HOSTNAME, selectors), SpreadRule(5, ZONE, selectors))


def counts_on(pod: PodFacts, rules: Sequence[SpreadRule], node: NodeInfo, *, needs_all_keys: bool) -> NodeCounts:
    """Return how many pods on a node count for each rule.

    A node without the label of one of the rules takes part in none of them, unless `needs_all_keys` is False.
    """
    if needs_all_keys and not has_all_keys(rules, node):
        return (None,) * len(rules)
    return tuple(_number(pod, rule, node) if _takes_part(pod, rule, node) else None for rule in rules)


def _number(pod: PodFacts, rule: SpreadRule, node: NodeInfo) -> int:
    return sum(
        number
        for other, number in node.staying.items()
        if other.namespace == pod.namespace and rule.counts(other.labels)
    )


def has_all_keys(rules: Sequence[SpreadRule], node: NodeInfo) -> bool:
    """Return whether a node has the labels of all rules."""
    return all(rule.topology_key in node.labels for rule in rules)


def _takes_part(pod: PodFacts, rule: SpreadRule, node: NodeInfo) -> bool:
    if rule.honors_affinity and not matches_node(pod, node):
        return False
    return not rule.honors_taints or first_untolerated(node.taints, pod.tolerations) is None


@dataclass(frozen=True, slots=True)
class _Domains:
    """One hard rule over the whole cluster."""

    rule: SpreadRule
    counts: dict[str, int]
    least: int
    itself: int
    """1 when the pod counts for its own rule."""

    def admits(self, value: str) -> bool:
        return self.counts.get(value, 0) + self.itself - self.least <= self.rule.max_skew


class HardSpread:
    """The `DoNotSchedule` rules of a pod against the counts of all nodes."""

    def __init__(self, pod: PodFacts, nodes: Counted) -> None:
        self._rules = tuple(
            _domains(pod, rule, [(node, counts[index]) for node, counts in nodes])
            for index, rule in enumerate(pod.hard_spread)
        )

    def rejection(self, node: NodeInfo) -> Rejection | None:
        """Return why the node would break a rule; None when it breaks none."""
        for domains in self._rules:
            value = node.labels.get(domains.rule.topology_key)
            if value is None:
                return MISSING_LABEL
            if not domains.admits(value):
                return SKEWED
        return None


def _domains(pod: PodFacts, rule: SpreadRule, nodes: Sequence[tuple[NodeInfo, int | None]]) -> _Domains:
    counts: dict[str, int] = {}
    for node, number in nodes:
        if number is not None:
            value = node.labels[rule.topology_key]
            counts[value] = counts.get(value, 0) + number
    # Too few domains: pretend that an empty one exists, so that pods wait for it. None at all: nothing to compare with.
    least = 0 if len(counts) < rule.min_domains else min(counts.values(), default=0)
    return _Domains(rule, counts, least, int(rule.counts(pod.labels)))


def soft_scores(
    rules: Sequence[SpreadRule],
    feasible: Sequence[NodeInfo],
    nodes: Counted,
    *,
    needs_all_keys: bool,
) -> list[int]:
    """Return points for each feasible node: more where fewer pods of the same kind are around."""
    scored = [not needs_all_keys or has_all_keys(rules, node) for node in feasible]
    raw = [0.0] * len(feasible)
    for index, rule in enumerate(rules):
        here = [node for node, counts in zip(feasible, scored, strict=True) if counts]
        around = _counts_around(rule, here, [(node, counts[index]) for node, counts in nodes])
        domains = len(here) if rule.topology_key == HOSTNAME else len(around)
        weight = math.log(domains + 2)
        for position, node in enumerate(feasible):
            value = node.labels.get(rule.topology_key)
            if scored[position] and value is not None:
                raw[position] += around[value] * weight + rule.max_skew - 1
    return _turned([math.floor(score + 0.5) if counts else None for score, counts in zip(raw, scored, strict=True)])


def _counts_around(
    rule: SpreadRule, feasible: Sequence[NodeInfo], nodes: Sequence[tuple[NodeInfo, int | None]]
) -> dict[str, int]:
    around = {node.labels.get(rule.topology_key, ""): 0 for node in feasible}
    for node, number in nodes:
        value = node.labels.get(rule.topology_key, "")
        if number is not None and value in around:
            around[value] += number
    return around


def _turned(raw: Sequence[int | None]) -> list[int]:
    """Return points where less is better; None, a node that is not scored, gets none."""
    known = [score for score in raw if score is not None]
    least, most = min(known, default=0), max(known, default=0)
    if most == 0:
        return [0 if score is None else BEST for score in raw]
    return [0 if score is None else BEST * (most + least - score) // most for score in raw]
