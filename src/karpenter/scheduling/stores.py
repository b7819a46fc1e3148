"""Attach limits: volumes as one more resource of nodes and types, counted once a node however many pods share one.

A volume that only one pod uses is an amount like any other, so packing and the choice of types know it already. One
that several pods use is charged to a node with the first of them.
Source: spec v1alpha5 SCH-54, spec v1 S-43 (with limits of new nodes, which upstream leaves out); cases VOL-COUNT.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Final

import numpy as np

from karpenter.model.core import Pod
from karpenter.model.labels import HOSTNAME
from karpenter.scheduling.catalog import ATTACHED, UNLIMITED, Floats
from karpenter.scheduling.snapshot import NodeView, PoolView, Snapshot
from karpenter.scheduling.volumes import NO_MOUNTS, Alternatives, Attachment, Mounts, Storage


@dataclass(frozen=True, slots=True)
class Needs:
    """What the volumes of a pod ask of its node: the same for pods that differ only in which volumes are theirs."""

    alternatives: Alternatives = NO_MOUNTS.alternatives
    """Node requirements of which one must hold."""
    amounts: tuple[tuple[str, int], ...] = ()
    """How many volumes no other pod uses, by the resource that counts them."""
    shared: tuple[Attachment, ...] = ()
    """Volumes that other pods use too."""
    fault: str | None = None
    """Why no node could mount them as things are, in words."""


NO_NEEDS: Final = Needs()


@dataclass(frozen=True, slots=True)
class Stores:
    """The volumes of one solve: what pods need of them, and what is on the nodes already."""

    limited: frozenset[str]
    """Drivers that some node or type attaches only so many volumes of."""
    attached: tuple[frozenset[Attachment], ...]
    """Volumes of limited drivers on each node (B)."""
    _mounts: dict[int, Mounts]
    """By the identity of the pod; pods without claims are left out."""
    _shared: frozenset[Attachment]
    _codes: dict[Needs, int] = field(default_factory=dict)

    def needs(self, pod: Pod) -> Needs:
        """Return what a pod's volumes ask of its node."""
        mounts = self._mounts.get(id(pod))
        if mounts is None:
            return NO_NEEDS
        counted = [found for found in mounts.attached if found[0] in self.limited]
        own = Counter(ATTACHED + driver for driver, name in counted if (driver, name) not in self._shared)
        shared = tuple(found for found in counted if found in self._shared)
        return Needs(mounts.alternatives, tuple(sorted(own.items())), shared, mounts.fault)

    def code(self, pod: Pod) -> int:
        """Return a number that is the same for pods with equal needs, 0 for none."""
        if id(pod) not in self._mounts:
            return 0
        needs = self.needs(pod)
        return 0 if needs == NO_NEEDS else self._codes.setdefault(needs, len(self._codes) + 1)

    def room(self, views: Sequence[NodeView], pools: Iterable[PoolView], resource: str) -> Floats:
        """Return how many volumes more each node attaches, of the driver that a resource counts (B)."""
        driver = resource.removeprefix(ATTACHED)
        promised = {
            (view.pool.key, kind.name): kind.volume_limits.get(driver) for view in pools for kind in view.instance_types
        }
        left = np.full(len(views), UNLIMITED)
        for at, view in enumerate(views):
            limit = _stated_limit(view, driver)
            if limit is None and not view.is_initialized and view.pool and view.instance_type:
                limit = promised.get((view.pool, view.instance_type))
            if limit is not None:
                left[at] = max(0, limit - sum(one == driver for one, _ in self.attached[at]))
        return left


def _stated_limit(view: NodeView, driver: str) -> int | None:
    """Return how many volumes the node's driver says that it attaches; None when it does not say."""
    drivers = view.csi.spec.drivers if view.csi else ()
    stated = next((found for found in drivers if found.name == driver), None)
    return stated.allocatable.count if stated and stated.allocatable else None


def stores_of(snapshot: Snapshot, pods: Iterable[Pod], views: Sequence[NodeView]) -> Stores:
    """Return the volumes of these pods and of the nodes that stay (B)."""
    hosts = frozenset(view.labels.get(HOSTNAME, view.name) for view in views)
    storage = Storage(snapshot.volumes, hosts)
    mounts = {id(pod): found for pod in pods if (found := storage.mounts(pod)) is not NO_MOUNTS}
    used = Counter(found for mount in mounts.values() for found in mount.attached)
    limited = _limited(snapshot.pools, views, frozenset(driver for driver, _ in used))
    attached: list[frozenset[Attachment]] = [frozenset() for _ in views]
    if limited:
        attached = [
            frozenset(found for pod in view.pods for found in storage.attachments(pod) if found[0] in limited)
            for view in views
        ]
    shared = {found for found, count in used.items() if count > 1}
    shared.update(found for present in attached for found in present if found in used)
    return Stores(limited, tuple(attached), mounts, frozenset(shared))


def _limited(pools: Iterable[PoolView], views: Iterable[NodeView], drivers: frozenset[str]) -> frozenset[str]:
    if not drivers:
        return frozenset()
    by_type = {driver for view in pools for kind in view.instance_types for driver in kind.volume_limits}
    by_node = {driver for view in views for driver in drivers if _stated_limit(view, driver) is not None}
    return drivers & (by_type | by_node)
