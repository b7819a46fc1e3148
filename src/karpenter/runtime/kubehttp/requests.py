"""The requests of the Kubernetes API: paths, parameters, bodies, and what may be sent twice."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final, Literal
from urllib.parse import quote

import msgspec

from karpenter.runtime.kube import BadRequest, PatchType, Resource

Method = Literal["GET", "POST", "PATCH", "DELETE"]

FIELD_MANAGER: Final = "karpenter"

PATCH_CONTENT_TYPES: Final[Mapping[PatchType, str]] = {
    "merge": "application/merge-patch+json",
    "json": "application/json-patch+json",
    "strategic": "application/strategic-merge-patch+json",
    "apply": "application/apply-patch+yaml",  # JSON is YAML
}


@dataclass(frozen=True, slots=True)
class Request:
    """One request, ready to be sent as often as it may be."""

    method: Method
    verb: str
    """`list`, `watch`, `create` …: what the metrics call it."""
    resource: Resource[Any]
    path: str
    parameters: Mapping[str, str]
    body: bytes | None = None
    content_type: str = "application/json"
    subresource: str = ""
    idempotent: bool = True
    """Whether a second time changes nothing, so that it may be sent again when nobody knows if the first arrived."""
    waits_when_told: bool = True
    """Whether 429 means `slow down`, not `no`."""


def get(resource: Resource[Any], name: str, *, namespace: str) -> Request:
    """Read one object."""
    return Request("GET", "get", resource, path_of(resource, name, namespace=namespace), {})


def listing(resource: Resource[Any], *, namespace: str, parameters: Mapping[str, str]) -> Request:
    """Read one page of objects."""
    return Request("GET", "list", resource, path_of(resource, namespace=namespace, all_namespaces=True), parameters)


def watching(resource: Resource[Any], *, namespace: str, parameters: Mapping[str, str]) -> Request:
    """Follow changes."""
    path = path_of(resource, namespace=namespace, all_namespaces=True)
    return Request("GET", "watch", resource, path, {**parameters, "watch": "true", "allowWatchBookmarks": "true"})


def creation(resource: Resource[Any], body: Mapping[str, Any], *, namespace: str) -> Request:
    """Store a new object. Sent once: a second one would be another object, or refused although the first was stored."""
    return Request(
        "POST",
        "create",
        resource,
        path_of(resource, namespace=namespace or body.get("metadata", {}).get("namespace", "")),
        {"fieldManager": FIELD_MANAGER},
        body=msgspec.json.encode({"apiVersion": resource.api_version, "kind": resource.kind, **body}),
        idempotent=False,
    )


def patching(
    resource: Resource[Any], name: str, patch: object, *, namespace: str, patch_type: PatchType, subresource: str
) -> Request:
    """Change an object. A JSON patch may add to a list, so it is sent once."""
    parameters = {"fieldManager": FIELD_MANAGER}
    if patch_type == "apply":
        parameters["force"] = "true"  # as controllers do: what we apply is ours
    return Request(
        "PATCH",
        "patch",
        resource,
        path_of(resource, name, namespace=namespace, subresource=subresource),
        parameters,
        body=msgspec.json.encode(patch),
        content_type=PATCH_CONTENT_TYPES[patch_type],
        subresource=subresource,
        idempotent=patch_type != "json",
    )


def deletion(resource: Resource[Any], name: str, *, namespace: str, options: Mapping[str, Any]) -> Request:
    """Ask for an object to go away."""
    body = msgspec.json.encode({"apiVersion": "v1", "kind": "DeleteOptions", **options})
    return Request("DELETE", "delete", resource, path_of(resource, name, namespace=namespace), {}, body=body)


def eviction(pods: Resource[Any], name: str, *, namespace: str, options: Mapping[str, Any]) -> Request:
    """Ask for a pod to leave. 429 is the answer of a disruption budget and is not asked again here."""
    body: dict[str, Any] = {
        "apiVersion": "policy/v1",
        "kind": "Eviction",
        "metadata": {"name": name, "namespace": namespace},
    }
    if options:
        body["deleteOptions"] = {"apiVersion": "v1", "kind": "DeleteOptions", **options}
    return _on_pod(pods, name, "eviction", namespace=namespace, body=body)


def binding(pods: Resource[Any], name: str, *, namespace: str, node: str, uid: str) -> Request:
    """Give a pod its node."""
    metadata = {"name": name, "namespace": namespace, **({"uid": uid} if uid else {})}
    body = {
        "apiVersion": "v1",
        "kind": "Binding",
        "metadata": metadata,
        "target": {"apiVersion": "v1", "kind": "Node", "name": node},
    }
    return _on_pod(pods, name, "binding", namespace=namespace, body=body)


def delete_options(*, uid: str, grace_period_s: int | None, propagation: str = "") -> dict[str, Any]:
    """Return the fields of DeleteOptions that are given."""
    options: dict[str, Any] = {}
    if uid:
        options["preconditions"] = {"uid": uid}
    if grace_period_s is not None:
        options["gracePeriodSeconds"] = grace_period_s
    if propagation:
        options["propagationPolicy"] = propagation
    return options


def path_of(
    resource: Resource[Any],
    name: str | None = None,
    *,
    namespace: str = "",
    subresource: str = "",
    all_namespaces: bool = False,
) -> str:
    """Return the path of an object, or of the collection when `name` is None.

    Raises:
        BadRequest: a namespace or name is missing, so that the path would mean something else.
    """
    if name == "":
        raise BadRequest(f"{resource.kind}: a name is required")
    if resource.namespaced and not namespace and not all_namespaces:
        raise BadRequest(f"{resource.kind} {name or ''}: a namespace is required".replace(" :", ":"))
    parts = ["apis", resource.group] if resource.group else ["api"]
    parts.append(resource.version)
    if resource.namespaced and namespace:
        parts += ["namespaces", namespace]
    parts.append(resource.plural)
    parts += [part for part in (name, subresource) if part]
    return "/" + "/".join(quote(part, safe="") for part in parts)


def _on_pod(pods: Resource[Any], name: str, subresource: str, *, namespace: str, body: Mapping[str, Any]) -> Request:
    return Request(
        "POST",
        "create",
        pods,
        path_of(pods, name, namespace=namespace, subresource=subresource),
        {},
        body=msgspec.json.encode(body),
        subresource=subresource,
        idempotent=False,
        waits_when_told=subresource != "eviction",
    )
