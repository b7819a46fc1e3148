"""The schema of a custom kind, as its CustomResourceDefinition gives it: shape, defaults, rules.

The dialect is apiextensions.k8s.io/v1's structural schema (OpenAPI v3 without references).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, Final, TypeAlias

from karpenter.runtime.kube import RawObject
from karpenter.runtime.kubememory.refusals import Causes
from karpenter.runtime.kubememory.schema import expressions
from karpenter.runtime.kubememory.schema.builtin import metadata_schema
from karpenter.runtime.kubememory.schema.rules import check
from karpenter.runtime.kubememory.schema.shapes import ANYTHING, Schema, Shape

JsonSchema: TypeAlias = Mapping[str, Any]

_ROOT_FIELDS: Final = ("apiVersion", "kind", "metadata")
_COMBINATIONS: Final = frozenset({"allOf", "anyOf", "oneOf", "not", "additionalProperties"})
_SCALARS: Final[dict[str, Shape]] = {
    "string": "string",
    "integer": "integer",
    "number": "number",
    "boolean": "boolean",
}


@dataclass(frozen=True, slots=True)
class StructuralSchema:
    """What one version of a custom kind looks like."""

    source: JsonSchema
    """The `openAPIV3Schema` of the definition."""
    shape: Schema
    """The same as far as merging and pruning need it, with Kubernetes' own metadata."""
    has_expressions: bool
    """Whether it states rules in CEL."""

    def fill(self, tree: RawObject) -> None:
        """Put in the defaults of fields that are absent."""
        _fill(tree, self.source, skip=_ROOT_FIELDS)

    def check(self, tree: RawObject, causes: Causes, *, old: RawObject | None = None) -> None:
        """Note every rule that an object breaks; `old` is what it was before an update."""
        own = _own_fields(tree)
        if old is None or _COMBINATIONS & self.source.keys():
            check(own, self.source, "", causes=causes)
        else:
            # A status write need not read a spec of hundreds of instance types again.
            self._check_changed(own, old, causes)
        if self.has_expressions:
            before = expressions.ABSENT if old is None else _seen_by_rules(old)
            expressions.check_expressions(_seen_by_rules(tree), before, self.source, causes=causes)

    def _check_changed(self, own: RawObject, old: RawObject, causes: Causes) -> None:
        for name in self.source.get("required", ()):
            if name not in own and name not in _ROOT_FIELDS:
                causes.required(name)
        properties = self.source.get("properties", {})
        for name, value in own.items():
            if name in properties and (name not in old or value != old[name]):
                check(value, properties[name], name, causes=causes)


def read_schema(source: JsonSchema | None) -> StructuralSchema:
    """Return the schema of a definition's version; without one, anything goes."""
    shape = _shape(source) if source else replace(ANYTHING, shape="object", fields={})
    fields = {
        **(shape.fields or {}),
        "apiVersion": Schema("string"),
        "kind": Schema("string"),
        "metadata": metadata_schema(),
    }
    whole = replace(shape, shape="object", fields=fields)
    return StructuralSchema(source or {}, whole, bool(source) and expressions.has_expressions(source or {}))


def _own_fields(tree: RawObject) -> RawObject:
    return {name: value for name, value in tree.items() if name not in _ROOT_FIELDS}


def _seen_by_rules(tree: RawObject) -> RawObject:
    """Return the object as rules in CEL see it: of its metadata only what it is called."""
    names = {name: value for name, value in tree.get("metadata", {}).items() if name in {"name", "generateName"}}
    return {**tree, "metadata": names}


def _shape(source: JsonSchema) -> Schema:
    keeps_unknown = bool(source.get("x-kubernetes-preserve-unknown-fields"))
    is_atomic = source.get("x-kubernetes-map-type") == "atomic"
    if source.get("x-kubernetes-int-or-string"):
        return Schema("int-or-string")
    match source.get("type"):
        case "object" if "additionalProperties" in source:
            values = source["additionalProperties"]
            return Schema("map", items=_shape(values) if isinstance(values, dict) else ANYTHING, is_atomic=is_atomic)
        case "object":
            fields = {name: _shape(inner) for name, inner in source.get("properties", {}).items()}
            if source.get("x-kubernetes-embedded-resource"):
                fields |= {"apiVersion": Schema("string"), "kind": Schema("string"), "metadata": metadata_schema()}
            return Schema("object", fields=fields, is_atomic=is_atomic, keeps_unknown=keeps_unknown)
        case "array":
            list_type = source.get("x-kubernetes-list-type")
            return Schema(
                "list",
                items=_shape(source.get("items", {})),
                list_keys=tuple(source.get("x-kubernetes-list-map-keys", ())) if list_type == "map" else (),
                is_set=list_type == "set",
            )
        case str() as kind if kind in _SCALARS:
            return Schema(_SCALARS[kind])
        case _:
            return ANYTHING


def _fill(value: object, source: JsonSchema, *, skip: tuple[str, ...] = ()) -> None:
    if isinstance(value, dict):
        properties = source.get("properties", {})
        for name, inner in properties.items():
            if name in skip:
                continue
            if name in value and value[name] is None and not inner.get("nullable"):
                del value[name]  # as if it had been left out
            if "default" in inner and name not in value:
                value[name] = _fresh(inner["default"])
            if name in value:
                _fill(value[name], inner)
        additional = source.get("additionalProperties")
        if isinstance(additional, dict):
            for one in value.values():
                _fill(one, additional)
    elif isinstance(value, list) and isinstance(source.get("items"), dict):
        for item in value:
            _fill(item, source["items"])


def _fresh(value: object) -> object:
    """Return a copy that may be changed without changing the definition."""
    if isinstance(value, dict):
        return {name: _fresh(one) for name, one in value.items()}
    return [_fresh(one) for one in value] if isinstance(value, list) else value
