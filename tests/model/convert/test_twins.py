"""A Provisioner and the NodePool it is converted to launch the same machines for the same pods."""

from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from karpenter.model import labels
from karpenter.model.convert import Profile, convert
from karpenter.model.nodepool import NodePool
from karpenter.model.pools import decode_pool
from karpenter.scheduling import Demand, Solution, solve
from tests.builders import a_node_template, a_pod, a_pool_view, a_provisioner, a_snapshot
from tests.scheduling.toys import toys

TAINT = {"key": "dedicated", "effect": "NoSchedule"}

requirements = st.fixed_dictionaries(
    {},
    optional={
        labels.CAPACITY_TYPE: st.sampled_from((("In", ["spot"]), ("In", ["on-demand"]), ("Exists", []))),
        labels.INSTANCE_CPU: st.sampled_from((("Gt", ["2"]), ("Lt", ["16"]), ("In", ["4", "8"]))),
        labels.ZONE: st.sampled_from((("In", ["a"]), ("NotIn", ["b"]), ("Exists", []))),
        labels.INSTANCE_CATEGORY: st.sampled_from((("In", ["c", "m"]), ("NotIn", ["g"]))),
    },
)
specs = st.fixed_dictionaries(
    {"requirements": requirements},
    optional={
        "labels": st.just({"team": "a"}),
        "taints": st.just([TAINT]),
        "startupTaints": st.just([{"key": "starting", "effect": "NoExecute"}]),
        "limits": st.just({"resources": {"cpu": "12"}}),
        "weight": st.integers(1, 100),
    },
)
pods = st.lists(
    st.fixed_dictionaries(
        {"cpu": st.sampled_from(("100m", "1", "3", "12")), "memory": st.sampled_from(("128Mi", "2Gi", "20Gi"))},
        optional={
            "node_selector": st.sampled_from(({"team": "a"}, {labels.ZONE: "a"}, {labels.CAPACITY_TYPE: "spot"}))
        },
    ),
    min_size=1,
    max_size=6,
)


def _twins(spec: dict[str, Any]) -> tuple[NodePool, NodePool]:
    entries = [
        {"key": key, "operator": operator, "values": values} for key, (operator, values) in spec["requirements"].items()
    ]
    raw = a_provisioner(**{**spec, "requirements": entries})
    converted = convert([raw], [a_node_template()], profile=Profile(role="nodes"))
    assert converted.is_whole
    return decode_pool(raw)[0], decode_pool(converted.manifests[-1])[0]


def _told(solution: Solution) -> Any:
    plans = [
        (plan.instance_types, plan.zone, plan.capacity_type, plan.price, {str(pod.metadata.key) for pod in plan.pods})
        for plan in solution.new_claims
    ]
    left = {
        (str(entry.pod.metadata.key), tuple(reason.code for reason in entry.reasons))
        for entry in solution.unschedulable
    }
    return plans, left


@settings(max_examples=60, deadline=None)
@given(spec=specs, wishes=pods)
def test_twins_launch_the_same_machines(spec: dict[str, Any], wishes: list[dict[str, Any]]) -> None:
    crowd = [a_pod(f"p{at}", tolerations=[TAINT], **wish) for at, wish in enumerate(wishes)]
    types = toys(labels={labels.INSTANCE_GENERATION: "5", labels.OS: "linux", labels.ARCH: "amd64"})
    answers = [
        solve(a_snapshot(pools=[a_pool_view(pool, *types)], pending=crowd), Demand.each(crowd)) for pool in _twins(spec)
    ]
    assert _told(answers[0]) == _told(answers[1])
