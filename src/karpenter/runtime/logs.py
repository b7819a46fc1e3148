"""Structured logs: one line a fact, a constant message, data as fields.

    log = logs.get("provisioner")
    log.info("launched nodeclaim", nodeclaim=claim.name, instance_type=instance.instance_type)

Field names are written with hyphens (`instance-type`) as Karpenter writes them; a field that ends in `_s` is a
duration. Source: spec v1 §5.5.
"""

from __future__ import annotations

import contextlib
import logging
from collections.abc import Callable, Iterator, Mapping
from contextvars import ContextVar
from typing import Final, Literal, TextIO

from karpenter.runtime.clock import Clock
from karpenter.runtime.logformats import ConsoleFormatter, JsonFormatter

Level = Literal["debug", "info", "error"]
Encoding = Literal["json", "console"]

ROOT: Final = "karpenter"
_LEVELS: Final[Mapping[Level, int]] = {"debug": logging.DEBUG, "info": logging.INFO, "error": logging.ERROR}
_bound: ContextVar[Mapping[str, object] | None] = ContextVar("fields of every line in this context", default=None)


class Logger:
    """Writes lines for one component. Fields may be anything; `error=` takes an exception."""

    def __init__(self, name: str) -> None:
        self._logger = logging.getLogger(f"{ROOT}.{name}")

    def debug(self, message: str, **fields: object) -> None:
        """Note what was considered."""
        self._write(logging.DEBUG, message, fields)

    def info(self, message: str, **fields: object) -> None:
        """Note that state changed."""
        self._write(logging.INFO, message, fields)

    def warning(self, message: str, **fields: object) -> None:
        """Note what someone should look at."""
        self._write(logging.WARNING, message, fields)

    def error(self, message: str, **fields: object) -> None:
        """Note that we failed; the exception in `error=` is written with its trace."""
        self._write(logging.ERROR, message, fields)

    def _write(self, level: int, message: str, fields: Mapping[str, object]) -> None:
        if not self._logger.isEnabledFor(level):
            return
        error = fields.get("error")
        self._logger.log(
            level,
            message,
            exc_info=error if level >= logging.ERROR and isinstance(error, BaseException) else None,
            extra={"fields": {**(_bound.get() or {}), **fields}},
            stacklevel=3,
        )


def get(name: str) -> Logger:
    """Return the logger of a component, such as `provisioner`."""
    return Logger(name)


@contextlib.contextmanager
def bound(**fields: object) -> Iterator[None]:
    """Add fields to every line written inside the block, in this task and those it starts."""
    token = _bound.set({**(_bound.get() or {}), **fields})
    try:
        yield
    finally:
        _bound.reset(token)


def bound_field(name: str) -> object | None:
    """Return a field that is bound in this context; None when nobody bound it."""
    return (_bound.get() or {}).get(name)


def configure(
    clock: Clock, stream: TextIO, *, level: Level = "info", encoding: Encoding = "json"
) -> Callable[[], None]:
    """Write the process's logs to `stream`; return what ends that.

    `level` is ours; libraries are heard from warnings on. Times come from `clock`.
    """
    handler = logging.StreamHandler(stream)
    handler.setFormatter(JsonFormatter(clock) if encoding == "json" else ConsoleFormatter(clock))
    handler.addFilter(Sampling(clock))
    root, ours = logging.getLogger(), logging.getLogger(ROOT)
    before = ours.level
    root.addHandler(handler)
    ours.setLevel(_LEVELS[level])

    def restore() -> None:
        root.removeHandler(handler)
        ours.setLevel(before)

    return restore


class Sampling(logging.Filter):
    """Lets the first 100 equal messages of a second through, then every 100th: a flood must not drown the rest."""

    FIRST: Final = 100
    EVERY: Final = 100

    def __init__(self, clock: Clock) -> None:
        super().__init__()
        self._clock = clock
        self._second = 0
        self._seen: dict[tuple[int, str], int] = {}

    def filter(self, record: logging.LogRecord) -> bool:
        """Return whether the line is written."""
        second = int(self._clock.now())
        if second != self._second:
            self._second = second
            self._seen.clear()
        key = (record.levelno, str(record.msg))
        count = self._seen[key] = self._seen.get(key, 0) + 1
        return count <= self.FIRST or (count - self.FIRST) % self.EVERY == 0
