"""How a log line looks: JSON with Karpenter's keys, or a short form for a terminal."""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from collections.abc import Set as AbstractSet
from datetime import UTC, datetime
from enum import Enum
from typing import Final

import msgspec

from karpenter.model.durations import format_go_duration
from karpenter.model.units import ObjectKey, PoolKey, UnixSeconds
from karpenter.runtime.clock import Clock

_ENCODER: Final = msgspec.json.Encoder(enc_hook=str)


class JsonFormatter(logging.Formatter):
    """`{"level":"INFO","time":"…","logger":"controller","message":"…",…}`: the fields follow in the order given."""

    def __init__(self, clock: Clock) -> None:
        super().__init__()
        self._clock = clock

    def format(self, record: logging.LogRecord) -> str:
        """Return the line."""
        line: dict[str, object] = {
            "level": record.levelname,
            "time": _timestamp(self._clock.now()),
            "logger": "controller",
            "message": record.getMessage(),
            "component": _component(record),
        }
        if logging.getLogger(record.name).isEnabledFor(logging.DEBUG):
            line["caller"] = f"{record.module}.py:{record.lineno}"
        line |= _fields(record)
        if record.exc_info:
            line["stacktrace"] = self.formatException(record.exc_info)
        return _ENCODER.encode(line).decode()


class ConsoleFormatter(logging.Formatter):
    """`12:00:07 INFO  launched nodeclaim  nodeclaim=default-x instance-type=m6i.large`."""

    def __init__(self, clock: Clock) -> None:
        super().__init__()
        self._clock = clock

    def format(self, record: logging.LogRecord) -> str:
        """Return the line; an exception's trace only at debug level, its message always."""
        time = _timestamp(self._clock.now())[11:19]
        fields = " ".join(f"{name}={_short(value)}" for name, value in _fields(record).items())
        line = f"{time} {record.levelname:<7} {record.getMessage()}" + (f"  {fields}" if fields else "")
        if record.exc_info and logging.getLogger(record.name).isEnabledFor(logging.DEBUG):
            line = f"{line}\n{self.formatException(record.exc_info)}"
        return line


def _fields(record: logging.LogRecord) -> dict[str, object]:
    """Return the fields by their written names. A library's line has none but its exception."""
    fields: Mapping[str, object] = getattr(record, "fields", {})
    if not fields and record.exc_info:
        fields = {"error": record.exc_info[1]}
    return dict(_written(name, value) for name, value in fields.items())


def _written(name: str, value: object) -> tuple[str, object]:
    if name.endswith("_s") and isinstance(value, int | float):
        return name.removesuffix("_s").replace("_", "-"), format_go_duration(round(value, 6))
    return name.replace("_", "-"), _plain(value)


def _plain(value: object) -> object:
    """Return the value as JSON can say it; sets in order, so that equal facts are equal lines."""
    match value:
        case None | bool() | int() | float() | str():
            return value
        case Enum():
            return _plain(value.value)
        case ObjectKey() | PoolKey():
            return str(value)
        case BaseException():
            return str(value) or type(value).__name__
        case Mapping():
            return {str(key): _plain(item) for key, item in value.items()}
        case AbstractSet():
            return sorted(str(item) for item in value)
        case Sequence():
            return [_plain(item) for item in value]
        case _:
            return str(value)


def _short(value: object) -> str:
    if isinstance(value, str):
        return (
            value if value and not any(character in value for character in ' ="\n') else _ENCODER.encode(value).decode()
        )
    return _ENCODER.encode(value).decode()


def _component(record: logging.LogRecord) -> str:
    return record.name.removeprefix("karpenter.")


def _timestamp(moment: UnixSeconds) -> str:
    return datetime.fromtimestamp(moment, tz=UTC).strftime("%Y-%m-%dT%H:%M:%S.%f")[:-3] + "Z"
