"""The two rules: D-14 … D-16; DEP-54 … DEP-56; TV-114 … TV-118; V34, V35; cases CHURN, STUCK-CONSOL, SPOT15."""

from dataclasses import replace

import pytest

from karpenter.disruption.options import DisruptionOptions
from karpenter.disruption.verdict import Verdict
from karpenter.model import labels
from karpenter.model.instancetype import InstanceType
from karpenter.model.nodepool import Disruption
from karpenter.scheduling import Options, Policy
from karpenter.scheduling.policy import FlexibilityRails
from tests.builders import a_pod, a_snapshot, an_instance_type
from tests.disruption.consolidation.fleets import (
    FREE_MOVES,
    a_fleet,
    a_free_pool,
    a_machine,
    consolidated,
    kinds,
    price_of,
    reasons,
    settled,
)
from tests.scheduling.toys import pods


def test_tv114_a_node_whose_pods_fit_elsewhere_goes() -> None:
    fleet = a_fleet(a_machine("a", "c.4", *pods(1, name="p")), a_machine("b", "c.4", *pods(3, name="q")), types=["c.4"])
    (command,) = consolidated(fleet).commands
    assert (command.nodes, command.replacements) == (("a",), ())
    assert command.savings == pytest.approx(0.16)
    assert set(command.placements.values()) == {"b"}


def test_tv115_a_node_is_replaced_by_a_cheaper_one_and_only_types_below_its_price_are_asked_for() -> None:
    fleet = a_fleet(a_machine("a", "c.8", *pods(1, cpu="3")), types=["c.4", "c.8", "c.16"])
    (command,) = consolidated(fleet).commands
    assert kinds(command) == ["c.4"]
    assert command.replacements[0].instance_types == ("c.4",)


def test_tv116_a_node_is_not_replaced_by_one_of_its_own_price() -> None:
    fleet = a_fleet(a_machine("a", "c.4", *pods(1, cpu="3")), types=["c.4", "c.8"])
    verdict = consolidated(fleet)
    assert verdict.commands == ()
    (blocked,) = verdict.blocked
    assert (blocked.code, blocked.price) == ("Price", 0.16)
    assert "not cheaper" in blocked.message


def test_tv117_a_spot_node_is_not_swapped_for_a_few_cheaper_spot_types_and_says_how_many_are_missing() -> None:
    spot = a_free_pool(requirements={labels.CAPACITY_TYPE: ["spot"]})
    machine = a_machine("a", "m.8", *pods(1), pool=spot, capacity_type="spot")
    fleet = a_fleet(machine, pools=[spot], types=["c.1", "c.2", "c.4", "m.2", "m.4", "r.2", "m.8"])
    (blocked,) = consolidated(fleet).blocked
    assert (blocked.code, blocked.message) == ("Price", "needs 15 cheaper spot types, has 6")
    five = Policy(rails=False, move_price=0.0, node_fee=0.0, flexibility=FlexibilityRails(spot_types=5))
    (command,) = consolidated(fleet, DisruptionOptions(solve=Options(five))).commands
    assert len(command.replacements[0].instance_types) == 5


def spot_types(cheaper: int) -> list[InstanceType]:
    """Return so many types cheaper than the last one."""
    prices = [*(0.10 + at / 1000 for at in range(cheaper)), 1.0]
    return [an_instance_type(f"s.{at}", cpu="8", memory="32Gi", price=price) for at, price in enumerate(prices)]


def on_spot(cheaper: int, policy: Policy) -> Verdict:
    spot = a_free_pool(requirements={labels.CAPACITY_TYPE: ["spot"]})
    machine = a_machine("a", "m.8", *pods(1), pool=spot, capacity_type="spot", price=0.3, instance_type=f"s.{cheaper}")
    fleet = a_snapshot(nodes=[machine], pools=[spot], types=spot_types(cheaper))
    return consolidated(fleet, DisruptionOptions(solve=Options(policy)))


def test_v34_a_spot_node_waits_for_15_cheaper_types_and_then_asks_for_exactly_those() -> None:
    pure = FREE_MOVES.solve.policy
    assert on_spot(14, pure).commands == ()
    (command,) = on_spot(15, pure).commands
    assert command.replacements[0].instance_types == tuple(f"s.{at}" for at in range(15))


def test_a_spot_node_stays_when_nothing_is_swapped_for_spot_prices() -> None:
    (blocked,) = on_spot(15, replace(FREE_MOVES.solve.policy, spot_to_spot=False)).blocked
    assert (blocked.code, "policy.spotToSpot" in blocked.message) == ("Price", True)


def bursting(*more: str) -> Verdict:
    """Two 2xlarge and a small one, all of whose pods fit on the smallest machine."""
    sizes = {"t3a.nano": 0.0047, "t3a.small": 0.0188, "t3a.xlarge": 0.1504, "t3a.2xlarge": 0.3008}
    offered = [name for name in sizes if name in {"t3a.small", "t3a.xlarge", "t3a.2xlarge", *more}]
    types = [an_instance_type(name, cpu="8", memory="32Gi", price=sizes[name]) for name in offered]
    nodes = [
        a_machine(
            name,
            "m.8",
            *pods(1, cpu="100m", memory="100Mi", name=name),
            instance_type=kind,
            price=sizes[kind],
        )
        for name, kind in (("a", "t3a.2xlarge"), ("b", "t3a.2xlarge"), ("c", "t3a.small"))
    ]
    return consolidated(a_snapshot(nodes=nodes, pools=[a_free_pool()], types=types))


def test_v35_nodes_are_not_swapped_for_one_of_a_type_that_one_of_them_has() -> None:
    commands = bursting().commands
    assert sorted(node for command in commands for node in command.nodes) == ["a", "b"]
    assert [command.replacements for command in commands] == [(), ()]


def test_v35_what_replaces_them_asks_only_for_types_cheaper_than_the_one_that_could_have_stayed() -> None:
    (command,) = bursting("t3a.nano").commands
    assert command.nodes == ("a", "b", "c")
    assert command.replacements[0].instance_types == ("t3a.nano",)


def test_spot15_a_spot_node_whose_pods_fit_elsewhere_goes_all_the_same() -> None:
    spot = a_free_pool(requirements={labels.CAPACITY_TYPE: ["spot"]})
    nodes = [a_machine(name, "c.4", *pods(1, name=name), pool=spot, capacity_type="spot") for name in ("a", "b")]
    (command,) = consolidated(a_fleet(*nodes, pools=[spot], types=["c.4"])).commands
    assert len(command.nodes) == 1


def test_tv118_an_on_demand_node_gets_a_spot_machine_and_nothing_else_is_left_open() -> None:
    either = a_free_pool(requirements={labels.CAPACITY_TYPE: ["spot", "on-demand"]})
    fleet = a_fleet(a_machine("a", "c.4", *pods(1, cpu="3"), pool=either), pools=[either], types=["c.4"])
    (command,) = consolidated(fleet).commands
    (plan,) = command.replacements
    assert plan.requirements[labels.CAPACITY_TYPE].values == {"spot"}
    assert (plan.capacity_type, plan.worst_price) == ("spot", pytest.approx(0.048))


def test_churn_a_fleet_of_full_nodes_makes_no_move() -> None:
    nodes = [a_machine(f"n{at}", "c.8", *pods(1, cpu="7200m", name=f"p{at}")) for at in range(3)]
    assert consolidated(a_fleet(*nodes, types=["c.8"])).commands == ()


def test_stuck_consol_a_heavy_pool_that_holds_part_of_it_does_not_hinder_a_cheaper_machine() -> None:
    """Case STUCK-CONSOL (c): one pod that fits on the others."""
    fleet = a_fleet(a_machine("a", "m.8", *pods(1)), a_machine("b", "m.4", *pods(2, name="q")), types=["m.4", "m.8"])
    end = settled(fleet).snapshot
    assert price_of(end) == pytest.approx(0.20)


def test_a_pod_that_fits_nowhere_keeps_its_node() -> None:
    lonely = a_pod("p", node_selector={"disk": "fast"})
    machine = a_machine("a", "c.8", lonely)
    machine = replace(machine, labels={**machine.labels, "disk": "fast"})
    verdict = consolidated(a_fleet(machine, a_machine("b", "c.8", *pods(7, name="q"))))
    blocked = {one.node: one for one in verdict.blocked}
    assert blocked["a"].code == "Unschedulable"
    assert "default/p" in blocked["a"].message


def test_a_hopeless_pending_pod_does_not_stop_consolidation() -> None:
    """Case PENDING-BLOCK."""
    fleet = a_fleet(
        a_machine("a", "c.4", *pods(1)),
        a_machine("b", "c.4", *pods(2, name="q")),
        pending=[a_pod("hopeless", cpu="500")],
        types=["c.4"],
    )
    assert len(consolidated(fleet).commands) == 1


def test_a_move_has_to_be_worth_its_price() -> None:
    small, full = a_machine("a", "c.1", *pods(3, cpu="100m")), a_machine("b", "c.2", *pods(1, cpu="1500m", name="q"))
    fleet = a_fleet(small, full, types=["c.1", "c.2"])
    owned = Policy(rails=False, move_price=0.02, node_fee=0.0)
    verdict = consolidated(fleet, DisruptionOptions(solve=Options(owned)))
    assert verdict.commands == ()
    assert "moving 3 pods has to be worth" in {one.node: one.message for one in verdict.blocked}["a"]
    assert len(consolidated(fleet, FREE_MOVES).commands) == 1


def test_nodes_of_pools_that_keep_them_stay() -> None:
    pool = a_free_pool(disruption=Disruption(policy="WhenEmpty"))
    fleet = a_fleet(a_machine("a", "c.8", *pods(1), pool=pool), pools=[pool])
    assert reasons(consolidated(fleet)) == {"a": "PolicyOff"}
