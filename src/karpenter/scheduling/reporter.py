"""How a solve tells what it does, and how it is told to stop; the core itself neither logs nor keeps time."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Protocol, TypeAlias

from karpenter.model.core import Pod
from karpenter.scheduling.solution import Unschedulable

Progress: TypeAlias = Callable[[str, int, int], None]
"""Told what is being done, and how many of how many steps of it are done."""
StopCheck: TypeAlias = Callable[[], bool]
"""Asked between steps; true ends the solve with what was found so far."""


def never() -> bool:
    """Return False: the solve runs to its end."""
    return False


def unheard(phase: str, done: int, total: int) -> None:
    """Tell nobody."""


class Reporter(Protocol):
    """Who wants to know: metrics in the controller, lines in `simulate`."""

    def placed(self, pods: Sequence[Pod], place: str) -> None:
        """Pods found room on the node, claim in flight or new claim of this name."""
        ...

    def rejected(self, refused: Unschedulable) -> None:
        """A pod stays pending."""
        ...

    def relaxed(self, pods: Sequence[Pod], preference: str) -> None:
        """A preference of these pods was given up, because nothing could serve it."""
        ...

    def progress(self, phase: str, done: int, total: int) -> None:
        """So many of `total` steps of a phase are done. Phases may come again, and may end before their total."""
        ...


class Kept:
    """A reporter that keeps what one of several attempts tells until it is known which of them counts."""

    def __init__(self, listener: Reporter | None) -> None:
        self._listener = listener
        self._told: list[Callable[[Reporter], None]] = []

    def tell(self) -> None:
        """Pass on what was kept: this attempt counts."""
        if self._listener is not None:
            for tell in self._told:
                tell(self._listener)

    def placed(self, pods: Sequence[Pod], place: str) -> None:
        self._told.append(lambda listener: listener.placed(pods, place))

    def rejected(self, refused: Unschedulable) -> None:
        self._told.append(lambda listener: listener.rejected(refused))

    def relaxed(self, pods: Sequence[Pod], preference: str) -> None:
        self._told.append(lambda listener: listener.relaxed(pods, preference))

    def progress(self, phase: str, done: int, total: int) -> None:
        if self._listener is not None:
            self._listener.progress(phase, done, total)
