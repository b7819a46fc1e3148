"""Where the log of `run` goes."""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import TextIO

from karpenter.app.errors import SettingsError
from karpenter.runtime import logs
from karpenter.runtime.clock import Clock


@contextlib.contextmanager
def logged_to(paths: Iterable[str], clock: Clock, *, level: logs.Level) -> Iterator[None]:
    """Write the log to all of these while the block runs: `stdout`, `stderr`, or files that are appended to.

    Raises:
        SettingsError: a file cannot be written.
    """
    with contextlib.ExitStack() as stack:
        for path in dict.fromkeys(paths):
            stack.callback(logs.configure(clock, _stream(path, stack), level=level))
        yield


def _stream(path: str, stack: contextlib.ExitStack) -> TextIO:
    if path in {"stdout", "stderr"}:
        return sys.stdout if path == "stdout" else sys.stderr
    try:
        return stack.enter_context(Path(path).open("a", encoding="utf-8"))
    except OSError as error:
        raise SettingsError(f"log.outputPaths: {path!r} cannot be written: {error.strerror}") from error
