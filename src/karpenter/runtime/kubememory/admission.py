"""The admission plugins that a usual cluster runs: what they look up elsewhere and write into pods and claims."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final, Literal, TypeAlias

from karpenter.model.quantity import parse_quantity
from karpenter.runtime.kube import RawObject
from karpenter.runtime.kubememory.records import Json
from karpenter.runtime.kubememory.refusals import forbidden
from karpenter.runtime.kubememory.resources import ApiResource

if TYPE_CHECKING:
    from karpenter.runtime.kubememory.store import MemoryStore

Operation: TypeAlias = Literal["CREATE", "UPDATE"]
Admission: TypeAlias = Callable[[Operation, ApiResource, RawObject, RawObject | None], tuple[RawObject, Sequence[str]]]
"""(operation, kind, new, old) → (the object to go on with, warnings). Raises Invalid with all causes at once."""

_EVICTION_DELAY_S: Final = 300
_UNWELL: Final = ("node.kubernetes.io/not-ready", "node.kubernetes.io/unreachable")
_DEFAULT_CLASS: Final = "storageclass.kubernetes.io/is-default-class"
_PROTECTED: Final = {
    ("", "persistentvolumeclaims"): "kubernetes.io/pvc-protection",
    ("", "persistentvolumes"): "kubernetes.io/pv-protection",
}
"""Finalizers that keep what is in use; controllers take them off."""


def usual_admission(store: MemoryStore) -> Admission:
    """Return the hook for pods, claims and volumes: priority, service account, limit ranges, tolerations, storage
    class, protection of what is in use.
    """

    def admit(
        operation: Operation, resource: ApiResource, new: RawObject, _: RawObject | None
    ) -> tuple[RawObject, Sequence[str]]:
        if operation == "CREATE" and resource.key == ("", "pods"):
            _set_service_account(new["spec"])
            _set_priority(store, resource, new)
            _apply_limit_ranges(store, resource, new)
            _tolerate_unwell_nodes(new["spec"])
        elif operation == "CREATE" and resource.key == ("", "persistentvolumeclaims"):
            _set_storage_class(store, new["spec"])
        if operation == "CREATE" and resource.key in _PROTECTED:
            _protect(new["metadata"], _PROTECTED[resource.key])
        return new, ()

    return admit


def _protect(metadata: Json, finalizer: str) -> None:
    finalizers = metadata.setdefault("finalizers", [])
    if finalizer not in finalizers:
        finalizers.append(finalizer)


def _all(store: MemoryStore, group: str, plural: str) -> list[RawObject]:
    return [record.decode() for record in store.list(store.registry.find(group, "v1", plural))]


def _set_service_account(spec: Json) -> None:
    name = spec.get("serviceAccountName") or spec.get("serviceAccount") or "default"
    spec["serviceAccountName"] = spec["serviceAccount"] = name


def _set_priority(store: MemoryStore, pods: ApiResource, pod: RawObject) -> None:
    spec, name = pod["spec"], pod["spec"].get("priorityClassName")
    classes = _all(store, "scheduling.k8s.io", "priorityclasses")
    if name:
        chosen = next((one for one in classes if one["metadata"]["name"] == name), None)
        if chosen is None:
            raise forbidden(pods, pod["metadata"].get("name", ""), f"no PriorityClass with name {name} was found")
    else:
        defaults = [one for one in classes if one.get("globalDefault")]
        chosen = min(defaults, key=lambda one: int(one["value"]), default=None)
    value = chosen["value"] if chosen else 0
    if spec.get("priority") not in (None, value):
        why = (
            f"the integer value of priority ({spec['priority']}) must not be provided in pod spec; priority admission "
            f"controller computed {value} from the given PriorityClass name"
        )
        raise forbidden(pods, pod["metadata"].get("name", ""), why)
    spec["priority"] = value
    spec.setdefault("preemptionPolicy", chosen["preemptionPolicy"] if chosen else "PreemptLowerPriority")
    if chosen:
        spec["priorityClassName"] = chosen["metadata"]["name"]


def _tolerate_unwell_nodes(spec: Json) -> None:
    tolerations = spec.setdefault("tolerations", [])
    for key in _UNWELL:
        if not any(_covers(toleration, key) for toleration in tolerations):
            tolerations.append(
                {"key": key, "operator": "Exists", "effect": "NoExecute", "tolerationSeconds": _EVICTION_DELAY_S}
            )


def _covers(toleration: Mapping[str, Any], key: str) -> bool:
    return toleration.get("key", "") in ("", key) and toleration.get("effect", "") in ("", "NoExecute")


def _apply_limit_ranges(store: MemoryStore, pods: ApiResource, pod: RawObject) -> None:
    for limit_range in _all(store, "", "limitranges"):
        if limit_range["metadata"]["namespace"] != pod["metadata"]["namespace"]:
            continue
        for limit in (limit_range.get("spec") or {}).get("limits") or ():
            if limit.get("type") == "Container":
                containers = [*pod["spec"].get("containers", ()), *pod["spec"].get("initContainers", ())]
                for container in containers:
                    _default_by_limit(container["resources"], limit)
                    _check_by_limit(pods, pod, container["resources"], limit=limit)


def _default_by_limit(resources: Json, limit: Mapping[str, Any]) -> None:
    for kind, source in (("requests", "defaultRequest"), ("limits", "default")):
        for name, value in (limit.get(source) or {}).items():
            resources.setdefault(kind, {}).setdefault(name, value)
    # A limit that came from the range is a request too, where the range names none.
    for name, value in (resources.get("limits") or {}).items():
        resources.setdefault("requests", {}).setdefault(name, value)


def _check_by_limit(pods: ApiResource, pod: RawObject, resources: Json, *, limit: Mapping[str, Any]) -> None:
    found = []
    for name, least in (limit.get("min") or {}).items():
        value = (resources.get("requests") or {}).get(name)
        if value is None:
            found.append(f"minimum {name} usage per Container is {least}.  No request is specified")
        elif parse_quantity(value) < parse_quantity(least):
            found.append(f"minimum {name} usage per Container is {least}, but request is {value}")
    for name, most in (limit.get("max") or {}).items():
        value = (resources.get("limits") or {}).get(name)
        if value is None:
            found.append(f"maximum {name} usage per Container is {most}.  No limit is specified")
        elif parse_quantity(value) > parse_quantity(most):
            found.append(f"maximum {name} usage per Container is {most}, but limit is {value}")
    if found:
        raise forbidden(pods, pod["metadata"].get("name", ""), found[0] if len(found) == 1 else f"[{', '.join(found)}]")


def _set_storage_class(store: MemoryStore, spec: Json) -> None:
    if "storageClassName" in spec:
        return
    defaults = [
        one
        for one in _all(store, "storage.k8s.io", "storageclasses")
        if (one["metadata"].get("annotations") or {}).get(_DEFAULT_CLASS) == "true"
    ]
    if defaults:
        newest = max(defaults, key=lambda one: (one["metadata"]["creationTimestamp"], one["metadata"]["name"]))
        spec["storageClassName"] = newest["metadata"]["name"]
