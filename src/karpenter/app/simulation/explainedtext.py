"""An explanation for a terminal: short blocks, each with its heading."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from textwrap import fill

from rich.console import Console
from rich.table import Table
from rich.text import Text

from karpenter.app.simulation.columns import counted, table
from karpenter.app.simulation.explained import Explained
from karpenter.app.simulation.refused import outcome
from karpenter.model.resources import CPU, MEMORY
from karpenter.scheduling.amounts import shown
from karpenter.scheduling.explain import Alternative, Explanation, OtherNodes, Place
from karpenter.scheduling.pricing import PreferencePrices

_SHOWN = 3
_MOST_LINES = 10


def print_explained(found: Explained, out: Console) -> None:
    """Print where it is, why, what bound it, what else was possible, and what preferences cost."""
    told = found.explanation
    out.print(Text(_headline(told), style="bold"), soft_wrap=True)
    _block(out, "Pods there", _workloads(told.place) if told.kind == "node" and told.place else ())
    _block(out, "Why", told.why or _refused(found))
    _block(out, "What binds it", [binding.message for binding in told.bindings][:_MOST_LINES])
    _block(out, "Other nodes that are there", [_other_nodes(each) for each in told.other_nodes][:_MOST_LINES])
    if told.left:
        _block(out, "Left there", [f"{shown(CPU, told.left[CPU])} cpu, {shown(MEMORY, told.left[MEMORY])} memory"])
    if told.alternatives:
        out.print()
        out.print(_alternatives(told.alternatives, told.place))
    if found.preferences is not None:
        prices = found.preferences
        both = f"the whole plan costs ${prices.respected.price:.4f} an hour if preferences are respected, "
        _block(out, "What preferences cost", [both + f"${prices.ignored.price:.4f} if they are ignored"])
        out.print(_preferences(prices))


def _block(out: Console, heading: str, lines: Sequence[str]) -> None:
    if lines:
        out.print()
        out.print(Text(heading, style="italic"))
        for line in lines:
            out.print(Text(fill(line, out.width, initial_indent="  ", subsequent_indent="    ")), soft_wrap=True)


def _headline(told: Explanation) -> str:
    place = told.place
    if place is None:
        return f"Pod {told.name} finds no place"
    price = "a price that nobody knows" if place.price is None else f"${place.price:.4f} an hour"
    kind = " ".join(part for part in (place.instance_type, place.capacity_type) if part)
    where = f" in {place.zone}" if place.zone else ""
    pool = f" of {place.pool}" if place.pool else ""
    what = f"{kind}{where}{pool}, {price}" if kind else price
    if told.kind == "node":
        return f"{'New node' if place.is_new else 'Node'} {place.name}: {what}"
    others = sum(place.pods.values()) - 1
    with_others = f", with {counted(others, 'other pod')} of this plan" if others > 0 else ""
    return f"Pod {told.name}: {'new node' if place.is_new else 'node'} {place.name}, {what}{with_others}"


def _workloads(place: Place) -> list[str]:
    lines = [f"{count}  {name}" for name, count in sorted(place.pods.items(), key=lambda entry: (-entry[1], entry[0]))]
    more = len(lines) - _MOST_LINES
    return [*lines[:_MOST_LINES], *([f"and those of {counted(more, 'more workload')}"] if more > 0 else [])]


def _refused(found: Explained) -> list[str]:
    lines = [
        f"{reason.pool}: {reason.message}" if reason.pool else reason.message for reason in found.explanation.reasons
    ]
    refusal = found.refusal
    if refusal is not None and refusal.remedy is not None:
        lines += [f"fix: {refusal.remedy.message}", f"then {outcome(refusal.remedy, len(refusal.pods))}"]
    return lines


def _other_nodes(each: OtherNodes) -> str:
    names = ", ".join(each.nodes[:_SHOWN])
    more = f" and {len(each.nodes) - _SHOWN} more" if len(each.nodes) > _SHOWN else ""
    return f"{names}{more}: {each.message}"


def _alternatives(found: Sequence[Alternative], place: Place | None) -> Table:
    made = table("What else was possible", "OTHER", "NAME", "MACHINE", "$/H", "MORE", "WHY NOT", right=("$/H", "MORE"))
    for each in found:
        # Brackets in requirements are no markup.
        made.add_row(each.dimension, each.name, *_offer(each, place), Text(each.why_not or _verdict(each, place)))
    return made


def _verdict(each: Alternative, place: Place | None) -> str:
    """Return what speaks against an alternative that would do."""
    if each.offering is None or place is None or place.price is None or each.offering.price > place.price:
        return "costs more"
    if each.offering.price == place.price:
        return "costs the same"
    return "cheaper; limits, rails or the rest of the plan decided"


def _offer(each: Alternative, place: Place | None) -> Iterator[str]:
    offering = each.offering
    if offering is None:
        yield from ("", "", "")
        return
    parts = offering.instance_type, offering.capacity_type, offering.zone
    yield " ".join(part for part in parts if part != each.name)
    yield f"{offering.price:.4f}"
    base = place.price if place is not None else None
    yield f"{100 * (offering.price / base - 1):+.0f} %" if base else ""


def _preferences(prices: PreferencePrices) -> Table:
    made = table("", "PREFERENCE", "PODS", "GIVEN UP", "$/H", right=("PODS", "GIVEN UP", "$/H"))
    for each in prices.preferences:
        made.add_row(Text(each.words), str(each.pods), str(each.given_up), f"{each.price:.4f}")
    return made
