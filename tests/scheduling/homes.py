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


@dataclass(frozen=True, eq=False)
class NodeFilter:
    """Which nodes a pod's node affinity and node selector admit."""

    selector: NodeSelector | None
    labels: Mapping[str, str]
    text: str
    """The same for equal filters."""

    @classmethod
    def of(cls, pod: Pod) -> "NodeFilter":
        node_affinity = pod.spec.affinity.node_affinity if pod.spec.affinity else None
        selector = node_affinity.required if node_affinity else None
        return cls(selector, pod.spec.node_selector, repr((selector, sorted(pod.spec.node_selector.items()))))

    def admits(self, labels: Mapping[str, str]) -> bool:
        if any(labels.get(canonical(key)) != value for key, value in self.labels.items()):
            return False
        return self.selector is None or any(term_holds(term, labels) for term in self.selector.node_selector_terms)


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


class Shapes:
    """Every machine that a claim may get. Equal claims share one, so that its answers are found once."""

    def __init__(self, each: Sequence[Shape]) -> None:
        self.each = each
        self._values: dict[tuple[str, str], frozenset[str]] = {}
        self._surely: dict[str, bool] = {}
        self._matches: dict[str, tuple[bool, bool]] = {}

    def values(self, key: str, where: NodeFilter | None = None) -> frozenset[str]:
        """Return every value that a label may have, in the shapes that a filter admits."""
        known = key, where.text if where else ""
        if known not in self._values:
            admitting = (shape for shape in self.each if where is None or where.admits(shape.labels))
            self._values[known] = frozenset().union(*(shape.values(key) for shape in admitting))
        return self._values[known]

    def have_surely(self, key: str) -> bool:
        """Return whether a label will be there in every shape."""
        if key not in self._surely:
            self._surely[key] = all(shape.values(key) for shape in self.each)
        return self._surely[key]

    def matches(self, where: NodeFilter) -> tuple[bool, bool]:
        """Return whether a filter may admit the machine, and whether it surely does."""
        if where.text not in self._matches:
            admitted = [where.admits(shape.labels) for shape in self.each]
            self._matches[where.text] = any(admitted), all(admitted)
        return self._matches[where.text]


@dataclass(eq=False)
class Home:
    """A node or a planned machine in the finished state."""

    name: str
    taints: tuple[Taint, ...]
    shapes: Shapes
    bound: Sequence[Pod] = ()
    placed: Sequence[Pod] = ()
    view: NodeView | None = None
    """None for a machine to launch."""

    def values(self, key: str, where: NodeFilter | None = None) -> frozenset[str]:
        """Return every value that the label may have where a filter admits the machine."""
        return frozenset((self.name,)) if key == HOSTNAME else self.shapes.values(key, where)

    def has_surely(self, key: str) -> bool:
        """Return whether the label will be there in every shape."""
        return key == HOSTNAME or self.shapes.have_surely(key)

    @property
    def staying(self) -> Iterator[Pod]:
        """Bound pods that stay."""
        return (pod for pod in self.bound if not is_terminating(pod))


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
