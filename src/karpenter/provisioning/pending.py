"""Which pending pods count, and which are dropped before planning. Pure.

Source: spec v1alpha5 POD-1, POD-2, POD-5; spec v1 S-6.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from karpenter.model import labels
from karpenter.model.core import NodeSelectorTerm, Pod
from karpenter.model.requirements import OPERATORS

_NUMERIC = frozenset({"Gt", "Lt", "Gte", "Lte"})
_POOL_KEYS = frozenset({labels.PROVISIONER, labels.NODEPOOL})


@dataclass(frozen=True, slots=True)
class Rejected:
    """A pod that no plan considers, and why."""

    pod: Pod
    message: str
    """Empty for a pod that wants no node of ours: it is left alone without an event."""


def admit(pods: Iterable[Pod]) -> tuple[tuple[Pod, ...], tuple[Rejected, ...]]:
    """Return the pods to plan for and those to leave out."""
    accepted: list[Pod] = []
    rejected: list[Rejected] = []
    for pod in pods:
        message = _objection(pod)
        if message is None:
            accepted.append(pod)
        else:
            rejected.append(Rejected(pod, message))
    return tuple(accepted), tuple(rejected)


def _objection(pod: Pod) -> str | None:
    """Return why the pod is left out: empty when it does not want us, None when it is to be planned for."""
    if any(key in pod.spec.node_selector for key in labels.RESTRICTED_KEYS):
        return f"node selector {min(labels.RESTRICTED_KEYS & set(pod.spec.node_selector))!r} names one node"
    terms = _required_terms(pod)
    if terms and all(_declines_our_nodes(term) for term in terms):
        return ""
    for term in terms:
        if term.match_fields:
            return "required node affinity uses matchFields, which name one node; use matchExpressions"
        for expression in term.match_expressions:
            if expression.operator not in OPERATORS:
                return f"node affinity operator {expression.operator!r} is not one of {', '.join(OPERATORS)}"
            if expression.operator in _NUMERIC and not _is_one_integer(expression.values):
                return f"node affinity on {expression.key!r}: {expression.operator} needs exactly one integer"
    return None


def _required_terms(pod: Pod) -> tuple[NodeSelectorTerm, ...]:
    affinity = pod.spec.affinity.node_affinity if pod.spec.affinity else None
    return affinity.required.node_selector_terms if affinity and affinity.required else ()


def _declines_our_nodes(term: NodeSelectorTerm) -> bool:
    return any(e.key in _POOL_KEYS and e.operator == "DoesNotExist" for e in term.match_expressions)


def _is_one_integer(values: tuple[str, ...]) -> bool:
    return len(values) == 1 and values[0].lstrip("-").isdigit()
