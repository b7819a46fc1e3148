"""Whole clusters by seed that mix every constraint: what hypothesis draws apart in `worlds` and `crowds`, all at once.

Used where examples cost seconds each and have to be the same every time, as against the real scheduler. Priorities are
left out: with them kube-scheduler would preempt.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from random import Random
from typing import Any

from karpenter.model import core, labels
from karpenter.model.core import Pod
from karpenter.model.meta import ObjectMeta
from karpenter.model.storage import PersistentVolume, PersistentVolumeClaim, PersistentVolumeClaimStatus
from karpenter.scheduling import NodeView, PoolView, Snapshot, Volumes
from tests.builders import a_daemon, a_node_view, a_pod, a_pool, a_snapshot
from tests.scheduling.crowds import APPS
from tests.scheduling.stores import a_storage_class, a_volume
from tests.scheduling.toys import SIZES, toys
from tests.scheduling.worlds import TAINTS, TEAM, TOLERATIONS

GROUP = "example.com/group"
"""Label of the nodes of one cluster: its pods ask for it, so that clusters may share a control plane."""
SPREAD_KEYS = (labels.ZONE, labels.ZONE, labels.HOSTNAME, labels.CAPACITY_TYPE)
KEYS = (labels.ZONE, labels.HOSTNAME)
ZONES = "abc"

Raw = dict[str, Any]


@dataclass(frozen=True)
class Mixture:
    """A cluster and the pods that come to it."""

    group: str
    """Its namespace, and the value of `GROUP`."""
    snapshot: Snapshot
    pods: tuple[Pod, ...]


def a_mixture(seed: int, group: str) -> Mixture:
    """Return the cluster of a seed: up to three nodes with pods, one or two pools, and two to six kinds of new pods."""
    rng = Random(seed)
    kinds = [_Kind(rng, group, at) for at in range(rng.randint(2, 6))]
    snapshot = a_snapshot(
        nodes=[_node(rng, group, at) for at in range(rng.randint(0, 3))],
        pools=[_pool(rng, group, at) for at in range(rng.choice((1, 1, 2)))],
        daemons=[_daemon(rng, group)] if rng.random() < 0.4 else [],
        volumes=Volumes(
            {claim.metadata.key: claim for kind in kinds for claim in kind.claims},
            {volume.metadata.name: volume for kind in kinds for volume in kind.volumes},
            {"late": a_storage_class()},
        ),
    )
    return Mixture(group, snapshot, tuple(pod for kind in kinds for pod in kind.pods))


def _pool(rng: Random, group: str, at: int) -> PoolView:
    requirements: dict[str, Sequence[str]] = {labels.CAPACITY_TYPE: rng.choice((["on-demand"], ["spot", "on-demand"]))}
    if rng.random() < 0.3:
        requirements[labels.ZONE] = rng.sample(ZONES, 2)
    if rng.random() < 0.3:
        requirements[TEAM] = rng.choice((["red"], ["red", "blue"]))
    pool = a_pool(
        f"{group}-{'xy'[at]}",
        kind=rng.choice(("Provisioner", "NodePool")),
        requirements=requirements,
        labels={GROUP: group},
        taints=[rng.choice(TAINTS)] if at else [],
        limits=rng.choice(({}, {}, {}, {"cpu": "24"}, {"nodes": "4"})),
        weight=rng.choice((0, 0, 10)),
    )
    return PoolView(pool, toys(*rng.choice(([*SIZES], ["c.2", "c.4", "m.4"], ["c.4", "m.8", "r.4", "g.8"]))))


def _node(rng: Random, group: str, at: int) -> NodeView:
    name = f"{group}-n{at}"
    bound = [
        a_pod(
            f"on-n{at}-{number}",
            namespace=group,
            cpu=rng.choice(("100m", "500m")),
            node=name,
            labels={"app": rng.choice(APPS)},
            affinity={"podAntiAffinity": _required(rng)} if rng.random() < 0.2 else None,
            tolerations=[{"operator": "Exists"}],  # else a NoExecute taint would drive it out
        )
        for number in range(rng.randint(0, 2))
    ]
    return a_node_view(
        name,
        cpu=rng.choice("248"),
        memory=rng.choice(("8Gi", "32Gi")),
        pods=bound,
        labels={GROUP: group, **rng.choice(({}, {TEAM: "red"}))},
        taints=[rng.choice(TAINTS)] if rng.random() < 0.2 else [],
        zone=rng.choice(ZONES),
    )


def _daemon(rng: Random, group: str) -> Pod:
    return a_daemon(
        "daemon",
        namespace=group,
        cpu=rng.choice(("100m", "300m")),
        node_selector={GROUP: group},
        tolerations=rng.choice(TOLERATIONS),
    )


class _Kind:
    """Pods of one make, as a Deployment has them, and their volumes."""

    def __init__(self, rng: Random, group: str, at: int) -> None:
        self.claims: list[PersistentVolumeClaim] = []
        self.volumes: list[PersistentVolume] = []
        make = _make(rng, group)
        keeps_data = rng.random() < 0.2
        names = [f"p{at}-{copy}" for copy in range(rng.randint(1, 3 if keeps_data else 8))]
        self.pods = [
            a_pod(name, namespace=group, volumes=[self._volume(rng, group, name)] if keeps_data else [], **make)
            for name in names
        ]

    def _volume(self, rng: Random, group: str, pod: str) -> Raw:
        """Make a volume that exists already, in some zone, and return the pod's reference to it."""
        claim, volume = f"data-{pod}", f"{group}-{pod}"
        self.volumes.append(a_volume(volume, zone=rng.choice(ZONES), storage_class="late"))
        self.claims.append(
            PersistentVolumeClaim(
                ObjectMeta(name=claim, namespace=group),
                core.PersistentVolumeClaimSpec(volume_name=volume, storage_class_name="late"),
                PersistentVolumeClaimStatus("Bound"),
            )
        )
        return {"name": "data", "persistentVolumeClaim": {"claimName": claim}}


def _make(rng: Random, group: str) -> Raw:
    affinity = _pod_affinity(rng)
    if rng.random() < 0.3:
        affinity["nodeAffinity"] = _node_affinity(rng)
    gpu = {"nvidia.com/gpu": "1"} if rng.random() < 0.05 else {}
    spread = [_spread(rng, key) for key in rng.sample(SPREAD_KEYS[1:], rng.choice((1, 1, 2)))]
    return {
        "cpu": rng.choice(("100m", "500m", "1", "1500m", "3")),
        "memory": rng.choice(("128Mi", "1Gi", "3Gi", "6Gi")),
        "requests": gpu,
        "limits": gpu,  # the API server wants it said twice
        "labels": {"app": rng.choice(APPS)},
        "node_selector": {GROUP: group, **rng.choice(({}, {}, {}, {labels.ZONE: "b"}, {TEAM: "red"}))},
        "affinity": affinity,
        "spread": spread if rng.random() < 0.45 else [],
        "tolerations": rng.choice(TOLERATIONS),
        "ports": [{"containerPort": 80, "hostPort": rng.choice((80, 81))}] if rng.random() < 0.15 else [],
    }


def _spread(rng: Random, key: str) -> Raw:
    rule: Raw = {
        "maxSkew": rng.choice((1, 1, 2)),
        "topologyKey": key,
        "whenUnsatisfiable": rng.choice(("DoNotSchedule", "DoNotSchedule", "ScheduleAnyway")),
        "labelSelector": _selector(rng),
    }
    if rule["whenUnsatisfiable"] == "DoNotSchedule" and rng.random() < 0.2:
        rule["minDomains"] = 2
    return rule


def _pod_affinity(rng: Random) -> Raw:
    affinity: Raw = {}
    for side in ("podAffinity", "podAntiAffinity"):
        chance = rng.random()
        if chance < 0.15:
            affinity[side] = _required(rng)
        elif chance < 0.3:
            weighted = {"weight": rng.randint(1, 100), "podAffinityTerm": _term(rng)}
            affinity[side] = {"preferredDuringSchedulingIgnoredDuringExecution": [weighted]}
    return affinity


def _required(rng: Random) -> Raw:
    return {"requiredDuringSchedulingIgnoredDuringExecution": [_term(rng)]}


def _term(rng: Random) -> Raw:
    return {"topologyKey": rng.choice(KEYS), "labelSelector": _selector(rng)}


def _selector(rng: Random) -> Mapping[str, Any]:
    return {"matchLabels": {"app": rng.choice(APPS)}}


def node_selector_term(rng: Random) -> Raw:
    """Return one thing that a pod may ask of its node."""
    expression: Raw = rng.choice(
        (
            {"key": labels.ZONE, "operator": "In", "values": rng.sample(ZONES, 2)},
            {"key": labels.ZONE, "operator": "NotIn", "values": ["c"]},
            {"key": labels.INSTANCE_CATEGORY, "operator": "In", "values": ["m", "r"]},
            {"key": labels.INSTANCE_CPU, "operator": "Gt", "values": ["2"]},
            {"key": TEAM, "operator": "DoesNotExist"},
            {"key": labels.CAPACITY_TYPE, "operator": "NotIn", "values": ["spot"]},
        )
    )
    return {"matchExpressions": [expression]}


def _node_affinity(rng: Random) -> Raw:
    term = node_selector_term(rng)
    if rng.random() < 0.6:
        return {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": [term]}}
    weighted = {"weight": rng.randint(1, 100), "preference": term}
    return {"preferredDuringSchedulingIgnoredDuringExecution": [weighted]}
