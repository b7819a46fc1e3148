"""Which nodes to give back now: the methods in their order. Pure. Source: architecture §5."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Final, Protocol

from karpenter.disruption.consolidation import consolidation
from karpenter.disruption.drift import drift
from karpenter.disruption.emptiness import emptiness
from karpenter.disruption.expiration import expiration
from karpenter.disruption.options import DEFAULT_OPTIONS, DisruptionOptions
from karpenter.disruption.verdict import Blocked, Verdict
from karpenter.scheduling import StopCheck, never
from karpenter.scheduling.snapshot import Snapshot


class Method(Protocol):
    """One way to find nodes that may go."""

    @property
    def __name__(self) -> str:
        """How metrics call it."""
        ...

    def __call__(self, snapshot: Snapshot, options: DisruptionOptions, *, stop: StopCheck) -> Verdict:
        """Return commands to run now, and why nodes it looked at stay."""
        ...


METHODS: Final[Sequence[Method]] = (emptiness, expiration, drift, consolidation)
"""In the order in which they are asked."""
WITHOUT_PLANS: Final[Sequence[Method]] = (emptiness,)
"""Those that never launch anything."""


def decide(
    snapshot: Snapshot,
    options: DisruptionOptions = DEFAULT_OPTIONS,
    *,
    methods: Sequence[Method] = METHODS,
    stop: StopCheck = never,
) -> Verdict:
    """Return the commands of the first method that has any, and what the methods up to it let stay, and why."""
    blocked: list[Blocked] = []
    verdict = Verdict()
    for method in methods:
        verdict = method(snapshot, options, stop=stop)
        blocked.extend(verdict.blocked)
        if verdict.commands:
            break
    return replace(verdict, blocked=tuple(blocked))
