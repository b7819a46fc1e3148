"""The finished state of a plan as the verifier sees it: homes, and every machine each of them may turn out to be."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from karpenter.model.core import NodeSelector, NodeSelectorTerm, Pod
from karpenter.model.instancetype import InstanceType
from karpenter.model.labels import HOSTNAME, canonical
from karpenter.model.pods import is_terminating
from karpenter.model.requirements import Requirement
from karpenter.model.taints import Taint
from karpenter.scheduling import NodeView

ANY = "(any value)"
"""Stands for the value of a label that is wide open."""


@dataclass(frozen=True)
class Shape:
    """One machine that a claim may get; a node has exactly one shape."""

    labels: Mapping[str, str]
    opened: Mapping[str, Requirement] = field(default_factory=dict)
    """Labels that will be there with a value nobody knows yet."""
    kind: InstanceType | None = None
    daemons: tuple[Pod, ...] = ()
    """DaemonSet pods that are still to come."""

    def values(self, key: str) -> frozenset[str]:
        """Return the values that a label may have; empty when it will not be there."""
        if key in self.labels:
            return frozenset((self.labels[key],))
        opened = self.opened.get(key)
        if opened is None:
            return frozenset()
        return frozenset((ANY,)) if opened.complement else opened.values


@dataclass
class Home:
    """A node or a planned machine in the finished state."""

    name: str
    taints: tuple[Taint, ...]
    shapes: Sequence[Shape]
    bound: Sequence[Pod] = ()
    placed: Sequence[Pod] = ()
    view: NodeView | None = None
    """None for a machine to launch."""
    _values: dict[str, frozenset[str]] = field(default_factory=dict)
    _terms: dict[str, list[bool]] = field(default_factory=dict)

    def values(self, key: str) -> frozenset[str]:
        """Return every value that the label may have, in whatever shape the machine comes."""
        if key == HOSTNAME:
            return frozenset((self.name,))
        if key not in self._values:
            self._values[key] = frozenset().union(*(shape.values(key) for shape in self.shapes))
        return self._values[key]

    def values_for(self, key: str, selector: NodeSelector | None, labels: Mapping[str, str]) -> frozenset[str]:
        """Return the values that the label may have where node affinity and node selector hold."""
        if key == HOSTNAME:
            return self.values(key)
        known = repr((key, selector, sorted(labels.items())))
        if known not in self._values:
            admitting = (shape for shape in self.shapes if _admits(shape, selector, labels))
            self._values[known] = frozenset().union(*(shape.values(key) for shape in admitting))
        return self._values[known]

    def has_surely(self, key: str) -> bool:
        """Return whether the label will be there in every shape."""
        return key == HOSTNAME or all(shape.values(key) for shape in self.shapes)

    def matches(self, selector: NodeSelector | None, labels: Mapping[str, str]) -> tuple[bool, bool]:
        """Return whether node affinity and node selector may hold, and whether they surely do."""
        known = repr((selector, sorted(labels.items())))
        if known not in self._terms:
            self._terms[known] = [_admits(shape, selector, labels) for shape in self.shapes]
        return any(self._terms[known]), all(self._terms[known])

    @property
    def staying(self) -> Iterator[Pod]:
        """Bound pods that stay."""
        return (pod for pod in self.bound if not is_terminating(pod))


def _admits(shape: Shape, selector: NodeSelector | None, labels: Mapping[str, str]) -> bool:
    if any(shape.labels.get(canonical(key)) != value for key, value in labels.items()):
        return False
    return selector is None or any(term_holds(term, shape.labels) for term in selector.node_selector_terms)


def term_holds(term: NodeSelectorTerm, labels: Mapping[str, str], *, but: str = "") -> bool:
    """Return whether a node with these labels meets a term; expressions on the label `but` are passed over."""
    return bool(term.match_expressions) and all(
        expression_holds(canonical(expression.key), expression.operator, expression.values, labels)
        for expression in term.match_expressions
        if canonical(expression.key) != but
    )


def expression_holds(key: str, operator: str, values: Sequence[str], labels: Mapping[str, str]) -> bool:
    """Return whether labels meet an expression of a node selector."""
    value = labels.get(key)
    match operator:
        case "In":
            return value in values
        case "NotIn":
            return value not in values
        case "Exists":
            return value is not None
        case "DoesNotExist":
            return value is None
        case "Gt":
            return value is not None and value.lstrip("-").isdigit() and int(value) > int(values[0])
        case "Lt":
            return value is not None and value.lstrip("-").isdigit() and int(value) < int(values[0])
    raise AssertionError(f"no operator of Kubernetes: {operator}")
