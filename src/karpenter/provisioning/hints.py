"""Placement hints: the planned node of a pod, told to kube-scheduler in `status.nominatedNodeName`. Pure.

The scheduler tries that node first and keeps room there from pods that are no more important, so nodes that come one
after another are filled as planned, not by whoever looks first. It takes a nomination back when it tries the pod before
the node is ready; then the hint may be given again, a few times and ever more slowly, so that nobody fights.

Source: spec v1 S-1, S-62; KEP-5278.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Final

from karpenter.model.core import Pod
from karpenter.model.pods import is_terminal
from karpenter.model.units import ObjectKey, UnixSeconds

MOST_HINTS: Final = 6
"""How often a pod is told the same node: each machine that joins or gets ready has all pods tried anew."""
FIRST_PAUSE_S: Final = 0.05
"""How long a hint that was taken back is left alone before it is given again; twice as long each time."""


@dataclass(frozen=True, slots=True)
class HintSettings:
    """Whether plans are told to kube-scheduler."""

    hints: bool = False


@dataclass(frozen=True, slots=True)
class Hint:
    """What a pod was told last."""

    uid: str
    node: str
    times: int
    gone_at: UnixSeconds | None = None
    """When it was seen that the scheduler took it back."""


class HintBook:
    """Which pods were told which node. Lost with the process: what stands then is taken for the scheduler's own."""

    def __init__(self) -> None:
        self._hints: dict[ObjectKey, Hint] = {}

    def __contains__(self, key: ObjectKey) -> bool:
        """Return whether a pod of that name was told a node."""
        return key in self._hints

    def due_in(self, pod: Pod, node: str, now: UnixSeconds) -> float | None:
        """Return in how many seconds a pod is to be told its node, 0 for now; None when it needs or bears no hint."""
        if pod.spec.node_name or is_terminal(pod) or pod.metadata.is_deleting:
            return None
        stands = pod.status.nominated_node_name
        last = self._last(pod)
        if stands and (last is None or stands != last.node):
            return None  # the scheduler makes room for it by preemption, or somebody else knows better
        if stands == node:
            return None
        if last is None or last.node != node:
            return 0.0
        if last.times >= MOST_HINTS:
            return None
        if last.gone_at is None:
            last = self._hints[pod.metadata.key] = replace(last, gone_at=now)
        return max(0.0, (last.gone_at or now) + FIRST_PAUSE_S * 2.0 ** (last.times - 1) - now)

    def told(self, pod: Pod, node: str) -> None:
        """Remember that a pod was told its node."""
        last = self._last(pod)
        times = last.times + 1 if last is not None and last.node == node else 1
        self._hints[pod.metadata.key] = Hint(pod.metadata.uid, node, times)

    def forget(self, key: ObjectKey) -> None:
        """Forget a pod that is bound or gone."""
        self._hints.pop(key, None)

    def _last(self, pod: Pod) -> Hint | None:
        last = self._hints.get(pod.metadata.key)
        return last if last is not None and last.uid == pod.metadata.uid else None
