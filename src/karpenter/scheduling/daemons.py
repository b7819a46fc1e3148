"""DaemonSets: what they will take of every new node, and what they still want of nodes that are there.

Source: spec v1alpha5 SCH-3, SCH-4; spec v1 S-22; cases DS-OVERHEAD.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import msgspec
import numpy as np

from karpenter.model import labels
from karpenter.model.core import Container, LimitRange, Pod, RawResources
from karpenter.model.pods import is_daemon
from karpenter.model.requirements import Requirements
from karpenter.model.resources import Resources
from karpenter.scheduling.catalog import Bools, Floats
from karpenter.scheduling.classes import Port, group
from karpenter.scheduling.lanes import Lane, type_mask
from karpenter.scheduling.requests import total_requests
from karpenter.scheduling.rules import NodeRule
from karpenter.scheduling.snapshot import NodeView, Snapshot

_COMES_UP = Requirements.from_labels({labels.REGISTERED: "true", labels.INITIALIZED: "true"})
"""What every node of ours will say once it is up, so daemons that wait for it count from the start."""


@dataclass(frozen=True, slots=True)
class Daemon:
    """A DaemonSet's pod: what it asks and which nodes it runs on, preferences left out."""

    requests: Resources
    rule: NodeRule
    ports: tuple[Port, ...] = ()
    name: str = ""
    """Namespace and name of its pod."""


@dataclass(frozen=True, slots=True)
class DaemonLoad:
    """What daemons take of each type of one lane (T types)."""

    counts: tuple[tuple[Daemon, Bools], ...]
    """Each daemon with the types it runs on."""
    fits: Bools
    """Types that hold their daemons: nothing allocatable is overdrawn (T)."""

    def amounts(self, resources: Sequence[str]) -> Floats:
        """Return the sum of the daemons' requests (T×R)."""
        total = np.zeros((len(self.fits), len(resources)))
        for daemon, types in self.counts:
            total += types[:, None] * np.array([daemon.requests.get(name, 0) for name in resources], dtype=np.float64)
        return total


def daemons_of(snapshot: Snapshot) -> tuple[Daemon, ...]:
    """Return the snapshot's daemons, their requests filled up from the LimitRanges of their namespaces."""
    filled = [with_defaults(pod, snapshot.limit_ranges) for pod in snapshot.daemons]
    grouping = group(filled)
    found: list[Daemon] = []
    for cls in grouping.classes:
        profile = grouping.profile(cls)
        rule = NodeRule(profile.terms, profile.tolerations, ignores_preferred_taints=True)
        found.extend(Daemon(cls.requests, rule, profile.ports, str(pod.metadata.key)) for pod in cls.pods)
    return tuple(found)


def with_defaults(pod: Pod, limit_ranges: Iterable[LimitRange]) -> Pod:
    """Return the pod with the requests that its namespace's LimitRanges give to containers which ask for nothing.

    A container's own limit counts before the LimitRange, as the API server does it.
    """
    defaults: RawResources = {}
    for limit_range in limit_ranges:
        if limit_range.metadata.namespace == pod.metadata.namespace:
            for item in limit_range.spec.limits:
                if item.type == "Container":
                    defaults = {**item.default, **item.default_request, **defaults}
    if not defaults:
        return pod
    spec = msgspec.structs.replace(
        pod.spec,
        containers=tuple(_filled(container, defaults) for container in pod.spec.containers),
        init_containers=tuple(_filled(container, defaults) for container in pod.spec.init_containers),
    )
    return msgspec.structs.replace(pod, spec=spec)


def _filled(container: Container, defaults: RawResources) -> Container:
    stated = container.resources
    requests = {**defaults, **stated.limits, **stated.requests}
    return msgspec.structs.replace(container, resources=msgspec.structs.replace(stated, requests=requests))


def load_of(lane: Lane, daemons: Sequence[Daemon], *, well_known: frozenset[str]) -> DaemonLoad:
    """Return what the daemons take of each type of the lane."""
    counts = [(daemon, _runs_on(lane, daemon, well_known=well_known)) for daemon in daemons]
    counts = [(daemon, types) for daemon, types in counts if types.any()]
    fits = np.ones(len(lane.table), dtype=np.bool_)
    for name in sorted({name for daemon, _ in counts for name in daemon.requests}):
        taken = np.zeros(len(lane.table))
        for daemon, types in counts:
            taken += types * daemon.requests.get(name, 0)
        fits &= lane.table.allocatable(name) >= taken
    return DaemonLoad(tuple(counts), fits)


def _runs_on(lane: Lane, daemon: Daemon, *, well_known: frozenset[str]) -> Bools:
    types = np.zeros(len(lane.table), dtype=np.bool_)
    if not daemon.rule.tolerates(lane.view.pool.template.taints):
        return types
    node = lane.requirements.intersect(_COMES_UP)
    for term in daemon.rule.terms:
        if node.compatible(term, well_known=well_known):
            types |= type_mask(lane, term)
    return types


def still_wanted(view: NodeView, expected: Mapping[str, int]) -> dict[str, int]:
    """Return what daemons not yet on the node will take: expected less bound, never negative (SCH-4)."""
    bound = total_requests(pod for pod in view.pods if is_daemon(pod))
    return {name: max(0, amount - bound.get(name, 0)) for name, amount in expected.items()}
