"""Plans in a terminal: one row a node while that can be read, by kind beyond; nothing folded on narrow screens."""

import io
from collections import Counter

from rich.console import Console
from rich.table import Table

from karpenter.app.simulation.nodestable import new_nodes, reused_nodes
from karpenter.scheduling import ClaimPlan
from tests.scheduling.toys import on_demand, pods, solved


def lines(table: Table, console: Console) -> list[str]:
    console.print(table)
    assert isinstance(console.file, io.StringIO)
    return [" ".join(line.split()) for line in console.file.getvalue().splitlines()]


def a_console(width: int) -> Console:
    return Console(file=io.StringIO(), width=width)


def plans(count: int) -> tuple[ClaimPlan, ...]:
    pool = on_demand(requirements={"node.kubernetes.io/instance-type": ["c.2"], "topology.kubernetes.io/zone": ["a"]})
    return solved(pods(count, cpu="2"), pools=[pool]).new_claims


def test_a_wide_screen_shows_everything() -> None:
    console = a_console(200)
    assert lines(new_nodes(plans(1), console), console) == [
        "New nodes",
        "NAME POOL TYPE ZONE CAPACITY $/H PODS CPU MEMORY TYPES",
        "default-1 Provisioner default c.2 a on-demand 0.0800 1 2 1Gi 1",
    ]


def test_a_narrow_screen_shows_what_matters_most_in_whole_words() -> None:
    console = a_console(50)
    assert lines(new_nodes(plans(1), console), console)[1:] == [
        "NAME TYPE ZONE $/H PODS",
        "default-1 c.2 a 0.0800 1",
    ]


def test_many_nodes_are_shown_by_kind() -> None:
    console = a_console(200)
    assert lines(new_nodes(plans(41), console), console) == [
        "New nodes by kind",
        "NODES POOL TYPE ZONE CAPACITY $/H PODS CPU MEMORY",
        "41 Provisioner default c.2 a on-demand 3.2800 41 82 41Gi",
    ]


def test_many_existing_nodes_are_summed_up() -> None:
    console = a_console(200)
    found = lines(reused_nodes(Counter({f"n-{at:02}": 2 for at in range(45)})), console)
    assert found[-1] == "and 5 more nodes 10"
