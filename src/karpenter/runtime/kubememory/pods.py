"""The two subresources of pods that act: binding and eviction."""

from __future__ import annotations

from typing import Any, Final

import msgspec

from karpenter.model.labels import REGION, ZONE
from karpenter.model.meta import LabelSelector
from karpenter.model.units import ObjectKey, UnixSeconds, to_rfc3339
from karpenter.runtime.kube import BadRequest, Forbidden, KubeError, NotFound, RawObject, TooManyRequests
from karpenter.runtime.kubememory.deletion import PLAIN_DELETE, DeleteOptions, check_preconditions
from karpenter.runtime.kubememory.records import Record
from karpenter.runtime.kubememory.refusals import conflict, details
from karpenter.runtime.kubememory.store import MemoryStore

_ENDED: Final = ("Succeeded", "Failed")
_MOST_DISRUPTED: Final = 2000
_PROCESSING_RETRY_S: Final = 10.0


def bind(store: MemoryStore, key: ObjectKey, node: str, *, uid: str = "", dry_run: bool = False) -> Record:
    """Assign a pod to a node, once.

    Raises NotFound, and Conflict when the pod is assigned, gated, being deleted, or another one than `uid` says.
    """
    pods = store.registry.find("", "v1", "pods")
    old = store.get(pods, key)
    pod = old.decode()
    check_preconditions(pods, pod, DeleteOptions(uid=uid))
    if not node:
        raise BadRequest("target.name: a binding names the node that the pod is assigned to")
    spec = pod["spec"]
    if "deletionTimestamp" in pod["metadata"]:
        raise conflict(pods, key.name, f"pod {key.name} is being deleted, cannot be assigned to a host")
    if spec.get("nodeName"):
        raise conflict(pods, key.name, f'pod {key.name} is already assigned to node "{spec["nodeName"]}"')
    if spec.get("schedulingGates"):
        raise conflict(pods, key.name, f"pod {key.name} has non-empty .spec.schedulingGates")
    spec["nodeName"] = node
    (pod.get("status") or {}).pop("nominatedNodeName", None)  # as API servers do since 1.35
    _tell_place(store, pod, node)
    _set_condition(pod, store.now(), {"type": "PodScheduled", "status": "True"})
    return store.overwrite(pods, old, pod, dry_run=dry_run)


def _tell_place(store: MemoryStore, pod: RawObject, node: str) -> None:
    """Label a pod with the zone and region of its node, as API servers do since 1.35."""
    nodes = store.registry.find("", "v1", "nodes")
    try:
        found = store.get(nodes, ObjectKey("", node))
    except NotFound:
        return
    place = {key: found.labels[key] for key in (ZONE, REGION) if key in found.labels}
    if place:
        pod["metadata"]["labels"] = (pod["metadata"].get("labels") or {}) | place


def evict(store: MemoryStore, key: ObjectKey, options: DeleteOptions = PLAIN_DELETE) -> None:
    """Delete a pod if its disruption budget allows it, and count it there.

    Raises:
        TooManyRequests: the budget allows no disruption now, or its controller has not seen its latest version.
        KubeError: 500, more than one budget covers the pod.
        NotFound, Conflict: as for a deletion.

    Source: kubernetes.io/docs/concepts/scheduling-eviction/api-eviction.
    """
    pods = store.registry.find("", "v1", "pods")
    pod = store.get(pods, key).decode()
    check_preconditions(pods, pod, options)
    if not _is_exempt(pod):
        budgets = _budgets_of(store, pod)
        if len(budgets) > 1:
            raise KubeError(
                "This pod has more than one PodDisruptionBudget, which the eviction subresource does not support."
            )
        if budgets and not _may_go_unhealthy(pod, budgets[0].decode()):
            _take(store, budgets[0], key.name, dry_run=options.dry_run)
    if "deletionTimestamp" not in pod["metadata"]:
        _say_why(store, key, dry_run=options.dry_run)
    store.delete(pods, key, options)


def _say_why(store: MemoryStore, key: ObjectKey, *, dry_run: bool) -> None:
    """Say on the pod that it goes because it was evicted."""
    pods = store.registry.find("", "v1", "pods")
    record = store.get(pods, key)
    pod = record.decode()
    why = {"reason": "EvictionByEvictionAPI", "message": "Eviction API: evicting"}
    _set_condition(pod, store.now(), {"type": "DisruptionTarget", "status": "True", **why})
    store.overwrite(pods, record, pod, dry_run=dry_run)


def _is_exempt(pod: RawObject) -> bool:
    phase = pod.get("status", {}).get("phase")
    return phase in (*_ENDED, "Pending") or "deletionTimestamp" in pod["metadata"]


def _budgets_of(store: MemoryStore, pod: RawObject) -> list[Record]:
    labels = pod["metadata"].get("labels") or {}
    resource = store.registry.find("policy", "v1", "poddisruptionbudgets")
    return [
        record
        for record in store.list(resource)
        if record.key.namespace == pod["metadata"]["namespace"] and _selects(record, labels)
    ]


def _selects(budget: Record, labels: dict[str, str]) -> bool:
    selector = budget.decode().get("spec", {}).get("selector")
    return selector is not None and msgspec.convert(selector, LabelSelector).matches(labels)


def _may_go_unhealthy(pod: RawObject, budget: RawObject) -> bool:
    conditions = pod.get("status", {}).get("conditions") or ()
    if any(one["type"] == "Ready" and one["status"] == "True" for one in conditions):
        return False
    if budget.get("spec", {}).get("unhealthyPodEvictionPolicy") == "AlwaysAllow":
        return True
    status = budget.get("status", {})
    desired = status.get("desiredHealthy", 0)
    return bool(desired > 0 and status.get("currentHealthy", 0) >= desired)


def _take(store: MemoryStore, record: Record, pod_name: str, *, dry_run: bool) -> None:
    resource = store.registry.find("policy", "v1", "poddisruptionbudgets")
    budget = record.decode()
    name, status = record.key.name, budget.setdefault("status", {})
    if status.get("observedGeneration", 0) < budget["metadata"].get("generation", 0):
        raise _not_now(f"The disruption budget {name} is still being processed by the server.", _PROCESSING_RETRY_S)
    allowed, disrupted = status.get("disruptionsAllowed", 0), status.setdefault("disruptedPods", {})
    if len(disrupted) > _MOST_DISRUPTED:
        raise Forbidden(
            "DisruptedPods map too big - too many evictions not confirmed by PDB controller",
            details=details(resource, name),
        )
    if allowed <= 0:
        raise _not_now(
            f"The disruption budget {name} needs {status.get('desiredHealthy', 0)} healthy pods and has "
            f"{status.get('currentHealthy', 0)} currently"
        )
    status["disruptionsAllowed"] = allowed - 1
    disrupted[pod_name] = to_rfc3339(store.now())
    if allowed == 1:
        seen = {"observedGeneration": status.get("observedGeneration", 0), "message": ""}
        why = {"type": "DisruptionAllowed", "status": "False", "reason": "InsufficientPods", **seen}
        _set_condition(budget, store.now(), why)
    store.overwrite(resource, record, budget, dry_run=dry_run)


def _not_now(cause: str, retry_after_s: float | None = None) -> TooManyRequests:
    return TooManyRequests(
        "Cannot evict pod as it would violate the pod's disruption budget.",
        details={"causes": [{"reason": "DisruptionBudget", "message": cause}]},
        retry_after_s=retry_after_s,
    )


def _set_condition(tree: RawObject, now: UnixSeconds, condition: dict[str, Any]) -> None:
    conditions: list[dict[str, Any]] = tree.setdefault("status", {}).setdefault("conditions", [])
    known = next((one for one in conditions if one["type"] == condition["type"]), None)
    if known is None:
        conditions.append(condition | {"lastTransitionTime": to_rfc3339(now)})
    elif known["status"] != condition["status"]:
        known.update(condition | {"lastTransitionTime": to_rfc3339(now)})
