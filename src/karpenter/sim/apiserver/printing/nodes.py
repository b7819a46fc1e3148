"""Nodes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

from karpenter.model.units import UnixSeconds
from karpenter.runtime.kube import RawObject
from karpenter.sim.apiserver.printing.durations import age
from karpenter.sim.apiserver.printing.table import NONE, Cell, Printer, columns, created, name_of, part

_ROLE: Final = "node-role.kubernetes.io/"
_OLD_ROLE: Final = "kubernetes.io/role"


def _cells(node: RawObject, now: UnixSeconds) -> Sequence[Cell]:
    info = part(node, "status", "nodeInfo")
    return (
        name_of(node),
        _status(node),
        _roles(part(node, "metadata", "labels")),
        age(created(node), now),
        info.get("kubeletVersion", ""),
        _address(node, "InternalIP"),
        _address(node, "ExternalIP"),
        info.get("osImage") or "<unknown>",
        info.get("kernelVersion") or "<unknown>",
        info.get("containerRuntimeVersion") or "<unknown>",
    )


def _status(node: RawObject) -> str:
    ready = [one for one in part(node, "status").get("conditions") or () if one["type"] == "Ready"]
    words = ["Unknown"] if not ready else ["Ready" if ready[0]["status"] == "True" else "NotReady"]
    if part(node, "spec").get("unschedulable"):
        words.append("SchedulingDisabled")
    return ",".join(words)


def _roles(labels: Mapping[str, Any]) -> str:
    roles = {key.removeprefix(_ROLE) for key in labels if key.startswith(_ROLE) and key != _ROLE}
    if labels.get(_OLD_ROLE):
        roles.add(labels[_OLD_ROLE])
    return ",".join(sorted(roles)) or NONE


def _address(node: RawObject, kind: str) -> str:
    addresses = part(node, "status").get("addresses") or ()
    return next((one["address"] for one in addresses if one["type"] == kind), NONE)


NODE: Final = Printer(
    columns("Name|Status|Roles|Age|Version", "Internal-IP|External-IP|OS-Image|Kernel-Version|Container-Runtime"),
    _cells,
)
