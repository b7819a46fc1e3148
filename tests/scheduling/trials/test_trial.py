"""What is expected of plans once their pods are bound."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from karpenter.model import labels
from karpenter.model.core import Pod
from karpenter.scheduling import Demand, Options, Snapshot, solve
from tests.builders import a_node_view, a_snapshot
from tests.scheduling import worlds
from tests.scheduling.toys import FREE, on_demand, pods, solved, toys

some = settings(max_examples=20)
SELECT = {"matchLabels": {"app": "a"}}
APART = {
    "podAntiAffinity": {
        "requiredDuringSchedulingIgnoredDuringExecution": [{"topologyKey": labels.HOSTNAME, "labelSelector": SELECT}]
    }
}
EVEN = {"topologyKey": labels.ZONE, "maxSkew": 1, "whenUnsatisfiable": "DoNotSchedule", "labelSelector": SELECT}


def tight() -> list[Pod]:
    """Return pods of four sizes that fill six machines of 8 cores to the last."""
    sizes = (("four", "4", 6), ("two", "2", 6), ("one", "1", 12))
    return [pod for name, cpu, count in sizes for pod in pods(count, cpu=cpu, memory="1Gi", name=name, owner=None)]


@some
@given(worlds.snapshots(), worlds.pod_lists())
def test_equal_input_is_tried_alike(snapshot: Snapshot, wanted: tuple[Pod, ...]) -> None:
    first, second = solve(snapshot, Demand.each(wanted)), solve(snapshot, Demand.each(wanted))
    assert first.second_wave == second.second_wave


@some
@given(worlds.snapshots(), worlds.pod_lists())
def test_no_less_is_expected_than_planned(snapshot: Snapshot, wanted: tuple[Pod, ...]) -> None:
    solution = solve(snapshot, Demand.each(wanted))
    assert solution.second_wave >= 0
    assert solution.expected_price >= sum(claim.expected_price for claim in solution.new_claims)


@some
@given(st.integers(1, 12), st.sampled_from(("c.4", "m.8")))
def test_one_pod_a_node_needs_no_second_wave(count: int, kind: str) -> None:
    apart = pods(count, cpu="2", labels={"app": "a"}, affinity=APART)
    solution = solved(apart, types=toys(kind))
    assert (len(solution.new_claims), solution.second_wave) == (count, 0.0)


def test_pods_of_two_sizes_that_fill_their_machines_need_a_second_wave() -> None:
    solution = solved(tight(), types=toys("c.8", "c.2"), options=FREE)
    assert solution.second_wave > 0
    assert solution.expected_price == pytest.approx(solution.price + solution.second_wave)


def test_pods_of_one_size_that_fill_their_machines_need_none() -> None:
    solution = solved(pods(32, cpu="1"), types=toys("c.8"), options=FREE)
    assert solution.second_wave == 0


def test_a_first_answer_is_not_tried() -> None:
    solution = solved(tight(), types=toys("c.8", "c.2"), options=Options(FREE.policy, rounds=0))
    assert solution.second_wave == 0


def test_pods_that_have_to_be_apart_and_find_others_in_their_place_need_a_second_wave() -> None:
    apart = pods(8, cpu="500m", name="apart", labels={"app": "a"}, affinity=APART)
    solution = solved([*apart, *pods(28, cpu="500m", name="rest")], types=toys("c.2", "c.4"), options=FREE)
    assert solution.second_wave > 0


def test_zones_that_are_spread_evenly_need_no_second_wave() -> None:
    spread = pods(30, cpu="1", labels={"app": "a"}, spread=[EVEN])
    solution = solved(spread, types=toys("c.4"), options=FREE)
    assert (len(solution.unschedulable), solution.second_wave) == (0, 0.0)


def test_what_existing_nodes_have_left_is_part_of_the_trial() -> None:
    nodes = [a_node_view(f"n{at}", cpu="4", memory="8Gi") for at in range(3)]
    snapshot = a_snapshot(nodes=nodes, types=toys("c.4"), pools=[on_demand()])
    solution = solve(snapshot, Demand.each([*pods(3, cpu="3", name="big"), *pods(3, cpu="1", name="small")]))
    assert solution.new_claims == ()
    assert solution.second_wave >= 0
