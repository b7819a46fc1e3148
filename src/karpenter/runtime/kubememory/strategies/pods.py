"""Pods: what is filled in, the first status, and how little of a pod can be changed."""

from __future__ import annotations

from typing import Any, Final

from karpenter.runtime.kube import RawObject
from karpenter.runtime.kubememory.records import Json
from karpenter.runtime.kubememory.refusals import Causes
from karpenter.runtime.kubememory.schema.quantities import canonical
from karpenter.runtime.kubememory.strategies.podrules import check_pod_spec
from karpenter.runtime.kubememory.strategies.podwarnings import pod_warnings
from karpenter.runtime.kubememory.strategies.strategy import Strategy

_FILE_MODE: Final = 0o644
_PROBES: Final = ("livenessProbe", "readinessProbe", "startupProbe")
_FILE_VOLUMES: Final = ("secret", "configMap", "downwardAPI", "projected")
_ONLY_THESE: Final = (
    "pod updates may not change fields other than `spec.containers[*].image`,`spec.initContainers[*].image`,"
    "`spec.activeDeadlineSeconds`,`spec.tolerations` (only additions to existing tolerations),"
    "`spec.terminationGracePeriodSeconds` (allow it to be set to 1 if it was previously negative)"
)


def default_pod_spec(spec: dict[str, Any]) -> None:
    """Fill in a pod's spec, in a Pod or in a workload's template."""
    spec.setdefault("restartPolicy", "Always")
    if spec.setdefault("terminationGracePeriodSeconds", 30) < 0:
        spec["terminationGracePeriodSeconds"] = 1
    spec.setdefault("dnsPolicy", "ClusterFirst")
    spec.setdefault("schedulerName", "default-scheduler")
    spec.setdefault("securityContext", {})
    for kind in ("containers", "initContainers"):
        for container in spec.get(kind) or ():
            _default_container(container)
    for volume in spec.get("volumes") or ():
        _default_volume(volume)


def _default_container(container: dict[str, Any]) -> None:
    container.setdefault("resources", {})
    container.setdefault("terminationMessagePath", "/dev/termination-log")
    container.setdefault("terminationMessagePolicy", "File")
    image = str(container.get("image", ""))
    tag = image.rpartition("/")[2].partition(":")[2]
    container.setdefault("imagePullPolicy", "Always" if tag in ("", "latest") and "@" not in image else "IfNotPresent")
    for port in container.get("ports") or ():
        port.setdefault("protocol", "TCP")
    for variable in container.get("env") or ():
        if isinstance(reference := (variable.get("valueFrom") or {}).get("fieldRef"), dict):
            reference.setdefault("apiVersion", "v1")
    for name in _PROBES:
        if isinstance(probe := container.get(name), dict):
            _default_probe(probe)


def _default_probe(probe: dict[str, Any]) -> None:
    for name, value in (("timeoutSeconds", 1), ("periodSeconds", 10), ("successThreshold", 1), ("failureThreshold", 3)):
        if not probe.get(name):
            probe[name] = value
    if isinstance(get := probe.get("httpGet"), dict):
        get.setdefault("path", "/")
        get.setdefault("scheme", "HTTP")


def _default_volume(volume: dict[str, Any]) -> None:
    if not any(isinstance(source, dict) for name, source in volume.items() if name != "name"):
        volume["emptyDir"] = {}
    for name in _FILE_VOLUMES:
        if isinstance(source := volume.get(name), dict):
            source.setdefault("defaultMode", _FILE_MODE)


def _default(pod: RawObject) -> None:
    spec = pod.setdefault("spec", {})
    default_pod_spec(spec)
    spec.setdefault("enableServiceLinks", True)
    for kind in ("containers", "initContainers"):
        for container in spec.get(kind) or ():
            # What is limited and not requested is requested in full.
            limits = container["resources"].get("limits") or {}
            requests = {**limits, **(container["resources"].get("requests") or {})}
            if requests:
                container["resources"]["requests"] = requests


def _begin(pod: RawObject) -> None:
    pod["status"] = {"phase": "Pending", "qosClass": quality_of_service(pod["spec"])}


def quality_of_service(spec: Json) -> str:
    """Return Guaranteed, Burstable or BestEffort, as the kubelet ranks pods when memory is short."""
    requests, limits, guaranteed = set(), set(), True
    for container in [*(spec.get("containers") or ()), *(spec.get("initContainers") or ())]:
        resources = container.get("resources") or {}
        wanted, most = (
            {name: canonical(value) for name, value in (resources.get(kind) or {}).items() if name in ("cpu", "memory")}
            for kind in ("requests", "limits")
        )
        wanted, most = ({name: value for name, value in one.items() if value != "0"} for one in (wanted, most))
        requests |= set(wanted)
        limits |= set(most)
        guaranteed = guaranteed and set(most) == {"cpu", "memory"} and wanted == most
    if not requests and not limits:
        return "BestEffort"
    return "Guaranteed" if guaranteed else "Burstable"


def _check(pod: RawObject, causes: Causes) -> None:
    check_pod_spec(pod["spec"], "spec", causes=causes)


def _check_update(old: RawObject, new: RawObject, causes: Causes) -> None:
    before, after = old["spec"], new["spec"]
    if any(len(before.get(kind) or ()) != len(after.get(kind) or ()) for kind in ("containers", "initContainers")):
        causes.forbidden("spec.containers", "pod updates may not add or remove containers")
        return
    gates = {gate["name"] for gate in before.get("schedulingGates") or ()}
    if any(gate["name"] not in gates for gate in after.get("schedulingGates") or ()):
        causes.forbidden("spec.schedulingGates", "only deletion is allowed, but found new scheduling gates")
    known = before.get("tolerations") or []
    if any(toleration not in (after.get("tolerations") or []) for toleration in known):
        causes.forbidden("spec.tolerations", "existing toleration can not be modified except its tolerationSeconds")
    if _fixed(before, is_gated=bool(gates)) != _fixed(after, is_gated=bool(gates)):
        causes.forbidden("spec", _ONLY_THESE)


def _check_nomination(old: RawObject, new: RawObject, causes: Causes) -> None:
    before, after = ((one.get("status") or {}).get("nominatedNodeName") for one in (old, new))
    if after and after != before and old["spec"].get("nodeName"):
        causes.forbidden("status.nominatedNodeName", "may not be set on pods that are already bound to a node")


def _fixed(spec: Json, *, is_gated: bool) -> dict[str, Any]:
    """Return the part of a spec that never changes. A gated pod may still say more exactly where it may run."""
    free = {"activeDeadlineSeconds", "tolerations", "schedulingGates"}
    free |= {"nodeSelector", "affinity"} if is_gated else set()
    fixed = {name: value for name, value in spec.items() if name not in free}
    for kind in ("containers", "initContainers"):
        fixed[kind] = [
            {name: value for name, value in container.items() if name != "image"} for container in spec.get(kind) or ()
        ]
    return fixed


POD: Final = Strategy(
    default=_default,
    begin=_begin,
    check=_check,
    check_update=_check_update,
    check_status=_check_nomination,
    warn=lambda pod: pod_warnings(pod["spec"], "spec"),
)
