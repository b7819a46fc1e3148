"""Pods that end by themselves: when the next thing happens to one that runs, and what that is."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from karpenter.model.core import Pod
from karpenter.model.meta import find_condition
from karpenter.model.units import UnixSeconds
from karpenter.runtime.kube import KubeClient, RawObject, Resource
from karpenter.sim.kubelet import podstatus
from karpenter.sim.kubelet.endings import Ending, ending_of, may_end, restart_delay_s
from karpenter.sim.kubelet.podstatus import Manifest

_RAW_PODS: Final[Resource[RawObject]] = Resource("", "v1", "pods", "Pod", dict, namespaced=True)


@dataclass(frozen=True, slots=True)
class _Course:
    """What is known of a pod that may end."""

    ending: Ending | None
    turn: tuple[bool, int] = (False, -1)
    """Whether it runs, or waits to be restarted, and how often it has been."""
    since: UnixSeconds = UnixSeconds(0.0)  # noqa: RUF009 - a number
    """Since when that is so."""


class Courses:
    """The pods that may end, by uid."""

    def __init__(self, kube: KubeClient) -> None:
        self._kube = kube
        self._known: dict[str, _Course] = {}

    async def follow(self, pod: Pod, now: UnixSeconds, *, host_ip: str) -> float | Manifest | None:
        """Return in how many seconds something happens to a running pod, or the status that it has from now on; None
        when nothing will.
        """
        if not may_end(pod):
            return None
        course = self._turned(pod, await self._course(pod), now)
        self._known[pod.metadata.uid] = course
        if course.ending is None:
            return None
        runs, restarts = course.turn
        lasts_s = course.ending.after_s if runs else restart_delay_s(restarts)
        left_s = course.since + lasts_s - now
        if left_s > 0:
            return left_s
        if not runs:
            return podstatus.running(pod, now, host_ip=host_ip, restarts=restarts + 1)
        return _ended(pod, course.ending, now)

    def forget(self, uid: str) -> None:
        """Forget a pod that is gone."""
        self._known.pop(uid, None)

    async def _course(self, pod: Pod) -> _Course:
        known = self._known.get(pod.metadata.uid)
        if known is not None:
            return known
        namespace, name = pod.metadata.key
        raw = await self._kube.get(_RAW_PODS, name, namespace=namespace)
        return _Course(ending_of(pod, raw))

    def _turned(self, pod: Pod, course: _Course, now: UnixSeconds) -> _Course:
        """Return what is known of a pod with the turn that it took since."""
        ready = find_condition(pod.status.conditions, "Ready")
        runs = ready is not None and ready.is_true
        turn = runs, max((one.restart_count for one in pod.status.container_statuses), default=0)
        if turn == course.turn:
            return course
        written = ready.since if ready is not None and ready.since is not None else now
        # The API keeps whole seconds: what we see at once, we know better.
        since = now if now - written < 1.0 else written
        return _Course(course.ending, turn, since)


def _ended(pod: Pod, ending: Ending, now: UnixSeconds) -> Manifest:
    if ending.is_good:
        return podstatus.stopped(pod, now, phase="Succeeded")
    if pod.spec.restart_policy == "Never":
        return podstatus.stopped(pod, now, phase="Failed", exit_code=ending.exit_code)
    return podstatus.crashed(pod, now, exit_code=ending.exit_code)
