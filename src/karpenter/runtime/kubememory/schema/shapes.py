"""One form for the shape of everything, whether a table or a CustomResourceDefinition describes it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal, TypeAlias

Shape: TypeAlias = Literal[
    "object",
    "map",
    "list",
    "string",
    "integer",
    "number",
    "boolean",
    "bytes",
    "time",
    "quantity",
    "int-or-string",
    "any",
]


@dataclass(frozen=True, slots=True)
class Schema:
    """What a value may be and how it merges. Types may contain themselves, so this is a graph, not a tree."""

    shape: Shape
    type_name: str = ""
    """Of Kubernetes' own objects: `PodSpec`; of their numbers: `int32` or `int64`."""
    fields: Mapping[str, Schema] | None = None
    """Of an object; None for everything else."""
    items: Schema | None = None
    """Of a list, or the values of a map; None when they may be anything."""
    list_keys: tuple[str, ...] = ()
    """What tells the items of a list apart: such a list merges item by item."""
    is_set: bool = False
    """Whether a list is a set of scalars."""
    is_atomic: bool = False
    """Whether a map or object is owned and replaced as a whole. Lists without keys that are no sets are so anyway."""
    patch_strategies: frozenset[str] = frozenset()
    """Of strategic merge patches: `merge`, `retainKeys`."""
    patch_key: str = ""
    """The key by which a strategic merge patch merges a list of objects."""
    default: str | None = None
    """The value that an absent list key stands for; None when there is none."""
    keeps_unknown: bool = False
    """Whether an object keeps fields that the schema does not name."""
    is_always_there: bool = False
    """Whether an empty object of a Go program has the field: nobody owns it for having brought it."""

    def child(self, name: str) -> Schema | None:
        """Return the schema of a field or map value; None when nothing is known of it."""
        if self.fields is not None and name in self.fields:
            return self.fields[name]
        return self.items if self.shape == "map" else None


ANYTHING = Schema("any", keeps_unknown=True)
