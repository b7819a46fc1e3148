"""Whether the machines that a pool launches become nodes: condition `NodeRegistrationHealthy`.

The last four outcomes of each pool count; half of them failing is unhealthy. After a restart they are taken from the
condition. Source: spec v1 §1.4.2.
"""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass, field
from typing import Final

from karpenter.model.meta import Condition, find_condition
from karpenter.model.nodepool import NodePool
from karpenter.model.units import PoolKey

HEALTHY: Final = "NodeRegistrationHealthy"
FAILED: Final = "RegistrationFailed"
REMEMBERED: Final = 4
TOO_MANY: Final = 0.5
_UNKNOWN: Final = Condition(HEALTHY, "Unknown")


@dataclass(slots=True)
class _Record:
    """What is known of one pool."""

    made_for: tuple[int, int]
    """Generations of pool and node class that the outcomes are about."""
    outcomes: deque[bool] = field(default_factory=lambda: deque(maxlen=REMEMBERED))
    verdict: Condition = _UNKNOWN

    @property
    def is_unhealthy(self) -> bool:
        return self.outcomes.count(False) / REMEMBERED >= TOO_MANY


class RegistrationHealth:
    """Remembers for each pool how its last machines fared."""

    def __init__(self) -> None:
        self._records: dict[PoolKey, _Record] = {}
        self._news: dict[PoolKey, list[tuple[bool, str, str]]] = {}

    def succeeded(self, pool: PoolKey | None) -> None:
        """Take in that a machine of the pool became a node."""
        if pool is not None:
            self._news.setdefault(pool, []).append((True, "", ""))

    def failed(self, pool: PoolKey | None, *, reason: str = FAILED, message: str = "") -> None:
        """Take in that a machine of the pool never became a node, or was never launched."""
        if pool is not None:
            self._news.setdefault(pool, []).append((False, reason, message))

    def condition(self, pool: NodePool, *, class_generation: int) -> Condition:
        """Return the pool's condition as it should be; `Unknown` once pool or node class were edited."""
        generations = (pool.metadata.generation, class_generation)
        record = self._records.get(pool.key)
        if record is None:
            record = self._records[pool.key] = _restored(pool, generations)
        elif record.made_for != generations:
            record = self._records[pool.key] = _Record(generations)
        for is_success, reason, message in self._news.pop(pool.key, ()):
            record.outcomes.append(is_success)
            if is_success and not record.is_unhealthy:
                record.verdict = Condition(HEALTHY, "True")
            elif not is_success and record.is_unhealthy:
                record.verdict = Condition(HEALTHY, "False", reason, message)
        return record.verdict


def _restored(pool: NodePool, generations: tuple[int, int]) -> _Record:
    """Begin with what the condition says, as long as it is about the pool as it is now."""
    record = _Record(generations)
    present = find_condition(pool.conditions, HEALTHY)
    if present is None or present.observed_generation not in {None, pool.metadata.generation}:
        return record
    if present.is_true:
        record.outcomes.append(True)
    elif present.status == "False":
        record.outcomes.extend([False] * int(REMEMBERED * TOO_MANY))
    record.verdict = Condition(HEALTHY, present.status, present.reason, present.message)
    return record
