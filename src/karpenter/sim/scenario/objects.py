"""The Kubernetes objects of a scenario's workloads. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from karpenter.runtime.kube import RawObject, Resource
from karpenter.sim.scenario.file import WorkloadFile

DEPLOYMENTS: Final[Resource[RawObject]] = Resource("apps", "v1", "deployments", "Deployment", dict, namespaced=True)


def deployment_of(workload: WorkloadFile) -> RawObject:
    """Return the Deployment of a workload; its pods are labelled `app: NAME`."""
    labels = {"app": workload.name}
    requests = {"cpu": workload.cpu, "memory": workload.memory}
    container = {"name": "main", "image": "registry.example.com/app:1", "resources": {"requests": requests}}
    pod: Mapping[str, Any] = {"containers": [container], **workload.pod}
    return {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {"name": workload.name, "namespace": workload.namespace},
        "spec": {
            "replicas": workload.replicas,
            "selector": {"matchLabels": labels},
            "template": {"metadata": {"labels": labels, "annotations": dict(workload.annotations)}, "spec": dict(pod)},
        },
    }


def budget_of(workload: WorkloadFile) -> RawObject | None:
    """Return the PodDisruptionBudget of a workload; None when it has none."""
    given = {"maxUnavailable": workload.max_unavailable, "minAvailable": workload.min_available}
    limits = {name: value for name, value in given.items() if value is not None}
    if not limits:
        return None
    return {
        "apiVersion": "policy/v1",
        "kind": "PodDisruptionBudget",
        "metadata": {"name": workload.name, "namespace": workload.namespace},
        "spec": {**limits, "selector": {"matchLabels": {"app": workload.name}}},
    }
