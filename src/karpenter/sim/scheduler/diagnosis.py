"""Why a pod has no node, in the words that users and tools know from kube-scheduler."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from karpenter.sim.scheduler.nodefilters import Rejection
from karpenter.sim.scheduler.preemption import Candidate

NO_NODES = "no nodes available to schedule pods"
NEVER_PREEMPTS = "preemption: not eligible due to preemptionPolicy=Never."
WAITS_FOR_VICTIMS = "preemption: not eligible due to a terminating pod on the nominated node."
_NOT_HELPFUL = "Preemption is not helpful for scheduling"


@dataclass(frozen=True, slots=True)
class Unschedulable:
    """A pod could not be placed."""

    message: str
    plugins: frozenset[str]
    """The filters that rejected nodes: changes to what they look at are worth a new attempt."""
    keeps_nomination: bool = False
    """Whether the pod goes on waiting for the node that it was nominated for."""
    makes_room: Candidate | None = None
    """The pods that have to go for this one, and the node that it is nominated for."""


def no_fit(rejections: Sequence[Rejection], *, preemption: str, keeps_nomination: bool = False) -> Unschedulable:
    """Return the verdict when each node has a rejection; `preemption` is the sentence on displacing other pods."""
    message = " ".join(part for part in (_no_fit(rejections), preemption) if part)
    plugins = frozenset(rejection.plugin for rejection in rejections)
    return Unschedulable(message, plugins, keeps_nomination=keeps_nomination)


def makes_room(rejections: Sequence[Rejection], chosen: Candidate) -> Unschedulable:
    """Return the verdict when a node takes the pod once others have left it."""
    return Unschedulable(_no_fit(rejections), frozenset(one.plugin for one in rejections), makes_room=chosen)


def no_pod_fit(nodes: int, why: str, plugin: str) -> Unschedulable:
    """Return the verdict when something about the pod rules out all nodes at once."""
    note = _preemption(nodes, {_NOT_HELPFUL: nodes})
    return Unschedulable(f"0/{nodes} nodes are available: {why}. {note}", frozenset((plugin,)))


def preemption_note(nodes: int, why_not: Sequence[Rejection]) -> str:
    """Return the sentence on displacing other pods where that is in vain.

    `why_not` says it for those of the nodes where others are what stands in the way.
    """
    counts = Counter(reason for rejection in why_not for reason in rejection.reasons)
    hopeless = nodes - len(why_not)
    return _preemption(nodes, {**counts, **({_NOT_HELPFUL: hopeless} if hopeless else {})})


def _no_fit(rejections: Sequence[Rejection]) -> str:
    reasons = Counter(reason for rejection in rejections for reason in rejection.reasons)
    return f"0/{len(rejections)} nodes are available: {_listed(reasons)}."


def _preemption(nodes: int, outlooks: Mapping[str, int]) -> str:
    return f"preemption: 0/{nodes} nodes are available: {_listed(outlooks)}."


def _listed(counts: Mapping[str, int]) -> str:
    return ", ".join(sorted(f"{number} {reason}" for reason, number in counts.items()))
