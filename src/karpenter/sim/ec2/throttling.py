"""How many calls EC2 takes from one account. Source: spec v1 §6.7."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final, NamedTuple

from karpenter.runtime.ratelimit import TokenBucket
from karpenter.sim.ec2.codec.messages import AwsError


class Limit(NamedTuple):
    """Calls a second in the long run, and at once."""

    rate_per_s: float
    burst: int


READS: Final = Limit(20, 100)
MUTATIONS: Final = Limit(5, 50)
OWN: Final = {
    "RunInstances": Limit(2, 5),
    "TerminateInstances": Limit(5, 100),
    "CreateTags": Limit(10, 100),
}
"""Operations with a bucket of their own; all others share that of the reads, or of the mutations."""
_READING: Final = ("Describe", "Get")


class Throttles:
    """The account's buckets."""

    def __init__(self, now: Callable[[], float]) -> None:
        self._now = now
        self._buckets: dict[str, TokenBucket] = {}

    def take(self, service: str, operation: str) -> None:
        """Count one call. Raises AwsError when there were too many."""
        if service != "ec2":
            return
        name = operation if operation in OWN else "reads" if operation.startswith(_READING) else "mutations"
        if name not in self._buckets:
            limit = OWN.get(name, READS if name == "reads" else MUTATIONS)
            self._buckets[name] = TokenBucket(rate_per_s=limit.rate_per_s, burst=limit.burst, now=self._now)
        if not self._buckets[name].try_take():
            raise AwsError("RequestLimitExceeded", "Request limit exceeded.", status=503)
