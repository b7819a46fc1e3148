"""The scale subresource: one number of any workload, behind one shape."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from karpenter.model.units import ObjectKey
from karpenter.runtime.kube import NotFound, PatchType, RawObject
from karpenter.runtime.kubememory.custom import ScalePaths
from karpenter.runtime.kubememory.patches import Patch, apply_patch
from karpenter.runtime.kubememory.records import Json, Record
from karpenter.runtime.kubememory.refusals import Causes
from karpenter.runtime.kubememory.resources import ApiResource
from karpenter.runtime.kubememory.schema.builtin import builtin_schema
from karpenter.runtime.kubememory.store import MemoryStore
from karpenter.runtime.kubememory.writes import WriteOptions

_SCALE = ApiResource("autoscaling", "v1", "scales", "Scale", namespaced=True)
_BUILTIN = ScalePaths("spec.replicas", "status.replicas", "spec.selector")


def read_scale(store: MemoryStore, resource: ApiResource, key: ObjectKey) -> RawObject:
    """Return an object's scale (autoscaling/v1). Raises NotFound, also when the kind cannot be scaled."""
    return _scale_of(store.get(resource, key), _paths(store, resource))


def write_scale(
    store: MemoryStore, resource: ApiResource, key: ObjectKey, *, scale: Mapping[str, Any], options: WriteOptions
) -> RawObject:
    """Set an object's replicas and return its scale. Raises NotFound, Invalid, Conflict."""
    paths = _paths(store, resource)
    replicas = (scale.get("spec") or {}).get("replicas", 0)
    causes = Causes()
    if not isinstance(replicas, int) or isinstance(replicas, bool) or replicas < 0:
        causes.invalid("spec.replicas", replicas, "must be greater than or equal to 0")
        causes.raise_for(_SCALE, key.name)
    change: dict[str, Any] = {}
    _put(change, paths.spec_replicas, replicas)
    version = (scale.get("metadata") or {}).get("resourceVersion")
    patch = change | ({"metadata": {"resourceVersion": version}} if version else {})
    return _scale_of(store.patch(resource, key, patch, options=replace(options, written_as="scale")).record, paths)


def patch_scale(
    store: MemoryStore,
    resource: ApiResource,
    key: ObjectKey,
    *,
    patch: Patch,
    patch_type: PatchType,
    options: WriteOptions,
) -> RawObject:
    """Change an object's scale by a patch and return it. Raises NotFound, Invalid, Conflict, BadRequest."""
    scale = read_scale(store, resource, key)
    # Applying a scale is merging it: there is one field that anyone could own.
    kind = "merge" if patch_type == "apply" else patch_type
    changed = apply_patch(scale, patch, kind, schema=builtin_schema("autoscaling", "Scale"))
    return write_scale(store, resource, key, scale=changed, options=options)


def _paths(store: MemoryStore, resource: ApiResource) -> ScalePaths:
    custom = store.custom(resource)
    paths = custom.scale if custom else _BUILTIN
    if "scale" not in resource.subresources or paths is None:
        raise NotFound("the server could not find the requested resource")
    return paths


def _scale_of(record: Record, paths: ScalePaths) -> RawObject:
    tree = record.decode()
    metadata = tree["metadata"]
    kept = ("name", "namespace", "uid", "resourceVersion", "creationTimestamp")
    status: dict[str, Any] = {"replicas": _at(tree, paths.status_replicas) or 0}
    if paths.label_selector and (selector := _selector_text(_at(tree, paths.label_selector))):
        status["selector"] = selector
    return {
        "kind": "Scale",
        "apiVersion": "autoscaling/v1",
        "metadata": {name: metadata[name] for name in kept if name in metadata},
        "spec": {"replicas": _at(tree, paths.spec_replicas) or 0},
        "status": status,
    }


def _selector_text(selector: Json) -> str:
    if not isinstance(selector, dict):
        return selector or ""
    if "matchLabels" not in selector and "matchExpressions" not in selector:
        return ",".join(f"{key}={value}" for key, value in sorted(selector.items()))  # a ReplicationController's
    parts = [f"{key}={value}" for key, value in sorted((selector.get("matchLabels") or {}).items())]
    for one in selector.get("matchExpressions") or ():
        match one["operator"]:
            case "Exists":
                parts.append(one["key"])
            case "DoesNotExist":
                parts.append(f"!{one['key']}")
            case operator:
                parts.append(f"{one['key']} {operator.lower()} ({','.join(one.get('values', ()))})")
    return ",".join(parts)


def _at(tree: Json, path: str) -> Json:
    for name in path.split("."):
        tree = tree.get(name) if isinstance(tree, dict) else None
    return tree


def _put(tree: dict[str, Any], path: str, value: int) -> None:
    *parents, last = path.split(".")
    for name in parents:
        tree = tree.setdefault(name, {})
    tree[last] = value
