"""Namespaces, configuration, services, storage, access and the rest."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

from karpenter.model.units import UnixSeconds
from karpenter.runtime.kube import RawObject
from karpenter.sim.apiserver.printing.durations import age
from karpenter.sim.apiserver.printing.table import (
    NONE,
    UNSET,
    Cell,
    Printer,
    columns,
    created,
    name_of,
    pairs,
    part,
    selector,
)

_MODES: Final = {
    "ReadWriteOnce": "RWO",
    "ReadOnlyMany": "ROX",
    "ReadWriteMany": "RWX",
    "ReadWriteOncePod": "RWOP",
}
_DEFAULT_CLASS: Final = "storageclass.kubernetes.io/is-default-class"


def _aged(middle: Callable[[RawObject], Sequence[Cell]]) -> Callable[[RawObject, UnixSeconds], Sequence[Cell]]:
    """Return cells with the name before and the age behind."""
    return lambda obj, now: (name_of(obj), *middle(obj), age(created(obj), now))


def _with_wide(
    middle: Callable[[RawObject], Sequence[Cell]], wide: Callable[[RawObject], Sequence[Cell]]
) -> Callable[[RawObject, UnixSeconds], Sequence[Cell]]:
    return lambda obj, now: (name_of(obj), *middle(obj), age(created(obj), now), *wide(obj))


def _service(service: RawObject) -> Sequence[Cell]:
    spec = part(service, "spec")
    ports = [
        f"{port['port']}:{port['nodePort']}/{port.get('protocol', 'TCP')}"
        if port.get("nodePort")
        else f"{port['port']}/{port.get('protocol', 'TCP')}"
        for port in spec.get("ports") or ()
    ]
    return (spec.get("type", ""), spec.get("clusterIP") or NONE, _external(service), ",".join(ports) or NONE)


def _external(service: RawObject) -> str:
    spec = part(service, "spec")
    given = spec.get("externalIPs") or []
    match spec.get("type"):
        case "ExternalName":
            return str(spec.get("externalName", ""))
        case "LoadBalancer":
            ingress = part(service, "status", "loadBalancer").get("ingress") or ()
            found = [one.get("ip") or one.get("hostname") for one in ingress] + given
            return ",".join(found) or "<pending>"
        case _:
            return ",".join(given) or NONE


def _claim(claim: RawObject) -> Sequence[Cell]:
    spec, status = part(claim, "spec"), part(claim, "status")
    is_bound = bool(spec.get("volumeName"))
    phase = "Terminating" if "deletionTimestamp" in claim["metadata"] else status.get("phase", "")
    return (
        phase,
        spec.get("volumeName", ""),
        part(status, "capacity").get("storage", "") if is_bound else "",
        _modes(status.get("accessModes")) if is_bound else "",
        spec.get("storageClassName", ""),
        spec.get("volumeAttributesClassName", UNSET),
    )


def _volume(volume: RawObject) -> Sequence[Cell]:
    spec, status = part(volume, "spec"), part(volume, "status")
    claim = spec.get("claimRef")
    phase = "Terminating" if "deletionTimestamp" in volume["metadata"] else status.get("phase", "")
    return (
        part(spec, "capacity").get("storage", ""),
        _modes(spec.get("accessModes")),
        spec.get("persistentVolumeReclaimPolicy", ""),
        phase,
        f"{claim.get('namespace', '')}/{claim.get('name', '')}" if claim else "",
        spec.get("storageClassName", ""),
        spec.get("volumeAttributesClassName", UNSET),
        status.get("reason", ""),
    )


def _modes(modes: Sequence[str] | None) -> str:
    return ",".join(short for mode, short in _MODES.items() if mode in (modes or ()))


def _volume_mode(obj: RawObject) -> Sequence[Cell]:
    return (part(obj, "spec").get("volumeMode", UNSET),)


def _storage_class(storage_class: RawObject, now: UnixSeconds) -> Sequence[Cell]:
    is_default = part(storage_class, "metadata", "annotations").get(_DEFAULT_CLASS) == "true"
    return (
        name_of(storage_class) + (" (default)" if is_default else ""),
        storage_class.get("provisioner", ""),
        storage_class.get("reclaimPolicy", "Delete"),
        storage_class.get("volumeBindingMode", "Immediate"),
        bool(storage_class.get("allowVolumeExpansion")),
        age(created(storage_class), now),
    )


def _csi_driver(driver: RawObject) -> Sequence[Cell]:
    spec = part(driver, "spec")
    return (
        bool(spec.get("attachRequired")),
        bool(spec.get("podInfoOnMount")),
        bool(spec.get("storageCapacity")),
        ",".join(one.get("audience", "") for one in spec.get("tokenRequests") or ()) or UNSET,
        bool(spec.get("requiresRepublish")),
        ",".join(spec.get("volumeLifecycleModes") or ()) or NONE,
    )


def _attachment(attachment: RawObject) -> Sequence[Cell]:
    spec = part(attachment, "spec")
    return (
        spec.get("attacher", ""),
        part(spec, "source").get("persistentVolumeName", ""),
        spec.get("nodeName", ""),
        bool(part(attachment, "status").get("attached")),
    )


def _quota(quota: RawObject, now: UnixSeconds) -> Sequence[Cell]:
    hard, used = part(quota, "status", "hard"), part(quota, "status", "used")
    texts = {name: f"{name}: {used.get(name, 0)}/{value}" for name, value in sorted(hard.items())}
    limits = [text for name, text in texts.items() if name.startswith("limits.")]
    requests = [text for name, text in texts.items() if not name.startswith("limits.")]
    return (name_of(quota), ", ".join(requests), ", ".join(limits), age(created(quota), now))


def _role_binding(binding: RawObject) -> Sequence[Cell]:
    role = part(binding, "roleRef")
    return (f"{role.get('kind', '')}/{role.get('name', '')}",)


def _subjects(binding: RawObject) -> Sequence[Cell]:
    def of(kind: str) -> str:
        found = [one for one in binding.get("subjects") or () if one.get("kind") == kind]
        names = [f"{one['namespace']}/{one['name']}" if one.get("namespace") else one["name"] for one in found]
        return ", ".join(names)

    return (of("User"), of("Group"), of("ServiceAccount"))


def _created_at(obj: RawObject, _: UnixSeconds) -> Sequence[Cell]:
    return (name_of(obj), created(obj))


def _endpoints(endpoints: RawObject) -> Sequence[Cell]:
    places = [
        f"{address['ip']}:{port['port']}"
        for subset in endpoints.get("subsets") or ()
        for address in subset.get("addresses") or ()
        for port in subset.get("ports") or ()
    ]
    more = f" + {len(places) - 3} more..." if len(places) > 3 else ""
    return (",".join(places[:3]) + more or NONE,)


def _ingress(ingress: RawObject) -> Sequence[Cell]:
    spec = part(ingress, "spec")
    hosts = [rule["host"] for rule in spec.get("rules") or () if rule.get("host")]
    addresses = [
        one.get("ip") or one.get("hostname") for one in part(ingress, "status", "loadBalancer").get("ingress") or ()
    ]
    ports = "80, 443" if spec.get("tls") else "80"
    return (spec.get("ingressClassName", NONE), ",".join(hosts) or "*", ",".join(addresses), ports)


def _count(obj: Mapping[str, Any], *fields: str) -> int:
    return sum(len(obj.get(field) or ()) for field in fields)


PLAIN: Final = Printer(columns("Name|Age"), _aged(lambda _: ()))
CREATED_AT: Final = Printer(columns("Name|Created At"), _created_at)
NAMESPACE: Final = Printer(columns("Name|Status|Age"), _aged(lambda one: (part(one, "status").get("phase", ""),)))
SERVICE: Final = Printer(
    columns("Name|Type|Cluster-IP|External-IP|Port(s)|Age", "Selector"),
    _with_wide(_service, lambda one: (pairs(part(one, "spec").get("selector")),)),
)
ENDPOINTS: Final = Printer(columns("Name|Endpoints|Age"), _aged(_endpoints))
CONFIG_MAP: Final = Printer(columns("Name|#Data|Age"), _aged(lambda one: (_count(one, "data", "binaryData"),)))
SECRET: Final = Printer(columns("Name|Type|#Data|Age"), _aged(lambda one: (one.get("type", ""), _count(one, "data"))))
CLAIM: Final = Printer(
    columns("Name|Status|Volume|Capacity|Access Modes|StorageClass|VolumeAttributesClass|Age", "VolumeMode"),
    _with_wide(_claim, _volume_mode),
)
VOLUME: Final = Printer(
    columns(
        "Name|Capacity|Access Modes|Reclaim Policy|Status|Claim|StorageClass|VolumeAttributesClass|Reason|Age",
        "VolumeMode",
    ),
    _with_wide(_volume, _volume_mode),
)
STORAGE_CLASS: Final = Printer(
    columns("Name|Provisioner|ReclaimPolicy|VolumeBindingMode|AllowVolumeExpansion|Age"), _storage_class
)
CSI_DRIVER: Final = Printer(
    columns("Name|AttachRequired|PodInfoOnMount|StorageCapacity|TokenRequests|RequiresRepublish|Modes|Age"),
    _aged(_csi_driver),
)
CSI_NODE: Final = Printer(columns("Name|#Drivers|Age"), _aged(lambda one: (_count(part(one, "spec"), "drivers"),)))
ATTACHMENT: Final = Printer(columns("Name|Attacher|PV|Node|Attached|Age"), _aged(_attachment))
LEASE: Final = Printer(columns("Name|Holder|Age"), _aged(lambda one: (part(one, "spec").get("holderIdentity", ""),)))
PRIORITY_CLASS: Final = Printer(
    columns("Name|#Value|Global-Default|Age|PreemptionPolicy"),
    lambda one, now: (
        name_of(one),
        one.get("value", 0),
        bool(one.get("globalDefault")),
        age(created(one), now),
        one.get("preemptionPolicy", ""),
    ),
)
QUOTA: Final = Printer(columns("Name|Request|Limit|Age"), _quota)
RUNTIME_CLASS: Final = Printer(columns("Name|Handler|Age"), _aged(lambda one: (one.get("handler", ""),)))
INGRESS: Final = Printer(columns("Name|Class|Hosts|Address|Ports|Age"), _aged(_ingress))
NETWORK_POLICY: Final = Printer(
    columns("Name|Pod-Selector|Age"), _aged(lambda one: (selector(part(one, "spec").get("podSelector")),))
)
ROLE_BINDING: Final = Printer(
    columns("Name|Role|Age", "Users|Groups|ServiceAccounts"), _with_wide(_role_binding, _subjects)
)
