"""What the value of a setting looks like: how it is read from text, and how it is shown again."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Final
from urllib.parse import urlsplit

import msgspec

from karpenter.model.durations import format_go_duration, parse_go_duration
from karpenter.model.syntax import dns_label_fault


@dataclass(frozen=True, slots=True)
class Form:
    """What a value looks like, how it is read and how it is shown."""

    name: str
    read: Callable[[str], Any]
    """Raises ValueError, saying in words what is wrong."""
    show: Callable[[Any], str]


@dataclass(frozen=True, slots=True)
class Setting:
    """One row of the table."""

    key: str
    """As `--set` takes it; what is before the dot groups the table."""
    field: str
    """Where the part holds the value: an attribute, or a dotted path of them."""
    form: Form
    meaning: str
    variable: str = ""
    """The environment variable, Karpenter's own name where it has one; empty when there is none."""


def _duration(text: str) -> float:
    seconds = parse_go_duration(text)
    if seconds <= 0:
        raise ValueError(f"{text!r} is not longer than 0s")
    return seconds


def _deadline(text: str) -> float | None:
    return None if text == "never" else _duration(text)


def _amount(text: str) -> float:
    try:
        amount = float(text)
    except ValueError:
        amount = math.nan
    if not (math.isfinite(amount) and amount >= 0):
        raise ValueError(f"{text!r} is not a number of 0 or more")
    return amount


def _positive(text: str) -> int:
    if not (text.isascii() and text.isdigit() and int(text) > 0):
        raise ValueError(f"{text!r} is not a whole number of 1 or more")
    return int(text)


def _count(text: str) -> int:
    if not (text.isascii() and text.isdigit()):
        raise ValueError(f"{text!r} is not a whole number of 0 or more")
    return int(text)


def _priority(text: str) -> int | None:
    if text == "none":
        return None
    if not (text.isascii() and text.removeprefix("-").isdigit()):
        raise ValueError(f"{text!r} is neither a whole number nor none")
    return int(text)


def _name(text: str) -> str:
    fault = dns_label_fault(text)
    if fault is not None:
        raise ValueError(fault)
    return text


def _port(text: str) -> int:
    number = _count(text)
    if number > 65535:
        raise ValueError(f"{text!r} is not a port")
    return number


def _switch(text: str) -> bool:
    if text not in {"on", "off", "true", "false"}:
        raise ValueError(f"{text!r} is neither on nor off")
    return text in {"on", "true"}


def _share(text: str) -> float:
    share = _amount(text)
    if share > 1:
        raise ValueError(f"{text!r} is not a share between 0 and 1")
    return share


def _ratio(text: str) -> float:
    ratio = _amount(text)
    if ratio < 1:
        raise ValueError(f"{text!r} is not a multiple of 1 or more")
    return ratio


def _fill(text: str) -> float | None:
    if text == "auto":
        return None
    share = _share(text)
    if share < 0.5:
        raise ValueError(f"{text!r} would leave more than half of every node empty; write 0.5 … 1, or auto")
    return share


def _performance(text: str) -> tuple[tuple[str, float], ...]:
    found: dict[str, float] = {}
    for entry in () if text == "none" else filter(None, (each.strip() for each in text.split(","))):
        family, equals, speed = entry.partition("=")
        if not (family and equals) or _amount(speed) == 0:
            raise ValueError(f"{entry!r} is not FAMILY=SPEED, such as c7g=1.3")
        found[family] = _amount(speed)
    return tuple(sorted(found.items()))


def _url(text: str) -> str:
    parts = urlsplit(text)
    if text and (parts.scheme not in {"http", "https"} or not parts.hostname):
        raise ValueError(f"{text!r} is no URL with a host; write https://HOST[:PORT]")
    return text


def _tags(text: str) -> tuple[tuple[str, str], ...]:
    try:
        given = msgspec.json.decode(text or "{}", type=dict[str, str])
    except msgspec.DecodeError as error:
        raise ValueError(f"{text!r} is not a JSON object of texts: {error}") from error
    return tuple(sorted(given.items()))


def _paths(text: str) -> tuple[str, ...]:
    paths = tuple(filter(None, (each.strip() for each in text.split(","))))
    if not paths:
        raise ValueError(f"{text!r} names no place; write stdout, stderr or the path of a file")
    return paths


def choice(*words: str) -> Form:
    """Return the form of a value that is one of these words."""

    def read(text: str) -> str:
        if text not in words:
            raise ValueError(f"{text!r} is not one of {', '.join(words)}")
        return text

    return Form(" or ".join(f"`{word}`" for word in words), read, str)


DURATION: Final = Form("duration", _duration, format_go_duration)
DEADLINE: Final = Form(
    "duration or `never`", _deadline, lambda value: "never" if value is None else format_go_duration(value)
)
AMOUNT: Final = Form("number", _amount, lambda value: f"{value:g}")
POSITIVE: Final = Form("number from 1", _positive, str)
COUNT: Final = Form("number from 0", _count, str)
PRIORITY: Final = Form("whole number or `none`", _priority, lambda value: "none" if value is None else str(value))
NAME: Final = Form("name", _name, str)
PATHS: Final = Form("`stdout`, `stderr` or paths, by commas", _paths, ",".join)
TEXT: Final = Form("text", str, str)
URL: Final = Form("URL", _url, str)
TAGS: Final = Form("JSON object of texts", _tags, lambda value: msgspec.json.encode(dict(value)).decode())
PORT: Final = Form("port", _port, str)
SWITCH: Final = Form("`on` or `off`", _switch, lambda value: "on" if value else "off")
SHARE: Final = Form("share from 0 to 1", _share, lambda value: f"{value:g}")
SHARE_OR_OFF: Final = Form(
    "share from 0 to 1, or `off`",
    lambda text: None if text == "off" else _share(text),
    lambda value: "off" if value is None else f"{value:g}",
)
RATIO: Final = Form("number from 1", _ratio, lambda value: f"{value:g}")
FILL: Final = Form("`auto`, or share from 0.5 to 1", _fill, lambda value: "auto" if value is None else f"{value:g}")
PERFORMANCE: Final = Form(
    "FAMILY=SPEED,… or `none`",
    _performance,
    lambda value: ",".join(f"{family}={speed:g}" for family, speed in value) or "none",
)
