"""Pods that nothing but their names tells apart become one class: it is solved once, by count.

Grouping has two steps. Every pod gets cheap keys, the bytes of the fields that matter (never the whole spec: real pods
carry volume names of their own); one pod of each kind is then read in full, and kinds that mean the same are merged.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from operator import itemgetter
from typing import Final, TypeAlias

import msgspec

from karpenter.model.core import Affinity, NodeSelectorTerm, Pod, TopologySpreadConstraint
from karpenter.model.meta import LabelSelector
from karpenter.model.pods import host_ports
from karpenter.model.requirements import Requirement, Requirements
from karpenter.model.resources import Resources
from karpenter.model.taints import Toleration
from karpenter.scheduling.defaults import Defaults
from karpenter.scheduling.requests import requests_of
from karpenter.scheduling.stores import NO_NEEDS, Stores
from karpenter.scheduling.volumes import Alternatives, Attachment

Port: TypeAlias = tuple[str, int, str]
"""IP, port, protocol; `0.0.0.0` stands for every address."""

_Amounts: TypeAlias = tuple[tuple[str, int], ...]

_encode = msgspec.msgpack.Encoder().encode


@dataclass(frozen=True, slots=True, order=True)
class Fault:
    """What is wrong with a pod itself."""

    code: str
    message: str


_SOUND: Final = Fault("", "")
INVALID: Final = "InvalidPod"
"""The code of pods that say something which cannot be read, a request that is no quantity among it."""


@dataclass(frozen=True)
class Profile:
    """What pods demand of their place, amounts apart. Many classes share one."""

    namespace: str
    labels: tuple[tuple[str, str], ...]
    """Only those that some selector speaks of."""
    terms: tuple[Requirements, ...]
    """Node requirements, one of which must hold; empty when no node can match."""
    preferred: tuple[Requirements, ...]
    """Preferred node affinity, the heaviest first."""
    tolerations: tuple[Toleration, ...]
    ports: tuple[Port, ...]
    spread: tuple[TopologySpreadConstraint, ...]
    affinity: Affinity | None
    """Of it, what is said about other pods."""
    volumes: Alternatives = NO_NEEDS.alternatives
    """Node requirements of its volumes, one of which must hold. They say where it can be, not which nodes count."""
    nominated: str = ""
    """Hostname of the node that the scheduler makes room on for it; empty without one."""

    @cached_property
    def key(self) -> tuple[object, ...]:
        """What the profile is, in a form that sorts."""
        return (
            tuple(repr(term) for term in self.terms),
            tuple(repr(term) for term in self.preferred),
            tuple(sorted((t.key, t.operator, t.value, t.effect) for t in self.tolerations)),
            self.ports,
            self.namespace,
            self.labels,
            _encode((self.spread, self.affinity)),
            tuple(repr(place) for place in self.volumes),
            self.nominated,
        )


@dataclass(frozen=True, slots=True)
class PodClass:
    """Pods with equal needs, and what these are."""

    pods: tuple[Pod, ...]
    """Oldest first."""
    requests: Resources
    """What one pod needs, `pods: 1` included; amounts of zero are left out."""
    profile: int
    """Position of the profile in the grouping."""
    priority: int
    fault: Fault | None = None
    """Why no scheduler could place such a pod; None for a sound one."""
    shared: tuple[Attachment, ...] = ()
    """Volumes that count on a node once, however many pods there use them."""

    @property
    def size(self) -> int:
        """How many there are."""
        return len(self.pods)


@dataclass(frozen=True, slots=True)
class Grouping:
    """Classes and their profiles, both sorted: equal for equal pods, whatever order these came in."""

    classes: tuple[PodClass, ...]
    profiles: tuple[Profile, ...]
    label_keys: tuple[str, ...]
    """Label keys that some selector speaks of: labels of other keys tell no pods apart."""

    def profile(self, cls: PodClass) -> Profile:
        """Return the profile of a class."""
        return self.profiles[cls.profile]


def clash(one: Port, other: Port) -> bool:
    """Return whether two host ports cannot be on one node (SCH-60)."""
    everywhere = {"0.0.0.0", "::"}  # noqa: S104 - compared, never bound
    if one[1:] != other[1:]:
        return False
    return one[0] == other[0] or one[0] in everywhere or other[0] in everywhere


@dataclass(frozen=True, slots=True)
class Surroundings:
    """What a pod demands is partly said by other objects; these answer for all pods of a solve."""

    stores: Stores
    defaults: Defaults
    hostnames: Mapping[str, str]
    """Of the nodes that pods may be nominated to, by name."""

    def code(self, pod: Pod) -> tuple[int, int, str]:
        """Return what is the same for pods that other objects do not tell apart."""
        nominated = self.hostnames.get(pod.status.nominated_node_name, "")
        return self.stores.code(pod), self.defaults.code(pod), nominated


def group(
    pods: Iterable[Pod], surroundings: Surroundings | None = None, *, visible: frozenset[str] = frozenset()
) -> Grouping:
    """Sort pods into classes; without `surroundings` by what they say themselves alone.

    `visible` are label keys that selectors of other pods (those running already) speak of; keys that the pods' own
    selectors use are added.
    """
    reader = _Reader(surroundings)
    read = [(pod, reader.part(pod)) for pod in pods]
    keys = tuple(sorted(visible.union(*(_selector_keys(made.spread, made.affinity) for made in reader.made.values()))))
    alike: dict[tuple[int, tuple[str | None, ...]], list[Pod]] = {}
    told: dict[tuple[tuple[str, str], ...], tuple[str | None, ...]] = {}
    for pod, part in read:
        labels = pod.metadata.labels
        stated = tuple(labels.items())
        values = told.get(stated)
        if values is None:
            values = told[stated] = tuple(map(labels.get, keys))
        alike.setdefault((part, values), []).append(pod)
    profiles: dict[tuple[object, ...], Profile] = {}
    labelled: dict[tuple[int, tuple[str | None, ...]], Profile] = {}
    merged: dict[tuple[int, _Amounts, int, Fault, tuple[Attachment, ...]], tuple[PodClass, list[Pod]]] = {}
    for (part, values), members in alike.items():
        cls, profile = reader.parts[part]
        mine = labelled.get((id(profile), values))
        if mine is None:
            mine = labelled[id(profile), values] = _with_labels(profile, keys, values)
            mine = labelled[id(profile), values] = profiles.setdefault(mine.key, mine)
        key = (-cls.priority, tuple(sorted(cls.requests.items())), id(mine), cls.fault or _SOUND, cls.shared)
        merged.setdefault(key, (cls, []))[1].extend(members)
    ordered = tuple(profiles[key] for key in sorted(profiles))
    position = {id(profile): at for at, profile in enumerate(ordered)}
    classes = {
        (priority, requests, position[profile], *others): replace(
            cls, pods=tuple(sorted(members, key=_age)), profile=position[profile]
        )
        for (priority, requests, profile, *others), (cls, members) in merged.items()
    }
    return Grouping(tuple(cls for _, cls in sorted(classes.items(), key=itemgetter(0))), ordered, keys)


def _with_labels(profile: Profile, keys: Sequence[str], values: Sequence[str | None]) -> Profile:
    labels = tuple((key, value) for key, value in zip(keys, values, strict=True) if value is not None)
    return replace(profile, labels=labels) if labels else profile


class _Reader:
    """Reads pods, each kind once. Amounts and the rest of a spec are told apart, so that few of either are read."""

    def __init__(self, surroundings: Surroundings | None) -> None:
        self.parts: list[tuple[PodClass, Profile]] = []
        """Each kind of pod, its labels apart: a class of its first pod, and its profile."""
        self.made: dict[tuple[bytes, object], Profile] = {}
        self._surroundings = surroundings
        self._known: dict[tuple[object, ...], int] = {}
        self._kept: list[Resources | str] = []

    def part(self, pod: Pod) -> int:
        """Return the position of the pod's kind."""
        place = _place_key(pod), self._surroundings.code(pod) if self._surroundings else None
        requests: Resources | str
        try:
            requests = requests_of(pod)
        except ValueError as error:
            requests = str(error)
        # The amounts of equal pods are one object. It is kept, so that no other can come to have its identity.
        known = place, requests if isinstance(requests, str) else id(requests), pod.spec.priority
        found = self._known.get(known)
        if found is None:
            found = self._known[known] = len(self.parts)
            self.parts.append(self._read(pod, place, requests))
            self._kept.append(requests)
        return found

    def _read(self, pod: Pod, place: tuple[bytes, object], requests: Resources | str) -> tuple[PodClass, Profile]:
        needs = self._surroundings.stores.needs(pod) if self._surroundings else NO_NEEDS
        fault = None if needs.fault is None else Fault("VolumeUnavailable", needs.fault)
        amounts: Resources = {"pods": 1}
        if pod.spec.resource_claims:
            fault = Fault("ResourceClaims", f"it asks for devices by {_claimed(pod)}; no node is launched for these")
        if isinstance(requests, str):
            fault = Fault(INVALID, requests)
        else:
            amounts = {**requests, **dict(needs.amounts)}
        profile = self.made.get(place)
        try:
            if profile is None:
                profile = self.made[place] = _profile(pod, self._surroundings)
        except ValueError as error:
            fault = fault or Fault(INVALID, str(error))
            profile = Profile(pod.metadata.namespace, (), (), (), (), (), (), None)
        priority = pod.spec.priority or 0
        return PodClass((pod,), amounts, profile=0, priority=priority, fault=fault, shared=needs.shared), profile


def _claimed(pod: Pod) -> str:
    names = ", ".join(claim.name for claim in pod.spec.resource_claims)
    return f"resource claim {names}" if len(pod.spec.resource_claims) == 1 else f"resource claims {names}"


def _place_key(pod: Pod) -> bytes:
    """Return what decides a pod's profile, in a form that is equal for equal ones: never the whole spec."""
    spec = pod.spec
    return _encode((
        pod.metadata.namespace,
        [container.ports for container in (*spec.containers, *spec.init_containers) if container.ports],
        spec.node_selector,
        spec.affinity,
        spec.tolerations,
        spec.topology_spread_constraints,
        bool(spec.resource_claims),
    ))  # fmt: skip


def _age(pod: Pod) -> tuple[str, str, str]:
    return pod.metadata.creation_timestamp or "", pod.metadata.name, pod.metadata.uid


def selector_keys(pod: Pod) -> set[str]:
    """Return the label keys by which the pod's spread constraints and affinity terms select pods."""
    return _selector_keys(pod.spec.topology_spread_constraints, pod.spec.affinity)


def _selector_keys(spread: Iterable[TopologySpreadConstraint], affinity: Affinity | None) -> set[str]:
    keys: set[str] = set()
    for constraint in spread:
        keys.update(_mentioned(constraint.label_selector), constraint.match_label_keys)
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


def _profile(pod: Pod, surroundings: Surroundings | None) -> Profile:
    """Return what a pod demands of its place, its labels apart. Raises ValueError as `_node_terms` does."""
    spec = pod.spec
    terms, preferred = _node_terms(pod)
    affinity = spec.affinity
    others = affinity is not None and (affinity.pod_affinity or affinity.pod_anti_affinity)
    return Profile(
        namespace=pod.metadata.namespace,
        labels=(),
        terms=terms,
        preferred=preferred,
        tolerations=spec.tolerations,
        ports=tuple(sorted(set(host_ports((*spec.containers, *spec.init_containers))))),
        spread=surroundings.defaults.spread(pod) if surroundings else spec.topology_spread_constraints,
        affinity=msgspec.structs.replace(affinity, node_affinity=None) if affinity and others else None,
        volumes=surroundings.stores.needs(pod).alternatives if surroundings else NO_NEEDS.alternatives,
        nominated=surroundings.hostnames.get(pod.status.nominated_node_name, "") if surroundings else "",
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
