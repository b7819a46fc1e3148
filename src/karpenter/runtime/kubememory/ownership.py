"""Who manages which fields: `metadata.managedFields`, and server-side apply on top of it.

Objects that nobody applied and no named manager wrote carry no such list: what they have belongs to
`before-first-apply` when someone applies. That is how the API servers began, and spares every Pod its bookkeeping.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Final, Literal

from karpenter.model.units import UnixSeconds, to_rfc3339
from karpenter.runtime.kube import Conflict, RawObject
from karpenter.runtime.kubememory.fieldsets import (
    Path,
    applied_leaves,
    from_fields_v1,
    item_step,
    leaves,
    shown,
    to_fields_v1,
    value_step,
)
from karpenter.runtime.kubememory.records import Json, copy_tree
from karpenter.runtime.kubememory.schema.shapes import ANYTHING, Schema

_UNKNOWN: Final = "before-first-apply"
_MISSING: Final = object()


@dataclass(frozen=True, slots=True)
class Manager:
    """One entry of the list: a program, how it writes, in which version, and to which subresource."""

    name: str
    operation: Literal["Apply", "Update"]
    api_version: str
    subresource: str = ""


Owned = dict[Manager, frozenset[Path]]


def merge_applied(
    live: RawObject, applied: RawObject, schema: Schema, *, manager: Manager, force: bool, now: UnixSeconds
) -> RawObject:
    """Return the live object after a manager applied its whole opinion.

    What it named before and names no more goes, unless another manager has it too. Raises Conflict when the apply would
    change what another manager has, unless `force` takes it over.
    """
    owned = _owned(live)
    before = leaves(live, schema)
    if not owned:
        owned = {Manager(_UNKNOWN, "Update", manager.api_version): frozenset(before)}
    mine = applied_leaves(applied, schema)
    merged: RawObject = _merge(copy_tree(live), applied, schema)
    others = {one: paths for one, paths in owned.items() if one != manager}
    for path in sorted(owned.get(manager, frozenset()) - _with_parents([mine, *others.values()])):
        # An item goes with everything in it, defaults that nobody manages included.
        _remove(merged, path, schema)
    after = leaves(merged, schema)
    changed = _differences(before, after)
    taken = {one: paths & changed & mine for one, paths in others.items()}
    if not force and any(taken.values()):
        raise _conflict(taken)
    owned = {one: paths - taken[one] for one, paths in others.items()} | {manager: mine}
    merged["metadata"]["managedFields"] = _written(owned, frozenset(after), old=live, now=now)
    return merged


def begin_applied(applied: RawObject, schema: Schema, *, manager: Manager, now: UnixSeconds) -> None:
    """Write down that a manager created an object by applying it."""
    mine = applied_leaves(applied, schema)
    applied["metadata"]["managedFields"] = [_entry(manager, mine, now)]


def track_update(old: RawObject | None, new: RawObject, schema: Schema, *, manager: Manager, now: UnixSeconds) -> None:
    """Write down what a manager changed by any other kind of write: what it changed is its own from now on."""
    if old is not None and "managedFields" not in old["metadata"]:
        new["metadata"].pop("managedFields", None)
        return
    if old is not None and new["metadata"].get("managedFields") == []:
        del new["metadata"]["managedFields"]  # the documented way to forget all owners
        return
    old = old or {"metadata": {}}
    entries: list[dict[str, Any]] = old["metadata"].get("managedFields", [])
    # Only the parts that changed are looked at: a status write costs nothing for what spec's managers have.
    parts = {name for name in old.keys() | new.keys() if old.get(name) != new.get(name)}
    before, after = (leaves({name: tree[name] for name in parts if name in tree}, schema) for tree in (old, new))
    changed = _differences(before, after)
    steps = {f"f:{name}" for name in parts}
    kept = [_without(entry, changed, steps, now=now) for entry in entries if _manager_of(entry) != manager]
    mine = [entry for entry in entries if _manager_of(entry) == manager]
    gained = changed & after.keys()
    if gained or mine:
        own = from_fields_v1(mine[0]["fieldsV1"]) if mine else frozenset()
        held = frozenset(path for path in own if path[0] not in steps or path in after)
        kept.append(mine[0] if mine and held | gained == own else _entry(manager, held | gained, now))
    new["metadata"]["managedFields"] = _in_order(entry for entry in kept if entry and entry["fieldsV1"])
    if not new["metadata"]["managedFields"]:
        del new["metadata"]["managedFields"]


def _without(entry: dict[str, Any], lost: frozenset[Path], steps: set[str], *, now: UnixSeconds) -> dict[str, Any]:
    if not steps & entry["fieldsV1"].keys():
        return entry
    paths = from_fields_v1(entry["fieldsV1"])
    left = paths - lost
    return entry if left == paths else _entry(_manager_of(entry), left, now)


def _manager_of(entry: Mapping[str, Any]) -> Manager:
    return Manager(
        entry.get("manager", ""), entry["operation"], entry.get("apiVersion", ""), entry.get("subresource", "")
    )


def _entry(manager: Manager, paths: frozenset[Path], now: UnixSeconds) -> dict[str, Any]:
    entry = {
        "manager": manager.name,
        "operation": manager.operation,
        "apiVersion": manager.api_version,
        "time": to_rfc3339(now),
        "fieldsType": "FieldsV1",
        "fieldsV1": to_fields_v1(paths),
    }
    return entry | ({"subresource": manager.subresource} if manager.subresource else {})


def _owned(tree: RawObject) -> Owned:
    entries = tree["metadata"].get("managedFields") or ()
    return {_manager_of(entry): from_fields_v1(entry.get("fieldsV1", {})) for entry in entries}


def _written(owned: Owned, existing: frozenset[Path], *, old: RawObject, now: UnixSeconds) -> list[dict[str, Any]]:
    """Return the list anew; the entry of a manager whose fields are the same stays as it was, time included."""
    known = {_manager_of(entry): entry for entry in old["metadata"].get("managedFields") or ()}
    entries = []
    for manager, paths in owned.items():
        kept = paths & existing
        if kept and manager in known and from_fields_v1(known[manager]["fieldsV1"]) == kept:
            entries.append(known[manager])
        elif kept:
            entries.append(_entry(manager, kept, now))
    return _in_order(entries)


def _in_order(entries: Iterable[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return entries as a server keeps them: those who applied first, then by time."""
    keys = ("operation", "time", "manager", "apiVersion", "subresource")
    return sorted(entries, key=lambda entry: [entry.get(key, "") for key in keys])


def _with_parents(sets: Iterable[frozenset[Path]]) -> frozenset[Path]:
    """Return paths and everything that they lie in: who has a field of an item has the item."""
    return frozenset(path[:length] for paths in sets for path in paths for length in range(1, len(path) + 1))


def _differences(before: Mapping[Path, object], after: Mapping[Path, object]) -> frozenset[Path]:
    return frozenset(
        path for path in before.keys() | after.keys() if before.get(path, _MISSING) != after.get(path, _MISSING)
    )


def _merge(live: Json, applied: Json, schema: Schema) -> Json:
    if isinstance(applied, dict) and isinstance(live, dict) and not schema.is_atomic:
        for name, value in applied.items():
            live[name] = _merge(live.get(name), value, schema.child(name) or ANYTHING)
        return live
    if isinstance(applied, list) and isinstance(live, list) and schema.list_keys:
        places = {item_step(item, schema): place for place, item in enumerate(live)}
        for item in applied:
            place = places.get(item_step(item, schema))
            if place is None:
                live.append(item)
            else:
                live[place] = _merge(live[place], item, schema.items or ANYTHING)
        return live
    if isinstance(applied, list) and isinstance(live, list) and schema.is_set:
        return live + [value for value in applied if value not in live]
    return applied


def _remove(tree: Json, path: Path, schema: Schema) -> None:
    """Take a field out, and what is empty without it."""
    step, rest = path[0], path[1:]
    if isinstance(tree, dict) and step.startswith("f:"):
        name = step[2:]
        if rest and name in tree:
            _remove(tree[name], rest, schema.child(name) or ANYTHING)
        if name in tree and (not rest or tree[name] in ({}, [])):
            del tree[name]
    elif isinstance(tree, list):
        step_of = (lambda item: item_step(item, schema)) if schema.list_keys else value_step
        for place, item in enumerate(tree):
            if step_of(item) == step:
                if rest:
                    _remove(item, rest, schema.items or ANYTHING)
                else:
                    del tree[place]
                return


def _conflict(taken: Mapping[Manager, Iterable[Path]]) -> Conflict:
    causes, parts = [], []
    for manager, paths in taken.items():
        fields = [shown(path) for path in sorted(paths)]
        if not fields:
            continue
        who = f'"{manager.name}"' + (f' with subresource "{manager.subresource}"' if manager.subresource else "")
        who += f" using {manager.api_version}" if manager.operation == "Update" else ""
        causes += [
            {"reason": "FieldManagerConflict", "message": f"conflict with {who}", "field": field} for field in fields
        ]
        listed = f" {fields[0]}" if len(fields) == 1 else "".join(f"\n- {field}" for field in fields)
        parts.append(f"conflict{'s' if len(fields) > 1 else ''} with {who}:{listed}")
    count = len(causes)
    return Conflict(
        f"Apply failed with {count} conflict{'s' if count > 1 else ''}: " + "\n".join(parts), details={"causes": causes}
    )
