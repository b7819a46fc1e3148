"""What a pod demands of its place, and where that leaves it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Final

from karpenter.model.labels import HOSTNAME, normalized
from karpenter.model.pods import is_terminating
from karpenter.scheduling.classes import Profile
from karpenter.scheduling.explain.records import Binding
from karpenter.scheduling.obstacles import shown_port
from karpenter.scheduling.snapshot import NodeView
from karpenter.scheduling.terms import Term, Terms

_CODES: Final = {"spread": "TopologySpread", "affinity": "PodAffinity", "anti": "PodAntiAffinity"}
_MOST_DOMAINS: Final = 6


def bindings_of(profile: Profile, terms: Terms, *, nodes: Sequence[NodeView], place: str | None) -> Iterator[Binding]:
    """Yield the demands of a pod; `nodes` are those of the finished state, `place` the one it goes to."""
    for term in profile.terms:
        for key, requirement in term.items():
            yield Binding("NodeRequirement", key, f"asks for a node with {requirement}")
    for place_term in profile.volumes:
        for key, requirement in place_term.items():
            yield Binding("Volume", key, f"its volumes can be reached only from nodes with {requirement}")
    for rule in terms.required:
        yield _of_rule(rule, nodes, place)
    for port in profile.ports:
        yield Binding("HostPort", shown_port(port), f"takes host port {shown_port(port)} of its node")


def _of_rule(term: Term, nodes: Sequence[NodeView], place: str | None) -> Binding:
    counts, here = _counts(term, nodes, place)
    limit = f", maxSkew {term.max_skew}" if term.kind == "spread" else ""
    if term.is_by_host:
        there = f"{sum(1 for count in counts.values() if count)} of {len(counts)} nodes have such pods"
    else:
        listed = [f"{name} has {counts[name]}" for name in sorted(counts)][:_MOST_DOMAINS]
        more = f" and {len(counts) - _MOST_DOMAINS} more" if len(counts) > _MOST_DOMAINS else ""
        there = (", ".join(listed) or "no node has the label") + more
    goes = f"; it is in {here}" if here is not None and not term.is_by_host else ""
    return Binding(_CODES[term.kind], term.key, f"{term}{limit}: {there}{goes}")


def _counts(term: Term, nodes: Sequence[NodeView], place: str | None) -> tuple[Counter[str], str | None]:
    """Return how many pods that the rule means each domain has in the end, and the domain of the place."""
    counts: Counter[str] = Counter()
    here: str | None = None
    for view in nodes:
        domain = {HOSTNAME: view.name, **normalized(dict(view.labels))}.get(term.key)
        if domain is None:
            continue
        if view.name == place:
            here = domain
        counts[domain] += sum(
            term.selection.matches(pod.metadata.namespace, pod.metadata.labels)
            for pod in view.pods
            if not is_terminating(pod)
        )
    return counts, here
