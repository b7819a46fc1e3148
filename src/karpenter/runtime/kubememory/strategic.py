"""Strategic merge patches: like a merge patch, but lists with a key merge item by item.

Source: "Strategic merge patch" in the API conventions of Kubernetes, and its directives `$patch`, `$retainKeys`,
`$setElementOrder/…` and `$deleteFromPrimitiveList/…`.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final, cast

from karpenter.runtime.kube import BadRequest
from karpenter.runtime.kubememory.records import Json
from karpenter.runtime.kubememory.schema.shapes import ANYTHING, Schema

_PATCH: Final = "$patch"
_RETAIN: Final = "$retainKeys"
_ORDER: Final = "$setElementOrder/"
_DELETE_FROM: Final = "$deleteFromPrimitiveList/"
_REPLACE: Final = "replace"
_DELETE: Final = "delete"


def merge_strategically(tree: dict[str, Any], patch: dict[str, Any], schema: Schema) -> dict[str, Any]:
    """Return the tree after a patch; both may be used up. Raises BadRequest when the patch contradicts itself."""
    match patch.pop(_PATCH, "merge"):
        case "replace":
            return cast(dict[str, Any], _plain(patch))
        case "delete":
            return {}
        case "merge":
            pass
        case other:
            raise BadRequest(f"unknown patch type {other!r} in a $patch directive; it is one of merge, replace, delete")
    if (retained := patch.pop(_RETAIN, None)) is not None:
        for name in [name for name in tree if name not in retained]:
            del tree[name]
    orders = _take_directives(patch, _ORDER)
    before = {name: value for name, value in tree.items() if isinstance(value, list)}
    for name, values in _take_directives(patch, _DELETE_FROM).items():
        if isinstance(tree.get(name), list):
            tree[name] = [value for value in tree[name] if value not in values]
    for name, value in patch.items():
        inner = schema.child(name) or ANYTHING
        _merge_field(tree, name, value, schema=inner)
        if isinstance(value, list) and "merge" in inner.patch_strategies:
            orders.setdefault(name, value)  # what a patch brings anew comes first
    for name, order in orders.items():
        if isinstance(tree.get(name), list):
            key = _key_of(schema.child(name))
            tree[name] = _in_order(tree[name], order, before=before.get(name, ()), key=key)
    return tree


def _take_directives(patch: dict[str, Any], prefix: str) -> dict[str, list[Any]]:
    names = [name for name in patch if name.startswith(prefix)]
    return {name.removeprefix(prefix): patch.pop(name) for name in names}


def _merge_field(tree: dict[str, Any], name: str, value: object, *, schema: Schema) -> None:
    if value is None:
        tree.pop(name, None)
    elif isinstance(value, dict):
        if value.get(_PATCH) == _DELETE:
            tree.pop(name, None)
            return
        current = tree.get(name)
        tree[name] = merge_strategically(current if isinstance(current, dict) else {}, value, schema)
    elif isinstance(value, list) and "merge" in schema.patch_strategies:
        current = tree.get(name)
        tree[name] = _merge_list(current if isinstance(current, list) else [], value, schema)
    else:
        tree[name] = [_plain(item) for item in value] if isinstance(value, list) else value


def _merge_list(current: list[Any], patch: list[Any], schema: Schema) -> list[Any]:
    key = _key_of(schema)
    if key is None:
        return current + [value for value in patch if value not in current]
    if any(isinstance(item, dict) and item.get(_PATCH) == _REPLACE for item in patch):
        return [_plain(item) for item in patch if _PATCH not in item]
    merged = list(current)
    for item in patch:
        if not isinstance(item, dict) or key not in item:
            raise BadRequest(f"map: {item!r} does not contain declared merge key: {key}")
        places = [place for place, known in enumerate(merged) if known.get(key) == item[key]]
        if item.get(_PATCH) == _DELETE:
            merged = [known for known in merged if known.get(key) != item[key]]
        elif places:
            merged[places[0]] = merge_strategically(merged[places[0]], item, schema.items or ANYTHING)
        else:
            merged.append(merge_strategically({}, item, schema.items or ANYTHING))
    return merged


def _key_of(schema: Schema | None) -> str | None:
    return schema.patch_key or None if schema is not None else None


def _in_order(merged: list[Any], order: Sequence[Any], *, before: Sequence[Any], key: str | None) -> list[Any]:
    """Sort the items that the patch names as it wants them, and keep the others before what they were before."""

    def identity(item: Json) -> object:
        return item.get(key) if key is not None and isinstance(item, dict) else item

    wanted = [identity(item) for item in order]
    place = {_hashable(identity(item)): index for index, item in enumerate(before)}
    named = sorted((item for item in merged if identity(item) in wanted), key=lambda item: wanted.index(identity(item)))
    others = [item for item in merged if identity(item) not in wanted]
    result: list[Any] = []
    while named and others:
        known, new = place.get(_hashable(identity(others[0]))), place.get(_hashable(identity(named[0])))
        is_earlier = known is not None and new is not None and known < new
        result.append((others if is_earlier else named).pop(0))
    return result + named + others


def _hashable(value: object) -> object:
    return value if isinstance(value, (str, int, float, bool, type(None))) else str(value)


def _plain(value: Json) -> Json:
    """Return a value without directives and nulls."""
    if isinstance(value, dict):
        return {
            name: _plain(one)
            for name, one in value.items()
            if one is not None and name not in (_PATCH, _RETAIN) and not name.startswith((_ORDER, _DELETE_FROM))
        }
    return [_plain(item) for item in value] if isinstance(value, list) else value
