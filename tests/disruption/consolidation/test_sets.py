"""Cheaper sets, splits, bound and fixpoint: issue 6, point 2; cases CHURN, CHEAPER-SET, STUCK-CONSOL, SMALL-NODES."""

from dataclasses import replace
from itertools import combinations, pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from karpenter.disruption.consolidation import consolidation
from karpenter.disruption.options import DisruptionOptions
from karpenter.disruption.relocation import relocate
from karpenter.model.nodepool import Budget, Disruption
from karpenter.scheduling import Options, Policy
from karpenter.scheduling.snapshot import Snapshot
from tests.builders import a_daemon, a_pod
from tests.disruption.consolidation.fleets import (
    FREE_MOVES,
    a_fleet,
    a_free_pool,
    a_machine,
    consolidated,
    kinds,
    price_of,
    settled,
)
from tests.scheduling.toys import SIZES, pods

FEE = DisruptionOptions(solve=Options(Policy(rails=False, move_price=0.0, node_fee=0.02)))


def two(kind: str, cpu: str, memory: str) -> list[object]:
    return [a_machine(name, kind, a_pod(f"p-{name}", cpu=cpu, memory=memory)) for name in ("a", "b")]


def test_cheaper_set_a_two_nodes_become_one_of_another_shape() -> None:
    end = settled(a_fleet(*two("c.4", "1900m", "7Gi"))).snapshot
    assert price_of(end) == pytest.approx(0.20)


def test_cheaper_set_d_equal_prices_make_no_move_unless_a_node_costs_something_by_itself() -> None:
    fleet = a_fleet(*two("c.8", "7", "12Gi"), types=["c.8", "c.16"])
    assert consolidated(fleet).commands == ()
    (command,) = consolidated(fleet, FEE).commands
    assert kinds(command) == ["c.16"]
    assert command.savings == pytest.approx(0.02)


def test_stuck_consol_a_the_weight_of_a_pool_does_not_force_two_nodes_where_one_is_cheaper() -> None:
    small = a_free_pool("small", weight=10, requirements={"node.kubernetes.io/instance-type": ["c.2"]})
    large = a_free_pool("large", weight=1, requirements={"node.kubernetes.io/instance-type": ["m.4", "m.8"]})
    both = [a_pod("p", cpu="500m", memory="1Gi"), a_pod("q", cpu="500m", memory="12Gi")]
    end = settled(a_fleet(a_machine("a", "m.8", *both, pool=large), pools=[small, large])).snapshot
    assert price_of(end) <= 0.28


def test_stuck_consol_b_a_pair_is_found_among_nodes_that_cannot_move() -> None:
    keep = {"karpenter.sh/do-not-disrupt": "true"}
    stuck = [a_machine(f"0{at:02}", "c.1", *pods(1, name=f"s{at}", annotations=keep)) for at in range(60)]
    fleet = a_fleet(*two("m.8", "3", "25Gi"), *stuck)
    end = settled(fleet).snapshot
    assert price_of(end) == pytest.approx(price_of(fleet) - 0.80 + 0.52)


def test_a_large_node_is_split_where_that_is_cheaper() -> None:
    """Four cores with little memory beside one core with much: one m.16 costs more than a c.4 and an r.2."""
    both = [a_pod("p", cpu="3800m", memory="6Gi"), a_pod("q", cpu="500m", memory="15Gi")]
    (command,) = consolidated(a_fleet(a_machine("a", "m.8", *both))).commands
    assert kinds(command) == ["c.4", "r.2"]


def test_small_nodes_eight_become_one() -> None:
    daemon = a_daemon(cpu="300m", memory="205Mi")
    nodes = [a_machine(f"n{at}", "c.1", *pods(1, cpu="400m", memory="512Mi", name=f"p{at}")) for at in range(8)]
    end = settled(a_fleet(*nodes, daemons=[daemon])).snapshot
    assert price_of(end) <= 0.16 + 1e-9


def test_the_outlook_states_what_the_fleet_costs_what_it_must_and_what_the_commands_bring() -> None:
    verdict = consolidated(a_fleet(*two("c.4", "1900m", "7Gi")))
    assert verdict.outlook is not None
    assert verdict.outlook.now == pytest.approx(0.32)
    assert verdict.outlook.after == pytest.approx(0.20)
    assert 0 < verdict.outlook.bound <= 0.20 + 1e-9


def test_never_more_nodes_go_than_the_budget_allows() -> None:
    pool = a_free_pool(disruption=Disruption(budgets=(Budget("2"),)))
    nodes = [a_machine(f"n{at}", "c.8", *pods(1, name=f"p{at}"), pool=pool) for at in range(6)]
    verdict = consolidated(a_fleet(*nodes, pools=[pool]))
    assert sum(len(command.nodes) for command in verdict.commands) == 2
    assert {one.code for one in verdict.blocked} == {"Budget"}


fleets = st.lists(
    st.tuples(
        st.sampled_from(["c.2", "c.4", "c.8", "m.4", "r.4"]),
        st.lists(st.tuples(st.sampled_from([500, 1000, 1900]), st.sampled_from([1, 3, 7])), min_size=1, max_size=3),
    ),
    min_size=1,
    max_size=4,
)


def random_fleet(described: list[tuple[str, list[tuple[int, int]]]], types: tuple[str, ...] = tuple(SIZES)) -> Snapshot:
    """Return a fleet of these machines with as many of their pods as they hold."""
    nodes = []
    for at, (kind, wanted) in enumerate(described):
        cores, memory, _ = SIZES[kind]
        cpu, gibibytes, held = cores * 1000, memory, []
        for number, (milli, size) in enumerate(wanted):
            if milli <= cpu and size <= gibibytes:
                held.append(a_pod(f"p{at}-{number}", cpu=f"{milli}m", memory=f"{size}Gi"))
                cpu, gibibytes = cpu - milli, gibibytes - size
        nodes.append(a_machine(f"n{at}", kind, *held))
    return a_fleet(*nodes, types=types)


@settings(max_examples=25)
@given(fleets)
def test_churn_b_every_command_makes_the_fleet_cheaper_until_none_is_left_and_then_none_comes(described) -> None:
    fleet = random_fleet(described)
    end = settled(fleet)
    assert end.complete
    prices = [price_of(fleet)]
    for command in end.commands:
        prices.append(prices[-1] - command.savings)
    assert price_of(end.snapshot) == pytest.approx(prices[-1])
    assert all(after < before for before, after in pairwise(prices))
    assert len(end.commands) <= len(fleet.nodes) * len(SIZES)
    assert consolidated(end.snapshot).commands == ()


@settings(max_examples=15)
@given(fleets)
def test_equal_fleets_get_equal_verdicts_whatever_the_order_of_their_pods(described) -> None:
    fleet = random_fleet(described)
    turned = replace(fleet, nodes=tuple(replace(view, pods=view.pods[::-1]) for view in fleet.nodes))
    assert consolidation(fleet, FREE_MOVES) == consolidation(fleet, FREE_MOVES)
    assert [c.nodes for c in consolidation(turned, FREE_MOVES).commands] == [
        c.nodes for c in consolidation(fleet, FREE_MOVES).commands
    ]


@settings(max_examples=12)
@given(fleets)
def test_small_fleets_end_as_cheap_as_the_best_of_all_sets_of_nodes_packed_anew(described) -> None:
    fleet = random_fleet(described)
    names = [view.name for view in fleet.nodes if view.pods]
    best = price_of(fleet)
    for size in range(1, len(names) + 1):
        for chosen in combinations(names, size):
            relocation = relocate(fleet, frozenset(chosen), FREE_MOVES.solve)
            kept = sum(view.price or 0.0 for view in fleet.nodes if view.name not in chosen)
            if relocation.is_possible:
                best = min(best, kept + relocation.price)
    assert price_of(settled(fleet).snapshot) <= best + 1e-9


def test_d11_a_search_whose_time_is_up_says_what_it_was_trying_and_keeps_what_it_found() -> None:
    fleet = a_fleet(*two("c.4", "1900m", "7Gi"))
    assert consolidation(fleet, FREE_MOVES).cut_short == ""
    cut = consolidation(fleet, FREE_MOVES, stop=lambda: True)
    assert (cut.commands, cut.cut_short) == ((), "multi")


def test_d12_what_was_being_tried_when_time_was_up_may_be_a_single_node() -> None:
    fleet = a_fleet(a_machine("a", "c.8", *pods(1, cpu="3")), types=["c.4", "c.8"])
    asked = iter((False,))  # before the search begins
    assert consolidation(fleet, FREE_MOVES, stop=lambda: next(asked, True)).cut_short == "single"
