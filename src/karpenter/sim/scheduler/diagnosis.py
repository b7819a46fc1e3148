"""Why a pod has no node, in the words that users and tools know from kube-scheduler."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from karpenter.sim.scheduler.nodefilters import Rejection

NO_NODES = "no nodes available to schedule pods"


@dataclass(frozen=True, slots=True)
class Unschedulable:
    """A pod could not be placed."""

    message: str
    plugins: frozenset[str]
    """The filters that rejected nodes: changes to what they look at are worth a new attempt."""


def no_fit(rejections: Sequence[Rejection], *, preemption: str) -> Unschedulable:
    """Return the verdict when each node has a rejection; `preemption` is the sentence on displacing other pods."""
    reasons = Counter(reason for rejection in rejections for reason in rejection.reasons)
    message = f"0/{len(rejections)} nodes are available: {_listed(reasons)}. {preemption}"
    return Unschedulable(message, frozenset(rejection.plugin for rejection in rejections))


def no_pod_fit(nodes: int, why: str, plugin: str) -> Unschedulable:
    """Return the verdict when something about the pod rules out all nodes at once."""
    note = _preemption(nodes, {"Preemption is not helpful for scheduling": nodes})
    return Unschedulable(f"0/{nodes} nodes are available: {why}. {note}", frozenset((plugin,)))


def preemption_note(rejections: Sequence[Rejection], *, has_victims: Sequence[bool], never: bool) -> str:
    """Return the sentence on displacing other pods.

    `has_victims` says for each node whether pods of lower priority run there. This scheduler displaces nobody.
    """
    if never:
        return "preemption: not eligible due to preemptionPolicy=Never."
    counts = Counter(
        _outlook(rejection, victims=victims) for rejection, victims in zip(rejections, has_victims, strict=True)
    )
    return _preemption(len(rejections), counts)


def _outlook(rejection: Rejection, *, victims: bool) -> str:
    if not rejection.helps_to_remove_pods:
        return "Preemption is not helpful for scheduling"
    return "Preemption is not simulated" if victims else "No preemption victims found for incoming pod"


def _preemption(nodes: int, outlooks: Mapping[str, int]) -> str:
    return f"preemption: 0/{nodes} nodes are available: {_listed(outlooks)}."


def _listed(counts: Mapping[str, int]) -> str:
    return ", ".join(sorted(f"{number} {reason}" for reason, number in counts.items()))
