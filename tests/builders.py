"""Builders of values for tests: each argument is what matters to the test, everything else is unremarkable.

Quantities are written as in manifests (`cpu="500m"`, `memory="1Gi"`); wire-shaped parts may be given as plain dicts.
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, TypeVar

import msgspec

from karpenter.model import core, labels
from karpenter.model.instancetype import InstanceType, Offering
from karpenter.model.meta import Condition, LabelSelector, ObjectMeta, OwnerReference
from karpenter.model.nodeclaim import NodeClaim
from karpenter.model.nodepool import Disruption, KubeletConfiguration, NodeClassRef, NodePool, Origin, PoolTemplate
from karpenter.model.requirements import Requirement, Requirements
from karpenter.model.resources import NODES, add, parse_resources
from karpenter.model.taints import Taint, Toleration
from karpenter.model.units import PoolKey, ProviderID, UnixSeconds
from karpenter.scheduling.snapshot import NodeView, PoolView, Snapshot, Volumes

T = TypeVar("T")
Raw = Mapping[str, Any]

EPOCH = UnixSeconds(1_700_000_000.0)
"""2023-11-14T22:13:20Z, the moment at which snapshots are taken."""
CREATED = "2023-11-14T22:00:00Z"

API_VERSIONS = {
    "DaemonSet": "apps/v1",
    "Deployment": "apps/v1",
    "ReplicaSet": "apps/v1",
    "StatefulSet": "apps/v1",
    "Job": "batch/v1",
    "Node": "v1",
    "Provisioner": "karpenter.sh/v1alpha5",
    "NodePool": "karpenter.sh/v1",
    "NodeClaim": "karpenter.sh/v1",
}


def wire(kind: type[T], value: T | Raw) -> T:
    """Return a wire struct, given as one or as the manifest's mapping."""
    return value if isinstance(value, kind) else msgspec.convert(value, kind)


def wires(kind: type[T], values: Iterable[T | Raw]) -> tuple[T, ...]:
    return tuple(wire(kind, value) for value in values)


def a_taint(text: str) -> Taint:
    """Return a taint written as kubectl does: `key=value:Effect` or `key:Effect`."""
    pair, _, effect = text.rpartition(":")
    key, _, value = pair.partition("=")
    return Taint(key=key, value=value, effect=effect)


def taints_of(values: Iterable[Taint | Raw | str]) -> tuple[Taint, ...]:
    return tuple(a_taint(value) if isinstance(value, str) else wire(Taint, value) for value in values)


def an_owner(kind: str, name: str = "owner") -> OwnerReference:
    return OwnerReference(
        api_version=API_VERSIONS[kind], kind=kind, name=name, uid=f"uid-{kind}-{name}".lower(), controller=True
    )


def a_container(
    name: str = "main",
    *,
    cpu: str | None = None,
    memory: str | None = None,
    requests: Raw | None = None,
    limits: Raw | None = None,
    ports: Iterable[core.ContainerPort | Raw] = (),
    restart_policy: str = "",
) -> core.Container:
    """Return a container; `cpu` and `memory` are requests. An init container that restarts `Always` is a sidecar."""
    asked = {"cpu": cpu, "memory": memory, **(requests or {})}
    return core.Container(
        name=name,
        image="registry.example.com/app:1",
        resources=core.ResourceRequirements(
            requests={key: value for key, value in asked.items() if value is not None}, limits=dict(limits or {})
        ),
        ports=wires(core.ContainerPort, ports),
        restart_policy=restart_policy,
    )


def a_pod(
    name: str = "pod",
    *,
    namespace: str = "default",
    cpu: str | None = "1",
    memory: str | None = "1Gi",
    requests: Raw | None = None,
    limits: Raw | None = None,
    ports: Iterable[core.ContainerPort | Raw] = (),
    labels: Mapping[str, str] | None = None,
    annotations: Mapping[str, str] | None = None,
    node_selector: Mapping[str, str] | None = None,
    tolerations: Iterable[Toleration | Raw] = (),
    affinity: core.Affinity | Raw | None = None,
    spread: Iterable[core.TopologySpreadConstraint | Raw] = (),
    containers: Sequence[core.Container] | None = None,
    init_containers: Iterable[core.Container] = (),
    overhead: Raw | None = None,
    volumes: Iterable[core.Volume | Raw] = (),
    priority: int | None = None,
    priority_class: str = "",
    scheduler: str = "default-scheduler",
    unschedulable: bool | None = None,
    node: str = "",
    nominated: str = "",
    phase: str | None = None,
    owner: str | OwnerReference | None = "ReplicaSet",
    grace_s: int = 30,
    created: str = CREATED,
    deleted: str | None = None,
    uid: str | None = None,
) -> core.Pod:
    """Return a pod of one container: pending and judged unschedulable, or, with `node`, running there.

    `owner` is a kind, a whole reference, or None for a bare pod. `containers` replaces `cpu`, `memory` and the like.
    """
    judged = not node if unschedulable is None else unschedulable
    bound = Condition(type="PodScheduled", status="True", last_transition_time=created)
    unbound = Condition(type="PodScheduled", status="False", reason="Unschedulable", last_transition_time=created)
    return core.Pod(
        metadata=ObjectMeta(
            name=name,
            namespace=namespace,
            uid=uid or f"uid-{namespace}-{name}",
            creation_timestamp=created,
            deletion_timestamp=deleted,
            labels=dict(labels or {}),
            annotations=dict(annotations or {}),
            owner_references=() if owner is None else (an_owner(owner) if isinstance(owner, str) else owner,),
        ),
        spec=core.PodSpec(
            node_name=node,
            scheduler_name=scheduler,
            containers=tuple(
                containers or [a_container(cpu=cpu, memory=memory, requests=requests, limits=limits, ports=ports)]
            ),
            init_containers=tuple(init_containers),
            overhead=dict(overhead or {}),
            node_selector=dict(node_selector or {}),
            affinity=None if affinity is None else wire(core.Affinity, affinity),
            tolerations=wires(Toleration, tolerations),
            topology_spread_constraints=wires(core.TopologySpreadConstraint, spread),
            priority=priority,
            priority_class_name=priority_class,
            volumes=wires(core.Volume, volumes),
            termination_grace_period_seconds=grace_s,
        ),
        status=core.PodStatus(
            phase=phase or ("Running" if node else "Pending"),
            conditions=(bound,) if node else (unbound,) if judged else (),
            nominated_node_name=nominated,
            start_time=created if node else None,
        ),
    )


def a_daemon(name: str = "daemon", *, cpu: str | None = "100m", memory: str | None = "64Mi", **pod: Any) -> core.Pod:
    """Return a DaemonSet's pod, as snapshots list them: not bound, and nobody's judgement passed on it."""
    return a_pod(name, cpu=cpu, memory=memory, owner="DaemonSet", **{"unschedulable": False, **pod})


def a_node(
    name: str = "node",
    *,
    cpu: str = "4",
    memory: str = "16Gi",
    pods: int = 110,
    resources: Raw | None = None,
    instance_type: str | None = None,
    zone: str | None = None,
    capacity_type: str | None = None,
    pool: NodePool | None = None,
    labels: Mapping[str, str] | None = None,
    annotations: Mapping[str, str] | None = None,
    taints: Iterable[Taint | Raw | str] = (),
    ready: bool = True,
    unschedulable: bool = False,
    finalizers: Iterable[str] = (),
    provider_id: str | None = None,
    created: str = CREATED,
) -> core.Node:
    """Return a Node whose allocatable is its capacity; with `pool` it carries the pool's identity label."""
    amounts = {"cpu": cpu, "memory": memory, "pods": str(pods), **(resources or {})}
    return core.Node(
        metadata=ObjectMeta(
            name=name,
            uid=f"uid-{name}",
            creation_timestamp=created,
            labels=node_labels(
                name, instance_type=instance_type, zone=zone, capacity_type=capacity_type, pool=pool, extra=labels
            ),
            annotations=dict(annotations or {}),
            finalizers=tuple(finalizers),
        ),
        spec=core.NodeSpec(
            provider_id=f"sim:///{name}" if provider_id is None else provider_id,
            unschedulable=unschedulable,
            taints=taints_of(taints),
        ),
        status=core.NodeStatus(
            capacity=amounts,
            allocatable=amounts,
            conditions=(Condition(type="Ready", status="True" if ready else "False", last_transition_time=created),),
        ),
    )


def node_labels(
    name: str,
    *,
    instance_type: str | None,
    zone: str | None,
    capacity_type: str | None,
    pool: NodePool | None,
    extra: Mapping[str, str] | None,
) -> dict[str, str]:
    known = {
        labels.HOSTNAME: name,
        labels.ARCH: "amd64",
        labels.OS: "linux",
        labels.INSTANCE_TYPE: instance_type,
        labels.ZONE: zone,
        labels.CAPACITY_TYPE: capacity_type,
        **(dict([pool.identity]) | dict(pool.template.labels) if pool else {}),
        **(extra or {}),
    }
    return {key: value for key, value in known.items() if value is not None}


def a_provisioner(name: str = "default", **spec: Any) -> dict[str, Any]:
    """Return a v1alpha5 manifest with a `providerRef`; keyword arguments are fields of `spec`, None leaves one out."""
    return {
        "apiVersion": "karpenter.sh/v1alpha5",
        "kind": "Provisioner",
        "metadata": {"name": name},
        "spec": _given({"providerRef": {"name": "default"}, **spec}),
    }


def a_node_template(name: str = "default", **spec: Any) -> dict[str, Any]:
    """Return an AWSNodeTemplate manifest with both selectors; keyword arguments are fields of `spec`."""
    selector = {"karpenter.sh/discovery": "my-cluster"}
    return {
        "apiVersion": "karpenter.k8s.aws/v1alpha1",
        "kind": "AWSNodeTemplate",
        "metadata": {"name": name},
        "spec": _given({"subnetSelector": selector, "securityGroupSelector": selector, **spec}),
    }


def a_node_pool(name: str = "default", *, template: Raw | None = None, **spec: Any) -> dict[str, Any]:
    """Return a v1 NodePool manifest; `template` holds fields of `spec.template.spec`, and `metadata`."""
    blueprint = dict(template or {})
    metadata = blueprint.pop("metadata", None)
    reference = {"group": "karpenter.k8s.aws", "kind": "EC2NodeClass", "name": "default"}
    inner = _given({"nodeClassRef": reference, "requirements": [], **blueprint})
    return {
        "apiVersion": "karpenter.sh/v1",
        "kind": "NodePool",
        "metadata": {"name": name},
        "spec": _given({"template": _given({"metadata": metadata, "spec": inner}), **spec}),
    }


def an_ec2_node_class(name: str = "default", **spec: Any) -> dict[str, Any]:
    """Return an EC2NodeClass manifest with selectors and a role; keyword arguments are fields of `spec`."""
    tagged = [{"tags": {"karpenter.sh/discovery": "my-cluster"}}]
    usual = {
        "amiSelectorTerms": [{"alias": "al2023@latest"}],
        "subnetSelectorTerms": tagged,
        "securityGroupSelectorTerms": tagged,
        "role": "KarpenterNodeRole-my-cluster",
    }
    return {
        "apiVersion": "karpenter.k8s.aws/v1",
        "kind": "EC2NodeClass",
        "metadata": {"name": name},
        "spec": _given({**usual, **spec}),
    }


def _given(fields: Raw) -> dict[str, Any]:
    return {key: value for key, value in fields.items() if value is not None}


def a_pool(
    name: str = "default",
    *,
    kind: str = "Provisioner",
    requirements: Iterable[Requirement] | Mapping[str, Sequence[str]] = (),
    labels: Mapping[str, str] | None = None,
    annotations: Mapping[str, str] | None = None,
    taints: Iterable[Taint | Raw | str] = (),
    startup_taints: Iterable[Taint | Raw | str] = (),
    limits: Raw | None = None,
    weight: int = 0,
    disruption: Disruption | None = None,
    expire_after_s: float | None = None,
    termination_grace_period_s: float | None = None,
    kubelet: KubeletConfiguration | None = None,
    node_class: str | None = "default",
    uid: str | None = None,
) -> NodePool:
    """Return a hub pool. `requirements` may be a mapping from key to allowed values; nothing is added by default."""
    identity, version, group, class_kind = POOL_KINDS[kind]
    return NodePool(
        metadata=ObjectMeta(name=name, uid=uid or f"uid-{name}", creation_timestamp=CREATED, generation=1),
        origin=Origin(api_version=version, kind=kind, name=name, uid=uid or f"uid-{name}"),
        template=PoolTemplate(
            requirements=requirements_of(requirements),
            node_class_ref=None if node_class is None else NodeClassRef(group, class_kind, node_class),
            labels=dict(labels or {}),
            annotations=dict(annotations or {}),
            taints=taints_of(taints),
            startup_taints=taints_of(startup_taints),
            expire_after_s=expire_after_s,
            termination_grace_period_s=termination_grace_period_s,
        ),
        identity=(identity, name),
        disruption=disruption or Disruption(),
        limits=parse_resources(limits or {}),
        weight=weight,
        kubelet=kubelet,
    )


POOL_KINDS = {
    "Provisioner": (labels.PROVISIONER, "karpenter.sh/v1alpha5", "karpenter.k8s.aws", "AWSNodeTemplate"),
    "NodePool": (labels.NODEPOOL, "karpenter.sh/v1", "karpenter.k8s.aws", "EC2NodeClass"),
}


def requirements_of(given: Iterable[Requirement] | Mapping[str, Sequence[str]]) -> Requirements:
    """Return requirements, given as such or as a mapping from key to allowed values."""
    if isinstance(given, Requirements):
        return given
    if isinstance(given, Mapping):
        return Requirements(Requirement.of(key, "In", values) for key, values in given.items())
    return Requirements(given)


def an_instance_type(
    name: str = "m.4",
    *,
    cpu: str = "4",
    memory: str = "16Gi",
    pods: int = 110,
    price: float = 0.2,
    spot_price: float | None = None,
    zones: Sequence[str] = ("a", "b", "c"),
    capacity_types: Sequence[str] = ("spot", "on-demand"),
    unavailable: Iterable[tuple[str, str]] = (),
    arch: str = "amd64",
    os: str = "linux",
    resources: Raw | None = None,
    overhead: Raw | None = None,
    volume_limits: Mapping[str, int] | None = None,
    labels: Mapping[str, str] | None = None,
) -> InstanceType:
    """Return a type offered in every zone as spot (30 % of `price` unless given) and on demand.

    `unavailable` lists (zone, capacity type) without capacity now; `overhead` is what allocatable is smaller by.
    """
    out = frozenset(unavailable)
    prices = {"spot": round(price * 0.3, 6) if spot_price is None else spot_price, "on-demand": price}
    capacity = parse_resources({"cpu": cpu, "memory": memory, "pods": pods, **(resources or {})})
    kept = parse_resources(overhead or {})
    return InstanceType(
        name=name,
        requirements=_type_requirements(name, zones, capacity_types, {"arch": arch, "os": os}, labels or {}),
        offerings=tuple(
            Offering(zone=zone, capacity_type=kind, price=prices[kind], available=(zone, kind) not in out)
            for zone in zones
            for kind in capacity_types
        ),
        capacity=capacity,
        allocatable={key: amount - kept.get(key, 0) for key, amount in capacity.items()},
        volume_limits=dict(volume_limits or {}),
    )


def _type_requirements(
    name: str, zones: Sequence[str], capacity_types: Sequence[str], platform: Raw, extra: Mapping[str, str]
) -> Requirements:
    return requirements_of(
        {
            labels.INSTANCE_TYPE: (name,),
            labels.ARCH: (platform["arch"],),
            labels.OS: (platform["os"],),
            labels.ZONE: zones,
            labels.CAPACITY_TYPE: capacity_types,
            **{key: (value,) for key, value in extra.items()},
        }
    )


def a_node_view(
    name: str = "node",
    *,
    cpu: str = "4",
    memory: str = "16Gi",
    max_pods: int = 110,
    resources: Raw | None = None,
    pods: Iterable[core.Pod] = (),
    labels: Mapping[str, str] | None = None,
    taints: Iterable[Taint | Raw | str] = (),
    pool: NodePool | None = None,
    instance_type: str | None = "m.4",
    zone: str | None = "a",
    capacity_type: str | None = "on-demand",
    price: float | None = 0.2,
    claim: NodeClaim | None = None,
    node: core.Node | None = None,
    **fields: Any,
) -> NodeView:
    """Return an initialized node of `pool` (foreign without one) with room for `cpu` and `memory`, pods included."""
    allocatable = parse_resources({"cpu": cpu, "memory": memory, "pods": max_pods, **(resources or {})})
    return NodeView(
        name=name,
        labels=node_labels(
            name, instance_type=instance_type, zone=zone, capacity_type=capacity_type, pool=pool, extra=labels
        ),
        taints=taints_of(taints),
        capacity=allocatable,
        allocatable=allocatable,
        pods=tuple(pods),
        pool=pool.key if pool else None,
        instance_type=instance_type,
        zone=zone,
        capacity_type=capacity_type,
        price=price,
        claim=claim,
        node=node,
        **{"is_managed": pool is not None, **fields},
    )


def a_claim(
    name: str = "default-abcde",
    *,
    pool: NodePool | None = None,
    requirements: Iterable[Requirement] | Mapping[str, Sequence[str]] = (),
    requests: Raw | None = None,
    labels: Mapping[str, str] | None = None,
    taints: Iterable[Taint | Raw | str] = (),
    startup_taints: Iterable[Taint | Raw | str] = (),
    conditions: Sequence[str] = (),
    provider_id: str | None = None,
    node: str = "",
    created: str = CREATED,
    **fields: Any,
) -> NodeClaim:
    """Return a claim of `pool`; `conditions` names those that are true."""
    identity = dict([pool.identity]) if pool else {}
    return NodeClaim(
        metadata=ObjectMeta(
            name=name, uid=f"uid-{name}", creation_timestamp=created, labels={**identity, **(labels or {})}
        ),
        requirements=requirements_of(requirements),
        requests=parse_resources(requests or {}),
        node_class_ref=pool.template.node_class_ref if pool else None,
        taints=taints_of(taints),
        startup_taints=taints_of(startup_taints),
        pool=pool.key if pool else None,
        provider_id=None if provider_id is None else ProviderID(provider_id),
        node_name=node,
        conditions=tuple(Condition(type=kind, status="True", last_transition_time=created) for kind in conditions),
        **fields,
    )


def a_pdb(
    name: str = "pdb",
    *,
    namespace: str = "default",
    selects: Mapping[str, str] | None = None,
    allowed: int = 0,
    min_available: str | int | None = None,
    max_unavailable: str | int | None = None,
) -> core.PodDisruptionBudget:
    """Return a disruption budget over pods with the labels `selects` that allows `allowed` evictions now."""
    return core.PodDisruptionBudget(
        metadata=ObjectMeta(name=name, namespace=namespace),
        spec=core.PodDisruptionBudgetSpec(
            selector=LabelSelector(match_labels=dict(selects or {})),
            min_available=min_available,
            max_unavailable=max_unavailable,
        ),
        status=core.PodDisruptionBudgetStatus(disruptions_allowed=allowed),
    )


def a_pool_view(pool: NodePool | None = None, *types: InstanceType, usage: Raw | None = None) -> PoolView:
    """Return a pool with the types it can launch (one ordinary type when none is named)."""
    return PoolView(
        pool=pool or a_pool(), instance_types=types or (an_instance_type(),), usage=parse_resources(usage or {})
    )


def a_snapshot(
    *,
    nodes: Iterable[NodeView] = (),
    pools: Iterable[PoolView | NodePool] = (),
    pending: Iterable[core.Pod] = (),
    daemons: Iterable[core.Pod] = (),
    pdbs: Iterable[core.PodDisruptionBudget] = (),
    types: Sequence[InstanceType] = (),
    volumes: Volumes | None = None,
    taken_at: UnixSeconds = EPOCH,
    **fields: Any,
) -> Snapshot:
    """Return a snapshot in its proper order; a bare pool gets `types` and the usage of its nodes."""
    views = tuple(sorted(nodes, key=lambda view: view.name))
    given = [
        entry if isinstance(entry, PoolView) else PoolView(entry, tuple(types), usage=pool_usage(entry.key, views))
        for entry in pools
    ]
    return Snapshot(
        taken_at=taken_at,
        nodes=views,
        pools=tuple(sorted(given, key=lambda view: (-view.pool.weight, *view.pool.key))),
        pending=tuple(pending),
        daemons=tuple(daemons),
        pdbs=tuple(pdbs),
        volumes=volumes or Volumes(),
        **fields,
    )


def pool_usage(key: PoolKey, views: Iterable[NodeView]) -> dict[str, int]:
    """Return the capacity of a pool's nodes that are not leaving, with their number."""
    return add(*(add(view.capacity, {NODES: 1}) for view in views if view.pool == key and not view.is_deleting))
