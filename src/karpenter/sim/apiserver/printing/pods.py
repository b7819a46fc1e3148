"""Pods: the most looked-at table of all."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

from karpenter.model.units import UnixSeconds, from_rfc3339
from karpenter.runtime.kube import RawObject
from karpenter.sim.apiserver.printing.durations import age, human
from karpenter.sim.apiserver.printing.table import NONE, Cell, Printer, columns, created, name_of, part

_LOST: Final = "NodeLost"


def _cells(pod: RawObject, now: UnixSeconds) -> Sequence[Cell]:
    spec, status = part(pod, "spec"), part(pod, "status")
    kubelet = status.get("containerStatuses") or ()
    total = len(spec.get("containers") or ()) + len(_sidecars(spec))
    ready = sum(bool(one.get("ready")) for one in (*kubelet, *_sidecar_statuses(spec, status)))
    return (
        name_of(pod),
        f"{ready}/{total}",
        _status(pod, spec, status),
        _restarts(kubelet, now),
        age(created(pod), now),
        status.get("podIP") or NONE,
        spec.get("nodeName") or NONE,
        status.get("nominatedNodeName") or NONE,
        _gates(spec, status),
    )


def _status(pod: RawObject, spec: Mapping[str, Any], status: Mapping[str, Any]) -> str:
    reason = status.get("reason") or status.get("phase") or "Unknown"
    conditions = status.get("conditions") or ()
    if any(one["type"] == "PodScheduled" and one.get("reason") == "SchedulingGated" for one in conditions):
        reason = "SchedulingGated"
    reason = _init_reason(spec, status) or _running_reason(status, reason)
    if "deletionTimestamp" in pod["metadata"]:
        if status.get("reason") == _LOST:
            return "Unknown"
        return reason if status.get("phase") in ("Succeeded", "Failed") else "Terminating"
    return reason


def _init_reason(spec: Mapping[str, Any], status: Mapping[str, Any]) -> str | None:
    """Return what the init containers are at; None when they are through."""
    total = len(spec.get("initContainers") or ())
    sidecars = _sidecars(spec)
    for index, one in enumerate(status.get("initContainerStatuses") or ()):
        state = part(one, "state")
        ended, waiting = state.get("terminated"), state.get("waiting") or {}
        if ended and ended.get("exitCode") == 0:
            continue
        if one["name"] in sidecars and one.get("started"):
            continue
        if ended:
            return f"Init:{ended.get('reason') or _exit(ended)}"
        if waiting.get("reason") and waiting["reason"] != "PodInitializing":
            return f"Init:{waiting['reason']}"
        return f"Init:{index}/{total}"
    return None


def _running_reason(status: Mapping[str, Any], reason: str) -> str:
    has_running = False
    for one in reversed(status.get("containerStatuses") or ()):
        state = part(one, "state")
        waiting, ended = state.get("waiting") or {}, state.get("terminated")
        if waiting.get("reason"):
            reason = waiting["reason"]
        elif ended is not None:
            reason = ended.get("reason") or _exit(ended)
        elif one.get("ready") and "running" in state:
            has_running = True
    if reason == "Completed" and has_running:
        conditions = status.get("conditions") or ()
        is_ready = any(one["type"] == "Ready" and one["status"] == "True" for one in conditions)
        return "Running" if is_ready else "NotReady"
    return reason


def _exit(ended: Mapping[str, Any]) -> str:
    return f"Signal:{ended['signal']}" if ended.get("signal") else f"ExitCode:{ended.get('exitCode', 0)}"


def _restarts(statuses: Sequence[Mapping[str, Any]], now: UnixSeconds) -> str:
    count = sum(one.get("restartCount", 0) for one in statuses)
    ends = [part(one, "lastState", "terminated").get("finishedAt") for one in statuses]
    last = max((from_rfc3339(end) for end in ends if end), default=None)
    return f"{count} ({human(now - last)} ago)" if count and last is not None else str(count)


def _sidecars(spec: Mapping[str, Any]) -> frozenset[str]:
    return frozenset(one["name"] for one in spec.get("initContainers") or () if one.get("restartPolicy") == "Always")


def _sidecar_statuses(spec: Mapping[str, Any], status: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    names = _sidecars(spec)
    return [one for one in status.get("initContainerStatuses") or () if one["name"] in names]


def _gates(spec: Mapping[str, Any], status: Mapping[str, Any]) -> str:
    gates = spec.get("readinessGates") or ()
    if not gates:
        return NONE
    holding = {one["type"] for one in status.get("conditions") or () if one["status"] == "True"}
    return f"{sum(gate['conditionType'] in holding for gate in gates)}/{len(gates)}"


POD: Final = Printer(columns("Name|Ready|Status|Restarts|Age", "IP|Node|Nominated Node|Readiness Gates"), _cells)
