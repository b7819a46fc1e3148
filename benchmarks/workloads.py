"""The benchmark's workloads, generated: for machines where the recorded inputs are not at hand.

The same mixes and the same distributions as the recorded ones, drawn from a generator of our own, so single figures
differ a little from the recorded ones; comparisons with recorded results are made on the recorded inputs only.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Any

import msgspec

from benchmarks.inputs import Catalogue, Scenario, snapshot_of
from karpenter.model import labels
from karpenter.model.core import Pod
from karpenter.model.instancetype import InstanceType, Offering
from karpenter.model.meta import ObjectMeta
from karpenter.model.nodepool import NodeClassRef, NodePool, Origin, PoolTemplate
from karpenter.model.requirements import Requirement, Requirements
from karpenter.model.resources import CPU, MEMORY, PODS

SEED = 42
_CPU = ("100m", "250m", "500m", "1000m", "1500m")
_MEMORY = ("100Mi", "256Mi", "512Mi", "1024Mi", "2048Mi", "4096Mi")
_SERVICE_CPU = ("100m", "250m", "500m", "750m", "1000m", "1500m", "2000m", "3000m", "4000m")
_SERVICE_MEMORY = ("128Mi", "256Mi", "512Mi", "1024Mi", "2048Mi", "4096Mi", "8192Mi")
_ZONES = ("test-zone-1", "test-zone-2", "test-zone-3")
_GIB = 2**30

Raw = dict[str, Any]


def scenario(mix: str, count: int) -> Scenario:
    """Return `count` pods of a mix over 400 instance types with linear prices. Raises KeyError for an unknown mix."""
    pods = msgspec.convert(MIXES[mix](count, random.Random(SEED)), tuple[Pod, ...])
    return Scenario(f"linear400-{mix}-{count}", pods, snapshot_of(linear_catalogue(400), [_pool()]))


def linear_catalogue(count: int) -> Catalogue:
    """Return types of 1 … `count` cores with 2 GiB each, all at one price per unit: bigger is exactly as cheap."""
    return Catalogue(tuple(_linear(cores) for cores in range(1, count + 1)), frozenset())


def _linear(cores: int) -> InstanceType:
    name = f"linear-{cores}"
    price = 0.1 * cores + 0.1 * (2 * cores * _GIB) / 1e9
    places = [(zone, kind) for kind in (labels.SPOT, labels.ON_DEMAND) for zone in _ZONES]
    capacity = {CPU: cores * 1000, MEMORY: 2 * cores * _GIB, PODS: 10 * cores}
    return InstanceType(
        name=name,
        requirements=Requirements(
            (
                Requirement.of(labels.INSTANCE_TYPE, "In", (name,)),
                Requirement.of(labels.ARCH, "In", ("amd64",)),
                Requirement.of(labels.OS, "In", ("linux",)),
                Requirement.of(labels.ZONE, "In", _ZONES),
                Requirement.of(labels.CAPACITY_TYPE, "In", (labels.SPOT, labels.ON_DEMAND)),
            )
        ),
        offerings=tuple(Offering(zone, kind, price) for zone, kind in places),
        capacity=capacity,
        allocatable={**capacity, CPU: capacity[CPU] - 100, MEMORY: capacity[MEMORY] - 10 * 2**20},
    )


def _pool() -> NodePool:
    return NodePool(
        metadata=ObjectMeta(name="bench"),
        origin=Origin("karpenter.sh/v1", "NodePool", "bench", "bench"),
        template=PoolTemplate(node_class_ref=NodeClassRef("bench.example.com", "Any", "default")),
        identity=(labels.NODEPOOL, "bench"),
    )


def _pod(name: str, requests: tuple[str, str], marks: dict[str, str], **spec: object) -> Raw:
    cpu, memory = requests
    container = {"name": "c", "image": "pause", "resources": {"requests": {"cpu": cpu, "memory": memory}}}
    return {
        "metadata": {"name": name, "namespace": "default", "uid": f"uid-{name}", "labels": marks},
        "spec": {"containers": [container], **spec},
        "status": {
            "phase": "Pending",
            "conditions": [{"type": "PodScheduled", "status": "False", "reason": "Unschedulable"}],
        },
    }


def _homogeneous(count: int, _dice: random.Random) -> list[Raw]:
    return [_pod(f"homogeneous-{at:06}", ("500m", "1Gi"), {"app": "one"}) for at in range(count)]


def _services(count: int, dice: random.Random, *, number: int, zonal: bool) -> list[Raw]:
    shapes = [(dice.choice(_SERVICE_CPU), dice.choice(_SERVICE_MEMORY)) for _ in range(number)]
    weights = [dice.randint(1, 20) for _ in range(number)]
    replicas = [count * weight // sum(weights) for weight in weights]
    replicas[-1] += count - sum(replicas)
    pods = []
    for at, (shape, copies) in enumerate(zip(shapes, replicas, strict=True)):
        marks = {"app": f"app-{at:02}"}
        spec = {"topologySpreadConstraints": [_spread(labels.ZONE, marks)]} if zonal else {}
        pods += [_pod(f"app-{at:02}-{copy:06}", shape, marks, **spec) for copy in range(copies)]
    return pods


def _diverse(count: int, dice: random.Random) -> list[Raw]:
    kinds: list[Callable[[random.Random], tuple[dict[str, str], Raw]]] = [
        lambda dice: ({"my-label": dice.choice("abcdefg")}, {}),
        lambda dice: _spread_pod(labels.ZONE, dice),
        lambda dice: _spread_pod(labels.HOSTNAME, dice),
        _together,
        lambda _: ({"app": "nginx"}, {"affinity": {"podAntiAffinity": _required(labels.HOSTNAME, {"app": "nginx"})}}),
    ]
    pods = []
    for at in range(count):
        marks, spec = kinds[at * len(kinds) // count](dice)
        pods.append(_pod(f"diverse-{at:06}", (dice.choice(_CPU), dice.choice(_MEMORY)), marks, **spec))
    return pods


def _spread_pod(key: str, dice: random.Random) -> tuple[dict[str, str], Raw]:
    own, selected = dice.choice("abcdefg"), dice.choice("abcdefg")
    return {"my-label": own}, {"topologySpreadConstraints": [_spread(key, {"my-label": selected})]}


def _together(dice: random.Random) -> tuple[dict[str, str], Raw]:
    marks = {"my-affinity": dice.choice("abcdefg")}
    return marks, {"affinity": {"podAffinity": _required(labels.ZONE, marks)}}


def _spread(key: str, selected: dict[str, str]) -> Raw:
    return {
        "maxSkew": 1,
        "topologyKey": key,
        "whenUnsatisfiable": "DoNotSchedule",
        "labelSelector": {"matchLabels": selected},
    }


def _required(key: str, selected: dict[str, str]) -> Raw:
    term = {"topologyKey": key, "labelSelector": {"matchLabels": selected}}
    return {"requiredDuringSchedulingIgnoredDuringExecution": [term]}


MIXES: dict[str, Callable[[int, random.Random], list[Raw]]] = {
    "homogeneous": _homogeneous,
    "deploy50": lambda count, dice: _services(count, dice, number=50, zonal=False),
    "zonalspread": lambda count, dice: _services(count, dice, number=10, zonal=True),
    "diverse": _diverse,
}
