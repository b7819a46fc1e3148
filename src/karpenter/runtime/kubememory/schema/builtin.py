"""Kubernetes' own types, from the generated table."""

from __future__ import annotations

from dataclasses import replace
from functools import cache
from typing import Final

from karpenter.runtime.kubememory.schema.shapes import ANYTHING, Schema, Shape
from karpenter.runtime.kubememory.schema.table import FieldRow, TypeRow, read_table

_GROUPS: Final = {
    "": "core",
    "apiextensions.k8s.io": "apiextensions",
    "authentication.k8s.io": "authentication",
    "authorization.k8s.io": "authorization",
    "autoscaling": "autoscaling",
    "coordination.k8s.io": "coordination",
    "networking.k8s.io": "networking",
    "node.k8s.io": "node",
    "rbac.authorization.k8s.io": "rbac",
    "scheduling.k8s.io": "scheduling",
    "storage.k8s.io": "storage",
}
_SCALARS: Final[dict[str, Shape]] = {
    "string": "string",
    "bool": "boolean",
    "int32": "integer",
    "int64": "integer",
    "double": "number",
    "bytes": "bytes",
    "time": "time",
    "quantity": "quantity",
    "int-or-string": "int-or-string",
}
_STRING: Final = Schema("string")
_LISTS_ALWAYS_THERE: Final = frozenset({"containers", "rules"})
"""Lists that Go programs write down even when they are empty."""


def builtin_schema(group: str, kind: str) -> Schema | None:
    """Return the schema of a kind that Kubernetes itself defines; None when the table does not know it."""
    fields = _types().get(type_name(group, kind))
    return None if fields is None else Schema("object", type_name=kind, fields=fields)


def type_name(group: str, kind: str) -> str:
    """Return what the table calls a kind: `core.Pod`."""
    return f"{_GROUPS.get(group, group)}.{kind}"


def metadata_schema() -> Schema:
    """Return the schema of `metadata`, the same for all kinds."""
    return Schema("object", type_name="ObjectMeta", fields=_types()["meta.ObjectMeta"])


@cache
def _types() -> dict[str, dict[str, Schema]]:
    table = read_table()
    # The dicts exist before they are filled: that is how types name themselves and each other.
    types: dict[str, dict[str, Schema]] = {
        name: {"apiVersion": _STRING, "kind": _STRING} if row.is_kind else {} for name, row in table.items()
    }
    for name, row in table.items():
        types[name].update({one.name: _field(one, types, table) for one in row.fields if not one.is_inline})
    for name, row in table.items():
        for one in row.fields:
            if one.is_inline:
                types[name].update(types[one.type])
    return types


def _field(row: FieldRow, types: dict[str, dict[str, Schema]], table: dict[str, TypeRow]) -> Schema:
    said, one = row.said, _one(row.type, types, table)
    common = Schema(
        "any",
        list_keys=tuple(said["keys"].split(",")) if "keys" in said else (),
        is_set="set" in said,
        is_atomic="atomic" in said,
        patch_strategies=frozenset(said.get("patch", "").split(",")) - {""},
        patch_key=said.get("by", ""),
        default=said.get("default"),
    )
    if row.container:
        shape: Shape = "list" if row.container == "[]" else "map"
        return replace(common, shape=shape, items=one, is_always_there=row.name in _LISTS_ALWAYS_THERE)
    return replace(
        common,
        shape=one.shape,
        type_name=one.type_name,
        fields=one.fields,
        is_atomic=common.is_atomic or one.is_atomic,
        is_always_there=one.shape == "object" and not row.is_pointer,
    )


def _one(name: str, types: dict[str, dict[str, Schema]], table: dict[str, TypeRow]) -> Schema:
    if name == "any":
        return ANYTHING
    if name in _SCALARS:
        return Schema(_SCALARS[name], type_name=name if name in ("int32", "int64") else "")
    return Schema("object", type_name=name.partition(".")[2], fields=types[name], is_atomic=table[name].is_atomic)
