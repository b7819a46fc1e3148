"""Stops launches of a node class whose machines do not become nodes, for ever longer times.

Five in a row that never registered open the breaker for a minute; after that one machine at a time is tried, and each
further failure doubles the wait, up to half an hour. One that registers closes it. Source: issue 6, point 8.
"""

from __future__ import annotations

from typing import Final

import msgspec

from karpenter.model.nodeclaim import REGISTERED
from karpenter.model.nodepool import NodeClassRef
from karpenter.model.units import UnixSeconds, to_rfc3339
from karpenter.runtime import logs
from karpenter.runtime.clock import Clock
from karpenter.state.cluster import ClusterState
from karpenter.state.memory import Memory

log = logs.get("nodeclaim.lifecycle")

KEY: Final = "breakers"
FAILURES: Final = 5
FIRST_S: Final = 60.0
LONGEST_S: Final = 1800.0
SETTLING_S: Final = 5.0
"""A trial machine that was just asked for may not be known yet."""


class _Failures(msgspec.Struct, frozen=True):
    count: int = 0
    """In a row."""
    until: float = 0.0
    """Until when nothing is launched."""


class Breakers:
    """One breaker for each node class."""

    def __init__(self, memory: Memory, state: ClusterState, *, clock: Clock) -> None:
        self._memory = memory
        self._state = state
        self._clock = clock
        self._tried_at: dict[str, float] = {}

    def failed(self, node_class: NodeClassRef | None) -> None:
        """Take in that a machine of the class never registered."""
        key, known = _key(node_class), self._known()
        count = known.get(key, _Failures()).count + 1
        wait_s = min(FIRST_S * 2.0 ** (count - FAILURES), LONGEST_S) if count >= FAILURES else 0.0
        if wait_s:
            log.warning("machines do not become nodes", node_class=key, failures=count, next_try_in_s=wait_s)
        self._memory.put(KEY, {**known, key: _Failures(count, self._clock.now() + wait_s)})

    def succeeded(self, node_class: NodeClassRef | None) -> None:
        """Take in that a machine of the class registered."""
        key, known = _key(node_class), self._known()
        if key in known:
            self._memory.put(KEY, {name: failures for name, failures in known.items() if name != key})

    def problem(self, node_class: NodeClassRef | None) -> str | None:
        """Return why nothing of the class is to be planned now; None when it may be."""
        key = _key(node_class)
        failures = self._known().get(key)
        if failures is None or failures.count < FAILURES:
            return None
        words = f"{failures.count} machines of {key} in a row did not become nodes"
        if self._clock.now() < failures.until:
            return f"{words}; the next one is tried at {to_rfc3339(UnixSeconds(failures.until))}"
        return f"{words}; one is being tried" if self._has_trial(node_class) else None

    def refusal(self, node_class: NodeClassRef | None) -> str | None:
        """Return why one more machine of the class is not launched now; None when it may be, which starts a trial."""
        key = _key(node_class)
        problem = self.problem(node_class)
        failures = self._known().get(key)
        if problem is not None or failures is None or failures.count < FAILURES:
            return problem
        if self._clock.now() - self._tried_at.get(key, float("-inf")) < SETTLING_S:
            return f"{failures.count} machines of {key} in a row did not become nodes; one is being tried"
        self._tried_at[key] = self._clock.now()
        return None

    def _has_trial(self, node_class: NodeClassRef | None) -> bool:
        return any(
            claim.node_class_ref == node_class and not claim.metadata.is_deleting and not claim.is_true(REGISTERED)
            for claim in self._state.claims.values()
        )

    def _known(self) -> dict[str, _Failures]:
        return self._memory.get(KEY, dict[str, _Failures], {})


def _key(node_class: NodeClassRef | None) -> str:
    return "inline provider" if node_class is None else f"{node_class.kind} {node_class.name}"
