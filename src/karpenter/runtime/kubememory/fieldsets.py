"""Which fields an object has, as paths, and how `managedFields` writes sets of them down (FieldsV1)."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Final, TypeAlias

from karpenter.runtime.kube import RawObject
from karpenter.runtime.kubememory.schema.shapes import ANYTHING, Schema

Path: TypeAlias = tuple[str, ...]
"""Steps into an object: `f:name` a field, `k:{"name":"a"}` an item by its keys, `v:"x"` a value of a set."""

ITEM: Final = object()
"""The value of a list item as such, beside its fields."""
_SELF: Final = "."
_NOT_OWNED: Final = frozenset(
    ("f:metadata", f"f:{name}")
    for name in (
        "name",
        "namespace",
        "uid",
        "creationTimestamp",
        "deletionTimestamp",
        "deletionGracePeriodSeconds",
        "generation",
        "resourceVersion",
        "selfLink",
        "managedFields",
        "generateName",
    )
)


def leaves(tree: RawObject, schema: Schema) -> dict[Path, object]:
    """Return every field of an object that can have an owner, with its value."""
    return {
        path: value
        for path, value in _walk(tree, schema, ())
        if path not in (("f:apiVersion",), ("f:kind",)) and path[:2] not in _NOT_OWNED and path != ("f:metadata",)
    }


def _walk(value: object, schema: Schema, path: Path) -> Iterator[tuple[Path, object]]:
    if isinstance(value, dict) and not schema.is_atomic:
        if path and not value:
            yield path, {}
        for name, one in value.items():
            yield from _walk(one, schema.child(name) or ANYTHING, (*path, f"f:{name}"))
    elif isinstance(value, list) and schema.list_keys:
        for item in value:
            place = (*path, item_step(item, schema))
            yield place, ITEM
            for name, one in item.items():
                yield from _walk(one, (schema.items or ANYTHING).child(name) or ANYTHING, (*place, f"f:{name}"))
    elif isinstance(value, list) and schema.is_set:
        for item in value:
            yield (*path, value_step(item)), ITEM
    else:
        yield path, value


def item_step(item: Mapping[str, Any], schema: Schema) -> str:
    """Return the step to an item of a list with keys."""
    fields = schema.items.fields if schema.items and schema.items.fields else {}
    keys = {key: item.get(key, fields[key].default if key in fields else None) for key in sorted(schema.list_keys)}
    present = {key: value for key, value in keys.items() if value is not None}
    return "k:" + json.dumps(present, separators=(",", ":"), ensure_ascii=False)


def value_step(value: object) -> str:
    """Return the step to a value of a set."""
    return "v:" + json.dumps(value, separators=(",", ":"), ensure_ascii=False)


def to_fields_v1(paths: Iterable[Path]) -> dict[str, Any]:
    """Return a set of paths as `fieldsV1`."""
    root: dict[str, Any] = {}
    for path in sorted(paths):
        node = root
        for step in path:
            node = node.setdefault(step, {})
        node[_SELF] = {}
    return _without_lonely_self(root)


def _without_lonely_self(node: dict[str, Any]) -> dict[str, Any]:
    if set(node) == {_SELF}:
        return {}
    return {step: _without_lonely_self(inner) for step, inner in node.items()}


def from_fields_v1(fields: Mapping[str, Any]) -> frozenset[Path]:
    """Return the paths that `fieldsV1` names."""
    return frozenset(_read(fields, ()))


def _read(node: Mapping[str, Any], path: Path) -> Iterator[Path]:
    if path and (not node or _SELF in node):
        yield path
    for step, inner in node.items():
        if step != _SELF:
            yield from _read(inner, (*path, step))


def shown(path: Path) -> str:
    """Return a path as people read it: `.spec.containers[name="a"].image`."""
    text = ""
    for step in path:
        match step[:2]:
            case "f:":
                text += f".{step[2:]}"
            case "k:":
                keys = json.loads(step[2:])
                text += "[" + ",".join(f"{key}={json.dumps(value)}" for key, value in keys.items()) + "]"
            case _:
                text += f"[={step[2:]}]"
    return text
