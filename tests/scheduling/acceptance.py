"""Judges a pod against the labels and taints of a node, some labels of which may still be open."""

from collections.abc import Iterable, Iterator, Mapping, Sequence

from karpenter.model.core import NodeSelectorTerm, Pod
from karpenter.model.labels import canonical
from karpenter.model.requirements import Requirement
from karpenter.model.taints import Taint
from tests.scheduling.homes import expression_holds


def unwelcome(
    pod: Pod, node: Mapping[str, str], taints: Iterable[Taint], opened: Mapping[str, Requirement]
) -> Iterator[str]:
    """Yield why a node with these labels and taints does not take the pod, preferences apart."""
    for taint in taints:
        if taint.effect != "PreferNoSchedule" and not any(t.tolerates(taint) for t in pod.spec.tolerations):
            yield f"does not tolerate {taint}"
    for key, value in pod.spec.node_selector.items():
        if not _meets(canonical(key), "In", (value,), node=node, opened=opened):
            yield f"selects {key}={value}"
    affinity = pod.spec.affinity.node_affinity if pod.spec.affinity else None
    if affinity is not None and affinity.required is not None:
        terms = affinity.required.node_selector_terms
        if not any(_term_holds(term, node, opened) for term in terms):
            yield "no term of its required node affinity holds"


def runs_on(daemon: Pod, node: Mapping[str, str], taints: Sequence[Taint]) -> bool:
    """Return whether a DaemonSet's pod runs on a node; it does not mind taints that only prefer."""
    return not list(unwelcome(daemon, node, [taint for taint in taints if taint.effect != "PreferNoSchedule"], {}))


def _term_holds(term: NodeSelectorTerm, node: Mapping[str, str], opened: Mapping[str, Requirement]) -> bool:
    return bool(term.match_expressions) and all(
        _meets(canonical(expression.key), expression.operator, expression.values, node=node, opened=opened)
        for expression in term.match_expressions
    )


def _meets(
    key: str, operator: str, values: Sequence[str], *, node: Mapping[str, str], opened: Mapping[str, Requirement]
) -> bool:
    """Return whether a label meets an expression, whatever value an open label will get."""
    if key in opened and key not in node:
        return _implied(opened[key], operator, values)
    return expression_holds(key, operator, values, node)


def _implied(label: Requirement, operator: str, values: Sequence[str]) -> bool:
    """Return whether every value that the label may get meets the expression."""
    if not label.complement:
        return all(_meets(label.key, operator, values, node={label.key: value}, opened={}) for value in label.values)
    match operator:
        case "Exists":
            return True
        case "NotIn":
            return not any(label.allows(value) for value in values)
        case "Gt":
            return label.gt is not None and label.gt >= int(values[0])
        case "Lt":
            return label.lt is not None and label.lt <= int(values[0])
    return False
