"""The answer as tables for a terminal."""

from __future__ import annotations

from collections import Counter

from rich.console import Console
from rich.text import Text

from karpenter.app.simulation.answer import Answer
from karpenter.app.simulation.columns import counted
from karpenter.app.simulation.explained import Explained
from karpenter.app.simulation.explainedtext import print_explained
from karpenter.app.simulation.fleet import Fleet
from karpenter.app.simulation.fleettable import fleet_tables
from karpenter.app.simulation.nodestable import new_nodes, reused_nodes
from karpenter.app.simulation.prices import price_sentence
from karpenter.app.simulation.refused import refusals_table

_PIPE_WIDTH = 200
"""Columns when the output is no terminal: files and pipes do not wrap."""


def print_answer(
    answer: Answer, fleet: Fleet | None = None, found: Explained | None = None, *, console: Console | None = None
) -> None:
    """Print nodes, placements, what found no place and why, the price, and what becomes of the nodes there are.

    An explanation that was asked for is printed instead.
    """
    out = console or _console()
    if found is not None:
        print_explained(found, out)
        return
    solution = answer.solution
    if solution.new_claims:
        out.print(new_nodes(solution.new_claims, out))
    reused = Counter(solution.placements.values())
    for plan in solution.new_claims:
        reused.pop(plan.name, None)
    if reused:
        out.print(reused_nodes(reused))
    if answer.refusals:
        out.print(refusals_table(answer.refusals))
    out.print(_summary(answer))
    if answer.preferences is not None:
        both = answer.preferences
        words = f"preferences: ${both.respect:.4f} an hour if they are respected, ${both.ignore:.4f} if ignored"
        out.print(Text(words))
    for part in fleet_tables(fleet) if fleet is not None else ():
        out.print(part)
    for warning in answer.warnings:
        out.print(Text(f"warning: {warning}", style="yellow"), soft_wrap=True)


def _console() -> Console:
    console = Console(highlight=False)
    return console if console.is_terminal else Console(highlight=False, width=_PIPE_WIDTH)


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
    prices = price_sentence(solution)
    if prices:
        lines.insert(1, prices)
    if not solution.complete:
        lines.append("stopped before the end: this is what was found so far")
    return Text("\n".join(lines))
