"""What scheduling asks of a pod, worked out once for all pods that ask the same."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Final
from weakref import WeakValueDictionary

import msgspec

from karpenter.model import core
from karpenter.model.meta import LabelSelector, OwnerReference, SelectorExpression
from karpenter.model.pods import host_ports, pod_requests
from karpenter.model.resources import CPU, MEMORY
from karpenter.model.taints import Toleration
from karpenter.model.units import ObjectKey

NamespaceLabels = Callable[[str], Mapping[str, str]]
"""The labels of a namespace by name; empty for one that nobody knows."""

_ASSUMED_REQUESTS: Final = {CPU: "100m", MEMORY: "200Mi"}
"""What scores assume for a container that requests nothing, so that such pods still spread."""


@dataclass(frozen=True, slots=True)
class PodTerm:
    """One pod affinity or anti-affinity term, resolved against the pod that has it."""

    topology_key: str
    selector: LabelSelector | None
    """None selects nothing."""
    namespaces: frozenset[str]
    namespace_selector: LabelSelector | None
    """Selects further namespaces; an empty one selects all, None selects none."""
    weight: int = 0
    """Only of preferred terms."""

    def matches(self, pod: PodFacts, namespace_labels: NamespaceLabels) -> bool:
        """Return whether the term speaks of this pod."""
        if self.selector is None or not self.selector.matches(pod.labels):
            return False
        if pod.namespace in self.namespaces:
            return True
        return self.namespace_selector is not None and self.namespace_selector.matches(namespace_labels(pod.namespace))


@dataclass(frozen=True, slots=True)
class SpreadRule:
    """One topology spread constraint, with its defaults filled in and `matchLabelKeys` merged into the selector."""

    max_skew: int
    topology_key: str
    selectors: tuple[LabelSelector, ...]
    """A pod counts when all match; none match when empty."""
    min_domains: int = 1
    honors_affinity: bool = True
    honors_taints: bool = False

    def counts(self, labels: Mapping[str, str]) -> bool:
        """Return whether a pod with these labels, in the pod's own namespace, counts."""
        return bool(self.selectors) and all(selector.matches(labels) for selector in self.selectors)


@dataclass(frozen=True, slots=True, eq=False, weakref_slot=True)
class PodFacts:
    """Everything about a pod that decides where it may run. Pods that ask the same share one object."""

    namespace: str
    labels: Mapping[str, str]
    owner: OwnerReference | None
    """The controller; its selector gives the default spread."""
    requests: Mapping[str, int]
    scored_cpu: int
    """Thousandths of a core that scores count: at least 100 a container without a request."""
    scored_memory: int
    ports: tuple[tuple[str, int, str], ...]
    tolerations: tuple[Toleration, ...]
    node_selector: Mapping[str, str]
    required_node_terms: tuple[core.NodeSelectorTerm, ...] | None
    """Alternatives; None when there is no required node affinity."""
    preferred_node_terms: tuple[core.PreferredSchedulingTerm, ...]
    hard_spread: tuple[SpreadRule, ...]
    soft_spread: tuple[SpreadRule, ...]
    has_spread: bool
    """Whether the pod states constraints itself; otherwise the default spread applies."""
    affinity: tuple[PodTerm, ...]
    anti_affinity: tuple[PodTerm, ...]
    preferred_affinity: tuple[PodTerm, ...]
    """Weights are negative for anti-affinity."""
    claims: tuple[ClaimRef, ...]
    priority: int | None
    priority_class: str
    never_preempts: bool
    gates: tuple[str, ...]

    @property
    def has_pod_terms(self) -> bool:
        """Whether the pod says anything about other pods."""
        return bool(self.affinity or self.anti_affinity or self.preferred_affinity)

    @property
    def is_best_effort(self) -> bool:
        """Whether it requests neither CPU nor memory."""
        return not self.requests.get(CPU) and not self.requests.get(MEMORY)


@dataclass(frozen=True, slots=True)
class ClaimRef:
    """A volume that a pod mounts by a claim."""

    key: ObjectKey
    is_ephemeral: bool = False
    """Whether the claim is made for this pod from a template."""


@dataclass(slots=True)
class FactsBook:
    """Interns facts: equal pods get the same object, and facts that no pod needs any more are forgotten."""

    _by_signature: WeakValueDictionary[bytes, PodFacts] = field(default_factory=WeakValueDictionary)

    def of(self, pod: core.Pod) -> PodFacts:
        """Return the facts of a pod.

        Raises:
            ValueError: an amount is not a quantity.
        """
        signature = _signature(pod)
        facts = self._by_signature.get(signature)
        if facts is None:
            facts = self._by_signature[signature] = facts_of(pod)
        return facts


_encode = msgspec.json.Encoder(order="deterministic").encode


def _signature(pod: core.Pod) -> bytes:
    metadata, spec = pod.metadata, pod.spec
    if spec.node_name:
        spec = msgspec.structs.replace(spec, node_name="")
    name = metadata.name if any(volume.ephemeral for volume in spec.volumes) else ""
    resized = [status for status in pod.status.container_statuses if status.allocated_resources or status.resources]
    return _encode((metadata.namespace, name, metadata.labels, metadata.controller(), spec, resized))


def facts_of(pod: core.Pod) -> PodFacts:
    """Return the facts of a pod, not shared with any other. Raises ValueError when an amount is not a quantity."""
    spec, labels = pod.spec, pod.metadata.labels
    scored = pod_requests(_with_assumed_requests(pod))
    affinity = spec.affinity or core.Affinity()
    nodes = affinity.node_affinity or core.NodeAffinity()
    near, apart = affinity.pod_affinity or core.PodAffinity(), affinity.pod_anti_affinity or core.PodAffinity()
    constraints = spec.topology_spread_constraints
    return PodFacts(
        namespace=pod.metadata.namespace,
        labels=labels,
        owner=pod.metadata.controller(),
        requests=pod_requests(pod),
        scored_cpu=scored.get(CPU, 0),
        scored_memory=scored.get(MEMORY, 0),
        ports=host_ports((*spec.containers, *(one for one in spec.init_containers if one.restart_policy == "Always"))),
        tolerations=spec.tolerations,
        node_selector=spec.node_selector,
        required_node_terms=None if nodes.required is None else nodes.required.node_selector_terms,
        preferred_node_terms=nodes.preferred,
        hard_spread=tuple(_spread(one, labels) for one in constraints if one.when_unsatisfiable == "DoNotSchedule"),
        soft_spread=tuple(_spread(one, labels) for one in constraints if one.when_unsatisfiable == "ScheduleAnyway"),
        has_spread=bool(constraints),
        affinity=tuple(_term(term, pod) for term in near.required),
        anti_affinity=tuple(_term(term, pod) for term in apart.required),
        preferred_affinity=(
            *(_term(term.pod_affinity_term, pod, term.weight) for term in near.preferred),
            *(_term(term.pod_affinity_term, pod, -term.weight) for term in apart.preferred),
        ),
        claims=_claims(pod),
        priority=spec.priority,
        priority_class=spec.priority_class_name,
        never_preempts=spec.preemption_policy == "Never",
        gates=tuple(gate.name for gate in spec.scheduling_gates),
    )


def _with_assumed_requests(pod: core.Pod) -> core.Pod:
    spec = msgspec.structs.replace(
        pod.spec,
        containers=tuple(_assume(container) for container in pod.spec.containers),
        init_containers=tuple(_assume(container) for container in pod.spec.init_containers),
    )
    return msgspec.structs.replace(pod, spec=spec)


def _assume(container: core.Container) -> core.Container:
    given = container.resources
    missing = {name: text for name, text in _ASSUMED_REQUESTS.items() if name not in given.limits}
    requests = {**missing, **given.requests}
    return msgspec.structs.replace(container, resources=msgspec.structs.replace(given, requests=requests))


def _spread(constraint: core.TopologySpreadConstraint, labels: Mapping[str, str]) -> SpreadRule:
    selector = _with_keys(constraint.label_selector, labels, same=constraint.match_label_keys)
    return SpreadRule(
        max_skew=constraint.max_skew,
        topology_key=constraint.topology_key,
        selectors=() if selector is None else (selector,),
        min_domains=constraint.min_domains or 1,
        honors_affinity=constraint.node_affinity_policy != "Ignore",
        honors_taints=constraint.node_taints_policy == "Honor",
    )


def _term(term: core.PodAffinityTerm, pod: core.Pod, weight: int = 0) -> PodTerm:
    own = not term.namespaces and term.namespace_selector is None
    return PodTerm(
        topology_key=term.topology_key,
        selector=_with_keys(
            term.label_selector, pod.metadata.labels, same=term.match_label_keys, other=term.mismatch_label_keys
        ),
        namespaces=frozenset((pod.metadata.namespace,) if own else term.namespaces),
        namespace_selector=term.namespace_selector,
        weight=weight,
    )


def _with_keys(
    selector: LabelSelector | None,
    labels: Mapping[str, str],
    *,
    same: tuple[str, ...],
    other: tuple[str, ...] = (),
) -> LabelSelector | None:
    if selector is None:
        return None
    extra = (
        *(SelectorExpression(key, "In", (labels[key],)) for key in same if key in labels),
        *(SelectorExpression(key, "NotIn", (labels[key],)) for key in other if key in labels),
    )
    if not extra:
        return selector
    return LabelSelector(selector.match_labels, (*selector.match_expressions, *extra))


def _claims(pod: core.Pod) -> tuple[ClaimRef, ...]:
    namespace, name = pod.metadata.namespace, pod.metadata.name
    found = []
    for volume in pod.spec.volumes:
        if volume.persistent_volume_claim is not None:
            found.append(ClaimRef(ObjectKey(namespace, volume.persistent_volume_claim.claim_name)))
        elif volume.ephemeral is not None:
            found.append(ClaimRef(ObjectKey(namespace, f"{name}-{volume.name}"), is_ephemeral=True))
    return tuple(found)
