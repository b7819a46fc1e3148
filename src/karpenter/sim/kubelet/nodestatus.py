"""What a kubelet writes about its node, as functions of machine and time."""

from __future__ import annotations

import zlib
from collections.abc import Mapping
from typing import Any, Final

import msgspec

from karpenter.model.resources import Resources, format_resources
from karpenter.model.taints import NO_SCHEDULE, Taint
from karpenter.model.units import UnixSeconds, to_rfc3339
from karpenter.sim.kubelet.boot import Machine

Manifest = dict[str, Any]

NODE_LEASES: Final = "kube-node-lease"
NOT_READY: Final = Taint(key="node.kubernetes.io/not-ready", effect=NO_SCHEDULE)
UNINITIALIZED: Final = Taint(key="node.cloudprovider.kubernetes.io/uninitialized", value="true", effect=NO_SCHEDULE)
_WHY_NOT_READY: Final = (
    "container runtime network not ready: NetworkReady=false reason:NetworkPluginNotReady "
    "message:Network plugin returns error: cni plugin not initialized"
)
_PRESSURES: Final = {
    "MemoryPressure": ("KubeletHasSufficientMemory", "kubelet has sufficient memory available"),
    "DiskPressure": ("KubeletHasNoDiskPressure", "kubelet has no disk pressure"),
    "PIDPressure": ("KubeletHasSufficientPID", "kubelet has sufficient PID available"),
}


def registration(machine: Machine, now: UnixSeconds) -> Manifest:
    """Return the Node that a kubelet creates: not ready, not seen by the cloud's controllers, without its devices."""
    taints = (*machine.taints, NOT_READY, UNINITIALIZED)
    return {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {
            "name": machine.node_name,
            "labels": dict(machine.labels),
            "annotations": {"volumes.kubernetes.io/controller-managed-attach-detach": "true"},
        },
        "spec": {"providerID": machine.provider_id, "taints": [msgspec.to_builtins(taint) for taint in taints]},
        "status": {
            **amounts(machine, devices=False),
            "addresses": [
                {"type": "InternalIP", "address": machine.address},
                {"type": "InternalDNS", "address": machine.node_name},
                {"type": "Hostname", "address": machine.node_name},
            ],
            "daemonEndpoints": {"kubeletEndpoint": {"Port": 10250}},
            "nodeInfo": _system(machine),
            "conditions": conditions(now, ready=False, why="KubeletNotReady", message=_WHY_NOT_READY),
        },
    }


def amounts(machine: Machine, *, devices: bool) -> Manifest:
    """Return capacity and allocatable, with or without what device plugins report."""

    def shown(resources: Resources) -> dict[str, str]:
        return format_resources({name: amount for name, amount in resources.items() if devices or not is_device(name)})

    return {"capacity": shown(machine.capacity), "allocatable": shown(machine.allocatable)}


def is_device(resource: str) -> bool:
    """Return whether a plugin has to report a resource before the node has it: `nvidia.com/gpu` and the like."""
    return "/" in resource


def has_devices(machine: Machine) -> bool:
    """Return whether the machine has anything that a device plugin reports."""
    return any(is_device(name) for name in machine.allocatable)


def ready(now: UnixSeconds) -> list[Manifest]:
    """Return the conditions of a node that is well."""
    return conditions(now, ready=True, why="KubeletReady", message="kubelet is posting ready status")


def shutting_down(now: UnixSeconds) -> list[Manifest]:
    """Return the conditions of a node whose machine was told to stop."""
    return conditions(now, ready=False, why="KubeletNotReady", message="node is shutting down")


def conditions(now: UnixSeconds, *, ready: bool, why: str, message: str) -> list[Manifest]:
    """Return all conditions that a kubelet reports, as of `now`."""
    moment = to_rfc3339(now)
    told = {
        **{kind: ("False", reason, text) for kind, (reason, text) in _PRESSURES.items()},
        "Ready": ("True" if ready else "False", why, message),
    }
    return [
        {
            "type": kind,
            "status": status,
            "reason": reason,
            "message": text,
            "lastHeartbeatTime": moment,
            "lastTransitionTime": moment,
        }
        for kind, (status, reason, text) in told.items()
    ]


def keep_transitions(news: list[Manifest], known: Mapping[str, tuple[str, str]]) -> list[Manifest]:
    """Return conditions with the transition times of those whose status stays; `known` is type → (status, since)."""
    return [
        one | {"lastTransitionTime": known[one["type"]][1]}
        if one["type"] in known and known[one["type"]][0] == one["status"] and known[one["type"]][1]
        else one
        for one in news
    ]


def lease(machine: Machine, node_uid: str, now: UnixSeconds, *, duration_s: int) -> Manifest:
    """Return the lease that a kubelet renews to show that it lives."""
    return {
        "apiVersion": "coordination.k8s.io/v1",
        "kind": "Lease",
        "metadata": {"name": machine.node_name, "ownerReferences": [_owned_by_node(machine, node_uid)]},
        "spec": {"holderIdentity": machine.node_name, "leaseDurationSeconds": duration_s, **renewal(now)},
    }


def renewal(now: UnixSeconds) -> Manifest:
    """Return the part of a lease's spec that changes with each renewal."""
    return {"renewTime": to_rfc3339(now).removesuffix("Z") + ".000000Z"}


def csi_node(machine: Machine, node_uid: str) -> Manifest:
    """Return the CSINode: which volume drivers there are and how many volumes each attaches."""
    instance = machine.provider_id.rpartition("/")[2]
    drivers = [
        {
            "name": driver,
            "nodeID": instance,
            "allocatable": {"count": count},
            "topologyKeys": [f"topology.{driver}/zone"],
        }
        for driver, count in sorted(machine.volume_limits.items())
    ]
    return {
        "apiVersion": "storage.k8s.io/v1",
        "kind": "CSINode",
        "metadata": {"name": machine.node_name, "ownerReferences": [_owned_by_node(machine, node_uid)]},
        "spec": {"drivers": drivers},
    }


def _owned_by_node(machine: Machine, uid: str) -> Manifest:
    return {"apiVersion": "v1", "kind": "Node", "name": machine.node_name, "uid": uid}


def _system(machine: Machine) -> Manifest:
    identity = f"{zlib.crc32(machine.provider_id.encode()):08x}"
    return {
        "machineID": f"ec2{identity}",
        "systemUUID": f"ec2{identity}",
        "bootID": identity,
        "kernelVersion": "6.1.0",
        "osImage": machine.os_image,
        "containerRuntimeVersion": "containerd://1.7.27",
        "kubeletVersion": machine.kubelet_version,
        "kubeProxyVersion": machine.kubelet_version,
        "operatingSystem": machine.os,
        "architecture": machine.arch,
    }
