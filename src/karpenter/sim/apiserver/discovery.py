"""What is served: groups, versions and kinds, in the old form and in the aggregated one."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Final

import msgspec
from aiohttp import web

from karpenter.runtime.kube import NotFound
from karpenter.runtime.kubememory.resources import ApiResource
from karpenter.sim.apiserver import usage
from karpenter.sim.apiserver.answers import answer

_VERBS: Final = ("create", "delete", "deletecollection", "get", "list", "patch", "update", "watch")
_SUBRESOURCE_VERBS: Final = {
    "binding": ("create",),
    "eviction": ("create",),
    "finalize": ("update",),
    "log": ("get",),
    "token": ("create",),
}
_SUBRESOURCE_KINDS: Final = {
    "binding": ("", "v1", "Binding"),
    "eviction": ("policy", "v1", "Eviction"),
    "scale": ("autoscaling", "v1", "Scale"),
    "token": ("authentication.k8s.io", "v1", "TokenRequest"),
}
_STATUS_VERBS: Final = ("get", "patch", "update")
REVIEWS: Final = tuple(
    ApiResource(group, "v1", plural, kind, singular=kind.lower())
    for group, plural, kind in (
        ("authentication.k8s.io", "selfsubjectreviews", "SelfSubjectReview"),
        ("authorization.k8s.io", "selfsubjectaccessreviews", "SelfSubjectAccessReview"),
        ("authorization.k8s.io", "selfsubjectrulesreviews", "SelfSubjectRulesReview"),
    )
)
"""Questions that are answered and not kept."""


def discover(request: web.Request, served: Iterable[ApiResource]) -> web.Response | None:
    """Answer a question about what is served; None when the path is about objects."""
    kinds = [*served, *REVIEWS, *usage.KINDS]
    root, *parts = [part for part in request.path.split("/") if part]
    if not parts and "as=APIGroupDiscoveryList" in request.headers.get("Accept", ""):
        return _aggregated([kind for kind in kinds if bool(kind.group) is (root == "apis")])
    match root, parts:
        case "api", []:
            return answer({"kind": "APIVersions", "versions": ["v1"], "serverAddressByClientCIDRs": []})
        case "apis", []:
            groups = {kind.group: None for kind in kinds if kind.group}
            return answer(
                {"kind": "APIGroupList", "apiVersion": "v1", "groups": [_group(kinds, one) for one in groups]}
            )
        case "apis", [group]:
            return answer({"kind": "APIGroup", "apiVersion": "v1"} | _group(kinds, group))
        case "api", [version]:
            return answer(_resource_list(kinds, "", version))
        case "apis", [group, version]:
            return answer(_resource_list(kinds, group, version))
    return None


def _versions(kinds: list[ApiResource], group: str) -> list[str]:
    """Return a group's versions, the preferred one first: stable before beta before alpha, higher before lower."""
    return sorted({kind.version for kind in kinds if kind.group == group}, key=_rank)


def _rank(version: str) -> tuple[int, int, int]:
    major, stability, minor = version.removeprefix("v"), 0, ""
    for place, word in enumerate(("beta", "alpha"), start=1):
        if word in version:
            major, _, minor = version.removeprefix("v").partition(word)
            stability = place
    return stability, -int(major or 0) if major.isdigit() else 0, -int(minor or 0) if minor.isdigit() else 0


def _group(kinds: list[ApiResource], group: str) -> dict[str, Any]:
    versions = [{"groupVersion": f"{group}/{version}", "version": version} for version in _versions(kinds, group)]
    if not versions:
        raise NotFound("the server could not find the requested resource")
    return {"name": group, "versions": versions, "preferredVersion": versions[0]}


def _resource_list(kinds: list[ApiResource], group: str, version: str) -> dict[str, Any]:
    found = [kind for kind in kinds if (kind.group, kind.version) == (group, version)]
    if not found:
        raise NotFound("the server could not find the requested resource")
    resources = [row for kind in found for row in _rows(kind)]
    name = f"{group}/{version}" if group else version
    return {"kind": "APIResourceList", "apiVersion": "v1", "groupVersion": name, "resources": resources}


def _rows(kind: ApiResource) -> Iterable[dict[str, Any]]:
    row: dict[str, Any] = {
        "name": kind.plural,
        "singularName": kind.singular,
        "namespaced": kind.namespaced,
        "kind": kind.kind,
        "verbs": _verbs(kind),
    }
    if kind.short_names:
        row["shortNames"] = kind.short_names
    if kind.categories:
        row["categories"] = kind.categories
    yield row
    for name in sorted(kind.subresources):
        group, version, kind_name = _SUBRESOURCE_KINDS.get(name, (kind.group, kind.version, kind.kind))
        row = {"name": f"{kind.plural}/{name}", "singularName": "", "namespaced": kind.namespaced, "kind": kind_name}
        if name in _SUBRESOURCE_KINDS:
            row |= {"group": group, "version": version}
        yield row | {"verbs": _SUBRESOURCE_VERBS.get(name, _STATUS_VERBS)}


def _verbs(kind: ApiResource) -> tuple[str, ...]:
    if kind.group == usage.GROUP:
        return ("get", "list")
    return ("create",) if kind in REVIEWS else _VERBS


def _aggregated(kinds: list[ApiResource]) -> web.Response:
    items = []
    for group in {kind.group: None for kind in kinds}:
        versions = [
            {
                "version": version,
                "resources": [_discovered(kind) for kind in kinds if (kind.group, kind.version) == (group, version)],
                "freshness": "Current",
            }
            for version in _versions(kinds, group)
        ]
        items.append({"metadata": {"name": group, "creationTimestamp": None}, "versions": versions})
    body = {"kind": "APIGroupDiscoveryList", "apiVersion": "apidiscovery.k8s.io/v2", "metadata": {}, "items": items}
    return web.Response(
        body=msgspec.json.encode(body),
        headers={"Content-Type": "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList"},
    )


def _discovered(kind: ApiResource) -> dict[str, Any]:
    found: dict[str, Any] = {
        "resource": kind.plural,
        "responseKind": _kind(kind.group, kind.version, kind.kind),
        "scope": "Namespaced" if kind.namespaced else "Cluster",
        "singularResource": kind.singular,
        "verbs": _verbs(kind),
    }
    if kind.short_names:
        found["shortNames"] = kind.short_names
    if kind.categories:
        found["categories"] = kind.categories
    if kind.subresources:
        found["subresources"] = [
            {
                "subresource": name,
                "responseKind": _kind(*_SUBRESOURCE_KINDS.get(name, (kind.group, kind.version, kind.kind))),
                "verbs": _SUBRESOURCE_VERBS.get(name, _STATUS_VERBS),
            }
            for name in sorted(kind.subresources)
        ]
    return found


def _kind(group: str, version: str, kind: str) -> dict[str, str]:
    return {"group": group, "version": version, "kind": kind}
