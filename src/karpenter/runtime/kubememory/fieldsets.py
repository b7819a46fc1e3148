"""Which fields an object has, as paths, and how `managedFields` writes sets of them down (FieldsV1)."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Final, TypeAlias

from karpenter.runtime.kube import RawObject
from karpenter.runtime.kubememory.records import encode
from karpenter.runtime.kubememory.schema.shapes import ANYTHING, Schema

Path: TypeAlias = tuple[str, ...]
"""Steps into an object: `f:name` a field, `k:{"name":"a"}` an item by its keys, `v:"x"` a value of a set."""

ITEM: Final = object()
"""The value of a list item as such, beside its fields."""
PART: Final = object()
"""The value of a map, object or list as such, beside what is in it: whoever brings it owns it."""
_SELF: Final = "."
_IDENTITY: Final = ("apiVersion", "kind")
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
    """Return every field of an object, or of some of its parts, that can have an owner, with its value."""
    found: dict[Path, object] = {}
    for name, value in tree.items():
        if name not in _IDENTITY:
            _collect(value, schema.child(name) or ANYTHING, (f"f:{name}",), found, is_new=False)
    return {path: value for path, value in found.items() if path[:2] not in _NOT_OWNED and path != ("f:metadata",)}


def applied_leaves(tree: RawObject, schema: Schema) -> frozenset[Path]:
    """Return the fields that an applied manifest has an opinion about: what is in its parts, not the parts."""
    return frozenset(path for path, value in leaves(tree, schema).items() if value is not PART)


def _collect(  # noqa: PLR0917 - for every field
    value: object, schema: Schema, path: Path, found: dict[Path, object], *, is_new: bool
) -> None:
    """Collect from a value. `is_new` tells whether it lies in something that an empty object does not have."""
    is_new = is_new or not schema.is_always_there
    if isinstance(value, dict) and not schema.is_atomic:
        if is_new:
            found[path] = PART if value else {}
        for name, one in value.items():
            _collect(one, schema.child(name) or ANYTHING, (*path, f"f:{name}"), found, is_new=is_new)
    elif isinstance(value, list) and (schema.list_keys or schema.is_set):
        if is_new:
            found[path] = PART if value else []
        inner = schema.items or ANYTHING
        for item in value:
            place = (*path, item_step(item, schema) if schema.list_keys else value_step(item))
            found[place] = ITEM
            for name, one in item.items() if schema.list_keys else ():
                _collect(one, inner.child(name) or ANYTHING, (*place, f"f:{name}"), found, is_new=True)
    else:
        found[path] = value


def item_step(item: Mapping[str, Any], schema: Schema) -> str:
    """Return the step to an item of a list with keys."""
    fields = schema.items.fields if schema.items and schema.items.fields else {}
    keys = {key: item.get(key, fields[key].default if key in fields else None) for key in sorted(schema.list_keys)}
    present = {key: value for key, value in keys.items() if value is not None}
    return "k:" + encode(present).decode()


def value_step(value: object) -> str:
    """Return the step to a value of a set."""
    return "v:" + encode(value).decode()


def to_fields_v1(paths: Iterable[Path]) -> dict[str, Any]:
    """Return a set of paths as `fieldsV1`."""
    root: dict[str, Any] = {}
    owned: list[dict[str, Any]] = []
    for path in sorted(paths):
        node = root
        for step in path:
            node = node.setdefault(step, {})
        owned.append(node)
    for node in owned:
        if node:  # it is owned itself, beside what is in it
            node[_SELF] = {}
    return root


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
