"""The generated table of Kubernetes' own types, `types.txt`, as rows."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import Literal


@dataclass(frozen=True, slots=True)
class FieldRow:
    """One field of a type."""

    name: str
    """In JSON."""
    number: int
    """In protobuf."""
    container: Literal["", "[]", "{}"]
    """Whether it is one value, a list, or a map of them."""
    type: str
    """A scalar such as `string` or `quantity`, or the name of a type."""
    is_pointer: bool
    """Whether it can be absent, so that a zero that is sent is meant."""
    is_inline: bool
    """Whether in JSON its own fields take its place."""
    said: dict[str, str]
    """What lists and patches go by: `keys`, `set`, `atomic`, `patch`, `by`, `default`."""


@dataclass(frozen=True, slots=True)
class TypeRow:
    """One type."""

    is_kind: bool
    """Whether it has apiVersion and kind."""
    is_atomic: bool
    """Whether it is owned and replaced as a whole."""
    fields: tuple[FieldRow, ...]


@cache
def read_table() -> dict[str, TypeRow]:
    """Return all types by name: `core.PodSpec`."""
    text = files(__package__).joinpath("types.txt").read_text(encoding="utf-8")
    heads: dict[str, list[str]] = {}
    fields: dict[str, list[FieldRow]] = {}
    name = ""
    for line in text.splitlines():
        if line.startswith(" "):
            fields[name].append(_field(line.split()))
        elif not line.startswith("#"):
            name, *marks = line.split()
            heads[name], fields[name] = marks, []
    return {name: TypeRow("kind" in marks, "atomic" in marks, tuple(fields[name])) for name, marks in heads.items()}


def _field(words: list[str]) -> FieldRow:
    name, number, kind, *marks = words
    container: Literal["", "[]", "{}"] = "[]" if kind.startswith("[]") else "{}" if kind.startswith("{}") else ""
    said = dict(mark.partition("=")[::2] for mark in marks)
    base = kind.removeprefix(container).removesuffix("?")
    return FieldRow(name, int(number), container, base, kind.endswith("?"), "inline" in said, said)
