"""The served kinds as OpenAPI v3, one document a group and version: kubectl validates, merges and explains by it."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from typing import Any, Final

import msgspec
from aiohttp import web

from karpenter.runtime.kube import NotFound
from karpenter.runtime.kubememory.resources import ApiResource
from karpenter.runtime.kubememory.schema.builtin import metadata_schema
from karpenter.runtime.kubememory.schema.shapes import Schema
from karpenter.runtime.kubememory.store import MemoryStore
from karpenter.sim.apiserver.answers import answer, answer_bytes

_REFERENCE: Final = "#/components/schemas/"
_SCALARS: Final[dict[str, dict[str, Any]]] = {
    "string": {"type": "string"},
    "integer": {"type": "integer", "format": "int64"},
    "number": {"type": "number", "format": "double"},
    "boolean": {"type": "boolean"},
    "bytes": {"type": "string", "format": "byte"},
    "time": {"type": "string", "format": "date-time"},
    "quantity": {"oneOf": [{"type": "string"}, {"type": "number"}]},
    "int-or-string": {"oneOf": [{"type": "integer"}, {"type": "string"}], "format": "int-or-string"},
    "any": {},
}
_VERSION: Final = "v1.36"
_QUERY: Final = ("dryRun", "fieldManager", "fieldValidation", "force", "pretty")
_PATCHES: Final = ("application/apply-patch+yaml", "application/json-patch+json", "application/merge-patch+json")
_STRATEGIC: Final = "application/strategic-merge-patch+json"


def describe(request: web.Request, store: MemoryStore) -> web.Response:
    """Answer a request below `/openapi/v3`: the index, or the document of one group and version. Raises NotFound."""
    place = request.path.removeprefix("/openapi/v3").strip("/")
    groups = _by_place(store.registry)
    if not place:
        paths = {
            name: {"serverRelativeURL": f"/openapi/v3/{name}?hash={_digest(kinds, store)}"}
            for name, kinds in groups.items()
        }
        return answer({"paths": paths})
    if place not in groups:
        raise NotFound("the server could not find the requested resource")
    return answer_bytes(msgspec.json.encode(_document(groups[place], store)))


def describe_nothing(request: web.Request) -> web.Response:
    """Answer a request for the older form with an empty document: clients look there for what v3 does not have."""
    if "protobuf" in request.headers.get("Accept", ""):
        return web.Response(body=b"", content_type="application/com.github.proto-openapi.spec.v2.v1.0+protobuf")
    return answer({"swagger": "2.0", "info": {"title": "Kubernetes", "version": _VERSION}, "paths": {}})


def _by_place(served: Iterable[ApiResource]) -> dict[str, list[ApiResource]]:
    groups: dict[str, list[ApiResource]] = {}
    for kind in served:
        place = f"apis/{kind.group}/{kind.version}" if kind.group else f"api/{kind.version}"
        groups.setdefault(place, []).append(kind)
    return groups


def _digest(kinds: list[ApiResource], store: MemoryStore) -> str:
    """Return what changes whenever the document does: clients keep documents by it."""
    custom = [found.schema.source for kind in kinds if (found := store.custom(kind))]
    text = msgspec.json.encode([[kind.kind for kind in kinds], custom])
    return hashlib.sha256(text).hexdigest().upper()


def _document(kinds: list[ApiResource], store: MemoryStore) -> dict[str, Any]:
    components = _Components(f"io.k8s.api.{kinds[0].group or 'core'}.{kinds[0].version}")
    paths: dict[str, Any] = {}
    for kind in kinds:
        name = _root(kind, store, components)
        paths |= _paths(kind, name)
    info = {"title": "Kubernetes", "version": _VERSION}
    return {"openapi": "3.0.0", "info": info, "paths": paths, "components": {"schemas": components.found}}


def _root(kind: ApiResource, store: MemoryStore, components: _Components) -> str:
    gvk = {"group": kind.group, "version": kind.version, "kind": kind.kind}
    custom = store.custom(kind)
    if custom is None:
        schema = store.schema(kind) or Schema("object", type_name=kind.kind, fields={"metadata": metadata_schema()})
        name = components.add(schema)
    else:
        reversed_group = ".".join(reversed(kind.group.split(".")))
        name = f"{reversed_group}.{kind.version}.{kind.kind}"
        source = dict(custom.schema.source) or {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
        properties = {"apiVersion": _SCALARS["string"], "kind": _SCALARS["string"]} | source.get("properties", {})
        properties["metadata"] = {"$ref": _REFERENCE + components.add(metadata_schema())}
        components.found[name] = source | {"properties": properties}
    components.found[name]["x-kubernetes-group-version-kind"] = [gvk]
    return name


def _paths(kind: ApiResource, name: str) -> dict[str, Any]:
    base = f"/apis/{kind.group}/{kind.version}" if kind.group else f"/api/{kind.version}"
    base += "/namespaces/{namespace}" if kind.namespaced else ""
    gvk = {"group": kind.group, "version": kind.version, "kind": kind.kind}
    schema = {"$ref": _REFERENCE + name}
    parameters = [{"name": one, "in": "query", "schema": {"type": "string", "uniqueItems": True}} for one in _QUERY]
    said = {"x-kubernetes-group-version-kind": gvk, "responses": {"200": {"description": "OK"}}}
    patches = _PATCHES if kind.is_custom else (*_PATCHES, _STRATEGIC)
    body = {"content": {one: {"schema": {"type": "object"}} for one in patches}}
    return {
        f"{base}/{kind.plural}": {
            "get": said | {"x-kubernetes-action": "list"},
            "post": said
            | {
                "x-kubernetes-action": "post",
                "parameters": parameters,
                "requestBody": {"content": {"*/*": {"schema": schema}}},
            },
        },
        f"{base}/{kind.plural}/{{name}}": {
            "get": said | {"x-kubernetes-action": "get"},
            "patch": said | {"x-kubernetes-action": "patch", "parameters": parameters, "requestBody": body},
        },
    }


class _Components:
    """The named schemas of one document."""

    def __init__(self, prefix: str) -> None:
        self._prefix = prefix
        self._names: dict[int, str] = {}
        self.found: dict[str, Any] = {}

    def add(self, schema: Schema) -> str:
        """Return the name of an object's schema, written out once with everything that it names."""
        identity = id(schema.fields)
        if identity not in self._names:
            name = f"{self._prefix}.{schema.type_name}"
            self._names[identity] = name
            self.found[name] = {}  # types may name themselves
            self.found[name] = {
                "type": "object",
                "description": "",
                "properties": {field: self._property(inner) for field, inner in (schema.fields or {}).items()},
            }
        return self._names[identity]

    def _property(self, schema: Schema) -> dict[str, Any]:
        said: dict[str, Any] = {"description": ""}
        if schema.patch_strategies:
            said["x-kubernetes-patch-strategy"] = ",".join(sorted(schema.patch_strategies))
        if schema.patch_key:
            said["x-kubernetes-patch-merge-key"] = schema.patch_key
        if schema.default is not None:
            said["default"] = schema.default
        match schema.shape:
            case "object":
                return said | {"allOf": [{"$ref": _REFERENCE + self.add(schema)}]}
            case "map":
                return said | {"type": "object", "additionalProperties": self._inner(schema.items)}
            case "list":
                return said | self._list_words(schema) | {"type": "array", "items": self._inner(schema.items)}
            case shape:
                return said | _SCALARS[shape] | ({"format": schema.type_name} if schema.type_name else {})

    def _inner(self, schema: Schema | None) -> dict[str, Any]:
        if schema is None:
            return {}
        if schema.shape == "object":
            return {"allOf": [{"$ref": _REFERENCE + self.add(schema)}], "default": {}}
        return self._property(schema)

    @staticmethod
    def _list_words(schema: Schema) -> dict[str, Any]:
        if schema.list_keys:
            return {"x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": schema.list_keys}
        return {"x-kubernetes-list-type": "set" if schema.is_set else "atomic"}
