"""Why a pod stays pending: for every pool what stops it, in words a user can act on, the nearest miss first.

Source: spec v1alpha5 SCH-25, SCH-26, EVT texts; cases WHY-PENDING.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from math import ceil

import numpy as np

from karpenter.model import labels
from karpenter.model.requirements import Conflict, Requirements
from karpenter.model.resources import CPU, NODES
from karpenter.scheduling.amounts import shown
from karpenter.scheduling.catalog import ATTACHED, PLACE_KEYS, Bools, TypeTable, table_of
from karpenter.scheduling.classes import PodClass, Profile, clash
from karpenter.scheduling.daemons import Daemon, load_of
from karpenter.scheduling.flexibility import spectra_of, within
from karpenter.scheduling.holding import Holding, places
from karpenter.scheduling.items import Wait
from karpenter.scheduling.lanes import Lane, type_mask
from karpenter.scheduling.limits import Budget
from karpenter.scheduling.obstacles import Obstacle, Obstacles, shown_port
from karpenter.scheduling.policy import Policy
from karpenter.scheduling.reservations import AMOUNT
from karpenter.scheduling.rules import NodeRule
from karpenter.scheduling.snapshot import PoolView, Snapshot
from karpenter.scheduling.solution import Layer, Miss, Reason

ABSURD_MILLICORES = 1_000_000_000
"""A million cores: somebody wrote M for m (SCH-25, TV-85)."""
_NOTABLE_SHARE = 0.5
"""Limits of which less is used are not what keeps pods out."""
_OWN_KEYS = frozenset({labels.PROVISIONER, labels.NODEPOOL})


@dataclass(frozen=True, slots=True)
class _Miss:
    """One thing that stands between a pod and a pool."""

    step: int
    """How far the pod got; a higher step is a nearer miss."""
    layer: Layer
    code: str
    message: str
    subject: str = ""
    """The label key, resource, taint or port it is about."""

    def public(self) -> Miss:
        """Return it as the answer tells it."""
        return Miss(self.code, self.subject, self.message)


@dataclass(frozen=True, slots=True)
class _Subject:
    """The pods that are judged, and what they ask for."""

    cls: PodClass
    profile: Profile
    rule: NodeRule
    obstacles: tuple[Obstacle, ...]

    def is_by_volumes(self, key: str) -> bool:
        """Return whether volumes of the pods speak of the label."""
        return any(key in place for place in self.profile.volumes)

    def volumes(self) -> str:
        """Return the volumes in words: those of one pod, which stands for all."""
        pod = self.cls.pods[0]
        names = [
            volume.persistent_volume_claim.claim_name for volume in pod.spec.volumes if volume.persistent_volume_claim
        ]
        names += [f"{pod.metadata.name}-{volume.name}" for volume in pod.spec.volumes if volume.ephemeral]
        example = f", like {pod.metadata.name}'s" if self.cls.size > 1 else ""
        return f"its volume{'s' if len(names) > 1 else ''}{example} ({', '.join(map(repr, names))})"

    def no_term(self) -> _Miss:
        """Return that no node whatsoever could match."""
        if self.profile.terms:
            places = " or ".join(", ".join(map(str, place.values())) for place in self.profile.volumes)
            return _Miss(
                0, "pod", "VolumeConflict", f"{self.volumes()} can be reached only with {places}, which it excludes"
            )
        return _Miss(0, "pod", "NoNodeMatches", "its required node affinity has no term that could match a node")


@dataclass(frozen=True, slots=True)
class Judge:
    """Answers why, for the state at the end of a solve."""

    snapshot: Snapshot
    daemons: tuple[Daemon, ...]
    budget: Budget
    well_known: frozenset[str]
    profiles: tuple[Profile, ...]
    policy: Policy
    obstacles: Obstacles

    def reasons(self, wait: Wait) -> tuple[Reason, ...]:
        """Return why no node and no pool takes the copies that still wait, at the level they ended at."""
        cls, rule = wait.cls, wait.levels[wait.at].rule
        if cls.fault is not None:
            return (Reason.alone("pod", cls.fault.code, cls.fault.message),)
        others = self.obstacles.of(wait)
        barred = self._barred(wait)
        if barred is not None:
            found = (Reason.alone("pod", each.code, each.message, subject=each.subject) for each in others)
            return (barred, *found)
        subject = _Subject(cls, self.profiles[cls.profile], rule, others)
        judged = [(view, self._misses(view, subject)) for view in self.snapshot.pools]
        judged.sort(key=lambda entry: (len(entry[1]), -entry[1][0].step))
        return tuple(
            Reason(
                view.pool.key,
                misses[0].layer,
                misses[0].code,
                "; ".join(miss.message for miss in misses),
                tuple(miss.public() for miss in misses),
            )
            for view, misses in judged
        )

    def _barred(self, wait: Wait) -> Reason | None:
        """Return why nothing may be launched for the pods whatever they ask for; None when something may."""
        priority, least = wait.cls.priority, self.policy.expendable_priority
        if self.policy.is_expendable(priority):
            message = f"no node has room for it, and its priority, {priority}, is below {least}: no node is launched"
            return Reason.alone("pod", "PriorityTooLow", message)
        if not wait.may_launch:
            return Reason.alone("pool", "NoRoom", "no node has room for it, and nothing may be launched")
        if not self.snapshot.pools:
            message = "there is no NodePool or Provisioner that could launch a node for it"
            return Reason.alone("pool", "NoPools", message)
        return None

    def _misses(self, view: PoolView, subject: _Subject) -> list[_Miss]:
        rule = subject.rule
        if view.unready is not None:
            return [_Miss(0, "pool", "PoolNotReady", f"the pool is not ready: {view.unready}")]
        if view.pool.replicas is not None:
            return [_Miss(0, "pool", "StaticPool", "the pool keeps a fixed number of nodes and opens none for pods")]
        table = table_of(view.instance_types)
        lane = Lane(view, table, view.pool.node_requirements(), 0)
        term = min(rule.terms, key=lambda term: len(self._conflicts(lane, term)), default=None)
        if term is None:
            return [subject.no_term()]
        found = [*self._taints(lane, rule), *self._labels(lane, subject, term)]
        return found + list(self._machines(lane, subject, term if not found else Requirements(), after=bool(found)))

    def _taints(self, lane: Lane, rule: NodeRule) -> Iterator[_Miss]:
        kept_off = rule.untolerated(lane.view.pool.template.taints)
        if kept_off:
            taints = ", ".join(map(str, kept_off))
            yield _Miss(1, "pod", "TaintNotTolerated", f"does not tolerate {taints}", taints)

    def _conflicts(self, lane: Lane, term: Requirements) -> tuple[Conflict, ...]:
        return lane.requirements.incompatibilities(term, well_known=self.well_known)

    def _labels(self, lane: Lane, subject: _Subject, term: Requirements) -> Iterator[_Miss]:
        own = min((self._conflicts(lane, term) for term in subject.profile.terms), key=len, default=())
        for conflict in self._conflicts(lane, term):
            if conflict.key not in {stated.key for stated in own} and subject.is_by_volumes(conflict.key):
                where = f" from nodes with {conflict.theirs}" if conflict.ours is None else f": {conflict}"
                words = f"{subject.volumes()} can be reached only{where}"
                yield _Miss(2, "pod", "VolumeConflict", words, conflict.key)
            elif conflict.key in _OWN_KEYS and conflict.theirs.operator == "DoesNotExist":
                words = f"asks for a node that no pool made ({conflict.theirs})"
                yield _Miss(2, "pod", "ExcludesPools", words, conflict.key)
            elif conflict.ours is None:
                fix = f"add the label to the pool, or {conflict.key!r} Exists to its requirements"
                words = f"asks for {conflict.theirs}, but {conflict}; {fix}"
                yield _Miss(2, "pool", "LabelUndefined", words, conflict.key)
            else:
                yield _Miss(2, "pod", "RequirementsConflict", str(conflict), conflict.key)

    def _machines(self, lane: Lane, subject: _Subject, term: Requirements, *, after: bool) -> Iterator[_Miss]:
        """Yield what is wrong with the pool's types for the pod; `after` other misses only size is still looked at."""
        cls = subject.cls
        own = type_mask(lane, lane.requirements)
        if not own.any():
            yield _Miss(3, "pool", "NoInstanceTypes", "no instance type meets the pool's own requirements")
            return
        matching = own & type_mask(lane, term)
        if not matching.any():
            yield self._no_type(lane, own, term)
            return
        holding = matching & self._holding(lane).holds(cls.requests)
        if not holding.any():
            yield self._too_small(lane, cls, matching, term=term)
        elif not after:
            miss = self._nothing_there(lane, holding, term) or self._port_of_daemon(lane, subject, holding)
            miss = miss or self._too_few_values(lane, holding, term) or self._limit(lane, holding)
            if miss is not None or not subject.obstacles:
                yield miss or self._left_over(lane)
            else:
                yield from (_Miss(5, "pod", other.code, other.message, other.subject) for other in subject.obstacles)

    def _port_of_daemon(self, lane: Lane, subject: _Subject, holding: Bools) -> _Miss | None:
        """Return the DaemonSet that takes a host port of the pods on every machine that would do; None without one."""
        load = load_of(lane, self.daemons, well_known=self.well_known)
        for port in subject.profile.ports:
            for daemon, types in load.counts:
                if not (holding & ~types).any() and any(clash(port, taken) for taken in daemon.ports):
                    words = f"host port {shown_port(port)} is taken on every new node by {daemon.name} of a DaemonSet"
                    return _Miss(3, "pod", "HostPortTaken", words, shown_port(port))
        return None

    def _too_few_values(self, lane: Lane, holding: Bools, term: Requirements) -> _Miss | None:
        """Return which of the pool's minValues the types that would do cannot keep (S-47); None when they can."""
        if self.policy.min_values != "Strict":
            return None
        types = np.flatnonzero(holding)
        table = lane.table
        there = places(lane, lane.requirements.intersect(term)) & np.isfinite(table.prices)
        asked = spectra_of(lane.requirements, table.types)
        for spectrum in within(asked, there, zones=table.zones, capacity_types=table.capacity_types):
            found = sorted(frozenset[str]().union(*(spectrum.values[at] for at in types.tolist())))
            if len(found) < spectrum.least:
                message = (
                    f"the pool wants {spectrum.least} values of {spectrum.key} to choose from (minValues); the types "
                    f"that would do have {len(found)}: {', '.join(found)}"
                )
                return _Miss(4, "pool", "MinValuesUnmet", message, spectrum.key)
        return None

    def _no_type(self, lane: Lane, own: Bools, term: Requirements) -> _Miss:
        asked = [requirement for key, requirement in term.items() if key not in PLACE_KEYS]
        alone = [each for each in asked if not (own & type_mask(lane, Requirements((each,)))).any()]
        message = f"no instance type of the pool has {' and '.join(map(str, alone or asked))}"
        return _Miss(3, "pod", "NoMatchingInstanceType", message, (alone or asked)[0].key)

    def _holding(self, lane: Lane) -> Holding:
        return Holding(lane, self.daemons, self.well_known)

    def _too_small(self, lane: Lane, cls: PodClass, matching: Bools, *, term: Requirements) -> _Miss:
        names = sorted(cls.requests)
        room = np.stack([self._holding(lane).room(name) for name in names], axis=1)
        short = np.array([cls.requests[name] for name in names], dtype=np.float64) - room
        relative = short / np.maximum([cls.requests[name] for name in names], 1)
        nearest = int(np.where(matching, relative.max(axis=1), np.inf).argmin())
        parts = [
            _shortage(lane, name, cls.requests[name], nearest=nearest, room=int(room[nearest, at]))
            for at, name in enumerate(names)
            if short[nearest, at] > 0
        ]
        layer: Layer = (
            "pool" if (self._holding(lane).holds(cls.requests) & lane.table.mask_all(term)).any() else "cloud"
        )
        hint = ""
        if cls.requests.get(CPU, 0) >= ABSURD_MILLICORES:
            layer, hint = "pod", " (is its CPU request written with M, millions, instead of m, thousandths?)"
        scarcest = names[int(relative[nearest].argmax())]
        return _Miss(4, layer, "InsufficientResources", "; ".join(parts) + hint, scarcest)

    def _nothing_there(self, lane: Lane, holding: Bools, term: Requirements) -> _Miss | None:
        wanted = lane.requirements.intersect(term)
        table = lane.table
        there = holding[:, None, None] & places(lane, lane.requirements.intersect(term))
        if np.isfinite(table.prices[there]).any():
            return None
        where = ", ".join(str(wanted[key]) for key in sorted(PLACE_KEYS) if key in wanted) or "any zone"
        if (table.offered & there).any():
            message = f"the cloud has no capacity now for any type that would do ({where}){self._retry(table, there)}"
            return _Miss(5, "cloud", "OfferingUnavailable", message)
        return _Miss(5, "cloud", "NotOffered", f"no type that would do is offered ({where})")

    def _left_over(self, lane: Lane) -> _Miss:
        """Return that the plan could use nothing of what the pool's limits leave, though single machines would fit."""
        if (spent := self._spent_reservations()) and not lane.view.pool.limits:
            message = f"the capacity reservations that hold such machines are used up by the plan: {', '.join(spent)}"
            return _Miss(6, "pool", "ReservationsUsedUp", message)
        if not lane.view.pool.limits:
            message = "nothing in this pool keeps it out, but the plan for all pods together left it over"
            return _Miss(6, "pool", "LeftOver", message)
        pool, left = lane.view.pool, dict(zip(self.budget.names, self.budget.left.tolist(), strict=True))
        used = {resource: limit - int(left[pool.key, resource]) for resource, limit in pool.limits.items()}
        share = {resource: used[resource] / max(limit, 1) for resource, limit in pool.limits.items()}
        fullest = sorted(share, key=lambda resource: (-share[resource], resource))
        told = [name for name in fullest if share[name] > _NOTABLE_SHARE] or fullest[:1]
        parts = (f"{shown(name, used[name])} of {shown(name, pool.limits[name])} {name}" for name in told)
        message = f"what the pool's limits leave fits no machine of the plan: {', '.join(parts)} in use or planned"
        return _Miss(6, "pool", "LimitsExceeded", message, fullest[0])

    def _spent_reservations(self) -> list[str]:
        named = zip(self.budget.names, self.budget.left.tolist(), strict=True)
        return [name.removeprefix(AMOUNT) for (_, name), left in named if name.startswith(AMOUNT) and left < 1]

    def _retry(self, table: TypeTable, there: Bools) -> str:
        """Return in words when the first of these offerings (T×Z×K) is asked for again; empty when nobody knows."""
        until = table.retry_at[there].min(initial=np.inf)
        return f"; retry in {max(0, ceil(until - self.snapshot.taken_at))} s" if np.isfinite(until) else ""

    def _limit(self, lane: Lane, holding: Bools) -> _Miss | None:
        pool, table = lane.view.pool, lane.table
        for q, (key, resource) in enumerate(self.budget.names):
            if (key, resource) == (None, NODES) and self.budget.left[q] < 1:
                message = "as many new nodes are planned as may be launched at once"
                return _Miss(6, "pool", "MaxNodesReached", message, NODES)
            if key != pool.key:
                continue
            sizes = np.ones(len(table)) if resource == NODES else table.capacity(resource)
            smallest = int(np.where(holding, sizes, np.inf).argmin())
            if sizes[smallest] > self.budget.left[q]:
                limit = pool.limits[resource]
                used = limit - int(self.budget.left[q])
                message = (
                    f"limit of {shown(resource, limit)} {resource} leaves no room: {shown(resource, used)} in use or "
                    f"planned, and the smallest type that would do, {table.names[smallest]}, adds "
                    f"{shown(resource, int(sizes[smallest]))}"
                )
                return _Miss(6, "pool", "LimitExceeded", message, resource)
        return None


def _shortage(lane: Lane, resource: str, amount: int, *, nearest: int, room: int) -> str:
    taken = int(lane.table.allocatable(resource)[nearest]) - room
    daemons = f" ({shown(resource, amount + taken)} with daemons)" if taken else ""
    has = shown(resource, room + taken)
    if resource.startswith(ATTACHED):
        resource = f"volumes of {resource.removeprefix(ATTACHED)}"
    return (
        f"needs {shown(resource, amount)} {resource}{daemons}; the nearest allowed type, {lane.table.names[nearest]}, "
        f"has {has} (short {shown(resource, amount - room)})"
    )
