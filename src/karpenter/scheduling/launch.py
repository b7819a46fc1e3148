"""Open machines for what found no room: items become shapes, columns become offers, patterns become bins."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from karpenter.scheduling.bins import Bins, Item
from karpenter.scheduling.catalog import Bools, Floats, Ints
from karpenter.scheduling.limits import Budget
from karpenter.scheduling.packing.pack import pack
from karpenter.scheduling.packing.problem import Pattern, Problem

_NO_CAP = 1 << 40


@dataclass(frozen=True, slots=True)
class _Offers:
    """J offers: a column, and the zones and capacity types that its price covers."""

    column: Ints
    places: Bools
    """J×Z×K."""


@dataclass(frozen=True, slots=True)
class Effort:
    """What a machine costs beside its price, and how hard to look for cheaper ones."""

    node_fee: float
    """USD per hour."""
    rounds: int


def launch(bins: Bins, items: Sequence[Item], budget: Budget, *, columns: Ints, effort: Effort) -> None:
    """Open machines of these columns for as many copies of the items as can be; what cannot stays in `left`."""
    waiting = [item for item in items if item.left]
    shapes = _shapes(bins, waiting, columns)
    if not shapes or not len(columns):
        return
    leaders = [members[0] for members in shapes]
    rows = np.stack([bins.columns.row(item.rule)[columns] for item in leaders])
    offers, prices, admits = _offers(bins, rows, columns)
    problem = Problem(
        request=np.stack([item.request for item in leaders]),
        count=np.array([sum(item.left for item in members) for members in shapes]),
        most=np.full(len(shapes), _NO_CAP),
        room=bins.columns.room[offers.column],
        price=prices + effort.node_fee,
        admits=admits,
        charge=budget.charge[offers.column],
        budget=budget.left,
    )
    packing = pack(problem, rounds=effort.rounds)
    priorities = sorted({item.cls.priority for item in waiting}, reverse=True)
    if packing.unplaced and len(priorities) > 1:
        # Limits leave somebody pending: the important ones take what there is before the others are looked at.
        for priority in priorities:
            group = [item for item in waiting if item.cls.priority == priority]
            launch(bins, group, budget, columns=columns, effort=effort)
        return
    for pattern in packing.patterns:
        _open(bins, shapes, pattern, offers=offers)
        budget.take(int(offers.column[pattern.offer]), pattern.times)


def _shapes(bins: Bins, items: Sequence[Item], columns: Ints) -> list[list[Item]]:
    """Return the items that some column takes, those with equal requests and places together."""
    shapes: dict[tuple[bytes, int], list[Item]] = {}
    for item in items:
        row = bins.columns.row(item.rule)
        fits = np.any(row[columns], axis=(1, 2)) & np.all(bins.columns.room[columns] >= item.request, axis=1)
        if np.any(fits):
            shapes.setdefault((item.request.tobytes(), id(row)), []).append(item)
    return list(shapes.values())


def _offers(bins: Bins, rows: Bools, columns: Ints) -> tuple[_Offers, Floats, Bools]:
    """Return offers, their prices (J) and which shapes they admit (J×S).

    While no shape minds the zone or capacity type, a column is one offer, as cheap as its cheapest place. Otherwise
    there is one for each group of places that nothing tells apart.
    """
    available = np.isfinite(bins.columns.price[columns])
    anywhere: Bools = np.any(rows, axis=(2, 3))
    if (rows == (anywhere[:, :, None, None] & available)).all():
        groups = [np.ones(available.shape[1:], dtype=np.bool_)]
    else:
        groups = _alike(rows, bins.columns.price[columns])
    parts = []
    for group in groups:
        price = np.where(available & group, bins.columns.price[columns], np.inf).min(axis=(1, 2))
        there = np.flatnonzero(np.isfinite(price))
        admits = np.any(rows[:, there] & group, axis=(2, 3)).T
        parts.append((columns[there], np.repeat(group[None], len(there), axis=0), price[there], admits))
    column, places, prices, admits = (np.concatenate(part) for part in zip(*parts, strict=True))
    return _Offers(column, places), prices, admits


def _alike(rows: Bools, price: Floats) -> list[Bools]:
    """Return the places, those together that have equal prices and admit equal shapes on every column (each Z×K)."""
    groups: dict[bytes, Bools] = {}
    for zone, kind in np.ndindex(*price.shape[1:]):
        key = rows[:, :, zone, kind].tobytes() + price[:, zone, kind].tobytes()
        groups.setdefault(key, np.zeros(price.shape[1:], dtype=np.bool_))[zone, kind] = True
    return list(groups.values())


def _open(bins: Bins, shapes: Sequence[Sequence[Item]], pattern: Pattern, *, offers: _Offers) -> None:
    column = int(offers.column[pattern.offer])
    places = np.isfinite(bins.columns.price[column])
    for _ in range(pattern.times):
        row = bins.open(column, places)
        for shape, copies in enumerate(pattern.copies):
            wanted = int(copies)
            for item in shapes[shape]:
                if wanted and item.left:
                    count = min(wanted, item.left)
                    bins.put(row, item, count)
                    wanted -= count
