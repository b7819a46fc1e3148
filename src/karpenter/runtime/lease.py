"""Leader election by a Lease: of several processes one works, and another takes over when it stops renewing.

No clock but our own is trusted: what counts is for how long *we* have seen the lease unchanged. The leader gives up
(`renew_deadline_s`) sooner than others may take over (`lease_s`), so two never lead at once. Source: spec v1 §5.6,
CFG-6.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, Final

from karpenter.model.errors import KarpenterError
from karpenter.model.units import UnixSeconds
from karpenter.runtime import logs
from karpenter.runtime.clock import Clock
from karpenter.runtime.identity import version_of
from karpenter.runtime.kube import LEASES, AlreadyExists, Conflict, KubeClient, KubeError, NotFound, RawObject
from karpenter.runtime.metrics import Metrics

RELEASE_TIMEOUT_S: Final = 5.0

log = logs.get("runtime.lease")


class LeadershipLost(KarpenterError):
    """The lease could not be renewed in time, so another process may lead by now: stop working at once."""


@dataclass(frozen=True, slots=True)
class Timing:
    """How fast leadership moves; client-go's usual values."""

    lease_s: int = 15
    """Others may take over a lease that was not renewed for so long."""
    renew_deadline_s: float = 10.0
    """A leader that could not renew for so long stops."""
    retry_s: float = 2.0
    """Between attempts to take or renew."""


class LeaderElection:
    """One candidate for one lease."""

    def __init__(
        self,
        kube: KubeClient,
        clock: Clock,
        *,
        name: str,
        namespace: str,
        identity: str,
        timing: Timing = Timing(),
        metrics: Metrics | None = None,
    ) -> None:
        self._kube = kube
        self._clock = clock
        self._name = name
        self._namespace = namespace
        self._identity = identity
        self._timing = timing
        self._status = (metrics or Metrics(clock)).leader_election_master_status.labels(name)
        self._status.set(0)
        self._seen_version = ""
        self._seen_at = UnixSeconds(0.0)

    async def lead(self, work: Callable[[], Awaitable[None]]) -> None:
        """Wait for the lease, run `work` while renewing it, and release it when `work` ends or is cancelled.

        Raises:
            LeadershipLost: the lease could not be renewed; `work` was cancelled.
        """
        await self._acquire()
        log.info("became leader", lease=self._name, identity=self._identity)
        self._status.set(1)
        lost: LeadershipLost | None = None
        try:
            async with asyncio.TaskGroup() as group:
                renewing = group.create_task(self._renew(), name=f"lease {self._name}")
                await work()
                renewing.cancel()
        except* LeadershipLost as errors:
            lost = LeadershipLost(str(errors.exceptions[0]))
        finally:
            self._status.set(0)
            if lost is None:
                await self._release()
        if lost is not None:
            raise lost

    async def _acquire(self) -> None:
        while True:
            try:
                if await self._try_acquire():
                    return
            except KubeError as error:
                log.debug("cannot take lease", lease=self._name, error=error)
            await self._clock.sleep(self._timing.retry_s)

    async def _try_acquire(self) -> bool:
        """Take the lease if it is free or expired; return whether it is ours."""
        now = self._clock.now()
        try:
            lease = await self._kube.get(LEASES, self._name, namespace=self._namespace)
        except NotFound:
            return await self._create(now)
        if version_of(lease) != self._seen_version:
            self._seen_version, self._seen_at = version_of(lease), now
        spec: Mapping[str, Any] = lease.get("spec") or {}
        holder = spec.get("holderIdentity") or ""
        expires_at = self._seen_at + float(spec.get("leaseDurationSeconds") or self._timing.lease_s)
        if holder not in ("", self._identity) and now < expires_at:
            return False
        transitions = int(spec.get("leaseTransitions") or 0) + (holder != self._identity)
        return await self._write(
            lease, {**self._held(now), "acquireTime": _micro(now), "leaseTransitions": transitions}
        )

    async def _renew(self) -> None:
        renewed_at = self._clock.now()
        while True:
            await self._clock.sleep(self._timing.retry_s)
            left_s = renewed_at + self._timing.renew_deadline_s - self._clock.now()
            try:
                async with asyncio.timeout(max(0.0, left_s)):
                    held = await self._try_renew()
            except (KubeError, TimeoutError) as error:
                log.warning("cannot renew lease", lease=self._name, error=error)
                if self._clock.now() - renewed_at >= self._timing.renew_deadline_s:
                    raise LeadershipLost(f"lease {self._name} could not be renewed: {error}") from error
            else:
                if not held:
                    raise LeadershipLost(f"lease {self._name} is held by another process")
                renewed_at = self._clock.now()

    async def _try_renew(self) -> bool:
        """Return whether the lease is still ours; it is renewed then."""
        lease = await self._kube.get(LEASES, self._name, namespace=self._namespace)
        if (lease.get("spec") or {}).get("holderIdentity") != self._identity:
            return False
        return await self._write(lease, self._held(self._clock.now()))

    async def _create(self, now: UnixSeconds) -> bool:
        spec = {**self._held(now), "acquireTime": _micro(now), "leaseTransitions": 0}
        body = {"metadata": {"name": self._name, "namespace": self._namespace}, "spec": spec}
        try:
            await self._kube.create(LEASES, body, namespace=self._namespace)
        except AlreadyExists:
            return False
        return True

    async def _write(self, lease: RawObject, spec: Mapping[str, object]) -> bool:
        """Change the lease that was read; False when someone else was faster."""
        patch = {"metadata": {"resourceVersion": version_of(lease)}, "spec": spec}
        try:
            await self._kube.patch(LEASES, self._name, patch, namespace=self._namespace)
        except Conflict:
            return False
        return True

    async def _release(self) -> None:
        """Let another process take over at once."""
        with contextlib.suppress(KubeError, TimeoutError):
            async with asyncio.timeout(RELEASE_TIMEOUT_S):
                lease = await self._kube.get(LEASES, self._name, namespace=self._namespace)
                if (lease.get("spec") or {}).get("holderIdentity") == self._identity:
                    await self._write(lease, {"holderIdentity": "", "renewTime": _micro(self._clock.now())})
                    log.info("released lease", lease=self._name)

    def _held(self, now: UnixSeconds) -> dict[str, object]:
        return {
            "holderIdentity": self._identity,
            "leaseDurationSeconds": self._timing.lease_s,
            "renewTime": _micro(now),
        }


def _micro(moment: UnixSeconds) -> str:
    """Return a moment as Leases have it: with microseconds."""
    return datetime.fromtimestamp(moment, tz=UTC).strftime("%Y-%m-%dT%H:%M:%S.%fZ")
