"""The answer as tables for a terminal."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from rich.console import Console
from rich.table import Table
from rich.text import Text

from karpenter.app.simulation.answer import Answer
from karpenter.app.simulation.columns import counted, table
from karpenter.app.simulation.fleet import Fleet
from karpenter.app.simulation.fleettable import fleet_tables
from karpenter.app.simulation.refused import refusals_table
from karpenter.model.resources import CPU, MEMORY, format_amount
from karpenter.scheduling.solution import ClaimPlan

_PIPE_WIDTH = 200
"""Columns when the output is no terminal: files and pipes do not wrap."""


def print_answer(answer: Answer, fleet: Fleet | None = None, console: Console | None = None) -> None:
    """Print nodes, placements, what found no place and why, the price, and what becomes of the nodes there are."""
    out = console or _console()
    solution = answer.solution
    if solution.new_claims:
        out.print(_new_nodes(solution.new_claims))
    reused = Counter(solution.placements.values())
    for plan in solution.new_claims:
        reused.pop(plan.name, None)
    if reused:
        out.print(_reused(reused))
    if answer.refusals:
        out.print(refusals_table(answer.refusals))
    out.print(_summary(answer))
    for part in fleet_tables(fleet) if fleet is not None else ():
        out.print(part)
    for warning in answer.warnings:
        out.print(Text(f"warning: {warning}", style="yellow"), soft_wrap=True)


def _console() -> Console:
    console = Console(highlight=False)
    return console if console.is_terminal else Console(highlight=False, width=_PIPE_WIDTH)


def _new_nodes(plans: Sequence[ClaimPlan]) -> Table:
    numbers = ("$/H", "PODS", "CPU", "MEMORY", "TYPES")
    made = table("New nodes", "NAME", "POOL", "TYPE", "ZONE", "CAPACITY", *numbers, right=numbers)
    for plan in plans:
        made.add_row(
            plan.name,
            str(plan.pool),
            plan.instance_type,
            plan.zone,
            plan.capacity_type,
            f"{plan.price:.4f}",
            str(len(plan.pods)),
            format_amount(CPU, plan.requests.get(CPU, 0)),
            format_amount(MEMORY, plan.requests.get(MEMORY, 0)),
            str(len(plan.instance_types)),
        )
    return made


def _reused(counts: Counter[str]) -> Table:
    made = table("Room on nodes there are", "NODE", "PODS", right=("PODS",))
    for name in sorted(counts):
        made.add_row(name, str(counts[name]))
    return made


def _summary(answer: Answer) -> Text:
    solution = answer.solution
    placed, left = len(solution.placements), len(solution.unschedulable)
    nodes = counted(len(solution.new_claims), "new node")
    lines = [
        f"{placed} of {placed + left} pods placed, {nodes} for ${solution.price:.4f} an hour",
        f"solved in {answer.seconds.solve:.3f} s ({answer.seconds.solve_cpu:.3f} s CPU)",
    ]
    if answer.nodes:
        before = counted(len(answer.nodes), "node")
        lines.insert(
            1,
            f"beside {before} that {'is' if len(answer.nodes) == 1 else 'are'} there, "
            f"for ${answer.existing_price:.4f} an hour",
        )
    if not solution.complete:
        lines.append("stopped before the end: this is what was found so far")
    return Text("\n".join(lines))
