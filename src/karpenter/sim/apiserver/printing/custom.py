"""Custom kinds: the columns that their definition asks for."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from karpenter.model.units import UnixSeconds
from karpenter.runtime.kube import RawObject
from karpenter.runtime.kubememory.custom import CustomVersion, PrinterColumn
from karpenter.runtime.kubememory.records import Json
from karpenter.sim.apiserver.printing.durations import age
from karpenter.sim.apiserver.printing.jsonpath import find
from karpenter.sim.apiserver.printing.table import Cell, Column, Printer, name_of

_NAME: Final = Column("Name", format="name")
_AGE: Final = PrinterColumn("Age", "date", ".metadata.creationTimestamp", "", "", 0)


def custom_printer(version: CustomVersion) -> Printer:
    """Return how a version of a custom kind is printed; with the age alone when it does not say."""
    wanted = version.columns or (_AGE,)
    headings = tuple(Column(one.name, one.type, one.format, one.description, priority=one.priority) for one in wanted)

    def cells(obj: RawObject, now: UnixSeconds) -> Sequence[Cell]:
        return (name_of(obj), *(_cell(obj, column, now) for column in wanted))

    return Printer((_NAME, *headings), cells)


def _cell(obj: RawObject, column: PrinterColumn, now: UnixSeconds) -> Cell:
    values = [value for value in find(obj, column.json_path) if value is not None]
    if not values:
        return None
    if column.type == "date":
        return _age_of(values[0], now)
    if column.type == "string":
        return " ".join(_text(value) for value in values)
    return values[0] if isinstance(values[0], (str, int, float, bool)) else None


def _age_of(value: Json, now: UnixSeconds) -> str:
    try:
        return age(value, now)
    except (TypeError, ValueError):
        return "<invalid>"


def _text(value: Json) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, dict):
        return "map[" + " ".join(f"{key}:{_text(one)}" for key, one in sorted(value.items())) + "]"
    return "[" + " ".join(_text(one) for one in value) + "]" if isinstance(value, list) else str(value)
