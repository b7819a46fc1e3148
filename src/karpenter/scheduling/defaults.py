"""Spread constraints that a cluster gives to pods which state none of their own.

As in the scheduler, they are given only to pods of a Service or a workload: what these select is what is spread.
Source: spec v1 S-38, S-39.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

import msgspec

from karpenter.model.core import Pod, Service, TopologySpreadConstraint
from karpenter.model.meta import LabelSelector
from karpenter.scheduling.rails.workload import WorkloadShares
from karpenter.scheduling.snapshot import Snapshot

_TEMPLATE_HASH: Final = "pod-template-hash"
"""Label by which a ReplicaSet of a Deployment tells its pods from those of others."""
_WORKLOADS: Final = frozenset({"ReplicationController", "ReplicaSet", "StatefulSet", "Deployment"})
"""A Deployment controls pods only in manifests, where it stands for the ReplicaSet that it will make."""
_FORBIDDEN: Final = ("labelSelector", "matchLabelKeys")
_KNOWN: Final = frozenset({
    "maxSkew", "topologyKey", "whenUnsatisfiable", "minDomains", "nodeAffinityPolicy", "nodeTaintsPolicy", *_FORBIDDEN,
})  # fmt: skip
_encode = msgspec.msgpack.Encoder().encode


def read_default_spread(document: Mapping[str, Any]) -> tuple[TopologySpreadConstraint, ...]:
    """Return the constraints of a `podTopologySpread.defaultConstraints` document (S-39).

    Raises:
        ValueError: a field is unknown, missing or forbidden, or two constraints speak of the same; it names the field.
    """
    _only(document, {"podTopologySpread"}, "")
    section = document.get("podTopologySpread") or {}
    _only(section, {"defaultConstraints"}, "podTopologySpread.")
    read: dict[tuple[str, str], TopologySpreadConstraint] = {}
    for at, entry in enumerate(section.get("defaultConstraints") or ()):
        path = f"podTopologySpread.defaultConstraints[{at}]"
        constraint = _read(entry, path)
        key = constraint.topology_key, constraint.when_unsatisfiable
        if key in read:
            raise ValueError(f"{path}: {key[0]} with {key[1]} is there already")
        read[key] = constraint
    return tuple(read.values())


def _only(part: Mapping[str, Any], known: frozenset[str] | set[str], path: str) -> None:
    if not isinstance(part, Mapping):
        raise ValueError(f"{path.rstrip('.') or 'the document'}: is not a mapping")
    for name in part:
        if name not in known:
            raise ValueError(f"{path}{name}: unknown field; known are {', '.join(sorted(known))}")


def _read(entry: Mapping[str, Any], path: str) -> TopologySpreadConstraint:
    _only(entry, _KNOWN, f"{path}.")
    for name in _FORBIDDEN:
        if name in entry:
            raise ValueError(f"{path}.{name}: is worked out from the pod's Service or workload and cannot be given")
    for name in ("maxSkew", "topologyKey", "whenUnsatisfiable"):
        if not entry.get(name):
            raise ValueError(f"{path}.{name}: is required")
    try:
        constraint = msgspec.convert(entry, TopologySpreadConstraint)
    except msgspec.ValidationError as error:
        raise ValueError(f"{path}: {error}") from error
    if constraint.max_skew < 1:
        raise ValueError(f"{path}.maxSkew: {constraint.max_skew} is less than 1")
    if constraint.when_unsatisfiable not in {"DoNotSchedule", "ScheduleAnyway"}:
        raise ValueError(f"{path}.whenUnsatisfiable: {constraint.when_unsatisfiable!r} is no such policy")
    return constraint


@dataclass(frozen=True, slots=True)
class Defaults:
    """Gives pods the default constraints of the cluster."""

    constraints: tuple[TopologySpreadConstraint, ...]
    services: Mapping[str, Sequence[Service]]
    """Those with a selector, by namespace."""
    workloads: Mapping[tuple[str, str, str], LabelSelector]
    """Selectors by namespace, kind and name of the controller."""
    shares: WorkloadShares | None = None
    """What keeps a workload's replicas apart beside these; None when nothing does."""
    _codes: dict[bytes, int] = field(default_factory=dict)

    @classmethod
    def of(
        cls,
        snapshot: Snapshot,
        constraints: tuple[TopologySpreadConstraint, ...],
        shares: WorkloadShares | None = None,
    ) -> Defaults:
        """Return the defaults for the pods of a snapshot."""
        services: dict[str, list[Service]] = {}
        for service in snapshot.services if constraints else ():
            if service.spec.selector:
                services.setdefault(service.metadata.namespace, []).append(service)
        return cls(constraints, services, snapshot.selectors, shares)

    def spread(self, pod: Pod) -> tuple[TopologySpreadConstraint, ...]:
        """Return the spread constraints that hold for a pod: its own or the cluster's, and that of its workload."""
        workload = next(self._of_controller(pod), None) if self.shares else None
        apart = self.shares.constraint(pod, workload) if self.shares and workload else None
        return (*self._stated(pod), apart) if apart else self._stated(pod)

    def _stated(self, pod: Pod) -> tuple[TopologySpreadConstraint, ...]:
        own = pod.spec.topology_spread_constraints
        selector = self._selector(pod) if self.constraints and not own else None
        if selector is None:
            return own
        return tuple(msgspec.structs.replace(constraint, label_selector=selector) for constraint in self.constraints)

    def code(self, pod: Pod) -> int:
        """Return a number that is the same for pods that are given the same, 0 for those that are given nothing."""
        if not self.shares and (not self.constraints or pod.spec.topology_spread_constraints):
            return 0
        given = self.spread(pod)
        return self._codes.setdefault(_encode(given), len(self._codes) + 1) if given else 0

    def _selector(self, pod: Pod) -> LabelSelector | None:
        """Return what the pod's Services and its controller select together; None when there is neither."""
        stated = [*self._of_services(pod), *self._of_controller(pod)]
        if not stated:
            return None
        labels = {key: value for selector in stated for key, value in selector.match_labels.items()}
        expressions = tuple(entry for selector in stated for entry in selector.match_expressions)
        return LabelSelector(dict(sorted(labels.items())), expressions)

    def _of_services(self, pod: Pod) -> Iterator[LabelSelector]:
        for service in self.services.get(pod.metadata.namespace, ()):
            selector = LabelSelector(service.spec.selector)
            if selector.matches(pod.metadata.labels):
                yield selector

    def _of_controller(self, pod: Pod) -> Iterator[LabelSelector]:
        controller = pod.metadata.controller()
        if controller is None or controller.kind not in _WORKLOADS:
            return
        known = self.workloads.get((pod.metadata.namespace, controller.kind, controller.name))
        if known is not None:
            yield known
        elif controller.kind == "ReplicaSet" and _TEMPLATE_HASH in pod.metadata.labels:
            yield LabelSelector({_TEMPLATE_HASH: pod.metadata.labels[_TEMPLATE_HASH]})
