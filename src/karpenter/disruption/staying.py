"""Why each node stays: one answer a node, out of all that the methods have to say. Pure.

Source: issue 6, points 1 and 11.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from karpenter.disruption.candidates import Candidates
from karpenter.disruption.decide import METHODS, Method
from karpenter.disruption.options import DEFAULT_OPTIONS, DisruptionOptions
from karpenter.disruption.verdict import BlockCode, Blocked
from karpenter.model.nodepool import DisruptionReason
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
    """Return for every node, by name, why it is there and not on its way out; all methods are asked.

    A node that a method would take has its turn to come: it is waited for what goes first, or nobody looked again.
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
    return tuple(
        _turn(view, wanted[view.name]) if view.name in wanted else _strongest(view, said.get(view.name), candidates)
        for view in snapshot.nodes
    )


def _turn(view: NodeView, reason: DisruptionReason) -> Blocked:
    return Blocked(view.name, "NextTurn", f"it goes next: {reason}", price=view.price, reason=reason)


def _strongest(view: NodeView, said: Sequence[Blocked] | None, candidates: Candidates) -> Blocked:
    if said:
        return next((one for one in said if one.code not in _WEAK), said[0])
    code, message = _overlooked(view, candidates)
    return Blocked(view.name, code, message, price=view.price)


def _overlooked(view: NodeView, candidates: Candidates) -> tuple[BlockCode, str]:
    """Say why no method had a word about a node."""
    if view.is_deleting:
        return "Leaving", "it is leaving already"
    if view.node is None:
        return "Uninitialized", "its machine has not joined the cluster yet"
    candidate = candidates.candidate(view)
    if candidate is None:
        return "NotManaged", "it belongs to no pool that is here"
    if candidate.pool.disruption.policy in {"Off", "WhenEmpty"}:
        return "PolicyOff", f"{candidate.pool.key} does not consolidate nodes with pods, and nothing else is due"
    return "NotDue", "nothing asks for its end"
