"""The toy catalogue as a cloud, and pools on it: quick to plan with, easy to reckon with."""

from typing import Any

from karpenter.model import labels
from karpenter.model.catalog import Catalog
from karpenter.runtime.kube import RawObject
from tests.scheduling.toys import toys

CATALOG = Catalog("toy", toys(), frozenset())


def a_requirement(key: str, *values: str) -> RawObject:
    return {"key": key, "operator": "In", "values": list(values)}


def a_pool_manifest(
    name: str = "default",
    *,
    types: tuple[str, ...] = ("c.4",),
    capacity_types: tuple[str, ...] = ("on-demand",),
    template: dict[str, Any] | None = None,
    labels_: dict[str, str] | None = None,
    **spec: Any,
) -> RawObject:
    """Return a NodePool of some types of the catalogue; `template` holds further fields of its node template."""
    inner = {
        "nodeClassRef": {"group": "karpenter.k8s.aws", "kind": "EC2NodeClass", "name": "default"},
        "requirements": [
            a_requirement(labels.INSTANCE_TYPE, *types),
            a_requirement(labels.CAPACITY_TYPE, *capacity_types),
        ],
        **(template or {}),
    }
    metadata = {"metadata": {"labels": labels_}} if labels_ else {}
    return {
        "apiVersion": "karpenter.sh/v1",
        "kind": "NodePool",
        "metadata": {"name": name},
        "spec": {"template": {**metadata, "spec": inner}, **spec},
    }


def a_toy_provisioner(name: str = "default", *, types: tuple[str, ...] = ("c.4",), **spec: Any) -> RawObject:
    """Return a Provisioner of some types of the catalogue."""
    return {
        "apiVersion": "karpenter.sh/v1alpha5",
        "kind": "Provisioner",
        "metadata": {"name": name},
        "spec": {
            "providerRef": {"name": "default"},
            "requirements": [a_requirement(labels.INSTANCE_TYPE, *types)],
            **spec,
        },
    }
