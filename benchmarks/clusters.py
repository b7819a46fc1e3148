"""Recorded clusters to consolidate: nodes with bound pods, a pool and a catalogue, read into a snapshot."""

from __future__ import annotations

import gzip
import json
from collections import defaultdict
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import msgspec

from benchmarks.inputs import Catalogue, decode_catalogue, decode_pool, snapshot_of
from karpenter.model import labels
from karpenter.model.core import Node, Pod
from karpenter.model.instancetype import InstanceType
from karpenter.model.meta import OwnerReference
from karpenter.model.nodepool import Budget, Disruption, NodePool
from karpenter.scheduling.snapshot import NodeView, Snapshot

EVERYTHING = Budget("100%")


def load_cluster(folder: Path, name: str, catalogues: dict[str, Catalogue]) -> Snapshot:
    """Read a cluster; `catalogues` remembers those read before. Its pool may disrupt all nodes at once."""
    described = json.loads(gzip.decompress((folder / "clusters" / f"{name}.json.gz").read_bytes()))
    path = described["catalog"]
    if path not in catalogues:
        catalogues[path] = decode_catalogue(json.loads(gzip.decompress((folder / path).read_bytes())))
    catalogue = catalogues[path]
    pool = replace(decode_pool(described["nodePool"]), disruption=Disruption(budgets=(EVERYTHING,)))
    by_node: defaultdict[str, list[Pod]] = defaultdict(list)
    for pod in msgspec.convert(described["pods"], type=tuple[Pod, ...]):
        by_node[pod.spec.node_name].append(_owned(pod))
    types = {kind.name: kind for kind in catalogue.types}
    nodes = [
        view_of(raw["name"], types[raw["instanceType"]], pool, raw=raw, pods=tuple(by_node[raw["name"]]))
        for raw in described["nodes"]
    ]
    return replace(snapshot_of(catalogue, [pool]), nodes=tuple(sorted(nodes, key=lambda view: view.name)))


def _owned(pod: Pod) -> Pod:
    """Return the pod as one of its Deployment's, which the recorded pods only name by a label."""
    name = pod.metadata.labels.get("app", pod.metadata.name)
    owner = OwnerReference("apps/v1", "ReplicaSet", name, uid=name, controller=True)
    return msgspec.structs.replace(pod, metadata=msgspec.structs.replace(pod.metadata, owner_references=(owner,)))


def view_of(
    name: str, kind: InstanceType, pool: NodePool, *, raw: Mapping[str, Any], pods: tuple[Pod, ...]
) -> NodeView:
    """Return an initialized node of a type in a zone (`zone`, `capacityType` of the raw node)."""
    place = raw["zone"], raw["capacityType"]
    own = {key: next(iter(req.values)) for key, req in kind.requirements.items() if len(req.values) == 1}
    given = {
        **own,
        labels.HOSTNAME: name,
        labels.INSTANCE_TYPE: kind.name,
        labels.ZONE: place[0],
        labels.CAPACITY_TYPE: place[1],
        pool.identity[0]: pool.identity[1],
        labels.INITIALIZED: "true",
        labels.REGISTERED: "true",
    }
    node = msgspec.convert({"metadata": {"name": name, "labels": given}}, type=Node)
    offering = next(one for one in kind.offerings if (one.zone, one.capacity_type) == place)
    return NodeView(
        name=name,
        labels=given,
        taints=(),
        capacity=kind.capacity,
        allocatable=kind.allocatable,
        pods=pods,
        pool=pool.key,
        instance_type=kind.name,
        zone=place[0],
        capacity_type=place[1],
        price=offering.price,
        node=node,
    )
