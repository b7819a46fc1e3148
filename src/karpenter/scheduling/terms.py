"""What pods say about other pods: spread constraints, affinity and anti-affinity, read into one form.

Source: spec v1alpha5 §2.8, §2.9; spec v1 S-30 … S-37.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import reduce
from typing import Literal, TypeAlias

from karpenter.model.core import Namespace, PodAffinity, PodAffinityTerm, TopologySpreadConstraint
from karpenter.model.labels import HOSTNAME, canonical
from karpenter.model.meta import LabelSelector, SelectorExpression
from karpenter.scheduling.classes import Profile

Kind: TypeAlias = Literal["spread", "affinity", "anti"]


@dataclass(frozen=True, slots=True)
class Selection:
    """Which pods are meant."""

    namespaces: frozenset[str] | None
    """None means all."""
    expressions: tuple[SelectorExpression, ...] | None
    """All of them must hold; None selects no pod at all."""

    def both(self, other: Selection) -> Selection:
        """Return the selection of the pods that both mean."""
        namespaces = self.namespaces if other.namespaces is None else other.namespaces
        if self.namespaces is not None and other.namespaces is not None:
            namespaces = self.namespaces & other.namespaces
        if self.expressions is None or other.expressions is None:
            return Selection(namespaces, None)
        return Selection(namespaces, _sorted((*self.expressions, *other.expressions)))

    def matches(self, namespace: str, labels: Mapping[str, str]) -> bool:
        """Return whether a pod of this namespace with these labels is meant."""
        if self.expressions is None or (self.namespaces is not None and namespace not in self.namespaces):
            return False
        return all(expression.matches(labels) for expression in self.expressions)


@dataclass(frozen=True, slots=True)
class Term:
    """One rule about where other pods are, by the values of a node label (the domains)."""

    kind: Kind
    key: str
    selection: Selection
    max_skew: int = 1
    """Only for spread, like the fields that follow."""
    min_domains: int = 0
    honors_affinity: bool = True
    """Whether only nodes that the pod's own node affinity admits count."""
    honors_taints: bool = False
    """Whether only nodes whose taints the pod tolerates count."""
    is_soft: bool = False
    """Whether it is a preference: heeded by the pods that state it, and in nobody else's way."""

    @property
    def is_by_host(self) -> bool:
        """Whether every node is a domain of its own."""
        return self.key == HOSTNAME

    def __str__(self) -> str:
        names = {"spread": "topology spread", "affinity": "pod affinity", "anti": "pod anti-affinity"}
        return f"{names[self.kind]} over {self.key}"


@dataclass(frozen=True, slots=True)
class Terms:
    """All rules of a profile about other pods."""

    required: tuple[Term, ...]
    preferred_affinity: tuple[Term, ...]
    """The heaviest first, like the anti-affinity."""
    preferred_anti_affinity: tuple[Term, ...]
    soft_spread: tuple[Term, ...]
    """Constraints that are `ScheduleAnyway`, in their order."""


def terms_of(profile: Profile, namespaces: Mapping[str, Namespace]) -> Terms:
    """Read the rules of a profile; `namespaces` are those that namespace selectors choose from."""
    labels = dict(profile.labels)
    spread = [(c.when_unsatisfiable == "ScheduleAnyway", _spread(c, profile.namespace, labels)) for c in profile.spread]
    near = profile.affinity.pod_affinity if profile.affinity else None
    far = profile.affinity.pod_anti_affinity if profile.affinity else None
    reader = Reader(profile.namespace, labels, namespaces)
    required = (
        *(term for soft, term in spread if not soft),
        *reader.required("affinity", near),
        *reader.required("anti", far),
    )
    return Terms(
        required=tuple(dict.fromkeys(required)),
        preferred_affinity=reader.preferred("affinity", near),
        preferred_anti_affinity=reader.preferred("anti", far),
        soft_spread=tuple(replace(term, is_soft=True) for soft, term in spread if soft),
    )


@dataclass(frozen=True, slots=True)
class Reader:
    """Reads the affinity terms of a pod with this namespace and these labels."""

    namespace: str
    labels: Mapping[str, str]
    known: Mapping[str, Namespace]

    def required(self, kind: Kind, side: PodAffinity | None) -> tuple[Term, ...]:
        """Return the required terms of one side.

        Company by affinity is a pod that all terms mean, so these share one selection; anti-affinity terms do not.
        """
        if side is None:
            return ()
        terms = [self._term(kind, term) for term in side.required]
        if kind == "affinity" and len(terms) > 1:
            together = reduce(Selection.both, (term.selection for term in terms))
            terms = [replace(term, selection=together) for term in terms]
        return tuple(terms)

    def preferred(self, kind: Kind, side: PodAffinity | None) -> tuple[Term, ...]:
        """Return the preferred terms of one side, the heaviest first."""
        if side is None:
            return ()
        heaviest = sorted(side.preferred, key=lambda weighted: -weighted.weight)
        return tuple(replace(self._term(kind, weighted.pod_affinity_term), is_soft=True) for weighted in heaviest)

    def _term(self, kind: Kind, term: PodAffinityTerm) -> Term:
        expressions = _expressions(term.label_selector, self.labels, term.match_label_keys)
        if expressions is not None:
            expressions += _of_labels("NotIn", self.labels, term.mismatch_label_keys)
        return Term(kind, canonical(term.topology_key), Selection(self._namespaces(term), expressions))

    def _namespaces(self, term: PodAffinityTerm) -> frozenset[str] | None:
        """Return the namespaces of a term (SCH-41): listed and selected ones; neither means the pod's own."""
        selector = term.namespace_selector
        if selector is None:
            return frozenset(term.namespaces or (self.namespace,))
        if not selector.match_labels and not selector.match_expressions:
            return None
        selected = (name for name, namespace in self.known.items() if selector.matches(namespace.metadata.labels))
        return frozenset((*term.namespaces, *selected))


def _spread(constraint: TopologySpreadConstraint, namespace: str, labels: Mapping[str, str]) -> Term:
    return Term(
        kind="spread",
        key=canonical(constraint.topology_key),
        selection=Selection(
            frozenset((namespace,)), _expressions(constraint.label_selector, labels, constraint.match_label_keys)
        ),
        max_skew=constraint.max_skew,
        min_domains=constraint.min_domains or 0,
        honors_affinity=constraint.node_affinity_policy != "Ignore",
        honors_taints=constraint.node_taints_policy == "Honor",
    )


def _expressions(
    selector: LabelSelector | None, labels: Mapping[str, str], match_keys: Sequence[str]
) -> tuple[SelectorExpression, ...] | None:
    """Return a selector in one canonical form, with the pod's own values of `matchLabelKeys` worked in (S-36)."""
    if selector is None:
        return None
    stated = [SelectorExpression(key, "In", (value,)) for key, value in selector.match_labels.items()]
    stated += [
        SelectorExpression(expression.key, expression.operator, tuple(sorted(expression.values)))
        for expression in selector.match_expressions
    ]
    stated += _of_labels("In", labels, match_keys)
    return _sorted(stated)


def _sorted(expressions: Iterable[SelectorExpression]) -> tuple[SelectorExpression, ...]:
    return tuple(sorted(set(expressions), key=lambda entry: (entry.key, entry.operator, entry.values)))


def _of_labels(operator: str, labels: Mapping[str, str], keys: Iterable[str]) -> tuple[SelectorExpression, ...]:
    return tuple(SelectorExpression(key, operator, (labels[key],)) for key in keys if key in labels)
