"""Judges a pod against the labels and taints of a node, some labels of which may still be open."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import product

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


def runs_on(
    daemon: Pod, node: Mapping[str, str], taints: Sequence[Taint], opened: Mapping[str, Requirement] | None = None
) -> bool:
    """Return whether a DaemonSet's pod may come to run on a node; it does not mind taints that only prefer.

    It has to be reckoned with as soon as one value of a label that is still `opened` would bring it.
    """
    hard = [taint for taint in taints if taint.effect != "PreferNoSchedule"]
    unsure = {key: label for key, label in (opened or {}).items() if key not in node}
    return any(not list(unwelcome(daemon, {**node, **each}, hard, {})) for each in _outcomes(daemon, unsure))


def _outcomes(daemon: Pod, opened: Mapping[str, Requirement]) -> Iterator[dict[str, str]]:
    """Yield how open labels may turn out: each absent, or with any of the values that the pod or the claim names."""
    spoken: dict[str, set[str]] = {}
    for key, value in daemon.spec.node_selector.items():
        spoken.setdefault(canonical(key), set()).add(value)
    affinity = daemon.spec.affinity.node_affinity if daemon.spec.affinity else None
    for term in affinity.required.node_selector_terms if affinity and affinity.required else ():
        for expression in term.match_expressions:
            spoken.setdefault(canonical(expression.key), set()).update((*expression.values, "another"))
    keys = sorted(opened.keys() & spoken.keys())
    choices = [[None, *sorted({*spoken[key], *opened[key].values})] for key in keys]
    for values in product(*choices):
        chosen = {key: value for key, value in zip(keys, values, strict=True) if value is not None}
        if all(opened[key].allows(value) for key, value in chosen.items()):
            yield chosen


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
