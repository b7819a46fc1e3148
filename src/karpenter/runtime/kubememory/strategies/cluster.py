"""What a cluster is made of beside workloads: nodes, namespaces, storage, services, budgets, priorities."""

from __future__ import annotations

import base64
import re
from typing import Any, Final

from karpenter.runtime.kube import RawObject
from karpenter.runtime.kubememory.metadata import check_label, check_qualified_name
from karpenter.runtime.kubememory.records import Json
from karpenter.runtime.kubememory.refusals import Causes
from karpenter.runtime.kubememory.strategies.strategy import Strategy

_EFFECTS: Final = ("NoSchedule", "PreferNoSchedule", "NoExecute")
_ACCESS_MODES: Final = ("ReadOnlyMany", "ReadWriteMany", "ReadWriteOnce", "ReadWriteOncePod")
_HIGHEST_USER_PRIORITY: Final = 1_000_000_000
_PERCENT: Final = re.compile(r"[0-9]+%")
_PERCENT_RULE: Final = (
    "a valid percent string must be a numeric string followed by an ending '%' (e.g. '1%',  or '93%', regex used for "
    "validation is '[0-9]+%')"
)
_CONFIG_KEY: Final = re.compile(r"[-._a-zA-Z0-9]+")
_CONFIG_KEY_RULE: Final = (
    "a valid config key must consist of alphanumeric characters, '-', '_' or '.' (e.g. 'key.name',  or 'KEY_NAME',  or "
    "'key-name', regex used for validation is '[-._a-zA-Z0-9]+')"
)
_SERVICE_NETWORK: Final = (10, 96)
_FIRST_NODE_PORT, _NODE_PORTS = 30000, 2768


def _default_node(node: RawObject) -> None:
    status = node.get("status") or {}
    if "allocatable" not in status and (capacity := status.get("capacity")):
        status["allocatable"] = dict(capacity)


def _check_node(node: RawObject, causes: Causes) -> None:
    seen: list[tuple[str, str]] = []
    for index, taint in enumerate(node.get("spec", {}).get("taints") or ()):
        path, key, effect = f"spec.taints[{index}]", taint.get("key", ""), taint.get("effect", "")
        check_label(f"{path}.value", "value", taint.get("value", ""), causes=causes)
        check_qualified_name(f"{path}.key", key, causes)
        if not effect:
            causes.required(f"{path}.effect")
        elif effect not in _EFFECTS:
            causes.unsupported(f"{path}.effect", effect, _EFFECTS)
        if (key, effect) in seen:
            causes.duplicate(path, taint)
        seen.append((key, effect))


def _check_node_update(old: RawObject, new: RawObject, causes: Causes) -> None:
    before, after = old.get("spec", {}).get("providerID"), new.get("spec", {}).get("providerID")
    if before and before != after:
        causes.forbidden("spec.providerID", 'node updates may not change providerID except from "" to valid')


def _default_namespace(namespace: RawObject) -> None:
    if name := namespace["metadata"].get("name"):
        labels = namespace["metadata"].setdefault("labels", {})
        labels.setdefault("kubernetes.io/metadata.name", name)


def _begin_namespace(namespace: RawObject) -> None:
    namespace.setdefault("spec", {}).setdefault("finalizers", ["kubernetes"])
    namespace["status"] = {"phase": "Active"}


def _default_service(service: RawObject) -> None:
    spec = service.setdefault("spec", {})
    spec.setdefault("type", "ClusterIP")
    spec.setdefault("sessionAffinity", "None")
    if spec["type"] == "ExternalName":
        return
    spec.setdefault("internalTrafficPolicy", "Cluster")
    if spec["type"] != "ClusterIP":
        spec.setdefault("externalTrafficPolicy", "Cluster")
    if spec["type"] == "LoadBalancer":
        spec.setdefault("allocateLoadBalancerNodePorts", True)
    for port in spec.get("ports") or ():
        port.setdefault("protocol", "TCP")
        port.setdefault("targetPort", port.get("port"))


def _allot_service(service: RawObject) -> None:
    spec = service["spec"]
    if spec["type"] == "ExternalName":
        return
    spec.setdefault("ipFamilies", ["IPv4"])
    spec.setdefault("ipFamilyPolicy", "SingleStack")
    number = _number_of(service)
    address = f"{_SERVICE_NETWORK[0]}.{_SERVICE_NETWORK[1] + (number >> 16) % 16}.{(number >> 8) % 256}.{number % 256}"
    spec.setdefault("clusterIP", address)
    spec.setdefault("clusterIPs", [spec["clusterIP"]])
    if spec["type"] != "ClusterIP":
        for index, port in enumerate(spec.get("ports") or ()):
            port.setdefault("nodePort", _FIRST_NODE_PORT + (number + index) % _NODE_PORTS)


def _number_of(service: RawObject) -> int:
    """Return the revision at which a service was created, which its uid ends with: so addresses are not given twice."""
    uid = service["metadata"].get("uid", "")
    return int(uid[-8:], 16) if re.fullmatch(r"[0-9a-f-]{36}", uid) else 0


def _check_service(service: RawObject, causes: Causes) -> None:
    spec = service["spec"]
    ports = spec.get("ports") or ()
    if not ports and spec["type"] != "ExternalName" and spec.get("clusterIP") != "None":
        causes.required("spec.ports")
    for index, port in enumerate(ports):
        for name in ("port", "targetPort"):
            number = port.get(name) or 0
            if isinstance(number, int) and not 0 < number < 65536:
                causes.invalid(f"spec.ports[{index}].{name}", number, "must be between 1 and 65535, inclusive")
        if len(ports) > 1 and not port.get("name"):
            causes.required(f"spec.ports[{index}].name")


def _check_budget(budget: RawObject, causes: Causes) -> None:
    spec = budget.get("spec", {})
    if "minAvailable" in spec and "maxUnavailable" in spec:
        shown = {
            "MinAvailable": spec["minAvailable"],
            "Selector": spec.get("selector"),
            "MaxUnavailable": spec["maxUnavailable"],
            "UnhealthyPodEvictionPolicy": spec.get("unhealthyPodEvictionPolicy"),
        }
        causes.invalid("spec", shown, "minAvailable and maxUnavailable cannot be both set")
    for name in ("minAvailable", "maxUnavailable"):
        _check_share(spec.get(name), f"spec.{name}", causes)


def _check_share(value: Json, path: str, causes: Causes) -> None:
    if isinstance(value, str):
        if not _PERCENT.fullmatch(value):
            causes.invalid(path, value, _PERCENT_RULE)
        elif int(value[:-1]) > 100:
            causes.invalid(path, value, "must not be greater than 100%")
    elif isinstance(value, int) and value < 0:
        causes.invalid(path, value, "must be greater than or equal to 0")


def _begin_budget(budget: RawObject) -> None:
    budget["status"] = {"disruptionsAllowed": 0, "currentHealthy": 0, "desiredHealthy": 0, "expectedPods": 0}


def _default_claim(claim: RawObject) -> None:
    claim.setdefault("spec", {}).setdefault("volumeMode", "Filesystem")


def _check_claim(claim: RawObject, causes: Causes) -> None:
    spec = claim["spec"]
    if not spec.get("accessModes"):
        causes.required("spec.accessModes", "at least 1 access mode is required")
    for mode in spec.get("accessModes") or ():
        if mode not in _ACCESS_MODES:
            causes.unsupported("spec.accessModes", mode, _ACCESS_MODES)
    if "storage" not in ((spec.get("resources") or {}).get("requests") or {}):
        causes.required("spec.resources[storage]")


def _check_claim_update(old: RawObject, new: RawObject, causes: Causes) -> None:
    before, after = (_fixed_of_claim(one["spec"], is_new=not old["spec"].get("volumeName")) for one in (old, new))
    if before != after:
        causes.forbidden(
            "spec",
            "spec is immutable after creation except resources.requests and volumeAttributesClassName for bound claims",
        )


def _fixed_of_claim(spec: Json, *, is_new: bool) -> dict[str, Any]:
    """Return what stays as it is; the volume, and the class where none was named, are set once."""
    free = {"resources", "volumeAttributesClassName", *(("volumeName", "storageClassName") if is_new else ())}
    return {name: value for name, value in spec.items() if name not in free}


def _default_volume(volume: RawObject) -> None:
    spec = volume.setdefault("spec", {})
    spec.setdefault("persistentVolumeReclaimPolicy", "Retain")
    spec.setdefault("volumeMode", "Filesystem")


def _default_storage_class(storage_class: RawObject) -> None:
    storage_class.setdefault("reclaimPolicy", "Delete")
    storage_class.setdefault("volumeBindingMode", "Immediate")


def _check_storage_class(storage_class: RawObject, causes: Causes) -> None:
    if not storage_class.get("provisioner"):
        causes.required("provisioner")


def _check_storage_class_update(old: RawObject, new: RawObject, causes: Causes) -> None:
    for field in ("provisioner", "parameters"):
        if old.get(field) != new.get(field):
            causes.forbidden(field, f"updates to {field} are forbidden.")
    for field in ("reclaimPolicy", "volumeBindingMode"):
        if old.get(field) != new.get(field):
            causes.invalid(field, new.get(field), "field is immutable")


def _default_priority(priority: RawObject) -> None:
    priority.setdefault("preemptionPolicy", "PreemptLowerPriority")
    priority.setdefault("value", 0)


def _check_priority(priority: RawObject, causes: Causes) -> None:
    if priority["value"] > _HIGHEST_USER_PRIORITY and not priority["metadata"].get("name", "").startswith("system-"):
        causes.forbidden("value", f"maximum allowed value of a user defined priority is {_HIGHEST_USER_PRIORITY}")


def _check_priority_update(old: RawObject, new: RawObject, causes: Causes) -> None:
    if old.get("value") != new.get("value"):
        causes.forbidden("value", "may not be changed in an update.")


def _default_secret(secret: RawObject) -> None:
    secret.setdefault("type", "Opaque")
    plain: dict[str, Any] = secret.pop("stringData", None) or {}
    if plain:
        data = secret.setdefault("data", {})
        data.update({name: base64.b64encode(str(text).encode()).decode() for name, text in plain.items()})


def _check_keys(holder: RawObject, causes: Causes) -> None:
    for name in ("data", "binaryData"):
        for key in holder.get(name) or {}:
            if not _CONFIG_KEY.fullmatch(key):
                causes.invalid(f"{name}[{key}]", key, _CONFIG_KEY_RULE)


def _default_csi_driver(driver: RawObject) -> None:
    spec = driver.setdefault("spec", {})
    spec.setdefault("attachRequired", True)
    spec.setdefault("fsGroupPolicy", "ReadWriteOnceWithFSType")
    spec.setdefault("volumeLifecycleModes", ["Persistent"])
    for name in ("podInfoOnMount", "requiresRepublish", "seLinuxMount", "storageCapacity"):
        spec.setdefault(name, False)


def _check_event(event: RawObject, causes: Causes) -> None:
    about = (event.get("involvedObject") or {}).get("namespace", "")
    namespace = event["metadata"].get("namespace", "")
    if about != namespace and not (not about and namespace == "default"):
        causes.invalid("involvedObject.namespace", about, "does not match event.namespace")


NODE: Final = Strategy(default=_default_node, check=_check_node, check_update=_check_node_update, brings_status=True)
NAMESPACE: Final = Strategy(default=_default_namespace, begin=_begin_namespace)
SERVICE: Final = Strategy(
    default=_default_service,
    begin=lambda service: service.update(status={"loadBalancer": {}}),
    allot=_allot_service,
    check=_check_service,
)
BUDGET: Final = Strategy(begin=_begin_budget, check=_check_budget)
CLAIM: Final = Strategy(
    default=_default_claim,
    begin=lambda claim: claim.update(status={"phase": "Pending"}),
    check=_check_claim,
    check_update=_check_claim_update,
)
VOLUME: Final = Strategy(default=_default_volume, begin=lambda volume: volume.update(status={"phase": "Pending"}))
STORAGE_CLASS: Final = Strategy(
    default=_default_storage_class, check=_check_storage_class, check_update=_check_storage_class_update
)
PRIORITY_CLASS: Final = Strategy(default=_default_priority, check=_check_priority, check_update=_check_priority_update)
SECRET: Final = Strategy(default=_default_secret, check=_check_keys)
EVENT: Final = Strategy(check=_check_event)
CONFIG_MAP: Final = Strategy(check=_check_keys)
CSI_DRIVER: Final = Strategy(default=_default_csi_driver)
INGRESS: Final = Strategy(begin=lambda ingress: ingress.update(status={"loadBalancer": {}}))
