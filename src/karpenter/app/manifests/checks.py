"""What the API server would refuse in core objects, as far as scheduling reads them: amounts, operators, effects."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Final, get_args

from karpenter.model import core
from karpenter.model.errors import FieldError
from karpenter.model.meta import LabelSelector, SelectorExpression
from karpenter.model.resources import parse_amount
from karpenter.model.taints import Taint, TaintEffect, Toleration

_EFFECTS: Final = tuple(effect for effect in get_args(TaintEffect) if effect)
_LABEL_OPERATORS: Final = ("In", "NotIn", "Exists", "DoesNotExist")
_NODE_OPERATORS: Final = (*_LABEL_OPERATORS, "Gt", "Lt")
_WITHOUT_VALUES: Final = frozenset({"Exists", "DoesNotExist"})
_UNSATISFIABLE: Final = ("DoNotSchedule", "ScheduleAnyway")


def pod_faults(spec: core.PodSpec, path: str = "spec") -> Iterator[FieldError]:
    """Yield what is wrong with the spec of a pod or of a pod template."""
    if not spec.containers:
        yield FieldError(f"{path}.containers", "is required and must not be empty")
    for name, containers in (("containers", spec.containers), ("initContainers", spec.init_containers)):
        for index, container in enumerate(containers):
            yield from _requirement_faults(container.resources, f"{path}.{name}[{index}].resources")
    yield from amount_faults(spec.overhead, f"{path}.overhead")
    if spec.resources is not None:
        yield from _requirement_faults(spec.resources, f"{path}.resources")
    for index, toleration in enumerate(spec.tolerations):
        yield from _toleration_faults(toleration, f"{path}.tolerations[{index}]")
    for index, constraint in enumerate(spec.topology_spread_constraints):
        yield from _spread_faults(constraint, f"{path}.topologySpreadConstraints[{index}]")
    if spec.affinity is not None:
        yield from _affinity_faults(spec.affinity, f"{path}.affinity")


def node_faults(node: core.Node) -> Iterator[FieldError]:
    """Yield what is wrong with a node."""
    yield from amount_faults(node.status.capacity, "status.capacity")
    yield from amount_faults(node.status.allocatable, "status.allocatable")
    for index, taint in enumerate(node.spec.taints):
        yield from _taint_faults(taint, f"spec.taints[{index}]")


def limit_range_faults(limit_range: core.LimitRange) -> Iterator[FieldError]:
    """Yield what is wrong with a limit range."""
    for index, item in enumerate(limit_range.spec.limits):
        yield from amount_faults(item.default, f"spec.limits[{index}].default")
        yield from amount_faults(item.default_request, f"spec.limits[{index}].defaultRequest")


def selector_faults(selector: LabelSelector | None, path: str) -> Iterator[FieldError]:
    """Yield what is wrong with a label selector."""
    if selector is not None:
        yield from _expression_faults(selector.match_expressions, f"{path}.matchExpressions", _LABEL_OPERATORS)


def amount_faults(amounts: core.RawResources, path: str) -> Iterator[FieldError]:
    """Yield the amounts of a resource list that are no quantities, or negative."""
    for resource, text in amounts.items():
        where = f"{path}[{resource}]" if "." in resource or "/" in resource else f"{path}.{resource}"
        try:
            if parse_amount(resource, text) < 0:
                yield FieldError(where, f"{text} must not be negative")
        except ValueError as error:
            yield FieldError(where, str(error))


def _requirement_faults(requirements: core.ResourceRequirements, path: str) -> Iterator[FieldError]:
    yield from amount_faults(requirements.requests, f"{path}.requests")
    yield from amount_faults(requirements.limits, f"{path}.limits")


def _choice_faults(word: str, choices: Sequence[str], path: str) -> Iterator[FieldError]:
    if word not in choices:
        yield FieldError(path, f"{word!r} is not supported", f"one of {', '.join(choices)}")


def _taint_faults(taint: Taint, path: str) -> Iterator[FieldError]:
    if not taint.key:
        yield FieldError(f"{path}.key", "is required and must not be empty")
    yield from _choice_faults(taint.effect, _EFFECTS, f"{path}.effect")


def _toleration_faults(toleration: Toleration, path: str) -> Iterator[FieldError]:
    if toleration.operator:
        yield from _choice_faults(toleration.operator, ("Equal", "Exists"), f"{path}.operator")
    if toleration.effect:
        yield from _choice_faults(toleration.effect, _EFFECTS, f"{path}.effect")
    if not toleration.key and toleration.operator in {"", "Equal"}:
        yield FieldError(f"{path}.operator", "must be Exists when there is no key, which tolerates every taint")
    if toleration.value and toleration.operator == "Exists":
        yield FieldError(f"{path}.value", f"{toleration.value!r} must not be given with the operator Exists")


def _spread_faults(constraint: core.TopologySpreadConstraint, path: str) -> Iterator[FieldError]:
    if constraint.max_skew < 1:
        yield FieldError(f"{path}.maxSkew", f"{constraint.max_skew} is not 1 or more")
    if not constraint.topology_key:
        yield FieldError(f"{path}.topologyKey", "is required and must not be empty")
    yield from _choice_faults(constraint.when_unsatisfiable, _UNSATISFIABLE, f"{path}.whenUnsatisfiable")
    yield from selector_faults(constraint.label_selector, f"{path}.labelSelector")


def _affinity_faults(affinity: core.Affinity, path: str) -> Iterator[FieldError]:
    if affinity.node_affinity is not None:
        yield from _node_affinity_faults(affinity.node_affinity, f"{path}.nodeAffinity")
    for name, side in (("podAffinity", affinity.pod_affinity), ("podAntiAffinity", affinity.pod_anti_affinity)):
        if side is not None:
            yield from _pod_affinity_faults(side, f"{path}.{name}")


_REQUIRED: Final = "requiredDuringSchedulingIgnoredDuringExecution"
_PREFERRED: Final = "preferredDuringSchedulingIgnoredDuringExecution"


def _node_affinity_faults(affinity: core.NodeAffinity, path: str) -> Iterator[FieldError]:
    if affinity.required is not None:
        terms = affinity.required.node_selector_terms
        if not terms:
            yield FieldError(f"{path}.{_REQUIRED}.nodeSelectorTerms", "is required and must not be empty")
        for index, term in enumerate(terms):
            yield from _term_faults(term, f"{path}.{_REQUIRED}.nodeSelectorTerms[{index}]")
    for index, preferred in enumerate(affinity.preferred):
        where = f"{path}.{_PREFERRED}[{index}]"
        yield from _weight_faults(preferred.weight, where)
        yield from _term_faults(preferred.preference, f"{where}.preference")


def _term_faults(term: core.NodeSelectorTerm, path: str) -> Iterator[FieldError]:
    yield from _expression_faults(term.match_expressions, f"{path}.matchExpressions", _NODE_OPERATORS)
    yield from _expression_faults(term.match_fields, f"{path}.matchFields", ("In", "NotIn"))


def _pod_affinity_faults(affinity: core.PodAffinity, path: str) -> Iterator[FieldError]:
    terms = [(f"{path}.{_REQUIRED}[{index}]", term) for index, term in enumerate(affinity.required)]
    for index, preferred in enumerate(affinity.preferred):
        yield from _weight_faults(preferred.weight, f"{path}.{_PREFERRED}[{index}]")
        terms.append((f"{path}.{_PREFERRED}[{index}].podAffinityTerm", preferred.pod_affinity_term))
    for where, term in terms:
        if not term.topology_key:
            yield FieldError(f"{where}.topologyKey", "is required and must not be empty")
        yield from selector_faults(term.label_selector, f"{where}.labelSelector")
        yield from selector_faults(term.namespace_selector, f"{where}.namespaceSelector")


def _weight_faults(weight: int, path: str) -> Iterator[FieldError]:
    if not 1 <= weight <= 100:
        yield FieldError(f"{path}.weight", f"{weight} is not between 1 and 100")


def _expression_faults(
    expressions: Iterable[SelectorExpression], path: str, operators: Sequence[str]
) -> Iterator[FieldError]:
    for index, expression in enumerate(expressions):
        where = f"{path}[{index}]"
        if not expression.key:
            yield FieldError(f"{where}.key", "is required and must not be empty")
        yield from _choice_faults(expression.operator, operators, f"{where}.operator")
        yield from _value_faults(expression, f"{where}.values")


def _value_faults(expression: SelectorExpression, path: str) -> Iterator[FieldError]:
    match expression.operator:
        case "In" | "NotIn" if not expression.values:
            yield FieldError(path, f"must not be empty with the operator {expression.operator}")
        case "Gt" | "Lt" if len(expression.values) != 1 or not expression.values[0].lstrip("+-").isdecimal():
            yield FieldError(path, f"must be one integer with the operator {expression.operator}")
        case operator if operator in _WITHOUT_VALUES and expression.values:
            yield FieldError(path, f"must be empty with the operator {operator}")
