"""The form of a table, and small words that many kinds' cells share."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, TypeAlias

from karpenter.model.units import UnixSeconds
from karpenter.runtime.kube import RawObject

NONE: Final = "<none>"
UNSET: Final = "<unset>"
Cell: TypeAlias = str | int | bool | float | None


@dataclass(frozen=True, slots=True)
class Column:
    """One column's heading."""

    name: str
    type: str = "string"
    format: str = ""
    description: str = ""
    priority: int = 0
    """0 is always shown, more only with `-o wide`."""

    def definition(self) -> dict[str, Any]:
        """Return it as a table's `columnDefinitions` have it."""
        return {
            "name": self.name,
            "type": self.type,
            "format": self.format,
            "description": self.description,
            "priority": self.priority,
        }


@dataclass(frozen=True, slots=True)
class Printer:
    """How one kind is printed."""

    columns: tuple[Column, ...]
    cells: Callable[[RawObject, UnixSeconds], Sequence[Cell]]
    """An object and the present → one cell a column."""


def columns(narrow: str, wide: str = "") -> tuple[Column, ...]:
    """Return columns by their names, separated by `|`; the first is the name of the object. `#` marks numbers."""
    shown = [(name, 0) for name in narrow.split("|")] + [(name, 1) for name in wide.split("|") if name]
    return tuple(
        Column(
            name.removeprefix("#"),
            "integer" if name.startswith("#") else "string",
            "name" if name == "Name" else "",
            priority=priority,
        )
        for name, priority in shown
    )


def name_of(obj: RawObject) -> str:
    """Return the object's name."""
    name: str = obj["metadata"]["name"]
    return name


def created(obj: RawObject) -> str | None:
    """Return when the object was created."""
    moment: str | None = obj["metadata"].get("creationTimestamp")
    return moment


def part(obj: Mapping[str, Any], *path: str) -> dict[str, Any]:
    """Return a map inside an object; empty when it or one on the way is absent."""
    for name in path:
        obj = obj.get(name) or {}
    return dict(obj)


def pairs(labels: Mapping[str, Any] | None) -> str:
    """Return labels as `a=b,c=d`; `<none>` when there are none."""
    return ",".join(f"{key}={value}" for key, value in sorted((labels or {}).items())) or NONE


def selector(value: Mapping[str, Any] | None) -> str:
    """Return a label selector as a user would type it; `<none>` when it is absent or empty."""
    if not value:
        return NONE
    parts = [f"{key}={text}" for key, text in sorted((value.get("matchLabels") or {}).items())]
    for one in value.get("matchExpressions") or ():
        match one["operator"]:
            case "Exists":
                parts.append(one["key"])
            case "DoesNotExist":
                parts.append(f"!{one['key']}")
            case operator:
                parts.append(f"{one['key']} {operator.lower()} ({','.join(one.get('values', ()))})")
    return ",".join(parts) or NONE


def containers(template: Mapping[str, Any]) -> tuple[str, str]:
    """Return the names and the images of a pod template's containers, joined by commas."""
    found = part(template, "spec").get("containers") or ()
    return ",".join(str(one["name"]) for one in found), ",".join(str(one.get("image", "")) for one in found)
