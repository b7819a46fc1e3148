"""What is remembered of consolidation: pods moved, promises made and kept, spot prices that wait to last. Pure.

A command is taken in from the records on its candidates' claims as long as these are there, so that nothing is lost
when a process ends in between; it is judged some minutes after its nodes are gone, by what runs instead. Source: issue
6, point 3 (rails, closed loop).
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping
from typing import Final

import msgspec

from karpenter.disruption.consolidation.care import Care, workload_of
from karpenter.disruption.past import Past, PastMove
from karpenter.disruption.records import CommandRecord, record_on
from karpenter.model import labels
from karpenter.model.pods import is_reschedulable
from karpenter.model.units import PoolKey, UnixSeconds
from karpenter.scheduling import Policy
from karpenter.scheduling.snapshot import NodeView, Snapshot

SETTLED_S: Final = 300.0
"""So long after its nodes are gone a command is judged: by then pods that found no place have new machines."""
_KEPT_S: Final = 3600.0


class Entry(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """One command of consolidation."""

    id: str
    at: float
    claims: tuple[str, ...]
    replacements: tuple[str, ...] = ()
    pods: tuple[tuple[str, str, int], ...]
    """Pods moved, by kind and name of the pool."""
    singletons: tuple[str, ...] = ()
    workloads: tuple[str, ...] = ()
    price: float
    """USD per hour of the nodes, fees included."""
    promised: float
    """USD per hour to be saved."""
    gone_at: float | None = None
    kept: bool | None = None
    """Whether it saved enough; None until it is judged."""


class Book(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """Everything remembered."""

    entries: tuple[Entry, ...] = ()
    broken: int = 0
    """Commands in a row that saved too little of what they promised."""
    rests_until: float | None = None
    cheaper_since: dict[str, float] = {}

    def past(self) -> Past:
        """Return what bears on decisions."""
        return Past(
            moves=tuple(
                PastMove(UnixSeconds(one.at), PoolKey(kind, name), count, frozenset(one.singletons))
                for one in self.entries
                for kind, name, count in one.pods
            ),
            rests_until=None if self.rests_until is None else UnixSeconds(self.rests_until),
            cheaper_since={name: UnixSeconds(at) for name, at in self.cheaper_since.items()},
        )

    def judged_next_at(self) -> UnixSeconds | None:
        """Return when the next command can be judged; None while none waits for it."""
        waiting = [one.gone_at + SETTLED_S for one in self.entries if one.kept is None and one.gone_at is not None]
        return UnixSeconds(min(waiting)) if waiting else None


def read_on(book: Book, snapshot: Snapshot, policy: Policy) -> Book:
    """Return the book with what the cluster shows now: commands begun, given up, carried out, and how these ended."""
    views = {view.claim.name: view for view in snapshot.nodes if view.claim is not None}
    records = _under_way(views)
    known = {one.id for one in book.entries}
    new = [
        _entry(record, views, snapshot, policy=policy) for key, record in sorted(records.items()) if key not in known
    ]
    every = (*book.entries, *new)
    alive = (one for one in every if one.kept is not None or not _is_given_up(one, views, records))
    entries: list[Entry] = []
    broken, rests_until = book.broken, book.rests_until
    for one in alive:
        judged = _judged(one, views, snapshot.taken_at, policy=policy)
        if judged.kept is not None and one.kept is None:
            broken = 0 if judged.kept else broken + 1
            if broken >= policy.churn.broken_promises:
                broken, rests_until = 0, snapshot.taken_at + policy.churn.rest_s
        entries.append(judged)
    oldest = snapshot.taken_at - max(_KEPT_S, policy.churn.singleton_interval_s)
    kept = tuple(one for one in entries if one.kept is None or one.at > oldest)
    return msgspec.structs.replace(book, entries=kept, broken=broken, rests_until=rests_until)


def watching(book: Book, names: Iterable[str], now: UnixSeconds) -> Book:
    """Return the book with the spot nodes that could be swapped at a profit just now, and since when each could."""
    return msgspec.structs.replace(book, cheaper_since={name: book.cheaper_since.get(name, now) for name in names})


def _under_way(views: Mapping[str, NodeView]) -> dict[str, CommandRecord]:
    found: dict[str, CommandRecord] = {}
    for view in views.values():
        record = record_on(view.claim) if view.claim else None
        if record is not None and record.reason == "Underutilized":
            found[record.id] = record
    return found


def _entry(record: CommandRecord, views: Mapping[str, NodeView], snapshot: Snapshot, *, policy: Policy) -> Entry:
    leaving = [views[name] for name in record.claims if name in views]
    moved: defaultdict[PoolKey, int] = defaultdict(int)
    pods = [(view, pod) for view in leaving for pod in view.pods if is_reschedulable(pod)]
    for view, _ in pods:
        if view.pool is not None:
            moved[view.pool] += 1
    care = Care.of(snapshot, policy)
    workloads = {workload for _, pod in pods if (workload := workload_of(pod)) is not None}
    alone = {workload for _, pod in pods if care.is_singleton(pod) and (workload := workload_of(pod)) is not None}
    return Entry(
        id=record.id,
        at=record.started_at,
        claims=record.claims,
        replacements=record.replacements,
        pods=tuple((key.kind, key.name, count) for key, count in sorted(moved.items())),
        singletons=tuple(sorted(alone)),
        workloads=tuple(sorted(workloads)),
        price=sum((view.price or 0.0) + policy.node_fee for view in leaving),
        promised=record.savings,
    )


def _is_given_up(one: Entry, views: Mapping[str, NodeView], records: Mapping[str, CommandRecord]) -> bool:
    """Return whether nodes of a command are still there, and nobody means to take them any more."""
    left = [view for name in one.claims if (view := views.get(name)) is not None]
    return bool(left) and one.id not in records and not any(view.is_deleting for view in left)


def _judged(one: Entry, views: Mapping[str, NodeView], now: UnixSeconds, *, policy: Policy) -> Entry:
    """Return the entry with its outcome, once that can be seen."""
    if one.kept is not None or any(name in views for name in one.claims):
        return one
    if one.gone_at is None:
        return msgspec.structs.replace(one, gone_at=now)
    if now < one.gone_at + SETTLED_S:
        return one
    instead = [views[name] for name in one.replacements if name in views]
    spent = sum((view.price or 0.0) + policy.node_fee for view in instead)
    spent += sum(_share(one, view) * ((view.price or 0.0) + policy.node_fee) for view in views.values())
    return msgspec.structs.replace(one, kept=one.price - spent >= policy.churn.kept_share * one.promised)


def _share(one: Entry, view: NodeView) -> float:
    """Return the share of a later machine that is there for moved pods which found no place as planned."""
    created = view.claim.metadata.created_at if view.claim else None
    if created is None or created < one.at or view.claim is None:
        return 0.0
    if labels.REPLACEMENT_FOR in view.claim.metadata.annotations:
        return 0.0
    pods = [pod for pod in view.pods if is_reschedulable(pod)]
    ours = [pod for pod in pods if workload_of(pod) in one.workloads and (pod.metadata.created_at or one.at) >= one.at]
    return len(ours) / len(pods) if pods else 0.0
