"""Which strategy a kind has."""

from __future__ import annotations

from typing import Final

from karpenter.runtime.kubememory.resources import ApiResource
from karpenter.runtime.kubememory.strategies import cluster, workloads
from karpenter.runtime.kubememory.strategies.definitions import DEFINITION
from karpenter.runtime.kubememory.strategies.pods import POD
from karpenter.runtime.kubememory.strategies.strategy import Strategy

_PLAIN: Final = Strategy()
_STRATEGIES: Final[dict[tuple[str, str], Strategy]] = {
    ("", "configmaps"): cluster.CONFIG_MAP,
    ("", "events"): cluster.EVENT,
    ("", "namespaces"): cluster.NAMESPACE,
    ("", "nodes"): cluster.NODE,
    ("", "persistentvolumeclaims"): cluster.CLAIM,
    ("", "persistentvolumes"): cluster.VOLUME,
    ("", "pods"): POD,
    ("", "replicationcontrollers"): workloads.REPLICATION_CONTROLLER,
    ("", "secrets"): cluster.SECRET,
    ("", "services"): cluster.SERVICE,
    ("apiextensions.k8s.io", "customresourcedefinitions"): DEFINITION,
    ("apps", "daemonsets"): workloads.DAEMON_SET,
    ("apps", "deployments"): workloads.DEPLOYMENT,
    ("apps", "replicasets"): workloads.REPLICA_SET,
    ("apps", "statefulsets"): workloads.STATEFUL_SET,
    ("batch", "cronjobs"): workloads.CRON_JOB,
    ("batch", "jobs"): workloads.JOB,
    ("networking.k8s.io", "ingresses"): cluster.INGRESS,
    ("policy", "poddisruptionbudgets"): cluster.BUDGET,
    ("scheduling.k8s.io", "priorityclasses"): cluster.PRIORITY_CLASS,
    ("storage.k8s.io", "csidrivers"): cluster.CSI_DRIVER,
    ("storage.k8s.io", "storageclasses"): cluster.STORAGE_CLASS,
}


def strategy_of(resource: ApiResource) -> Strategy:
    """Return what is known of a kind; nothing special for many."""
    return _STRATEGIES.get(resource.key, _PLAIN)
