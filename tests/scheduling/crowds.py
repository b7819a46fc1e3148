"""Hypothesis strategies for pods that mind other pods: spread, affinity and anti-affinity over every key, ports."""

from typing import Any

from hypothesis import strategies as st

from karpenter.model import labels
from karpenter.model.core import Pod
from karpenter.scheduling import NodeView, PoolView, Snapshot
from tests.builders import a_node_view, a_pod, a_pool, a_snapshot
from tests.scheduling.toys import toys

APPS = ("a", "b", "c")
KEYS = (labels.ZONE, labels.ZONE, labels.HOSTNAME, labels.HOSTNAME, labels.CAPACITY_TYPE, "rack")

selectors = st.sampled_from([
    *({"matchLabels": {"app": app}} for app in APPS),
    {"matchExpressions": [{"key": "app", "operator": "In", "values": ("a", "b")}]},
    {"matchExpressions": [{"key": "app", "operator": "NotIn", "values": ("a",)}]},
])  # fmt: skip
keys = st.sampled_from(KEYS)
terms = st.builds(lambda key, selector: {"topologyKey": key, "labelSelector": selector}, keys, selectors)


@st.composite
def spreads(draw: st.DrawFn, *, soft: bool) -> dict[str, Any]:
    constraint: dict[str, Any] = {
        "maxSkew": draw(st.sampled_from([1, 1, 2])),
        "topologyKey": draw(keys),
        "labelSelector": draw(selectors),
        "whenUnsatisfiable": draw(st.sampled_from(["DoNotSchedule", "ScheduleAnyway"])) if soft else "DoNotSchedule",
    }
    if draw(st.booleans()) and constraint["whenUnsatisfiable"] == "DoNotSchedule":
        constraint["minDomains"] = draw(st.integers(1, 3))
    return constraint


@st.composite
def sides(draw: st.DrawFn) -> dict[str, Any]:
    side: dict[str, Any] = {}
    if draw(st.booleans()):
        side["requiredDuringSchedulingIgnoredDuringExecution"] = [draw(terms)]
    if draw(st.sampled_from([False, False, True])):
        side["preferredDuringSchedulingIgnoredDuringExecution"] = [
            {"weight": draw(st.integers(1, 9)), "podAffinityTerm": draw(terms)}
        ]
    return side


@st.composite
def shapes(draw: st.DrawFn) -> dict[str, Any]:
    affinity: dict[str, Any] = {}
    if draw(st.sampled_from([False, False, True])):
        affinity["podAffinity"] = draw(sides())
    if draw(st.sampled_from([False, False, True])):
        affinity["podAntiAffinity"] = draw(sides())
    zones = draw(st.sampled_from([{}, {}, {}, {labels.ZONE: "b"}]))
    return {
        "cpu": draw(st.sampled_from(["100m", "500m", "1", "3"])),
        "memory": draw(st.sampled_from(["128Mi", "1Gi", "3Gi"])),
        "labels": {"app": draw(st.sampled_from(APPS))},
        "spread": draw(st.lists(spreads(soft=True), max_size=2)),
        "affinity": affinity,
        "node_selector": zones,
        "ports": draw(st.sampled_from([[], [], [], [{"hostPort": 80}], [{"hostPort": 80, "hostIP": "10.0.0.1"}]])),
    }


@st.composite
def pod_lists(draw: st.DrawFn) -> tuple[Pod, ...]:
    kinds = draw(st.lists(st.tuples(shapes(), st.integers(1, 6)), min_size=1, max_size=4))
    return tuple(
        a_pod(f"p{kind}-{copy}", **shape) for kind, (shape, copies) in enumerate(kinds) for copy in range(copies)
    )


@st.composite
def nodes(draw: st.DrawFn, name: str) -> NodeView:
    repel = {"podAntiAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [draw(terms)]}}
    bound = [
        a_pod(
            f"on-{name}-{at}",
            cpu="100m",
            node=name,
            labels={"app": app},
            affinity=draw(st.sampled_from([None, None, None, repel])),
            ports=draw(st.sampled_from([[], [], [{"hostPort": 80}]])),
        )
        for at, app in enumerate(draw(st.lists(st.sampled_from(APPS), max_size=3)))
    ]
    return a_node_view(
        name,
        cpu=draw(st.sampled_from(["1", "4"])),
        zone=draw(st.sampled_from(["a", "b", "c", None])),
        labels=draw(st.sampled_from([{}, {"rack": "1"}, {"rack": "2"}])),
        pods=bound,
    )


@st.composite
def pools(draw: st.DrawFn, name: str) -> PoolView:
    requirements = {
        labels.CAPACITY_TYPE: draw(st.sampled_from([["on-demand"], ["spot", "on-demand"]])),
        **draw(st.sampled_from([{}, {"rack": ["1"]}, {"rack": ["1", "2", "3"]}, {labels.ZONE: ["a", "b"]}])),
    }
    pool = a_pool(
        name, requirements=requirements, limits=draw(st.sampled_from([{}, {}, {}, {"cpu": "12"}, {"nodes": "3"}]))
    )
    return PoolView(pool, draw(st.sampled_from([toys(), toys("c.1", "c.4"), toys("m.2", "m.8")])))


@st.composite
def snapshots(draw: st.DrawFn) -> Snapshot:
    return a_snapshot(
        nodes=[draw(nodes(f"n{at}")) for at in range(draw(st.integers(0, 4)))],
        pools=[draw(pools(f"pool{at}")) for at in range(draw(st.sampled_from([0, 1, 1, 1, 2])))],
    )
