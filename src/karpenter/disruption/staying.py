"""Why each node stays: one answer a node, out of all that the methods have to say. Pure.

Source: issue 6, points 1 and 11.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from karpenter.disruption.candidates import Candidates
from karpenter.disruption.decide import METHODS, Method
from karpenter.disruption.options import DEFAULT_OPTIONS, DisruptionOptions
from karpenter.disruption.records import record_on
from karpenter.disruption.verdict import BlockCode, Blocked
from karpenter.model.nodeclaim import DRAINED, VOLUMES_DETACHED
from karpenter.model.nodepool import DisruptionReason
from karpenter.model.units import UnixSeconds
from karpenter.scheduling import StopCheck, never
from karpenter.scheduling.snapshot import NodeView, Snapshot

_WEAK: Final[frozenset[BlockCode]] = frozenset({"PolicyOff", "Timer"})
"""What a method says about nodes that it has no wish to take; another method's word says more."""


def every_stay(
    snapshot: Snapshot,
    options: DisruptionOptions = DEFAULT_OPTIONS,
    *,
    methods: Sequence[Method] = METHODS,
    stop: StopCheck = never,
) -> tuple[Blocked, ...]:
    """Return for every node, by name, the first reason why it is there and not on its way out."""
    return tuple(reasons[0] for reasons in all_stays(snapshot, options, methods=methods, stop=stop).values())


def all_stays(
    snapshot: Snapshot,
    options: DisruptionOptions = DEFAULT_OPTIONS,
    *,
    methods: Sequence[Method] = METHODS,
    stop: StopCheck = never,
) -> dict[str, tuple[Blocked, ...]]:
    """Return for every node, by name, all that keeps it, the strongest first; all methods are asked.

    A node that a method would take has its turn to come: it waits for what goes first, or nobody looked again.
    """
    said: dict[str, list[Blocked]] = {}
    wanted: dict[str, DisruptionReason] = {}
    for method in methods:
        verdict = method(snapshot, options, stop=stop)
        for one in verdict.blocked:
            said.setdefault(one.node, []).append(one)
        for command in verdict.commands:
            for name in command.nodes:
                wanted.setdefault(name, command.reason)
    candidates = Candidates(snapshot)
    stays: dict[str, tuple[Blocked, ...]] = {}
    for view in snapshot.nodes:
        if view.name in wanted:
            stays[view.name] = (_turn(view, wanted[view.name]),)
        else:
            found = sorted(said.get(view.name, ()), key=lambda one: one.code in _WEAK)
            stays[view.name] = tuple(found) or (_overlooked(view, candidates),)
    return stays


def _turn(view: NodeView, reason: DisruptionReason) -> Blocked:
    return Blocked(view.name, "NextTurn", f"it goes next: {reason}", price=view.price, reason=reason)


def _overlooked(view: NodeView, candidates: Candidates) -> Blocked:
    """Say why no method had a word about a node."""

    def stays(code: BlockCode, message: str) -> Blocked:
        return Blocked(view.name, code, message, price=view.price)

    if view.is_deleting:
        return _leaving(view)
    if view.node is None:
        return stays("Uninitialized", "its machine has not joined the cluster yet")
    candidate = candidates.candidate(view)
    if candidate is None:
        return stays("NotManaged", "it belongs to no pool that is here")
    if candidate.pool.disruption.policy in {"Off", "WhenEmpty"}:
        return stays("PolicyOff", f"{candidate.pool.key} does not consolidate nodes with pods, and nothing else is due")
    return stays("NotDue", "nothing asks for its end")


def _leaving(view: NodeView) -> Blocked:
    """Say how far the end of a node is, in the words of whoever sees to it."""
    claim, price = view.claim, view.price
    for kind in (VOLUMES_DETACHED, DRAINED):
        condition = claim.condition(kind) if claim else None
        if condition is not None and not condition.is_true and condition.message:
            message = f"it is leaving: {condition.message}"
            return Blocked(view.name, "Leaving", message, _deleted_at(view) or condition.since, price=price)
    record = record_on(claim) if claim else None
    if record is not None:
        after = (*record.replacements, *record.targets)
        waits = f", once these are ready for its pods: {', '.join(after)}" if after else ""
        since = UnixSeconds(record.started_at)
        return Blocked(view.name, "Leaving", f"it is going{waits}", since, price=price, reason=record.reason)
    return Blocked(view.name, "Leaving", "it is leaving already", _deleted_at(view), price=price)


def _deleted_at(view: NodeView) -> UnixSeconds | None:
    moments = [one.metadata.deleted_at for one in (view.node, view.claim) if one is not None]
    return min((moment for moment in moments if moment is not None), default=None)
