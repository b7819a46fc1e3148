"""Whole clusters in which everything meets: volumes, ports, minValues, nominations, namespaces, nodes of every kind.

Drawn with a `Random`, so that hypothesis may draw them (and make failures smaller) and a seed may stand for one.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from random import Random
from typing import Any

from karpenter.model import core, labels
from karpenter.model.core import LimitRange, Namespace, Pod
from karpenter.model.meta import ObjectMeta
from karpenter.model.requirements import Requirement
from karpenter.model.storage import PersistentVolume, PersistentVolumeClaim
from karpenter.model.units import ObjectKey
from karpenter.scheduling import NodeView, Options, Policy, PoolView, Snapshot, Volumes
from tests.builders import a_daemon, a_node, a_node_view, a_pod, a_pool, a_snapshot
from tests.scheduling.crowds import APPS
from tests.scheduling.mixtures import node_selector_term
from tests.scheduling.stores import AT_ONCE, EBS, a_csi_node, a_storage_class, a_volume
from tests.scheduling.toys import FREE, toys
from tests.scheduling.worlds import TAINTS, TEAM, TOLERATIONS

Raw = dict[str, Any]
ZONES = "abc"
KEYS = (labels.ZONE, labels.ZONE, labels.HOSTNAME, labels.HOSTNAME, labels.CAPACITY_TYPE, "rack")
NAMESPACES = ("shop", "bank")
LEAVING = "2023-11-14T22:13:00Z"
OPTIONS = (
    Options(),
    FREE,
    Options(Policy(preferences="Ignore")),
    Options(Policy(min_values="BestEffort")),
    Options(Policy(expendable_priority=0)),
    Options(max_nodes=2),
)


@dataclass(frozen=True)
class Medley:
    snapshot: Snapshot
    pods: tuple[Pod, ...]
    options: Options


def a_medley(rng: Random) -> Medley:
    """Draw a cluster of up to four nodes and three pools, one to five kinds of new pods, and how to solve it."""
    shelf = _Shelf(rng)
    pods = [pod for at in range(rng.randint(1, 5)) for pod in _kind(rng, shelf, at)]
    nodes = [_node(rng, shelf, at) for at in range(rng.randint(0, 4))]
    snapshot = a_snapshot(
        nodes=nodes,
        pools=[_pool(rng, at) for at in range(rng.choice((0, 1, 1, 1, 2, 3)))],
        daemons=[_daemon(rng, at) for at in range(rng.choice((0, 0, 1, 2)))],
        volumes=Volumes(shelf.claims, shelf.volumes, shelf.classes),
        namespaces={
            "shop": Namespace(ObjectMeta(name="shop", labels={"tier": "front"})),
            "bank": Namespace(ObjectMeta(name="bank", labels={"tier": "back"})),
        },
        limit_ranges=[_limit_range(rng)] if rng.random() < 0.3 else (),
    )
    return Medley(snapshot, tuple(pods), rng.choice(OPTIONS))


# --- pools, nodes, daemons --------------------------------------------------------------------------------------------


def _pool(rng: Random, at: int) -> PoolView:
    requirements = [Requirement.of(labels.CAPACITY_TYPE, "In", rng.choice((["on-demand"], ["spot", "on-demand"])))]
    if rng.random() < 0.3:
        requirements.append(Requirement.of(labels.ZONE, "In", rng.sample(ZONES, 2)))
    if rng.random() < 0.3:
        requirements.append(Requirement.of("rack", "In", rng.choice((["1"], ["1", "2"]))))
    if rng.random() < 0.2:
        requirements.append(rng.choice((Requirement.of(TEAM, "Exists"), Requirement.of(TEAM, "In", ["red"]))))
    if rng.random() < 0.25:
        least = rng.randint(2, 3)
        key = rng.choice((labels.INSTANCE_CATEGORY, labels.INSTANCE_TYPE))
        requirements.append(Requirement.of(key, "Exists", min_values=least))
    pool = a_pool(
        f"pool{at}",
        kind=rng.choice(("Provisioner", "NodePool")),
        requirements=requirements,
        taints=[rng.choice(TAINTS)] if rng.random() < 0.25 else [],
        startup_taints=["startup:NoSchedule"] if rng.random() < 0.2 else [],
        limits=rng.choice(({}, {}, {}, {}, {"cpu": "16"}, {"nodes": "2"}, {"memory": "40Gi"})),
        weight=rng.choice((0, 0, 10)),
    )
    names = rng.choice((("c.1", "c.2", "c.4", "m.2", "m.4", "r.2"), ("c.4", "m.8", "r.4", "g.8"), ("c.2", "m.2")))
    out = [(zone, "on-demand") for zone in ZONES if rng.random() < 0.1]
    types = toys(*names, unavailable=out, volume_limits=rng.choice(({}, {}, {EBS: 2})))
    return PoolView(pool, types, unready="its class is not ready" if rng.random() < 0.05 else None)


def _node(rng: Random, shelf: "_Shelf", at: int) -> NodeView:
    name = f"n{at}"
    is_cordoned, is_foreign = rng.random() < 0.1, rng.random() < 0.3
    return a_node_view(
        name,
        cpu=rng.choice("148"),
        memory=rng.choice(("4Gi", "16Gi")),
        pods=[_bound(rng, shelf, name, number) for number in range(rng.randint(0, 3))],
        labels=rng.choice(({}, {TEAM: "red"}, {"rack": "1"}, {"rack": "2"})),
        taints=[rng.choice(TAINTS)] if rng.random() < 0.2 else [],
        zone=rng.choice((*ZONES, None)) if is_foreign else rng.choice(ZONES),
        node=a_node(name, unschedulable=True) if is_cordoned else None,
        is_managed=not is_foreign,
        is_initialized=rng.random() < 0.7,
        is_deleting=rng.random() < 0.15,
        csi=a_csi_node(name, rng.choice((1, 2, None))) if rng.random() < 0.5 else None,
    )


def _bound(rng: Random, shelf: "_Shelf", node: str, number: int) -> Pod:
    return a_pod(
        f"on-{node}-{number}",
        namespace=rng.choice(NAMESPACES),
        cpu="100m",
        memory="128Mi",
        node=node,
        labels={"app": rng.choice(APPS), "version": rng.choice("12")},
        affinity={"podAntiAffinity": _required(rng)} if rng.random() < 0.2 else None,
        ports=[{"hostPort": 80}] if rng.random() < 0.15 else [],
        volumes=[shelf.reference(f"{node}-{number}", "shop")] if rng.random() < 0.2 else [],
        deleted=LEAVING if rng.random() < 0.15 else None,
        tolerations=[{"operator": "Exists"}],
    )


def _daemon(rng: Random, at: int) -> Pod:
    return a_daemon(
        f"daemon{at}",
        namespace="shop",
        cpu=rng.choice(("100m", "500m", None)),
        ports=[{"hostPort": rng.choice((80, 81))}] if rng.random() < 0.4 else [],
        node_selector=rng.choice(({}, {labels.INSTANCE_CATEGORY: "m"}, {labels.INITIALIZED: "true"}, {TEAM: "red"})),
        tolerations=rng.choice(TOLERATIONS),
    )


def _limit_range(rng: Random) -> LimitRange:
    item = core.LimitRangeItem(type="Container", default_request={"cpu": rng.choice(("200m", "1"))})
    return LimitRange(ObjectMeta(name="defaults", namespace="shop"), core.LimitRangeSpec((item,)))


# --- storage ----------------------------------------------------------------------------------------------------------


class _Shelf:
    """The storage of a cluster, which grows as pods ask for it."""

    def __init__(self, rng: Random) -> None:
        self._rng = rng
        self.claims: dict[ObjectKey, PersistentVolumeClaim] = {}
        self.volumes: dict[str, PersistentVolume] = {}
        topologies = rng.choice(((), ({labels.ZONE: ("a", "b")},), ({labels.ZONE: ("a",)}, {labels.ZONE: ("c",)})))
        self.classes = {
            "late": a_storage_class("late", topologies=topologies),
            "at-once": a_storage_class("at-once", mode=AT_ONCE),
        }

    def reference(self, name: str, namespace: str) -> Raw:
        """Return a pod's reference to a volume of one kind or another, most of them usable."""
        kind = self._rng.choice(("bound", "bound", "late", "late", "ephemeral", "shared", "at-once", "missing"))
        if kind == "ephemeral":
            return {"name": "data", "ephemeral": {"volumeClaimTemplate": {"spec": {"storageClassName": "late"}}}}
        claim = "shared" if kind == "shared" else f"data-{name}"
        key = ObjectKey(namespace, claim)
        if kind != "missing" and key not in self.claims:
            is_bound = kind in {"bound", "shared"}
            spec = core.PersistentVolumeClaimSpec(
                volume_name=f"pv-{namespace}-{claim}" if is_bound else "",
                storage_class_name="at-once" if kind == "at-once" else "late",
            )
            self.claims[key] = PersistentVolumeClaim(ObjectMeta(name=claim, namespace=namespace), spec)
            if is_bound:
                zone = self._rng.choice((*ZONES, None))
                self.volumes[spec.volume_name] = a_volume(spec.volume_name, zone=zone, storage_class="late")
        return {"name": "data", "persistentVolumeClaim": {"claimName": claim}}


# --- pods -------------------------------------------------------------------------------------------------------------


def _kind(rng: Random, shelf: _Shelf, at: int) -> list[Pod]:
    """Draw pods of one make, as a Deployment has them."""
    namespace = rng.choice(NAMESPACES)
    keeps_data = rng.random() < 0.25
    names = [f"p{at}-{copy}" for copy in range(rng.randint(1, 3 if keeps_data else 6))]
    make = a_make(rng)
    volumes = {name: [shelf.reference(name, namespace)] if keeps_data else [] for name in names}
    return [a_pod(name, namespace=namespace, volumes=volumes[name], **make) for name in names]


def a_make(rng: Random) -> Raw:
    """Draw what the pods of one Deployment have in common."""
    affinity: Raw = {}
    for side in ("podAffinity", "podAntiAffinity"):
        if rng.random() < 0.2:
            affinity[side] = _required(rng) if rng.random() < 0.6 else _preferred(rng)
    if rng.random() < 0.25:
        affinity["nodeAffinity"] = _node_affinity(rng)
    spread = [_spread(rng) for _ in range(rng.choice((0, 0, 0, 1, 1, 2)))]
    own = {(rule["topologyKey"], rule["whenUnsatisfiable"]): rule for rule in spread}
    return {
        "cpu": rng.choice(("100m", "500m", "1", "3")),
        "memory": rng.choice(("128Mi", "1Gi", "6Gi")),
        "requests": {"nvidia.com/gpu": "1"} if rng.random() < 0.05 else {},
        "labels": {"app": rng.choice(APPS), "version": rng.choice("12")},
        "node_selector": rng.choice(({}, {}, {}, {}, {labels.ZONE: "b"}, {TEAM: "red"}, {"rack": "1"})),
        "affinity": affinity,
        "spread": list(own.values()),
        "tolerations": rng.choice(TOLERATIONS),
        "ports": rng.choice(([], [], [], [], [{"hostPort": 80}], [{"hostPort": 80, "hostIP": "10.0.0.1"}])),
        "priority": rng.choice((None, None, -5, 5)),
        "nominated": rng.choice(("", "", "", "", "n0")),
    }


def _spread(rng: Random) -> Raw:
    rule: Raw = {
        "maxSkew": rng.choice((1, 1, 2)),
        "topologyKey": rng.choice(KEYS),
        "whenUnsatisfiable": rng.choice(("DoNotSchedule", "DoNotSchedule", "ScheduleAnyway")),
        "labelSelector": _selector(rng),
        "nodeAffinityPolicy": rng.choice(("Honor", "Honor", "Ignore")),
        "nodeTaintsPolicy": rng.choice(("Ignore", "Ignore", "Honor")),
        "matchLabelKeys": rng.choice(([], [], ["version"])),
    }
    if rule["whenUnsatisfiable"] == "DoNotSchedule" and rng.random() < 0.2:
        rule["minDomains"] = rng.randint(2, 3)
    return rule


def _required(rng: Random) -> Raw:
    return {"requiredDuringSchedulingIgnoredDuringExecution": [_term(rng) for _ in range(rng.choice((1, 1, 1, 2)))]}


def _preferred(rng: Random) -> Raw:
    weighted = {"weight": rng.randint(1, 100), "podAffinityTerm": _term(rng)}
    return {"preferredDuringSchedulingIgnoredDuringExecution": [weighted]}


def _term(rng: Random) -> Raw:
    where: Sequence[Raw] = (
        {},
        {},
        {"namespaces": ["shop"]},
        {"namespaceSelector": {}},
        {"namespaceSelector": {"matchLabels": {"tier": "back"}}},
    )
    keys: Sequence[Raw] = ({}, {}, {}, {"matchLabelKeys": ["version"]}, {"mismatchLabelKeys": ["version"]})
    return {"topologyKey": rng.choice(KEYS), "labelSelector": _selector(rng), **rng.choice(where), **rng.choice(keys)}


def _selector(rng: Random) -> Raw:
    values = rng.choice((("a", "b"), ("a",), ("c",)))
    return rng.choice((
        {"matchLabels": {"app": rng.choice(APPS)}},
        {"matchExpressions": [{"key": "app", "operator": rng.choice(("In", "NotIn")), "values": values}]},
    ))  # fmt: skip


def _node_affinity(rng: Random) -> Raw:
    term = node_selector_term(rng)
    if rng.random() < 0.6:
        return {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": [term]}}
    weighted = {"weight": rng.randint(1, 100), "preference": term}
    return {"preferredDuringSchedulingIgnoredDuringExecution": [weighted]}
