"""The bound under the rails against the true optimum under them, found by trying every plan."""

from collections.abc import Iterator, Sequence

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from karpenter.model.core import Pod
from karpenter.model.instancetype import InstanceType
from karpenter.scheduling import Demand, Options, Policy
from karpenter.scheduling.policy import SizeRails
from tests.builders import a_pod, a_snapshot, an_instance_type
from tests.scheduling.railchecker import cores, requests_of
from tests.scheduling.test_lower_bound import proven
from tests.scheduling.toys import on_demand, toys

TIGHT = Policy(node_fee=0.0, size=SizeRails(vcpu=4, least_vcpu=2), max_pods_per_node=3)
CHEAP_WHEN_LARGE = an_instance_type("x.16", cpu="16", memory="64Gi", price=0.25)
CATALOGUES = (
    (*toys("c.1", "c.2", "c.4", "m.4", "c.8"), CHEAP_WHEN_LARGE),
    (*toys("m.2", "r.2", "m.8", "r.8"), CHEAP_WHEN_LARGE),
    (*toys("c.8", "m.8"), CHEAP_WHEN_LARGE),
)


def partitions(pods: Sequence[Pod]) -> Iterator[list[list[Pod]]]:
    """Yield every way to put pods on machines."""
    if not pods:
        yield []
        return
    first, rest = pods[0], pods[1:]
    for made in partitions(rest):
        yield [[first], *made]
        for at, group in enumerate(made):
            yield [*made[:at], [first, *group], *made[at + 1 :]]


def holds(kind: InstanceType, pods: Sequence[Pod]) -> bool:
    amounts = [requests_of(pod) for pod in pods]
    return all(sum(each.get(name, 0) for each in amounts) <= kind.allocatable[name] for name in ("cpu", "memory"))


def optimum(pods: Sequence[Pod], types: Sequence[InstanceType]) -> float:
    """Return the least price of a plan under TIGHT: at most 4 vCPU and 3 pods, unless a pod needs more vCPU."""
    cap = min(4.0, max(2.0, 0.1 * sum(requests_of(pod)["cpu"] for pod in pods) / 1000))

    def largest(pod: Pod) -> float:
        """Return the vCPU of the smallest machine that holds a pod, if that is more than the cap."""
        return max(cap, min(cores(kind) for kind in types if holds(kind, [pod])))

    def machine(group: Sequence[Pod]) -> float:
        most = max(map(largest, group))
        prices = [
            min(o.price for o in kind.offerings if o.capacity_type == "on-demand")
            for kind in types
            if cores(kind) <= most and holds(kind, group) and len(group) <= 3
        ]
        return min(prices, default=float("inf"))

    return min(sum(map(machine, made)) for made in partitions(pods))


shapes = st.tuples(st.sampled_from(["300m", "900m", "1500m", "3", "6"]), st.sampled_from(["500Mi", "2Gi", "6Gi"]))


@settings(max_examples=40)
@given(st.lists(shapes, min_size=1, max_size=6), st.sampled_from(CATALOGUES))
def test_the_bound_is_never_above_the_optimum_under_the_rails_and_the_plan_never_below(
    wanted: list[tuple[str, str]], types: tuple[InstanceType, ...]
) -> None:
    pods = [a_pod(f"p{at}", cpu=cpu, memory=memory) for at, (cpu, memory) in enumerate(wanted)]
    solution = proven(a_snapshot(types=types, pools=[on_demand()]), Demand.each(pods), Options(TIGHT))
    best = optimum(pods, types)
    assert solution.lower_bound <= best + 1e-9
    assert solution.price >= best - 1e-9
    assert solution.price <= best * 1.35 + 1e-9


def test_the_optimum_that_is_tried_out_knows_the_cap() -> None:
    pods = [a_pod(f"p{at}", cpu="1500m", memory="1Gi") for at in range(3)]
    assert optimum(pods, CATALOGUES[0]) == pytest.approx(0.24)
