"""Everybody who is anywhere in the finished state, and whom the rules of pods about other pods mean."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from karpenter.model.core import Namespace, Pod, PodAffinityTerm
from karpenter.model.meta import LabelSelector, SelectorExpression
from tests.scheduling.homes import Home


@dataclass(frozen=True)
class Meaning:
    """Which pods a rule means."""

    namespaces: LabelSelector | None
    """None means only the listed ones."""
    listed: frozenset[str]
    selector: LabelSelector | None


@dataclass(eq=False)
class Resident:
    """A pod and where it is in the finished state."""

    pod: Pod
    home: Home
    is_new: bool


@dataclass
class Town:
    """Everybody, and answers about them that are asked again and again."""

    homes: Sequence[Home]
    namespaces: Mapping[str, Namespace]
    residents: list[Resident] = field(default_factory=list)
    _alike: dict[tuple[object, ...], list[Resident]] = field(default_factory=dict)
    """Residents by namespace and labels."""
    _meant: dict[str, list[Resident]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        for home in self.homes:
            self.residents.extend(Resident(pod, home, is_new=False) for pod in home.staying)
            self.residents.extend(Resident(pod, home, is_new=True) for pod in home.placed)
        for who in self.residents:
            about = who.pod.metadata
            self._alike.setdefault((about.namespace, *sorted(about.labels.items())), []).append(who)

    def meant(self, meaning: Meaning) -> list[Resident]:
        """Return all pods that a rule means."""
        known = repr(meaning)
        if known not in self._meant:
            groups = (group for group in self._alike.values() if self.means(meaning, group[0].pod))
            self._meant[known] = [who for group in groups for who in group]
        return self._meant[known]

    def means(self, meaning: Meaning, pod: Pod) -> bool:
        name = pod.metadata.namespace
        there = name in meaning.listed
        if meaning.namespaces is not None and not there:
            namespace = self.namespaces.get(name)
            labels = {"kubernetes.io/metadata.name": name, **(namespace.metadata.labels if namespace else {})}
            there = meaning.namespaces.matches(labels)
        return there and meaning.selector is not None and meaning.selector.matches(pod.metadata.labels)


def with_labels(
    selector: LabelSelector | None, pod: Pod, keys: Sequence[str], *, operator: str
) -> LabelSelector | None:
    """Return a selector that also demands the pod's own values of some labels (or that others differ in them)."""
    if selector is None:
        return None
    own = pod.metadata.labels
    more = tuple(SelectorExpression(key, operator, (own[key],)) for key in keys if key in own)
    return LabelSelector(selector.match_labels, (*selector.match_expressions, *more))


def required_terms(pod: Pod, side: str) -> Sequence[PodAffinityTerm]:
    part = getattr(pod.spec.affinity, side) if pod.spec.affinity else None
    return part.required if part else ()


def meaning_of(term: PodAffinityTerm, pod: Pod) -> Meaning:
    selector = with_labels(term.label_selector, pod, term.match_label_keys, operator="In")
    selector = with_labels(selector, pod, term.mismatch_label_keys, operator="NotIn")
    own = not term.namespaces and term.namespace_selector is None
    return Meaning(term.namespace_selector, frozenset((pod.metadata.namespace,) if own else term.namespaces), selector)
