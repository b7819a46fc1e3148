"""Manifests that scenarios start from, each as small as the kind allows."""

from typing import Any

Manifest = dict[str, Any]

TOKEN = "kube-api-access-"
CONTAINER: Manifest = {"name": "main", "image": "example.com/app:1"}


def an_object(kind: str, name: str, *, api: str = "v1", spec: Any = None, **more: Any) -> Manifest:
    """Return a manifest; `labels` and `annotations` go into its metadata, the rest beside it."""
    metadata = {"name": name, **{key: more.pop(key) for key in ("labels", "annotations") if key in more}}
    return {"apiVersion": api, "kind": kind, "metadata": metadata, **({} if spec is None else {"spec": spec}), **more}


def a_pod(name: str, *, labels: dict[str, str] | None = None, **spec: Any) -> Manifest:
    """Return a pod with one container that ends at once when asked to."""
    usual = {"containers": [CONTAINER], "terminationGracePeriodSeconds": 0}
    return an_object("Pod", name, labels=labels or {}, spec=usual | spec)


def a_template(app: str, **spec: Any) -> Manifest:
    """Return a pod template labelled with its app."""
    usual = {"containers": [CONTAINER], "terminationGracePeriodSeconds": 0}
    return {"metadata": {"labels": {"app": app}}, "spec": usual | spec}


def a_workload(kind: str, name: str, *, template: Manifest | None = None, **spec: Any) -> Manifest:
    """Return a Deployment, StatefulSet, DaemonSet or ReplicaSet."""
    selector = {"matchLabels": {"app": name}}
    whole = {"selector": selector, "template": template or a_template(name)} | spec
    return an_object(kind, name, api="apps/v1", spec=whole)


def wanted(pod: Manifest) -> Manifest:
    """Return what a pod's writer asked for, as the API keeps it: kwok and our kubelets tell other statuses.

    Without the volume of the service account's token, which only a real cluster mounts.
    """
    spec = dict(pod["spec"])
    spec["volumes"] = [one for one in spec.get("volumes", ()) if not one["name"].startswith(TOKEN)]
    spec["containers"] = [
        {**one, "volumeMounts": [mount for mount in one.get("volumeMounts", ()) if not mount["name"].startswith(TOKEN)]}
        for one in spec["containers"]
    ]
    del spec["nodeName"]
    return {"metadata": pod["metadata"], "spec": spec, "phase": pod["status"]["phase"]}
