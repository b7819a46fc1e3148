"""Which printer a kind has."""

from __future__ import annotations

from typing import Final

from karpenter.runtime.kubememory.custom import CustomVersion
from karpenter.runtime.kubememory.resources import ApiResource
from karpenter.sim.apiserver.printing import others, workloads
from karpenter.sim.apiserver.printing.custom import custom_printer
from karpenter.sim.apiserver.printing.events import EVENT
from karpenter.sim.apiserver.printing.nodes import NODE
from karpenter.sim.apiserver.printing.pods import POD
from karpenter.sim.apiserver.printing.table import Printer

_PRINTERS: Final = {
    "clusterrolebindings": others.ROLE_BINDING,
    "clusterroles": others.CREATED_AT,
    "configmaps": others.CONFIG_MAP,
    "controllerrevisions": workloads.CONTROLLER_REVISION,
    "cronjobs": workloads.CRON_JOB,
    "csidrivers": others.CSI_DRIVER,
    "csinodes": others.CSI_NODE,
    "customresourcedefinitions": others.CREATED_AT,
    "daemonsets": workloads.DAEMON_SET,
    "deployments": workloads.DEPLOYMENT,
    "endpoints": others.ENDPOINTS,
    "events": EVENT,
    "ingresses": others.INGRESS,
    "jobs": workloads.JOB,
    "leases": others.LEASE,
    "limitranges": others.CREATED_AT,
    "namespaces": others.NAMESPACE,
    "networkpolicies": others.NETWORK_POLICY,
    "nodes": NODE,
    "persistentvolumeclaims": others.CLAIM,
    "persistentvolumes": others.VOLUME,
    "poddisruptionbudgets": workloads.BUDGET,
    "pods": POD,
    "priorityclasses": others.PRIORITY_CLASS,
    "replicasets": workloads.REPLICA_SET,
    "replicationcontrollers": workloads.REPLICA_SET,
    "resourcequotas": others.QUOTA,
    "rolebindings": others.ROLE_BINDING,
    "roles": others.CREATED_AT,
    "runtimeclasses": others.RUNTIME_CLASS,
    "secrets": others.SECRET,
    "services": others.SERVICE,
    "statefulsets": workloads.STATEFUL_SET,
    "storageclasses": others.STORAGE_CLASS,
    "volumeattachments": others.ATTACHMENT,
}


def printer_of(resource: ApiResource, custom: CustomVersion | None) -> Printer:
    """Return how a kind is printed; name and age for those that nobody looks at."""
    return custom_printer(custom) if custom else _PRINTERS.get(resource.plural, others.PLAIN)
