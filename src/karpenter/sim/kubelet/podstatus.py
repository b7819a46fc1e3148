"""What a kubelet writes about a pod, and how long starting and stopping take, as functions of pod and seed."""

from __future__ import annotations

import zlib
from dataclasses import dataclass
from typing import Any, Final

from karpenter.model.core import Container, Pod
from karpenter.model.units import UnixSeconds, to_rfc3339

Manifest = dict[str, Any]
_SPAN: Final = 2.0**32


@dataclass(frozen=True, slots=True)
class Pace:
    """How long things take, in seconds of the real world; all of it is divided by `speed`."""

    speed: float = 10.0
    start_s: tuple[float, float] = (1.0, 3.0)
    """From binding to running: at least, at most."""
    init_s: float = 1.0
    """Each init container that runs to its end."""
    stop_s: tuple[float, float] = (0.5, 2.0)
    """From the request to stop until the last container is gone, if the grace period allows."""
    seed: int = 0

    def start(self, pod: Pod) -> float:
        """Return how long the images and the sandbox of a pod take."""
        return _between(self.start_s, self._chance(pod, "start")) / self.speed

    def init(self, pod: Pod) -> float:
        """Return how long all init containers of a pod take together."""
        return self.init_s * sum(not is_sidecar(one) for one in pod.spec.init_containers) / self.speed

    def stop(self, pod: Pod) -> float:
        """Return how long a pod takes to stop when it is left to."""
        return _between(self.stop_s, self._chance(pod, "stop")) / self.speed

    def _chance(self, pod: Pod, what: str) -> float:
        return zlib.crc32(f"{self.seed}/{what}/{pod.metadata.key}".encode()) / _SPAN


def _between(bounds: tuple[float, float], chance: float) -> float:
    least, most = bounds
    return least + (most - least) * chance


def is_sidecar(container: Container) -> bool:
    """Return whether an init container keeps running beside the others."""
    return container.restart_policy == "Always"


def creating(pod: Pod, now: UnixSeconds, *, host_ip: str) -> Manifest:
    """Return the status of a pod whose containers are being made."""
    waits = "PodInitializing" if pod.spec.init_containers else "ContainerCreating"
    inits = [_status(one, {"waiting": {"reason": "PodInitializing"}}) for one in pod.spec.init_containers]
    status: Manifest = {
        "phase": "Pending",
        "hostIP": host_ip,
        "hostIPs": [{"ip": host_ip}],
        "startTime": to_rfc3339(now),
        "conditions": [
            _condition("PodReadyToStartContainers", "False", now),
            _condition("Initialized", "False", now, reason="ContainersNotInitialized")
            if inits
            else _condition("Initialized", "True", now),
            _condition("Ready", "False", now, reason="ContainersNotReady"),
            _condition("ContainersReady", "False", now, reason="ContainersNotReady"),
        ],
        "containerStatuses": [_status(one, {"waiting": {"reason": waits}}) for one in pod.spec.containers],
    }
    return status | ({"initContainerStatuses": inits} if inits else {})


def running(pod: Pod, now: UnixSeconds, *, host_ip: str, restarts: int = 0) -> Manifest:
    """Return the status of a pod whose containers all run and are ready, started again so often."""
    moment = to_rfc3339(now)
    alive: Manifest = {"running": {"startedAt": moment}}
    finished: Manifest = {
        "terminated": {"exitCode": 0, "reason": "Completed", "startedAt": moment, "finishedAt": moment}
    }
    address = host_ip if pod.spec.host_network else pod_address(pod)
    status: Manifest = {
        "phase": "Running",
        "hostIP": host_ip,
        "hostIPs": [{"ip": host_ip}],
        "podIP": address,
        "podIPs": [{"ip": address}],
        "conditions": [
            _condition(kind, "True", now)
            for kind in ("PodReadyToStartContainers", "Initialized", "Ready", "ContainersReady")
        ],
        "containerStatuses": [_status(one, alive, ready=True, restarts=restarts) for one in pod.spec.containers],
    }
    inits = [_status(one, alive if is_sidecar(one) else finished, ready=True) for one in pod.spec.init_containers]
    return status | ({"initContainerStatuses": inits} if inits else {})


def stopped(
    pod: Pod, now: UnixSeconds, *, phase: str, reason: str = "", message: str = "", exit_code: int = 137
) -> Manifest:
    """Return the status of a pod whose containers have ended; `exit_code` is theirs if they failed."""
    is_good = phase == "Succeeded"
    why = "PodCompleted" if is_good else "PodFailed"
    status: Manifest = {
        "phase": phase,
        "conditions": [_condition(kind, "False", now, reason=why) for kind in ("Ready", "ContainersReady")],
        "containerStatuses": [
            _status(one, _ended(pod, now, 0 if is_good else exit_code), restarts=_restarts(pod, one))
            for one in pod.spec.containers
        ],
    }
    return status | ({"reason": reason, "message": message} if reason else {})


def crashed(pod: Pod, now: UnixSeconds, *, exit_code: int) -> Manifest:
    """Return the status of a pod whose containers failed and wait to be started again."""
    waiting: Manifest = {"waiting": {"reason": "CrashLoopBackOff"}}
    return {
        "phase": "Running",
        "conditions": [
            _condition(kind, "False", now, reason="ContainersNotReady") for kind in ("Ready", "ContainersReady")
        ],
        "containerStatuses": [
            _status(one, waiting, restarts=_restarts(pod, one)) | {"lastState": _ended(pod, now, exit_code)}
            for one in pod.spec.containers
        ],
    }


def _ended(pod: Pod, now: UnixSeconds, exit_code: int) -> Manifest:
    moment = to_rfc3339(now)
    word = "Error" if exit_code else "Completed"
    started = pod.status.start_time or moment
    return {"terminated": {"exitCode": exit_code, "reason": word, "startedAt": started, "finishedAt": moment}}


def _restarts(pod: Pod, container: Container) -> int:
    return next((one.restart_count for one in pod.status.container_statuses if one.name == container.name), 0)


def pod_address(pod: Pod) -> str:
    """Return the pod's address, in 100.64.0.0/10: the same whenever it is asked for."""
    number = zlib.crc32(pod.metadata.uid.encode()) % (1 << 22)
    return f"100.{64 + (number >> 16)}.{number >> 8 & 255}.{number & 255}"


def _status(container: Container, state: Manifest, *, ready: bool = False, restarts: int = 0) -> Manifest:
    runs = "running" in state
    return {
        "name": container.name,
        "image": container.image,
        "imageID": container.image,
        "ready": ready,
        "started": runs,
        "restartCount": restarts,
        "state": state,
    } | ({"containerID": f"containerd://{zlib.crc32(container.name.encode()):08x}"} if "waiting" not in state else {})


def _condition(kind: str, status: str, now: UnixSeconds, *, reason: str | None = None) -> Manifest:
    # Patches merge conditions: a reason that no longer holds has to be taken away.
    return {"type": kind, "status": status, "lastTransitionTime": to_rfc3339(now), "reason": reason}
