"""CustomResourceDefinitions: defaults, the status that says they are served, rules."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from karpenter.runtime.kube import RawObject
from karpenter.runtime.kubememory.refusals import Causes
from karpenter.runtime.kubememory.strategies.strategy import Strategy

_VERSION = re.compile(r"v[1-9][0-9]*((alpha|beta)[1-9][0-9]*)?|[a-z0-9]([-a-z0-9]*[a-z0-9])?")
_SCOPES = ("Cluster", "Namespaced")
_KEPT_TYPES = ("object", "array", "string", "integer", "number", "boolean")


def _default(definition: RawObject) -> None:
    spec = definition.setdefault("spec", {})
    names = spec.get("names") or {}
    if isinstance(names.get("kind"), str):
        names.setdefault("singular", names["kind"].lower())
        names.setdefault("listKind", f"{names['kind']}List")
    spec.setdefault("conversion", {"strategy": "None"})
    for version in spec.get("versions") or ():
        for column in version.get("additionalPrinterColumns") or ():
            if column.get("priority") == 0:
                del column["priority"]
    if spec.get("preserveUnknownFields") is False:
        del spec["preserveUnknownFields"]


def _begin(definition: RawObject) -> None:
    # Served at once: there is no controller that would have to look at it first.
    since = definition["metadata"]["creationTimestamp"]
    spec = definition.get("spec") or {}
    versions = spec.get("versions") or ()
    definition["status"] = {
        "conditions": [
            _true("NamesAccepted", "NoConflicts", "no conflicts found", since),
            _true("Established", "InitialNamesAccepted", "the initial names have been accepted", since),
        ],
        "acceptedNames": dict(spec.get("names") or {}),
        "storedVersions": [version.get("name") for version in versions if version.get("storage")],
    }


def _true(kind: str, reason: str, message: str, since: str) -> dict[str, Any]:  # noqa: PLR0917 - a condition's own order
    return {"type": kind, "status": "True", "reason": reason, "message": message, "lastTransitionTime": since}


def _check(definition: RawObject, causes: Causes) -> None:
    spec = definition["spec"]
    names, group, plural = spec.get("names") or {}, spec.get("group"), (spec.get("names") or {}).get("plural")
    name = definition["metadata"].get("name")
    if not group:
        causes.required("spec.group")
    for field in ("plural", "kind"):
        if not names.get(field):
            causes.required(f"spec.names.{field}")
    if group and plural and name != f"{plural}.{group}":
        causes.invalid("metadata.name", name, f'must be spec.names.plural+"."+spec.group, which is {plural}.{group}')
    if spec.get("scope") not in _SCOPES:
        causes.unsupported("spec.scope", spec.get("scope", ""), _SCOPES)
    versions = spec.get("versions") or ()
    for index, version in enumerate(versions):
        _check_version(version, f"spec.versions[{index}]", causes)
    if not versions:
        causes.required("spec.versions", "must have at least one version")
    elif sum(bool(version.get("storage")) for version in versions) != 1:
        causes.invalid("spec.versions", len(versions), "must have exactly one version marked as storage version")


def _check_version(version: Mapping[str, Any], path: str, causes: Causes) -> None:
    name = version.get("name")
    if not isinstance(name, str) or not _VERSION.fullmatch(name):
        causes.invalid(f"{path}.name", name, "must be a version such as v1alpha5 or v1")
    schema = (version.get("schema") or {}).get("openAPIV3Schema")
    if not isinstance(schema, dict):
        causes.required(f"{path}.schema.openAPIV3Schema", "schemas are required")
    else:
        _check_structural(schema, f"{path}.schema.openAPIV3Schema", causes)
    for index, column in enumerate(version.get("additionalPrinterColumns") or ()):
        for field in ("name", "type", "jsonPath"):
            if not column.get(field):
                causes.required(f"{path}.additionalPrinterColumns[{index}].{field}")


def _check_structural(schema: Mapping[str, Any], path: str, causes: Causes) -> None:
    is_free = schema.get("x-kubernetes-int-or-string") or schema.get("x-kubernetes-preserve-unknown-fields")
    if "type" not in schema and not is_free:
        causes.required(f"{path}.type", "must not be empty for specified object fields")
    elif "type" in schema and schema["type"] not in _KEPT_TYPES:
        causes.unsupported(f"{path}.type", schema["type"], _KEPT_TYPES)
    if "$ref" in schema:
        causes.forbidden(f"{path}.$ref", "references are not supported; write the schema out")
    for name, inner in (schema.get("properties") or {}).items():
        _check_structural(inner, f"{path}.properties[{name}]", causes)
    for name in ("items", "additionalProperties"):
        if isinstance(schema.get(name), dict):
            _check_structural(schema[name], f"{path}.{name}", causes)


def _check_update(old: RawObject, new: RawObject, causes: Causes) -> None:
    for field in ("group", "scope"):
        if old["spec"].get(field) != new["spec"].get(field):
            causes.invalid(f"spec.{field}", new["spec"].get(field), "field is immutable")


DEFINITION = Strategy(default=_default, begin=_begin, check=_check, check_update=_check_update)
