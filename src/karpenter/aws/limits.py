"""How fast we call EC2: within the buckets of an ordinary account, so that calls are spaced rather than refused.

Source: spec v1 §6.7 for the numbers.
"""

from __future__ import annotations

from typing import Final, NamedTuple

from karpenter.runtime.clock import Clock
from karpenter.runtime.ratelimit import TokenBucket


class Rate(NamedTuple):
    """Calls a second in the long run, and at once."""

    per_s: float
    burst: int


READS: Final = Rate(20, 100)
MUTATIONS: Final = Rate(5, 50)
OWN: Final = {"TerminateInstances": Rate(5, 100), "CreateTags": Rate(10, 100)}
"""Operations with a bucket of their own."""
_LIMITED: Final = "ec2"
_READING: Final = ("Describe", "Get")


class CallLimits:
    """Spaces the calls of one process."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._buckets: dict[str, TokenBucket] = {}

    async def wait(self, service: str, operation: str) -> None:
        """Return when the call may be made."""
        if service != _LIMITED:
            return
        wait_s = self._bucket(operation).reserve_s()
        if wait_s > 0:
            await self._clock.sleep(wait_s)

    def refused(self, service: str, operation: str) -> None:
        """Note that the account is busier than we thought, others use it too: what we had saved up is gone."""
        if service == _LIMITED:
            bucket = self._bucket(operation)
            while bucket.try_take():
                pass

    def _bucket(self, operation: str) -> TokenBucket:
        name = operation if operation in OWN else "reads" if operation.startswith(_READING) else "mutations"
        if name not in self._buckets:
            rate = OWN.get(name, READS if name == "reads" else MUTATIONS)
            self._buckets[name] = TokenBucket(rate_per_s=rate.per_s, burst=rate.burst, now=self._clock.now)
        return self._buckets[name]
