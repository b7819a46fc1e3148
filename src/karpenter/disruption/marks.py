"""Writes on claims what time rules count from, and what users want to see before it acts: controller
`nodeclaim.disruption`.

Since when a node is empty (DEP-40), whether it drifted and why (D-27), when pods last came or went (L-10), and whether
that is long enough ago (D-7). The conditions live in the cluster, so a restart neither forgets nor restarts a timer; a
node that became empty while nobody looked counts from when it is first seen empty: later, never sooner.
"""

from __future__ import annotations

from typing import Final, NamedTuple, Protocol

from karpenter.cloud.errors import CloudError
from karpenter.disruption.drift import Drift, drifted
from karpenter.disruption.emptiness import is_empty
from karpenter.disruption.podevents import last_pod_event
from karpenter.lifecycle.writer import Writer
from karpenter.model.core import Pod
from karpenter.model.meta import Condition, changed_condition
from karpenter.model.nodeclaim import CONSOLIDATABLE, DRIFTED, EMPTY, INITIALIZED, LAUNCHED, NodeClaim
from karpenter.model.nodepool import NodePool
from karpenter.model.protection import misread_protection, protected_until
from karpenter.model.units import UnixSeconds, from_rfc3339, to_rfc3339
from karpenter.runtime import logs
from karpenter.runtime.clock import Clock
from karpenter.runtime.controller import DONE, Result
from karpenter.runtime.events import EventRecorder
from karpenter.scheduling.snapshot import NodeView
from karpenter.state.cluster import ClusterState
from karpenter.state.refs import pod_ref

log = logs.get("nodeclaim.disruption")

NOMINATED_RECHECK_S: Final = 30.0
DRIFT_EVERY_S: Final = 300.0
ANSWER_KEPT_S: Final = 290.0
"""For how long the cloud's word is taken again: just so long that the next regular look asks anew."""
POD_EVENTS_EVERY_S: Final = 10.0


class DriftSource(Protocol):
    """The part of a cloud provider that knows whether a machine still matches its node class."""

    async def drift_reason(self, claim: NodeClaim) -> str | None:
        """Return why it does not; None when it does. Raises CloudError."""
        ...


class _Asked(NamedTuple):
    at: UnixSeconds
    reason: str | None


class Marks:
    """Keeps the conditions of each claim true to what is on its node, and to what its pool asks for."""

    name = "nodeclaim.disruption"

    def __init__(
        self, state: ClusterState, writer: Writer, cloud: DriftSource, *, recorder: EventRecorder, clock: Clock
    ) -> None:
        self._state = state
        self._writer = writer
        self._cloud = cloud
        self._recorder = recorder
        self._clock = clock
        self._asked: dict[str, _Asked] = {}

    def forget_drift(self) -> None:
        """Ask the cloud anew about every claim: a node class changed."""
        self._asked.clear()

    async def reconcile(self, key: str) -> Result:
        """Look at one claim, by name."""
        claim = self._state.claims.get(key)
        if claim is None or claim.metadata.is_deleting:
            self._asked.pop(key, None)
            return DONE
        if not claim.is_true(LAUNCHED):
            await self._writer.drop_claim_conditions(claim, DRIFTED)
            return DONE
        pool = self._state.pools.get(claim.pool) if claim.pool else None
        again = [DRIFT_EVERY_S]
        claim = await self._mark_drift(claim, pool)
        view = self._state.view_of(claim, self._clock.now())
        if claim.is_true(INITIALIZED) and view is not None:
            self._complain(view)
            claim, again_s = await self._mark_empty(claim, view)
            again.append(again_s)
            again.append(await self._mark_consolidatable(claim, pool, view))
        return Result(min(again))

    # --- drift ------------------------------------------------------------------------------------------------------

    async def _mark_drift(self, claim: NodeClaim, pool: NodePool | None) -> NodeClaim:
        found = None
        if pool is not None and pool.disruption.drift:
            types = self._state.instance_types(pool.key)
            found = drifted(claim, pool, types, now=self._clock.now()) or await self._drift_by_cloud(claim)
        if found is None:
            return await self._writer.drop_claim_conditions(claim, DRIFTED)
        if not claim.is_true(DRIFTED):
            log.info("nodeclaim has drifted", nodeclaim=claim.name, reason=found.reason)
        return await self._set(claim, Condition(DRIFTED, "True", found.reason, found.message))

    async def _drift_by_cloud(self, claim: NodeClaim) -> Drift | None:
        """Ask the cloud, or remember what it said less than five minutes ago."""
        now = self._clock.now()
        asked = self._asked.get(claim.name)
        if asked is None or now - asked.at >= ANSWER_KEPT_S:
            try:
                asked = _Asked(now, await self._cloud.drift_reason(claim))
            except CloudError as error:
                # Doubt blocks: what cannot be asked has not drifted, and a drift that was seen stays.
                log.debug("cannot ask for drift", nodeclaim=claim.name, error=error)
                asked = _Asked(now, asked.reason if asked else None)
            self._asked[claim.name] = asked
        return Drift(asked.reason, "the machine no longer matches its node class") if asked.reason else None

    # --- pods -------------------------------------------------------------------------------------------------------

    async def _mark_empty(self, claim: NodeClaim, view: NodeView) -> tuple[NodeClaim, float]:
        if view.is_nominated or not is_empty(view):
            claim = await self._writer.drop_claim_conditions(claim, EMPTY)
            return claim, NOMINATED_RECHECK_S if view.is_nominated else DRIFT_EVERY_S
        claim = await self._set(claim, Condition(EMPTY, "True", message="no pod would have to move"))
        return claim, DRIFT_EVERY_S

    async def _mark_consolidatable(self, claim: NodeClaim, pool: NodePool | None, view: NodeView) -> float:
        """Set the condition once the pool's time without pod events is over; return when to look again."""
        after_s = pool.disruption.consolidate_after_s if pool else None
        if pool is None or after_s is None or pool.disruption.policy == "Off":
            await self._writer.drop_claim_conditions(claim, CONSOLIDATABLE)
            return DRIFT_EVERY_S
        latest = last_pod_event(self._state.pods_on(view.name)) or 0.0
        noted = _last_pod_event(claim) or 0.0
        if after_s and latest - noted >= POD_EVENTS_EVERY_S:
            status = {"lastPodEventTime": to_rfc3339(UnixSeconds(latest))}
            claim = await self._writer.patch_claim_status(claim, (), status)
        left_s = max(latest, noted, view.initialized_at or 0.0) + after_s - self._clock.now()
        if left_s > 0:
            await self._writer.drop_claim_conditions(claim, CONSOLIDATABLE)
            return left_s
        await self._set(claim, Condition(CONSOLIDATABLE, "True"))
        return DRIFT_EVERY_S

    def _complain(self, view: NodeView) -> None:
        """Tell owners of pods whose wish cannot be read (B-1)."""
        for pod in view.pods:
            text = misread_protection(pod)
            if text is not None:
                message = f"do-not-disrupt is {text!r}, which protects nothing; write true or a duration such as 30m"
                self._recorder.record(pod_ref(pod), "Warning", "InvalidDoNotDisruptAnnotation", message)
            self._tell_timed(pod)

    def _tell_timed(self, pod: Pod) -> None:
        """Say until when a pod is protected for its first time, and that this is over (B-1)."""
        until = protected_until(pod)
        if until is None:
            return
        left_s = until - self._clock.now()
        if left_s > 0:
            text = f"it is not disrupted before {to_rfc3339(until)}"
            self._recorder.record(pod_ref(pod), "Normal", "DoNotDisruptUntil", text, dedupe_s=left_s)
        elif left_s > -DRIFT_EVERY_S:
            text = f"it may be disrupted since {to_rfc3339(until)}"
            self._recorder.record(
                pod_ref(pod), "Normal", "DoNotDisruptGracePeriodElapsed", text, dedupe_s=2 * DRIFT_EVERY_S
            )

    async def _set(self, claim: NodeClaim, condition: Condition) -> NodeClaim:
        changed = changed_condition(claim.conditions, condition, self._clock.now())
        return await self._writer.patch_claim_status(claim, (changed,) if changed else ())


def _last_pod_event(claim: NodeClaim) -> UnixSeconds | None:
    try:
        return from_rfc3339(claim.last_pod_event_time) if claim.last_pod_event_time else None
    except ValueError:
        return None
