"""What a request asks for beside its path: query parameters and body."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final, cast

import msgspec
import yaml
from aiohttp import web

from karpenter.runtime.kube import BadRequest, Invalid, KubeError, PatchType, Propagation, UnsupportedMediaType
from karpenter.runtime.kubememory.deletion import DeleteOptions
from karpenter.runtime.kubememory.gate import FieldValidation
from karpenter.runtime.kubememory.records import Json
from karpenter.runtime.kubememory.refusals import Causes, invalid
from karpenter.runtime.kubememory.resources import ApiResource
from karpenter.runtime.kubememory.writes import WriteOptions
from karpenter.sim.apiserver import protobuf
from karpenter.sim.apiserver.access import Attempt
from karpenter.sim.apiserver.targets import Target

_PATCH_TYPES: Final[Mapping[str, PatchType]] = {
    "application/json-patch+json": "json",
    "application/merge-patch+json": "merge",
    "application/strategic-merge-patch+json": "strategic",
    "application/apply-patch+yaml": "apply",
}
_VALIDATIONS: Final = ("Ignore", "Strict", "Warn")
_PROPAGATIONS: Final = ("Foreground", "Background", "Orphan", "nil")
_JSON_TYPES: Final = ("application/json", "application/octet-stream", "text/plain", "")
_YAML_TYPES: Final = ("application/yaml", "application/x-yaml", "text/yaml", "application/apply-patch+yaml")


def is_true(value: str | None) -> bool:
    """Return whether a query parameter is set, by the rule of the API: anything but empty, `0` and `false` is."""
    return value is not None and value.lower() not in ("", "0", "false")


def whole_number(query: Mapping[str, str], name: str) -> int | None:
    """Return a query parameter as a number; None when it is absent. Raises BadRequest."""
    text = query.get(name, "")
    if not text:
        return None
    try:
        return int(text)
    except ValueError as error:
        raise BadRequest(f'strconv.ParseInt: parsing "{text}": invalid syntax') from error


class TooLargeVersion(KubeError):
    """The revision that is asked for does not exist yet."""

    status, reason = 504, "Timeout"

    def __init__(self, wanted: int, current: int) -> None:
        cause = {"reason": "ResourceVersionTooLarge", "message": "Too large resource version"}
        message = f"Timeout: Too large resource version: {wanted}, current: {current}"
        super().__init__(message, details={"causes": [cause]}, retry_after_s=1)


class UnreadableVersionError(KubeError):
    """A revision is no number; real servers call that a failure of theirs."""

    reason = ""


def version_of(query: Mapping[str, str]) -> int | None:
    """Return the revision that a list or watch asks for; None when it names none."""
    text = query.get("resourceVersion", "")
    if text and not text.isdigit():
        why = f'strconv.ParseUint: parsing "{text}": invalid syntax'
        raise UnreadableVersionError(f'resourceVersion: Invalid value: "{text}": {why}')
    return int(text) if text else None


def write_options(request: web.Request, *, subresource: str = "") -> WriteOptions:
    """Return how a request wants to write. Raises BadRequest."""
    query = request.query
    validation = query.get("fieldValidation") or "Warn"
    kind = {"POST": "CreateOptions", "PATCH": "PatchOptions"}.get(request.method, "UpdateOptions")
    if validation not in _VALIDATIONS:
        raise _unsupported(kind, "fieldValidation", validation, supported=("", *_VALIDATIONS))
    return WriteOptions(
        dry_run=_is_dry(kind, query.getall("dryRun", [])),
        subresource=subresource,
        field_validation=cast(FieldValidation, validation),
        field_manager=query.get("fieldManager") or _agent(request),
        force=is_true(query.get("force")),
    )


def _is_dry(kind: str, values: list[str]) -> bool:
    if unknown := [value for value in values if value not in ("", "All")]:
        raise _unsupported(kind, "dryRun", unknown, supported=("All",))
    return "All" in values


def options_kind(kind: str) -> ApiResource:
    """Return what stands for the options of a request in a refusal."""
    return ApiResource("meta.k8s.io", "v1", kind.lower(), kind)


def _unsupported(kind: str, field: str, value: object, *, supported: tuple[str, ...]) -> Invalid:
    causes = Causes()
    causes.unsupported(field, value, supported)
    return invalid(options_kind(kind), "", causes.found)


def _agent(request: web.Request) -> str:
    # As a real server: who does not name itself is named by the first word of its user agent.
    return request.headers.get("User-Agent", "unknown").partition("/")[0] or "unknown"


def attempt_of(request: web.Request, target: Target) -> Attempt:
    """Return what a request is about, as roles know it."""
    resource = "/".join(part for part in (target.resource.plural, target.subresource) if part)
    verb = {"POST": "create", "PUT": "update", "PATCH": "patch"}.get(request.method, request.method.lower())
    if request.method == "GET":
        verb = "watch" if is_true(request.query.get("watch")) else "get" if target.name else "list"
    elif request.method == "DELETE" and not target.name:
        verb = "deletecollection"
    return Attempt(verb, target.resource.group, resource, target.namespace, target.name)


async def read_object(request: web.Request) -> dict[str, Any]:
    """Return the object in a body, JSON or YAML. Raises BadRequest, UnsupportedMediaType."""
    value = await _read(request)
    if not isinstance(value, dict):
        raise BadRequest("the body of the request must be one object")
    return value


async def read_patch(request: web.Request) -> tuple[PatchType, Json]:
    """Return the kind of a patch and the patch. Raises BadRequest, UnsupportedMediaType."""
    patch_type = _PATCH_TYPES.get(request.content_type)
    if patch_type is None:
        raise UnsupportedMediaType("415: Unsupported Media Type")
    return patch_type, await _read(request)


async def _read(request: web.Request) -> Json:
    data = await request.read()
    content_type = request.content_type
    try:
        if content_type in _YAML_TYPES:
            return yaml.load(data, Loader=getattr(yaml, "CSafeLoader", yaml.SafeLoader))  # noqa: S506 - a safe loader
        if content_type == protobuf.CONTENT_TYPE:
            return protobuf.decode_body(data)
        if content_type in _JSON_TYPES or content_type in _PATCH_TYPES:
            return msgspec.json.decode(data)
    except (msgspec.DecodeError, yaml.YAMLError, UnicodeDecodeError) as error:
        raise BadRequest(f"the body of the request cannot be read: {error}") from error
    raise UnsupportedMediaType(
        "the body of the request was in an unknown format - accepted media types include: application/json, "
        f"application/yaml; this was {content_type}"
    )


async def delete_options(request: web.Request) -> DeleteOptions:
    """Return how a request wants to delete, from its body and its query. Raises BadRequest."""
    body = await _read(request) if request.can_read_body else {}
    if not isinstance(body, dict):
        raise BadRequest("the body of a deletion must be DeleteOptions")
    query = request.query
    propagation = query.get("propagationPolicy") or body.get("propagationPolicy")
    if propagation is None and (orphans := body.get("orphanDependents")) is not None:
        propagation = "Orphan" if orphans else "Background"
    if propagation is not None and propagation not in _PROPAGATIONS:
        raise _unsupported("DeleteOptions", "propagationPolicy", propagation, supported=_PROPAGATIONS)
    grace_s = whole_number(query, "gracePeriodSeconds")
    preconditions = body.get("preconditions") or {}
    return DeleteOptions(
        grace_period_s=grace_s if grace_s is not None else body.get("gracePeriodSeconds"),
        uid=preconditions.get("uid") or "",
        resource_version=preconditions.get("resourceVersion") or "",
        propagation=cast(Propagation | None, propagation),
        dry_run=_is_dry("DeleteOptions", [*query.getall("dryRun", []), *(body.get("dryRun") or [])]),
    )
