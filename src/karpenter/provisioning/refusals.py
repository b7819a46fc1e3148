"""Tell pods why they stay pending, and what would help."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Final

from karpenter.model.core import Pod
from karpenter.model.units import PoolKey, UnixSeconds
from karpenter.runtime import logs
from karpenter.runtime.clock import Clock
from karpenter.runtime.cpu import run_cpu
from karpenter.runtime.events import LONGEST_MESSAGE, EventRecorder, shortened
from karpenter.scheduling import Demand, Options, Snapshot, Solution
from karpenter.scheduling.remedies import Effort, refusals_of
from karpenter.scheduling.solution import Reason, Unschedulable
from karpenter.state.refs import pod_ref, pool_ref

log = logs.get("provisioner")

DEDUPE_S: Final = 300.0
SEARCH_LIMIT_S: Final = 5.0
"""Looking for remedies ends after this long: the next batch waits."""
POOL_DEDUPE_S: Final = 60.0
_EMPTY_HANDED: Final = frozenset({"NoInstanceTypes", "MinValuesUnmet"})
"""Misses by which a pool's own words leave no instance type (S-47)."""
_FIX: Final = "; fix: "
_SOLVES: Final = 16
_GROUPS: Final = 4


@dataclass(slots=True)
class Refusals:
    """Records `FailedScheduling` on pods."""

    recorder: EventRecorder
    clock: Clock
    options: Options
    _told: dict[str, tuple[str, UnixSeconds]] = field(default_factory=dict)
    """Which kind of trouble refused pods were told of last, and when, by their uid."""

    def fail(self, pod: Pod, message: str, *, fix: str = "", kind: str | None = None) -> None:
        """Tell one pod. Of the same `kind` of trouble it hears once in a while only: figures change all the time."""
        log.debug("could not schedule pod", pod=str(pod.metadata.key), error=message)
        told = f"{shortened(message, LONGEST_MESSAGE - len(_FIX) - len(fix))}{_FIX}{fix}" if fix else message
        self.recorder.record(pod_ref(pod), "Warning", "FailedScheduling", told, dedupe_s=DEDUPE_S, dedupe_key=kind)

    async def tell(self, snapshot: Snapshot, pods: Iterable[Pod], solution: Solution) -> None:
        """Tell the pods that a plan leaves out. What would help is looked for only if one of them hears news."""
        refused = {
            entry.pod.metadata.uid: entry
            for entry in solution.unschedulable
            # A pod that still runs on a leaving node has nothing to complain of yet.
            if not entry.pod.spec.node_name
        }
        self._tell_pools(snapshot, refused.values())
        now = self.clock.now()
        kinds = {uid: _kind(entry.reasons) for uid, entry in refused.items()}
        news = {uid for uid, kind in kinds.items() if self._is_news(uid, kind, now)}
        self._told = {uid: (kind, now if uid in news else self._told[uid][1]) for uid, kind in kinds.items()}
        fixes = await self._fixes(snapshot, pods, solution) if news else {}
        for uid in news:
            entry = refused[uid]
            self.fail(entry.pod, _words(entry.reasons), fix=fixes.get(uid, ""), kind=kinds[uid])

    def _tell_pools(self, snapshot: Snapshot, refused: Iterable[Unschedulable]) -> None:
        """Say on pools that their own requirements leave no instance type for pods (S-47)."""
        pools = {view.pool.key: view.pool for view in snapshot.pools}
        told: set[PoolKey] = set()
        for reason in (reason for entry in refused for reason in entry.reasons):
            pool = pools.get(reason.pool) if reason.pool is not None else None
            miss = next((miss for miss in reason.misses if miss.code in _EMPTY_HANDED), None)
            if pool is None or miss is None or pool.key in told:
                continue
            told.add(pool.key)
            ref = pool_ref(pool)
            self.recorder.record(ref, "Warning", "NoCompatibleInstanceTypes", miss.message, dedupe_s=POOL_DEDUPE_S)

    def _is_news(self, uid: str, kind: str, now: UnixSeconds) -> bool:
        last, at = self._told.get(uid, ("", 0.0))
        return kind != last or now - at >= DEDUPE_S

    async def _fixes(self, snapshot: Snapshot, pods: Iterable[Pod], solution: Solution) -> dict[str, str]:
        """Return what would help, by the uid of each pod that it helps."""
        deadline = self.clock.now() + SEARCH_LIMIT_S
        found = await run_cpu(
            refusals_of,
            snapshot,
            Demand.each(pods),
            solution,
            options=self.options,
            effort=Effort(solves=_SOLVES, groups=_GROUPS),
            stop=lambda: self.clock.now() > deadline,
        )
        return {
            pod.metadata.uid: refusal.remedy.message
            for refusal in found
            if refusal.remedy is not None and refusal.remedy.placed == len(refusal.pods)
            for pod in refusal.pods
        }


def _kind(reasons: Sequence[Reason]) -> str:
    """Return what is the same as long as the trouble is, whatever its figures."""
    return "; ".join(
        f"{reason.pool} {reason.code} {' '.join(f'{miss.code} {miss.subject}' for miss in reason.misses)}"
        for reason in reasons
    )


def _words(reasons: Sequence[Reason]) -> str:
    """Return all reasons as one line, the nearest miss first."""
    told = [f"{reason.pool}: {reason.message}" if reason.pool else reason.message for reason in reasons]
    return "; ".join(told) or "no pool could take the pod"
