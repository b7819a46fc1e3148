"""Who is where already: bound pods counted by what selectors can tell apart.

Source: spec v1alpha5 SCH-31, SCH-44; spec v1 S-30.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from itertools import chain
from typing import TypeAlias

from karpenter.model.core import Namespace, Pod
from karpenter.model.pods import host_ports, is_terminating
from karpenter.scheduling.classes import Grouping, Port, selector_keys
from karpenter.scheduling.nodes import Nodes
from karpenter.scheduling.terms import Reader, Selection, Term

Signature: TypeAlias = tuple[str, tuple[tuple[str, str], ...]]
"""Namespace, and the labels that some selector speaks of."""


def keys_of_the_bound(nodes: Nodes) -> frozenset[str]:
    """Return the label keys by which bound pods repel others."""
    bound = chain.from_iterable(view.repelling for view in nodes.views)
    return frozenset(chain.from_iterable(selector_keys(one.pod) for one in bound))


@dataclass(slots=True)
class Census:
    """The bound pods of every node (by row), and an index to find the signatures that a selection means."""

    rows: dict[Signature, dict[int, int]] = field(default_factory=dict)
    """How many pods of a signature each node has; terminating ones count apart."""
    leaving: dict[Signature, dict[int, int]] = field(default_factory=dict)
    repelled: list[tuple[Term, int]] = field(default_factory=list)
    """Each required anti-affinity term of a bound pod, with the node's row."""
    ports: dict[Port, list[int]] = field(default_factory=dict)
    """Rows of the nodes on which a host port is taken."""
    _by_pair: dict[tuple[str, str], list[Signature]] = field(default_factory=dict)
    _all: dict[Signature, None] = field(default_factory=dict)

    def know(self, signature: Signature) -> None:
        """Add a signature to the index."""
        if signature not in self._all:
            self._all[signature] = None
            for pair in signature[1]:
                self._by_pair.setdefault(pair, []).append(signature)

    def meant(self, selection: Selection) -> list[Signature]:
        """Return the known signatures that a selection means."""
        if selection.expressions is None:
            return []
        candidates: Iterable[Signature] = self._all
        for expression in selection.expressions:
            if expression.operator == "In":
                pairs = ((expression.key, value) for value in expression.values)
                candidates = chain.from_iterable(self._by_pair.get(pair, ()) for pair in pairs)
                break
        return [found for found in candidates if selection.matches(found[0], dict(found[1]))]


def census_of(
    nodes: Nodes,
    grouping: Grouping,
    *,
    namespaces: Mapping[str, Namespace],
    wants_ports: bool,
) -> Census:
    """Count bound pods by what the grouping's selectors see of them; index that beside what they see of profiles."""
    census = Census()
    for profile in grouping.profiles:
        census.know((profile.namespace, profile.labels))
    for row, view in enumerate(nodes.views):
        for pod in view.pods:
            signature = _signature(pod, grouping.label_keys)
            census.know(signature)
            counts = census.leaving if is_terminating(pod) else census.rows
            by_row = counts.setdefault(signature, {})
            by_row[row] = by_row.get(row, 0) + 1
            if wants_ports:
                for port in host_ports((*pod.spec.containers, *pod.spec.init_containers)):
                    census.ports.setdefault(port, []).append(row)
    census.repelled.extend(_repelled(nodes, grouping.label_keys, namespaces))
    return census


def _signature(pod: Pod, keys: Iterable[str]) -> Signature:
    labels = pod.metadata.labels
    return pod.metadata.namespace, tuple((key, labels[key]) for key in keys if key in labels)


def _repelled(nodes: Nodes, keys: Collection[str], namespaces: Mapping[str, Namespace]) -> Iterator[tuple[Term, int]]:
    read: dict[tuple[Signature, bytes], tuple[Term, ...]] = {}
    for row, view in enumerate(nodes.views):
        for one in view.repelling:
            known = _signature(one.pod, keys), one.code
            if known not in read:
                (namespace, labels), _ = known
                read[known] = Reader(namespace, dict(labels), namespaces).required("anti", one.terms)
            for term in read[known]:
                yield term, row
