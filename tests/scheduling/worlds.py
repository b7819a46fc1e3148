"""Hypothesis strategies for small worlds: pools, nodes, daemons and pods whose constraints meet, clash and overlap."""

from typing import Any

from hypothesis import strategies as st

from karpenter.model import labels
from karpenter.model.core import Pod
from karpenter.model.requirements import Requirement
from karpenter.model.units import PoolKey
from karpenter.scheduling import NodeView, PoolView, Snapshot
from tests.builders import a_daemon, a_node_view, a_pod, a_pool, a_snapshot, pool_usage
from tests.scheduling.toys import toys

TEAM = "example.com/team"
TYPE_SETS = (
    ("c.1", "c.2", "c.4", "m.2", "m.4", "r.2"),
    ("c.4", "c.8", "m.8", "r.4"),
    ("c.2", "m.2", "g.8"),
)
TAINTS = ("dedicated=a:NoSchedule", "dedicated=b:NoExecute", "soft=x:PreferNoSchedule")
TOLERATIONS: tuple[tuple[dict[str, str], ...], ...] = (
    (),
    ({"key": "dedicated", "operator": "Equal", "value": "a", "effect": "NoSchedule"},),
    ({"operator": "Exists"},),
)

types = st.sampled_from(TYPE_SETS).map(lambda names: toys(*names))
short_types = st.tuples(st.sampled_from(TYPE_SETS), st.sets(st.sampled_from(["a", "b", "c"]), max_size=2)).map(
    lambda drawn: toys(*drawn[0], unavailable=[(zone, "on-demand") for zone in drawn[1]])
)

requirements = st.lists(
    st.sampled_from([
        Requirement.of(labels.CAPACITY_TYPE, "In", ["on-demand"]),
        Requirement.of(labels.ZONE, "In", ["a", "b"]),
        Requirement.of(labels.ZONE, "NotIn", ["c"]),
        Requirement.of(labels.INSTANCE_CATEGORY, "In", ["c", "m"]),
        Requirement.of(labels.INSTANCE_CPU, "Gt", ["1"]),
        Requirement.of(TEAM, "Exists"),
        Requirement.of(TEAM, "In", ["red", "blue"]),
    ]),
    max_size=3,
)  # fmt: skip

expressions = st.sampled_from([
    {"key": labels.ZONE, "operator": "In", "values": ("a",)},
    {"key": labels.ZONE, "operator": "NotIn", "values": ("a", "b")},
    {"key": labels.CAPACITY_TYPE, "operator": "In", "values": ("on-demand",)},
    {"key": labels.INSTANCE_CATEGORY, "operator": "In", "values": ("m", "r")},
    {"key": labels.INSTANCE_CPU, "operator": "Lt", "values": ("8",)},
    {"key": TEAM, "operator": "In", "values": ("red",)},
    {"key": TEAM, "operator": "In", "values": ("blue", "green")},
    {"key": TEAM, "operator": "NotIn", "values": ("red",)},
    {"key": TEAM, "operator": "DoesNotExist", "values": ()},
    {"key": TEAM, "operator": "Exists", "values": ()},
])  # fmt: skip
terms = st.lists(expressions, min_size=1, max_size=2).map(lambda drawn: {"matchExpressions": drawn})


@st.composite
def affinities(draw: st.DrawFn) -> dict[str, Any]:
    required = draw(st.lists(terms, max_size=2))
    preferred = draw(st.lists(st.tuples(st.integers(1, 3), terms), max_size=2))
    node: dict[str, Any] = {}
    if required:
        node["requiredDuringSchedulingIgnoredDuringExecution"] = {"nodeSelectorTerms": required}
    if preferred:
        node["preferredDuringSchedulingIgnoredDuringExecution"] = [
            {"weight": weight, "preference": term} for weight, term in preferred
        ]
    return {"nodeAffinity": node} if node else {}


@st.composite
def shapes(draw: st.DrawFn) -> dict[str, Any]:
    """Draw what one kind of pod asks for, as arguments of `a_pod`."""
    return {
        "cpu": draw(st.sampled_from(["100m", "400m", "1", "1500m", "3", "7", "40"])),
        "memory": draw(st.sampled_from(["128Mi", "1Gi", "3Gi", "12Gi", "30Gi"])),
        "requests": draw(st.sampled_from([{}, {}, {}, {"nvidia.com/gpu": "1"}])),
        "node_selector": draw(
            st.sampled_from([{}, {}, {labels.ZONE: "b"}, {TEAM: "red"}, {"kubernetes.io/hostname": "n1"}])
        ),
        "affinity": draw(affinities()),
        "tolerations": draw(st.sampled_from(TOLERATIONS)),
    }


@st.composite
def pod_lists(draw: st.DrawFn, *, most_kinds: int = 4, most_copies: int = 5) -> tuple[Pod, ...]:
    kinds = draw(st.lists(st.tuples(shapes(), st.integers(1, most_copies)), min_size=1, max_size=most_kinds))
    return tuple(
        a_pod(f"p{kind}-{copy}", **shape) for kind, (shape, copies) in enumerate(kinds) for copy in range(copies)
    )


@st.composite
def nodes(draw: st.DrawFn, name: str) -> NodeView:
    bound = [
        a_pod(f"on-{name}-{at}", cpu=cpu, node=name)
        for at, cpu in enumerate(draw(st.lists(st.sampled_from(["500m", "1"]), max_size=2)))
    ]
    return a_node_view(
        name,
        cpu=draw(st.sampled_from(["1", "2", "4", "8"])),
        memory=draw(st.sampled_from(["2Gi", "8Gi", "32Gi"])),
        pods=bound,
        labels=draw(st.sampled_from([{}, {TEAM: "red"}, {TEAM: "blue", labels.INSTANCE_CATEGORY: "m"}])),
        taints=draw(st.lists(st.sampled_from(TAINTS), max_size=1)),
        zone=draw(st.sampled_from(["a", "b", "c"])),
        is_initialized=draw(st.booleans()),
        is_deleting=draw(st.sampled_from([False, False, False, True])),
    )


@st.composite
def pools(draw: st.DrawFn, name: str, *, limited: bool) -> PoolView:
    limits = (
        draw(st.sampled_from([{}, {"cpu": "10"}, {"nodes": "2"}, {"cpu": "20", "memory": "40Gi"}])) if limited else {}
    )
    pool = a_pool(
        name,
        kind=draw(st.sampled_from(["Provisioner", "NodePool"])),
        requirements=draw(requirements),
        taints=draw(st.lists(st.sampled_from(TAINTS), max_size=1)),
        startup_taints=draw(st.lists(st.just("startup:NoSchedule"), max_size=1)),
        limits=limits,
        weight=draw(st.sampled_from([0, 0, 10])),
    )
    offered = draw(st.one_of(types, short_types))
    return PoolView(pool, offered, usage=pool_usage(PoolKey(pool.origin.kind, name), ()))


@st.composite
def snapshots(draw: st.DrawFn, *, limited: bool = False) -> Snapshot:
    """Draw a cluster of up to three pools and four nodes."""
    daemon = st.builds(
        a_daemon,
        cpu=st.sampled_from(["100m", "500m"]),
        memory=st.just("100Mi"),
        tolerations=st.sampled_from(TOLERATIONS),
        node_selector=st.sampled_from([{}, {}, {labels.INSTANCE_CATEGORY: "m"}, {labels.INITIALIZED: "true"}]),
    )
    return a_snapshot(
        nodes=[draw(nodes(f"n{at}")) for at in range(draw(st.integers(0, 4)))],
        pools=[draw(pools(f"pool{at}", limited=limited)) for at in range(draw(st.integers(0, 3)))],
        daemons=draw(st.lists(daemon, max_size=2)),
    )
