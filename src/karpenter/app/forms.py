"""What the value of a setting looks like: how it is read from text, and how it is shown again."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Final

from karpenter.model.durations import format_go_duration, parse_go_duration
from karpenter.model.syntax import dns_label_fault


@dataclass(frozen=True, slots=True)
class Form:
    """What a value looks like, how it is read and how it is shown."""

    name: str
    read: Callable[[str], Any]
    """Raises ValueError, saying in words what is wrong."""
    show: Callable[[Any], str]


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
PORT: Final = Form("port", _port, str)
SWITCH: Final = Form("`on` or `off`", _switch, lambda value: "on" if value else "off")
