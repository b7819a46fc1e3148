"""Random nodes, and random pods that want everything a pod can want of its place."""

from random import Random
from typing import Any

from karpenter.model import labels
from karpenter.model.taints import Taint
from tests.e2e.nodes import a_kwok_node

Manifest = dict[str, Any]
APPS = ("web", "db")
KEYS = (labels.ZONE, labels.HOSTNAME)
TAINT = "dedicated"
GROUP = "example.com/group"
"""Label of the nodes that belong together; pods ask for it, so that clusters may share a control plane."""


def some_nodes(rng: Random, group: str) -> list[Manifest]:
    """Return three to ten nodes in up to three zones: of several sizes, some tainted, some without a zone."""
    return [_node(rng, group, number) for number in range(rng.choice((3, 6, 10)))]


def _node(rng: Random, group: str, number: int) -> Manifest:
    given = {labels.ZONE: rng.choice("abc"), "size": rng.choice("148"), GROUP: group}
    if rng.random() < 0.1:
        del given[labels.ZONE]
    taints = [Taint(TAINT, "x", rng.choice(("NoSchedule", "PreferNoSchedule", "NoExecute")))]
    return a_kwok_node(
        f"{group}-{number}",
        allocatable={
            "cpu": rng.choice("248"),
            "memory": rng.choice(("4Gi", "8Gi", "32Gi")),
            "pods": rng.choice(("3", "10", "110")),
        },
        labels=given,
        taints=taints if rng.random() < 0.3 else (),
    )


def a_demanding_pod(rng: Random, name: str, *, namespace: str, group: str) -> Manifest:
    """Return a pod for the nodes of a group."""
    app = rng.choice(APPS)
    spec: Manifest = {
        "nodeSelector": {GROUP: group},
        "terminationGracePeriodSeconds": 0,
        "containers": [_container(rng)],
    }
    if rng.random() < 0.4:
        exists = {"key": TAINT, "operator": "Exists"}
        spec["tolerations"] = [rng.choice((exists, {"key": TAINT, "operator": "Equal", "value": "x"}))]
    if rng.random() < 0.5:
        keys = rng.sample(KEYS, rng.choice((1, 1, 2)))
        spec["topologySpreadConstraints"] = [_spread(rng, key, app) for key in keys]
    if affinity := _affinity(rng):
        spec["affinity"] = affinity
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": name, "namespace": namespace, "labels": {"app": app}},
        "spec": spec,
    }


def _container(rng: Random) -> Manifest:
    requests = {}
    if rng.random() < 0.8:
        requests["cpu"] = rng.choice(("100m", "500m", "1", "3"))
    if rng.random() < 0.8:
        requests["memory"] = rng.choice(("128Mi", "1Gi", "6Gi"))
    ports = [{"containerPort": 80, "hostPort": rng.choice((80, 81))}] if rng.random() < 0.15 else []
    return {"name": "main", "image": "example.com/app", "resources": {"requests": requests}, "ports": ports}


def _spread(rng: Random, key: str, app: str) -> Manifest:
    rule: Manifest = {
        "maxSkew": rng.choice((1, 2, 3)),
        "topologyKey": key,
        "whenUnsatisfiable": rng.choice(("DoNotSchedule", "ScheduleAnyway")),
        "labelSelector": {"matchLabels": {"app": app}},
    }
    if rule["whenUnsatisfiable"] == "DoNotSchedule" and rng.random() < 0.3:
        rule["minDomains"] = rng.choice((2, 4))
    for policy in ("nodeAffinityPolicy", "nodeTaintsPolicy"):
        if rng.random() < 0.3:
            rule[policy] = rng.choice(("Honor", "Ignore"))
    return rule


def _affinity(rng: Random) -> Manifest:
    affinity: Manifest = {}
    for kind in ("podAffinity", "podAntiAffinity"):
        chance = rng.random()
        if chance < 0.2:
            affinity[kind] = {"requiredDuringSchedulingIgnoredDuringExecution": [_term(rng)]}
        elif chance < 0.45:
            weighted = {"weight": rng.randint(1, 100), "podAffinityTerm": _term(rng)}
            affinity[kind] = {"preferredDuringSchedulingIgnoredDuringExecution": [weighted]}
    if rng.random() < 0.3:
        affinity["nodeAffinity"] = _node_affinity(rng)
    return affinity


def _term(rng: Random) -> Manifest:
    return {
        "topologyKey": rng.choice(KEYS),
        "labelSelector": {"matchLabels": {"app": rng.choice((*APPS, "nobody"))}},
    }


def _node_affinity(rng: Random) -> Manifest:
    operator = rng.choice(("In", "NotIn", "Exists", "DoesNotExist", "Gt", "Lt"))
    values = {"In": rng.sample("148", 2), "NotIn": rng.sample("148", 2), "Gt": ["4"], "Lt": ["4"]}.get(operator)
    term = {"matchExpressions": [{"key": "size", "operator": operator, **({"values": values} if values else {})}]}
    if rng.random() < 0.5:
        return {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": [term]}}
    weighted = {"weight": rng.randint(1, 100), "preference": term}
    return {"preferredDuringSchedulingIgnoredDuringExecution": [weighted]}
