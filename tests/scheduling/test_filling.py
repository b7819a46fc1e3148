"""How full machines are planned: `policy.fill`."""

from dataclasses import replace

from hypothesis import given, settings

from karpenter.model.core import Pod
from karpenter.scheduling import Demand, Options, Policy, Snapshot, solve
from tests.scheduling import worlds
from tests.scheduling.toys import FREE, machines, pods, solved, toys

some = settings(max_examples=20)
HALF = Options(Policy(fill=0.5, node_fee=0.0))


def test_a_fixed_fill_leaves_the_rest_of_a_machine_free() -> None:
    assert machines(solved(pods(4, cpu="1"), types=toys("c.4", "c.8"), options=HALF)) == ["c.4", "c.4"]


def test_a_pod_that_needs_more_than_the_fill_still_gets_its_machine() -> None:
    assert machines(solved(pods(1, cpu="7"), types=toys("c.4", "c.8"), options=HALF)) == ["c.8"]


def test_without_rails_no_room_is_left_free() -> None:
    options = Options(replace(HALF.policy, rails=False))
    assert machines(solved(pods(4, cpu="1"), types=toys("c.4", "c.8"), options=options)) == ["c.4"]


@some
@given(worlds.snapshots(), worlds.pod_lists())
def test_room_is_left_free_only_where_that_makes_the_expected_total_cheaper(
    snapshot: Snapshot, wanted: tuple[Pod, ...]
) -> None:
    auto = solve(snapshot, Demand.each(wanted), Options(Policy(node_fee=0.0)))
    full = solve(snapshot, Demand.each(wanted), Options(Policy(node_fee=0.0, fill=1.0)))
    assert auto.expected_price <= full.expected_price
    assert auto == full or auto.expected_price < full.expected_price


def test_room_is_left_free_where_a_second_wave_would_cost_more() -> None:
    wanted = [pod for name, cpu in (("three", "3"), ("two", "2")) for pod in pods(12, cpu=cpu, name=name, owner=None)]
    auto = solved(wanted, types=toys("c.16", "c.2"), options=Options(Policy(node_fee=0.0)))
    full = solved(wanted, types=toys("c.16", "c.2"), options=Options(Policy(node_fee=0.0, fill=1.0)))
    assert auto.price > full.price
    assert auto.expected_price < full.expected_price


def test_pure_price_is_planned_full() -> None:
    wanted = [pod for name, cpu in (("three", "3"), ("one", "1")) for pod in pods(9, cpu=cpu, name=name, owner=None)]
    assert solved(wanted, options=FREE).price <= solved(wanted).price
