"""Filters that look at one node alone: taints, affinity, ports, resources. The words are kube-scheduler's."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from karpenter.model.core import NodeSelectorTerm
from karpenter.model.meta import SelectorExpression
from karpenter.model.resources import PODS
from karpenter.model.taints import NO_EXECUTE, NO_SCHEDULE, PREFER_NO_SCHEDULE, Taint, Toleration
from karpenter.sim.scheduler.nodeinfo import NodeInfo
from karpenter.sim.scheduler.podfacts import PodFacts

_UNSCHEDULABLE = Taint(key="node.kubernetes.io/unschedulable", effect=NO_SCHEDULE)


@dataclass(frozen=True, slots=True)
class Rejection:
    """Why a node does not take a pod."""

    plugin: str
    """The filter that said no: decides which cluster events make a new attempt worthwhile."""
    reasons: tuple[str, ...]
    helps_to_remove_pods: bool = False
    """Whether other pods are what stands in the way."""


def rejection_by_node(pod: PodFacts, node: NodeInfo) -> Rejection | None:
    """Return the first filter that a node by itself fails, in the default profile's order; None when it passes all."""
    if not names_node(pod, node.name):
        return Rejection("NodeAffinity", ("node(s) didn't satisfy plugin(s) [NodeAffinity]",))
    if node.unschedulable and not _tolerates(pod.tolerations, _UNSCHEDULABLE):
        return Rejection("NodeUnschedulable", ("node(s) were unschedulable",))
    taint = first_untolerated(node.taints, pod.tolerations)
    if taint is not None:
        return Rejection("TaintToleration", (f"node(s) had untolerated taint {{{taint.key}: {taint.value}}}",))
    if not matches_node(pod, node):
        return Rejection("NodeAffinity", ("node(s) didn't match Pod's node affinity/selector",))
    if pod.ports and any(_conflict(wanted, used) for wanted in pod.ports for used in node.ports):
        return Rejection(
            "NodePorts", ("node(s) didn't have free ports for the requested pod ports",), helps_to_remove_pods=True
        )
    return _rejection_by_resources(pod, node)


def _tolerates(tolerations: Iterable[Toleration], taint: Taint) -> bool:
    return any(toleration.tolerates(taint) for toleration in tolerations)


def first_untolerated(taints: Iterable[Taint], tolerations: Sequence[Toleration]) -> Taint | None:
    """Return the first taint that keeps a pod from being placed; None when all are tolerated or only discourage."""
    for taint in taints:
        if taint.effect in {NO_SCHEDULE, NO_EXECUTE} and not _tolerates(tolerations, taint):
            return taint
    return None


def discouraging_taints(pod: PodFacts, node: NodeInfo) -> int:
    """Return how many `PreferNoSchedule` taints of a node a pod does not tolerate."""
    return sum(taint.effect == PREFER_NO_SCHEDULE and not _tolerates(pod.tolerations, taint) for taint in node.taints)


def names_node(pod: PodFacts, name: str) -> bool:
    """Return whether required node affinity leaves this node when it names nodes, as that of DaemonSet pods does.

    Only when every alternative names nodes is the choice narrowed beforehand; the others then fail unseen.
    """
    terms = pod.required_node_terms
    if not terms or not all(_named_nodes(term) for term in terms):
        return True
    return any(all(name in entry.values for entry in _named_nodes(term)) for term in terms)


def _named_nodes(term: NodeSelectorTerm) -> list[SelectorExpression]:
    return [entry for entry in term.match_fields if entry.key == "metadata.name" and entry.operator == "In"]


def matches_node(pod: PodFacts, node: NodeInfo) -> bool:
    """Return whether a node meets node selector and required node affinity."""
    labels = node.labels
    if any(labels.get(key) != value for key, value in pod.node_selector.items()):
        return False
    terms = pod.required_node_terms
    return terms is None or any(matches_term(term, labels, node.name) for term in terms)


def matches_term(term: NodeSelectorTerm, labels: Mapping[str, str], name: str) -> bool:
    """Return whether a node meets all expressions of a term. An empty term matches nothing."""
    if not term.match_expressions and not term.match_fields:
        return False
    return all(_holds(expression, labels) for expression in term.match_expressions) and all(
        _holds(expression, {"metadata.name": name}) for expression in term.match_fields
    )


def _holds(expression: SelectorExpression, labels: Mapping[str, str]) -> bool:
    if expression.operator not in {"Gt", "Lt"}:
        return expression.matches(labels)
    try:
        actual, bound = int(labels[expression.key]), int(expression.values[0])
    except (KeyError, IndexError, ValueError):
        return False
    return actual > bound if expression.operator == "Gt" else actual < bound


def node_preference(pod: PodFacts, node: NodeInfo) -> int:
    """Return the sum of the weights of the preferred node affinity terms that a node meets."""
    return sum(
        term.weight for term in pod.preferred_node_terms if matches_term(term.preference, node.labels, node.name)
    )


def _conflict(wanted: tuple[str, int, str], used: tuple[str, int, str]) -> bool:
    everywhere = "0.0.0.0"  # noqa: S104 - compared, never bound
    return wanted[1:] == used[1:] and (wanted[0] == used[0] or everywhere in {wanted[0], used[0]})


def _rejection_by_resources(pod: PodFacts, node: NodeInfo) -> Rejection | None:
    requested, allocatable = node.requested, node.allocatable
    short = [
        name
        for name, amount in pod.requests.items()
        if amount and amount > allocatable.get(name, 0) - requested.get(name, 0)
    ]
    if not short:
        return None
    # Emptying a node does not help a pod that is larger than the node.
    too_large = any(pod.requests[name] > allocatable.get(name, 0) for name in short)
    order = sorted(short, key=lambda name: (name != PODS, name))
    reasons = tuple("Too many pods" if name == PODS else f"Insufficient {name}" for name in order)
    return Rejection("NodeResourcesFit", reasons, helps_to_remove_pods=not too_large)
