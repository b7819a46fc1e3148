"""Nodes that kwok keeps alive, as manifests: by hand, or as a plan or a view says that they are."""

from collections.abc import Iterable, Mapping
from typing import Any

import msgspec

from karpenter.model import labels as known
from karpenter.model.instancetype import InstanceType
from karpenter.model.nodepool import NodePool
from karpenter.model.requirements import Requirements
from karpenter.model.resources import format_resources
from karpenter.model.taints import Taint
from karpenter.scheduling.snapshot import NodeView
from karpenter.scheduling.solution import ClaimPlan
from tests.e2e.programs import FAKE_NODE

ANNOTATION, FAKE = FAKE_NODE.split("=")
USAGE_PATH = "metrics.k8s.io/resource-metrics-path"
"""The annotation that tells metrics-server where kwok answers for a node."""


def a_kwok_node(
    name: str,
    *,
    allocatable: Mapping[str, str | int],
    capacity: Mapping[str, str | int] | None = None,
    labels: Mapping[str, str] | None = None,
    taints: Iterable[Taint] = (),
    provider_id: str = "",
) -> dict[str, Any]:
    """Return the manifest of a node that becomes Ready by itself; resources are quantities, `pods` among them."""
    spec = {"taints": msgspec.to_builtins(tuple(taints)), "providerID": provider_id}
    return {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {
            "name": name,
            "labels": {known.HOSTNAME: name, known.OS: "linux", known.ARCH: "amd64", **(labels or {})},
            "annotations": {ANNOTATION: FAKE, USAGE_PATH: f"/metrics/nodes/{name}/metrics/resource"},
        },
        "spec": {key: value for key, value in spec.items() if value},
        "status": {"allocatable": dict(allocatable), "capacity": dict(capacity or allocatable)},
    }


def node_of_view(view: NodeView) -> dict[str, Any]:
    """Return the node that a view describes, without its pods."""
    return a_kwok_node(
        view.name,
        allocatable=format_resources(view.allocatable),
        capacity=format_resources(view.capacity),
        labels=view.labels,
        taints=view.taints,
        provider_id=view.node.spec.provider_id if view.node else "",
    )


def node_of_plan(plan: ClaimPlan, pool: NodePool, instance_type: InstanceType) -> dict[str, Any]:
    """Return the node that a plan launches, once it is initialized: startup taints are gone.

    It has the instance type, zone and capacity type that were planned, and the labels that pool, plan and type settle.
    """
    assert instance_type.name == plan.instance_type, f"{plan.name} plans {plan.instance_type}"
    assert pool.key == plan.pool, f"{plan.name} belongs to {plan.pool}"
    return a_kwok_node(
        plan.name,
        allocatable=format_resources(instance_type.allocatable),
        capacity=format_resources(instance_type.capacity),
        labels=labels_of_plan(plan, pool, instance_type),
        taints=pool.template.taints,
        provider_id=f"kwok://{plan.zone}/{plan.name}",
    )


def labels_of_plan(plan: ClaimPlan, pool: NodePool, instance_type: InstanceType) -> dict[str, str]:
    """Return the labels of the node: those with one possible value, the planned offering over all."""
    key, name = pool.identity
    return {
        **settled(instance_type.requirements),
        **settled(plan.requirements),
        **pool.template.labels,
        key: name,
        known.INSTANCE_TYPE: plan.instance_type,
        known.ZONE: plan.zone,
        known.CAPACITY_TYPE: plan.capacity_type,
        known.HOSTNAME: plan.name,
    }


def settled(requirements: Requirements) -> dict[str, str]:
    """Return the labels that requirements leave one value for."""
    values = {key: requirements[key].values for key in requirements if requirements[key].operator == "In"}
    return {key: next(iter(allowed)) for key, allowed in values.items() if len(allowed) == 1}
