"""Provisioner to NodePool. Source: spec v1 §7.2, §7.3; spec v1alpha5 §1.2."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

from karpenter.model import labels
from karpenter.model.convert.notes import Notebook
from karpenter.model.nodepool import Budget, NodeClassRef, NodePool
from karpenter.model.requirements import Requirement
from karpenter.model.v1.nodepool import API_VERSION, KIND

_NOT_COPIED: Final = frozenset({labels.DISRUPTION_BUDGETS, "kubectl.kubernetes.io/last-applied-configuration"})


def node_pool_manifest(
    raw: Mapping[str, Any], pool: NodePool, *, node_class: NodeClassRef, adopts: bool, notes: Notebook
) -> dict[str, Any]:
    """Return the NodePool of a Provisioner: `raw` is as written, `pool` what it says.

    With `adopts` it takes over the nodes of the Provisioner, which then need not move.
    """
    annotations = {key: text for key, text in pool.metadata.annotations.items() if key not in _NOT_COPIED}
    if adopts:
        annotations[labels.ADOPTS_PROVISIONER] = pool.name
    metadata = {"name": pool.name, "labels": dict(pool.metadata.labels), "annotations": annotations}
    spec: dict[str, Any] = {
        "template": _template(raw.get("spec") or {}, pool, node_class=node_class, notes=notes),
        "disruption": _disruption(pool, notes),
    }
    limits = ((raw.get("spec") or {}).get("limits") or {}).get("resources")
    if limits:
        spec["limits"] = limits
    if pool.weight:
        spec["weight"] = pool.weight
    _about_life(pool, notes)
    notes.add("changes", "metadata.name", f"nodes carry {labels.NODEPOOL} instead of {labels.PROVISIONER}")
    return {
        "apiVersion": API_VERSION,
        "kind": KIND,
        "metadata": {name: value for name, value in metadata.items() if value},
        "spec": spec,
    }


def _template(spec: Mapping[str, Any], pool: NodePool, *, node_class: NodeClassRef, notes: Notebook) -> dict[str, Any]:
    template = pool.template
    inner: dict[str, Any] = {
        "nodeClassRef": {"group": node_class.group, "kind": node_class.kind, "name": node_class.name},
        "requirements": _requirements(pool, notes),
        "expireAfter": "Never" if template.expire_after_s is None else f"{int(template.expire_after_s)}s",
    }
    inner |= {name: spec[name] for name in ("taints", "startupTaints") if spec.get(name)}
    metadata = {"labels": dict(template.labels), "annotations": dict(template.annotations)}
    given = {name: value for name, value in metadata.items() if value}
    return {"metadata": given, "spec": inner} if given else {"spec": inner}


def _requirements(pool: NodePool, notes: Notebook) -> list[dict[str, Any]]:
    """Defaults included: a NodePool has none."""
    entries: list[dict[str, Any]] = []
    for key, requirement in pool.template.requirements.items():
        if key == labels.INSTANCE_PODS:
            notes.add("lost", f"spec.requirements[{key}]", "no machine has this label any more")
            continue
        entries.extend(_entries(key, requirement))
    return entries


def _entries(key: str, requirement: Requirement) -> Sequence[dict[str, Any]]:
    return [
        {"key": key, "operator": operator, **({"values": list(values)} if values else {})}
        for operator, values in requirement.entries()
    ]


def _disruption(pool: NodePool, notes: Notebook) -> dict[str, Any]:
    meant = pool.disruption
    budgets = [_budget(budget) for budget in _expressible(meant.budgets, notes)]
    if meant.policy == "Off":
        return {"consolidationPolicy": "WhenEmpty", "consolidateAfter": "Never", "budgets": budgets}
    if meant.policy != "WhenEmpty" and meant.empty_after_s:
        message = "holds for consolidation as well: a node is left alone so long after each change of its pods"
        notes.add("changes", "spec.ttlSecondsAfterEmpty", message)
    after = "Never" if meant.empty_after_s is None else f"{int(meant.empty_after_s)}s"
    return {"consolidationPolicy": meant.policy, "consolidateAfter": after, "budgets": budgets}


def _expressible(budgets: Sequence[Budget], notes: Notebook) -> list[Budget]:
    """Leave out what budgets of a NodePool cannot speak of: expiry has no reason there."""
    found: list[Budget] = []
    for budget in budgets:
        reasons = budget.reasons
        if reasons is not None and "Expired" in reasons:
            reasons = reasons - {"Expired"}
            if not reasons:
                path = f"metadata.annotations[{labels.DISRUPTION_BUDGETS}]"
                notes.add("lost", path, "a NodePool has no budgets for expiry alone")
                continue
        found.append(Budget(budget.nodes, reasons, budget.schedule, budget.duration_s))
    return found


def _budget(budget: Budget) -> dict[str, Any]:
    found: dict[str, Any] = {"nodes": budget.nodes}
    if budget.reasons is not None:
        found["reasons"] = sorted(budget.reasons)
    if budget.schedule is not None and budget.duration_s is not None:
        minutes = round(budget.duration_s / 60)
        found |= {"schedule": budget.schedule, "duration": f"{minutes}m"}
    return found


def _about_life(pool: NodePool, notes: Notebook) -> None:
    if pool.template.expire_after_s is not None:
        message = "each node keeps the lifetime it was made with; Karpenter's own v1 drains expired nodes by force"
        notes.add("changes", "spec.ttlSecondsUntilExpired", message)
    if pool.kubelet is not None:
        notes.add("changes", "spec.kubeletConfiguration", "is in the EC2NodeClass from now on")
        if pool.kubelet.container_runtime:
            notes.add("lost", "spec.kubeletConfiguration.containerRuntime", "there is no choice any more")
