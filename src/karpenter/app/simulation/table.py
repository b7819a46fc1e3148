"""The answer as tables for a terminal."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence

from rich.console import Console
from rich.table import Table
from rich.text import Text

from karpenter.app.simulation.answer import Answer
from karpenter.model.resources import CPU, MEMORY, format_amount
from karpenter.scheduling.solution import ClaimPlan, Unschedulable

_SHOWN_PODS = 3
_PIPE_WIDTH = 200
"""Columns when the output is no terminal: files and pipes do not wrap."""


def print_answer(answer: Answer, console: Console | None = None) -> None:
    """Print nodes, placements, what found no place and why, and the price."""
    out = console or _console()
    solution = answer.solution
    if solution.new_claims:
        out.print(_new_nodes(solution.new_claims))
    reused = Counter(solution.placements.values())
    for plan in solution.new_claims:
        reused.pop(plan.name, None)
    if reused:
        out.print(_reused(reused))
    if solution.unschedulable:
        out.print(_unschedulable(solution.unschedulable))
    out.print(_summary(answer))
    for warning in answer.warnings:
        out.print(Text(f"warning: {warning}", style="yellow"), soft_wrap=True)


def _console() -> Console:
    console = Console(highlight=False)
    return console if console.is_terminal else Console(highlight=False, width=_PIPE_WIDTH)


def _table(title: str, *columns: str, right: Iterable[str] = ()) -> Table:
    table = Table(title=title, title_justify="left", box=None, pad_edge=False, padding=(0, 3, 0, 0))
    aligned = frozenset(right)
    for column in columns:
        table.add_column(column, justify="right" if column in aligned else "left", overflow="fold")
    return table


def _new_nodes(plans: Sequence[ClaimPlan]) -> Table:
    numbers = ("$/H", "PODS", "CPU", "MEMORY", "TYPES")
    table = _table("New nodes", "NAME", "POOL", "TYPE", "ZONE", "CAPACITY", *numbers, right=numbers)
    for plan in plans:
        table.add_row(
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
    return table


def _reused(counts: Counter[str]) -> Table:
    table = _table("Room on nodes there are", "NODE", "PODS", right=("PODS",))
    for name in sorted(counts):
        table.add_row(name, str(counts[name]))
    return table


def _unschedulable(entries: Sequence[Unschedulable]) -> Table:
    """Pods with the same reasons make one row: a Deployment fails as one."""
    grouped: dict[tuple[tuple[str, str, str], ...], list[str]] = {}
    for entry in entries:
        reasons = tuple((str(r.pool or "every node"), r.code, r.message) for r in entry.reasons)
        grouped.setdefault(reasons, []).append(str(entry.pod.metadata.key))
    table = _table("No place found", "PODS", "WHICH", "POOL", "CODE", "WHY", right=("PODS",))
    for reasons, pods in grouped.items():
        first = (str(len(pods)), _named(pods))
        for pool, code, message in reasons or (("every node", "", ""),):
            table.add_row(*first, pool, code, message)
            first = ("", "")
    return table


def _named(pods: Sequence[str]) -> str:
    shown = ", ".join(pods[:_SHOWN_PODS])
    return f"{shown} and {len(pods) - _SHOWN_PODS} more" if len(pods) > _SHOWN_PODS else shown


def _summary(answer: Answer) -> Text:
    solution = answer.solution
    placed, left = len(solution.placements), len(solution.unschedulable)
    nodes = _counted(len(solution.new_claims), "new node")
    lines = [
        f"{placed} of {placed + left} pods placed, {nodes} for ${solution.price:.4f} an hour",
        f"solved in {answer.seconds.solve:.3f} s ({answer.seconds.solve_cpu:.3f} s CPU)",
    ]
    if answer.nodes:
        before = _counted(len(answer.nodes), "node")
        lines.insert(
            1,
            f"beside {before} that {'is' if len(answer.nodes) == 1 else 'are'} there, "
            f"for ${answer.existing_price:.4f} an hour",
        )
    if not solution.complete:
        lines.append("stopped before the end: this is what was found so far")
    return Text("\n".join(lines))


def _counted(count: int, noun: str) -> str:
    return f"{count} {noun}{'' if count == 1 else 's'}"
