"""Kubernetes' own types, read from the generated table `types.txt`."""

from __future__ import annotations

from dataclasses import replace
from functools import cache
from importlib.resources import files
from typing import Final

from karpenter.runtime.kubememory.schema.shapes import ANYTHING, Schema, Shape

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


def builtin_schema(group: str, kind: str) -> Schema | None:
    """Return the schema of a kind that Kubernetes itself defines; None when the table does not know it."""
    fields = _types().get(f"{_GROUPS.get(group, group)}.{kind}")
    return None if fields is None else Schema("object", type_name=kind, fields=fields)


def metadata_schema() -> Schema:
    """Return the schema of `metadata`, the same for all kinds."""
    return Schema("object", type_name="ObjectMeta", fields=_types()["meta.ObjectMeta"])


@cache
def _types() -> dict[str, dict[str, Schema]]:
    lines = [
        line
        for line in files(__package__).joinpath("types.txt").read_text(encoding="utf-8").splitlines()
        if not line.startswith("#")
    ]
    # The dicts exist before they are filled: that is how types name themselves and each other.
    types: dict[str, dict[str, Schema]] = {}
    atomic: set[str] = set()
    for line in lines:
        if not line.startswith(" "):
            name, *words = line.split()
            types[name] = {"apiVersion": _STRING, "kind": _STRING} if "kind" in words else {}
            atomic.update([name] if "atomic" in words else [])
    inlined: list[tuple[str, str]] = []
    owner = ""
    for line in lines:
        if not line.startswith(" "):
            owner = line.split()[0]
            continue
        name, _, type_word, *words = line.split()
        if "inline" in words:
            inlined.append((owner, type_word))
        else:
            types[owner][name] = _field(type_word, words, types=types, atomic=atomic)
    for owner, source in inlined:
        types[owner].update(types[source])
    return types


def _field(type_word: str, words: list[str], *, types: dict[str, dict[str, Schema]], atomic: set[str]) -> Schema:
    said = dict(word.partition("=")[::2] for word in words)
    common = Schema(
        "any",
        list_keys=tuple(said["keys"].split(",")) if "keys" in said else (),
        is_set="set" in said,
        is_atomic="atomic" in said,
        patch_strategies=frozenset(said.get("patch", "").split(",")) - {""},
        patch_key=said.get("by", ""),
        default=said.get("default"),
    )
    base = type_word.removeprefix("[]").removeprefix("{}")
    one = _one(base, types=types, is_atomic=base in atomic)
    if type_word.startswith("[]"):
        return replace(common, shape="list", items=one)
    if type_word.startswith("{}"):
        return replace(common, shape="map", items=one)
    return replace(
        common, shape=one.shape, type_name=one.type_name, fields=one.fields, is_atomic=common.is_atomic or one.is_atomic
    )


def _one(name: str, *, types: dict[str, dict[str, Schema]], is_atomic: bool) -> Schema:
    if name == "any":
        return ANYTHING
    if name in _SCALARS:
        return Schema(_SCALARS[name])
    return Schema("object", type_name=name.partition(".")[2], fields=types[name], is_atomic=is_atomic)
