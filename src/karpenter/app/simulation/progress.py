"""A bar on the terminal while a plan takes long; nothing on pipes, and nothing for what is quick."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Final

from rich.console import Console
from rich.progress import BarColumn, Progress, TaskID, TextColumn, TimeElapsedColumn

from karpenter.model.core import Pod
from karpenter.scheduling.reporter import Reporter
from karpenter.scheduling.solution import Unschedulable

_QUICK_S: Final = 0.7
"""Answers that come sooner need no bar."""


@contextmanager
def shown_progress(console: Console | None = None) -> Iterator[Reporter | None]:
    """Give a reporter that shows a bar on standard error; None where that is no terminal."""
    out = console or Console(stderr=True)
    if not out.is_terminal:
        yield None
        return
    bar = Progress(
        TextColumn("{task.description}"),
        BarColumn(),
        TextColumn("{task.percentage:>3.0f}%"),
        TimeElapsedColumn(),
        console=out,
        transient=True,
    )
    try:
        yield Bar(bar, time.perf_counter() + _QUICK_S, time.perf_counter)
    finally:
        bar.stop()


@dataclass(slots=True)
class Bar:
    """Shows the phase a solve is in."""

    progress_bar: Progress
    start_at: float
    now: Callable[[], float]
    _task: TaskID | None = None

    def placed(self, pods: Sequence[Pod], place: str) -> None:
        """Show nothing."""

    def rejected(self, refused: Unschedulable) -> None:
        """Show nothing."""

    def relaxed(self, pods: Sequence[Pod], preference: str) -> None:
        """Show nothing."""

    def progress(self, phase: str, done: int, total: int) -> None:
        """Show how far a phase has come."""
        if self._task is None:
            if self.now() < self.start_at:
                return
            self.progress_bar.start()
            self._task = self.progress_bar.add_task(phase, total=total)
        self.progress_bar.update(self._task, description=phase, completed=done, total=max(total, 1))
