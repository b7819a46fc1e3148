"""Pods that nothing but their names tells apart become one class: it is solved once, by count.

Grouping has two steps. Every pod gets a cheap key, the bytes of the fields that matter (never the whole spec: real pods
carry volume names of their own); one pod of each key is then read in full, and keys that mean the same are merged.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from operator import itemgetter
from typing import TypeAlias

import msgspec

from karpenter.model.core import Affinity, NodeSelectorTerm, Pod, TopologySpreadConstraint
from karpenter.model.meta import LabelSelector
from karpenter.model.pods import host_ports
from karpenter.model.requirements import Requirement, Requirements
from karpenter.model.resources import Resources
from karpenter.model.taints import Toleration
from karpenter.scheduling.requests import requests_of

Port: TypeAlias = tuple[str, int, str]
"""IP, port, protocol; `0.0.0.0` stands for every address."""

_encode = msgspec.msgpack.Encoder().encode


@dataclass(frozen=True, slots=True)
class PodClass:
    """Pods with equal needs, and what these are."""

    pods: tuple[Pod, ...]
    """Oldest first."""
    requests: Resources
    """What one pod needs, `pods: 1` included; amounts of zero are left out."""
    terms: tuple[Requirements, ...]
    """Node requirements, one of which must hold; empty when the pod's own contradict each other."""
    preferred: tuple[Requirements, ...]
    """Preferred node affinity, the heaviest first."""
    tolerations: tuple[Toleration, ...]
    ports: tuple[Port, ...]
    priority: int
    namespace: str
    labels: tuple[tuple[str, str], ...]
    """Only those that some selector speaks of."""
    spread: tuple[TopologySpreadConstraint, ...]
    affinity: Affinity | None
    fault: str | None = None
    """Why no scheduler could place such a pod, in words; None for a sound one."""

    @property
    def pod(self) -> Pod:
        """One of them, to speak for all."""
        return self.pods[0]

    @property
    def size(self) -> int:
        """How many there are."""
        return len(self.pods)

    @property
    def key(self) -> tuple[object, ...]:
        """What the class is, in a form that sorts: equal for equal classes, whatever order the pods came in."""
        return (
            -self.priority,
            tuple(sorted(self.requests.items())),
            tuple(repr(term) for term in self.terms),
            tuple(repr(term) for term in self.preferred),
            tuple(sorted((t.key, t.operator, t.value, t.effect) for t in self.tolerations)),
            self.ports,
            self.namespace,
            self.labels,
            _encode((self.spread, self.affinity)),
            self.fault or "",
        )


def classes_of(pods: Iterable[Pod], *, visible: frozenset[str] = frozenset()) -> tuple[PodClass, ...]:
    """Return the classes of these pods, sorted by their keys.

    `visible` are label keys that selectors of other pods (those running already) speak of; keys that the pods' own
    selectors use are added.
    """
    groups: dict[bytes, list[Pod]] = {}
    for pod in pods:
        groups.setdefault(_raw_key(pod), []).append(pod)
    keys = sorted(visible.union(*(selector_keys(group[0]) for group in groups.values())))
    merged: dict[tuple[object, ...], tuple[PodClass, list[Pod]]] = {}
    for group in _split_by_labels(groups.values(), keys):
        read = _read(group[0], keys)
        merged.setdefault(read.key, (read, []))[1].extend(group)
    return tuple(
        replace(read, pods=tuple(sorted(members, key=_age)))
        for _, (read, members) in sorted(merged.items(), key=itemgetter(0))
    )


def _raw_key(pod: Pod) -> bytes:
    spec = pod.spec
    return _encode((
        pod.metadata.namespace,
        spec.containers,
        spec.init_containers,
        spec.node_selector,
        spec.affinity,
        spec.tolerations,
        spec.topology_spread_constraints,
        spec.overhead,
        spec.resources,
        spec.priority,
        pod.status.container_statuses,
        [volume for volume in spec.volumes if volume.persistent_volume_claim or volume.ephemeral],
    ))  # fmt: skip


def _age(pod: Pod) -> tuple[str, str, str]:
    return pod.metadata.creation_timestamp or "", pod.metadata.name, pod.metadata.uid


def _split_by_labels(groups: Iterable[list[Pod]], keys: Sequence[str]) -> Iterable[list[Pod]]:
    if not keys:
        return groups
    split: list[list[Pod]] = []
    for group in groups:
        by_labels: dict[tuple[str | None, ...], list[Pod]] = {}
        for pod in group:
            by_labels.setdefault(tuple(map(pod.metadata.labels.get, keys)), []).append(pod)
        split.extend(by_labels.values())
    return split


def selector_keys(pod: Pod) -> set[str]:
    """Return the label keys by which the pod's spread constraints and affinity terms select pods."""
    keys: set[str] = set()
    for constraint in pod.spec.topology_spread_constraints:
        keys.update(_mentioned(constraint.label_selector), constraint.match_label_keys)
    affinity = pod.spec.affinity
    for side in (affinity.pod_affinity, affinity.pod_anti_affinity) if affinity else ():
        if side is None:
            continue
        for term in (*side.required, *(weighted.pod_affinity_term for weighted in side.preferred)):
            keys.update(_mentioned(term.label_selector), term.match_label_keys, term.mismatch_label_keys)
    return keys


def _mentioned(selector: LabelSelector | None) -> set[str]:
    if selector is None:
        return set()
    return {*selector.match_labels, *(expression.key for expression in selector.match_expressions)}


def _read(pod: Pod, keys: Sequence[str]) -> PodClass:
    spec = pod.spec
    fault = None
    requests: Resources = {"pods": 1}
    terms: tuple[Requirements, ...] = (Requirements(),)
    preferred: tuple[Requirements, ...] = ()
    try:
        requests = requests_of(pod)
        terms, preferred = _node_terms(pod)
    except ValueError as error:
        fault = str(error)
    affinity = spec.affinity
    return PodClass(
        pods=(pod,),
        requests=requests,
        terms=terms,
        preferred=preferred,
        tolerations=spec.tolerations,
        ports=tuple(sorted(set(host_ports((*spec.containers, *spec.init_containers))))),
        priority=spec.priority or 0,
        namespace=pod.metadata.namespace,
        labels=tuple((key, pod.metadata.labels[key]) for key in keys if key in pod.metadata.labels),
        spread=spec.topology_spread_constraints,
        affinity=msgspec.structs.replace(affinity, node_affinity=None) if affinity else None,
        fault=fault,
    )


def _node_terms(pod: Pod) -> tuple[tuple[Requirements, ...], tuple[Requirements, ...]]:
    """Return the alternatives of the required node affinity, each with the node selector, and the preferred terms.

    Raises:
        ValueError: a term uses `matchFields`, or an expression is malformed (POD-2); the message names the field.
    """
    selector = Requirements.from_labels(pod.spec.node_selector)
    affinity = pod.spec.affinity.node_affinity if pod.spec.affinity else None
    if affinity is None:
        return (selector,), ()
    terms: tuple[Requirements, ...] = (selector,)
    if affinity.required is not None:
        # A term without expressions matches no node, unlike an absent list of terms.
        stated = [term for term in affinity.required.node_selector_terms if term.match_expressions or term.match_fields]
        terms = tuple(dict.fromkeys(selector.intersect(_requirements(term)) for term in stated))
    heaviest = sorted(affinity.preferred, key=lambda term: -term.weight)
    return terms, tuple(_requirements(term.preference) for term in heaviest)


def _requirements(term: NodeSelectorTerm) -> Requirements:
    if term.match_fields:
        raise ValueError(
            "its node affinity uses matchFields, which only a pod of a DaemonSet may; use matchExpressions"
        )
    read = []
    for expression in term.match_expressions:
        try:
            read.append(Requirement.of(expression.key, expression.operator, expression.values))
        except ValueError as error:
            raise ValueError(f"its node affinity on {expression.key!r} cannot be read: {error}") from error
    return Requirements(read)
