"""Builders of workload objects, as the API has them and as manifests."""

from typing import Any

import msgspec

from karpenter.sim.kinds import Budget, DaemonSet, Deployment, ReplicaSet, StatefulSet
from tests.sim.clusters import Raw, pod_spec

CREATED = "2023-11-14T22:00:00Z"


def template(*, image: str = "app:1", labels: dict[str, str] | None = None, **spec: Any) -> Raw:
    made = pod_spec(**spec)
    made["containers"][0]["image"] = image
    return {"metadata": {"labels": labels or {"app": "web"}}, "spec": made}


def deployment_manifest(
    name: str = "web", *, replicas: int = 3, image: str = "app:1", strategy: Raw | None = None, **more: Any
) -> Raw:
    pods = more.pop("pods", {})
    return {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {"name": name, "namespace": "default"},
        "spec": {
            "replicas": replicas,
            "selector": {"matchLabels": {"app": name}},
            "template": template(image=image, labels={"app": name}, **pods),
            **({"strategy": strategy} if strategy else {}),
            **more,
        },
    }


def daemon_set_manifest(name: str = "agent", *, image: str = "agent:1", **more: Any) -> Raw:
    pods = more.pop("pods", {})
    return {
        "apiVersion": "apps/v1",
        "kind": "DaemonSet",
        "metadata": {"name": name, "namespace": "default"},
        "spec": {
            "selector": {"matchLabels": {"app": name}},
            "template": template(image=image, labels={"app": name}, **pods),
            **more,
        },
    }


def budget_manifest(name: str = "pdb", *, app: str = "web", **spec: Any) -> Raw:
    return {
        "apiVersion": "policy/v1",
        "kind": "PodDisruptionBudget",
        "metadata": {"name": name, "namespace": "default"},
        "spec": {"selector": {"matchLabels": {"app": app}}, **spec},
    }


def a_deployment(
    *,
    replicas: int = 10,
    surge: int | str | None = None,
    unavailable: int | str | None = None,
    kind: str = "RollingUpdate",
) -> Deployment:
    rolling = {"maxSurge": surge, "maxUnavailable": unavailable}
    strategy = {"type": kind, "rollingUpdate": {key: value for key, value in rolling.items() if value is not None}}
    return msgspec.convert(deployment_manifest(replicas=replicas, strategy=strategy), Deployment)


def a_replica_set(
    name: str,
    size: int,
    available: int | None = None,
    *,
    desired: int | None = None,
    most: int | None = None,
    created: str = CREATED,
    revision: int = 0,
) -> ReplicaSet:
    """Return a ReplicaSet of a size; all its pods are there and available unless said otherwise."""
    notes = {
        "deployment.kubernetes.io/desired-replicas": desired,
        "deployment.kubernetes.io/max-replicas": most,
        "deployment.kubernetes.io/revision": revision or None,
    }
    there = size if available is None else available
    return msgspec.convert(
        {
            "metadata": {
                "name": name,
                "namespace": "default",
                "uid": f"uid-{name}",
                "creationTimestamp": created,
                "annotations": {key: str(value) for key, value in notes.items() if value is not None},
            },
            "spec": {"replicas": size, "selector": {"matchLabels": {"app": "web"}}},
            "status": {"replicas": size, "readyReplicas": there, "availableReplicas": there},
        },
        ReplicaSet,
    )


def a_budget(**spec: Any) -> Budget:
    disrupted = spec.pop("disrupted", {})
    return msgspec.convert({**budget_manifest(**spec), "status": {"disruptedPods": disrupted}}, Budget)


def a_daemon_set(**more: Any) -> DaemonSet:
    return msgspec.convert(daemon_set_manifest(**more), DaemonSet)


def stateful_set_manifest(
    name: str = "db", *, replicas: int = 3, image: str = "db:1", claims: dict[str, Raw] | None = None, **more: Any
) -> Raw:
    """Return a StatefulSet; `claims` are the specs of its volume claim templates by name."""
    pods = more.pop("pods", {})
    templates = [{"metadata": {"name": claim}, "spec": spec} for claim, spec in (claims or {}).items()]
    return {
        "apiVersion": "apps/v1",
        "kind": "StatefulSet",
        "metadata": {"name": name, "namespace": "default"},
        "spec": {
            "replicas": replicas,
            "serviceName": name,
            "selector": {"matchLabels": {"app": name}},
            "template": template(image=image, labels={"app": name}, **pods),
            **({"volumeClaimTemplates": templates} if templates else {}),
            **more,
        },
    }


def claim_spec(storage: str = "1Gi", **more: Any) -> Raw:
    return {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": storage}}, **more}


def a_stateful_set(**more: Any) -> StatefulSet:
    made = stateful_set_manifest(**more)
    made["metadata"]["uid"] = "uid-db"
    return msgspec.convert(made, StatefulSet)
