"""Capacity reservations: machines that are paid for already come first, never more of them than are held."""

from dataclasses import replace

import pytest

from karpenter.model import labels
from karpenter.model.instancetype import InstanceType, Offering
from karpenter.model.nodepool import NodePool
from karpenter.scheduling import Options, Policy, PoolView, Solution
from tests.builders import a_daemon, a_pool
from tests.scheduling.toys import FREE, machines, pods, solved, toys, why


def holding(
    found: InstanceType, identity: str = "cr-1", *, count: int = 1, zone: str = "a", **more: object
) -> InstanceType:
    """Return the type with a reservation that holds so many machines of it; its price is a ten-millionth (A-28)."""
    price = next(one.price for one in found.offerings if one.capacity_type == labels.ON_DEMAND) / 10_000_000
    held = Offering(zone, labels.RESERVED, price, reservation_id=identity, reservation_capacity=count, **more)
    return replace(found, offerings=(*found.offerings, held))


def open_to_all(name: str = "default", **fields: object) -> NodePool:
    """Return a pool that names no capacity type."""
    return a_pool(name, kind="NodePool", requirements={}, **fields)


def into(solution: Solution) -> list[tuple[str, str]]:
    """Return type and reservation of every planned machine, `-` for none, sorted."""
    return sorted(
        (plan.instance_type, *(plan.requirements.allowed(labels.RESERVATION_ID).values or {"-"}))
        for plan in solution.new_claims
    )


def test_a_reserved_machine_is_taken_before_any_other_and_its_claim_names_the_reservation() -> None:
    """S-52, S-54, V61: reserved before spot before on demand, at nearly no price."""
    (large,) = toys("m.8")
    solution = solved(pods(1), pools=[open_to_all()], types=[*toys("c.1", "c.2"), holding(large)])
    (plan,) = solution.new_claims
    assert (plan.instance_type, plan.zone, plan.capacity_type) == ("m.8", "a", "reserved")
    assert plan.price == pytest.approx(4e-8)
    assert plan.requirements[labels.CAPACITY_TYPE].values == {"reserved"}
    assert plan.requirements[labels.RESERVATION_ID].values == {"cr-1"}


def test_no_more_machines_are_planned_than_the_reservation_holds_and_the_rest_is_bought_at_once() -> None:
    """S-53 lets such pods wait a round upstream, since it counts every claim against every reservation it could use."""
    (found,) = toys("c.4")
    solution = solved(pods(5, cpu="3"), pools=[open_to_all()], types=[holding(found, count=2)], options=FREE)
    assert into(solution) == [("c.4", "-")] * 3 + [("c.4", "cr-1")] * 2
    assert not solution.unschedulable


def test_machines_that_are_not_reserved_are_asked_for_as_spot_or_on_demand_only() -> None:
    (found,) = toys("c.4")
    solution = solved(pods(2, cpu="3"), pools=[open_to_all()], types=[holding(found)])
    (bought,) = [plan for plan in solution.new_claims if plan.capacity_type != "reserved"]
    assert not bought.requirements.allowed(labels.CAPACITY_TYPE).allows("reserved")


def test_the_reservation_that_several_pools_may_use_is_counted_once_at_the_least_that_any_knows() -> None:
    (found,) = toys("c.4")
    views = [
        PoolView(open_to_all("one"), (holding(found, count=3),)),
        PoolView(open_to_all("two", taints=["team=b:NoSchedule"]), (holding(found, count=2),)),
    ]
    mine = pods(
        3,
        cpu="3",
        name="mine",
        tolerations=[{"key": "team", "value": "b"}],
        node_selector={"karpenter.sh/nodepool": "two"},
    )
    solution = solved([*mine, *pods(3, cpu="3", name="other")], pools=views, options=FREE)
    assert [where for _, where in into(solution)].count("cr-1") == 2


def test_two_reservations_are_two_amounts() -> None:
    small, large = toys("c.4", "m.8")
    types = [holding(small, "cr-1", count=1), holding(large, "cr-2", count=1, zone="b")]
    solution = solved(pods(3, cpu="3"), pools=[open_to_all()], types=types, options=FREE)
    assert into(solution) == [("c.4", "cr-1"), ("m.8", "cr-2")]


def test_a_pool_that_names_other_capacity_types_leaves_reservations_alone() -> None:
    (found,) = toys("c.4")
    pool = a_pool(kind="NodePool", requirements={labels.CAPACITY_TYPE: ["spot", "on-demand"]})
    assert into(solved(pods(1), pools=[pool], types=[holding(found)])) == [("c.4", "-")]


def test_an_empty_reservation_and_one_that_cannot_be_had_now_are_left_alone() -> None:
    one, two = toys("c.4", "m.4")
    types = [holding(one, count=0), holding(two, "cr-2", available=False)]
    assert into(solved(pods(1), pools=[open_to_all()], types=types)) == [("c.4", "-")]


@pytest.mark.parametrize(
    "wish,lands",
    [
        ({labels.CAPACITY_TYPE: "reserved"}, ("m.8", "cr-2")),
        ({labels.RESERVATION_ID: "cr-2"}, ("m.8", "cr-2")),
        ({labels.RESERVATION_TYPE: "capacity-block"}, ("m.8", "cr-2")),
        ({labels.CAPACITY_TYPE: "on-demand"}, ("c.1", "-")),
    ],
)
def test_pods_may_ask_for_a_reservation_by_its_labels_or_keep_out_of_all(
    wish: dict[str, str], lands: tuple[str, str]
) -> None:
    small, large = toys("c.1", "m.8")
    types = [small, holding(large, "cr-2", reservation_type="capacity-block")]
    assert into(solved(pods(1, cpu="500m", node_selector=wish), pools=[open_to_all()], types=types)) == [lands]


def test_a_pod_that_wants_a_reservation_that_is_used_up_is_told_so() -> None:
    (found,) = toys("c.4")
    wish = {labels.CAPACITY_TYPE: "reserved"}
    solution = solved(pods(2, cpu="3", node_selector=wish), pools=[open_to_all()], types=[holding(found)])
    assert machines(solution) == ["c.4"]
    ((code, message),) = why(solution)
    assert (code, message.partition(": ")[2]) == ("ReservationsUsedUp", "cr-1")


def test_the_pools_own_limits_count_reserved_machines_too() -> None:
    (found,) = toys("c.4")
    pool = open_to_all(limits={"cpu": "4"})
    solution = solved(pods(2, cpu="3"), pools=[pool], types=[holding(found, count=5)])
    assert (machines(solution), len(solution.unschedulable)) == (["c.4"], 1)


def test_daemons_that_run_on_reserved_machines_only_take_their_share_there() -> None:
    (found,) = toys("c.4")
    agent = a_daemon("agent", cpu="2", node_selector={labels.CAPACITY_TYPE: "reserved"})
    solution = solved(pods(2, cpu="3"), pools=[open_to_all()], types=[holding(found)], daemons=[agent])
    assert into(solution) == [("c.4", "-")] * 2
    fits = solved(pods(1, cpu="2"), pools=[open_to_all()], types=[holding(found)], daemons=[agent])
    assert into(fits) == [("c.4", "cr-1")]


def test_a_policy_without_reservations_leaves_them_alone() -> None:
    """The gate ReservedCapacity (S-52)."""
    (found,) = toys("c.4")
    off = Options(Policy(reservations=False))
    assert into(solved(pods(1), pools=[open_to_all()], types=[holding(found)], options=off)) == [("c.4", "-")]
