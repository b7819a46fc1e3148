"""What becomes of the nodes there are, as tables for a terminal."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from typing import Final

from rich.console import RenderableType
from rich.table import Table
from rich.text import Text

from karpenter.app.simulation.columns import counted, table
from karpenter.app.simulation.fleet import Fleet, price_of
from karpenter.disruption.verdict import Blocked, Command
from karpenter.model.units import to_rfc3339
from karpenter.scheduling.solution import ClaimPlan

_SHOWN: Final = 3


def fleet_tables(fleet: Fleet) -> Iterator[RenderableType]:
    """Yield what would be given back, why the others stay, and what the fleet costs before and after."""
    settled = fleet.settled
    if settled.commands:
        yield _commands(settled.commands)
    if settled.blocked:
        yield stays_table(settled.blocked)
    before, after = fleet.before.nodes, settled.snapshot.nodes
    moved = sum(len(command.placements) for command in settled.commands)
    end = "" if settled.complete else "; more would follow (--until-settled)"
    yield Text(
        f"{counted(len(before), 'node')} for ${price_of(before):.4f} an hour become {len(after)} for "
        f"${fleet.price:.4f}, {counted(moved, 'pod')} moved{end}{_at_least(fleet)}"
    )


def _at_least(fleet: Fleet) -> str:
    """Say how much any other fleet could save at most."""
    if fleet.lower_bound is None or fleet.price <= 0.0:
        return ""
    share = max(0.0, 1.0 - fleet.lower_bound / fleet.price)
    return f"; whatever the nodes, these pods cost at least ${fleet.lower_bound:.4f} ({share:.1%} less)"


def _commands(commands: Sequence[Command]) -> Table:
    made = table("Given back", "WHY", "NODES", "REPLACED BY", "PODS", "SAVES $/H", right=("PODS", "SAVES $/H"))
    for command in commands:
        nodes = ", ".join(command.nodes[:_SHOWN])
        rest = len(command.nodes) - _SHOWN
        made.add_row(
            command.reason,
            f"{nodes} and {rest} more" if rest > 0 else nodes,
            _machines(command.replacements),
            str(len(command.placements)),
            f"{command.savings:.4f}",
        )
    return made


def _machines(plans: Sequence[ClaimPlan]) -> str:
    counts = Counter((plan.instance_type, plan.zone, plan.capacity_type) for plan in plans)
    return ", ".join(f"{count}× {' '.join(key)}" for key, count in sorted(counts.items())) or "nothing"


def stays_table(stays: Iterable[Blocked]) -> Table:
    """Return why nodes stay, the dearest first; nodes of the same reason, told in the same words, make one row."""
    grouped: dict[tuple[str, str, str], list[Blocked]] = {}
    for one in stays:
        since = to_rfc3339(one.since) if one.since is not None else "–"
        grouped.setdefault((one.code, one.message, since), []).append(one)
    made = table("Stays", "NODES", "WHICH", "$/H", "CODE", "SINCE", "WHY", right=("NODES", "$/H"))
    ordered = sorted(grouped.items(), key=lambda item: (-sum(one.price or 0.0 for one in item[1]), item[0]))
    for (code, message, since), ones in ordered:
        names = ", ".join(one.node for one in ones[:_SHOWN])
        rest = len(ones) - _SHOWN
        price = sum(one.price or 0.0 for one in ones)
        made.add_row(
            str(len(ones)), f"{names} and {rest} more" if rest > 0 else names, f"{price:.4f}", code, since, message
        )
    return made
