"""Columns become offers: a type somewhere at a price, places that nothing tells apart together."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from karpenter.scheduling.catalog import Bools, Floats, Ints
from karpenter.scheduling.columns import Columns
from karpenter.scheduling.rules import NodeRule


@dataclass(frozen=True, slots=True)
class Offers:
    """J offers: a column, and the zones and capacity types that its price covers."""

    column: Ints
    places: Bools
    """J×Z×K."""


def offers_of(known: Columns, rules: Sequence[NodeRule], columns: Ints) -> tuple[Offers, Floats, Bools]:
    """Return offers, their prices (J) and which shapes they admit (J×S); `rules` says what each shape demands.

    While no shape minds the zone or capacity type, a column is one offer, as cheap as its cheapest place. Otherwise
    there is one for each group of places that nothing tells apart.
    """
    # Hundreds of shapes come under a handful of different rules.
    distinct = {id(known.row(rule)): known.row(rule) for rule in rules}
    of_shape = [list(distinct).index(id(known.row(rule))) for rule in rules]
    rows = np.stack(list(distinct.values()))[:, columns]
    available = np.isfinite(known.price[columns])
    anywhere: Bools = np.any(rows, axis=(2, 3))
    if (rows == (anywhere[:, :, None, None] & available)).all():
        groups = [np.ones(available.shape[1:], dtype=np.bool_)]
    else:
        groups = _alike(rows, known.price[columns])
    parts = []
    for group in groups:
        price = np.where(available & group, known.price[columns], np.inf).min(axis=(1, 2))
        there = np.flatnonzero(np.isfinite(price))
        admits = np.any(rows[:, there] & group, axis=(2, 3)).T
        parts.append((columns[there], np.repeat(group[None], len(there), axis=0), price[there], admits))
    column, places, prices, admits = (np.concatenate(part) for part in zip(*parts, strict=True))
    return Offers(column, places), prices, admits[:, of_shape]


def _alike(rows: Bools, price: Floats) -> list[Bools]:
    """Return the places, those together that have equal prices and admit equal shapes on every column (each Z×K)."""
    groups: dict[bytes, Bools] = {}
    for zone, kind in np.ndindex(*price.shape[1:]):
        key = rows[:, :, zone, kind].tobytes() + price[:, zone, kind].tobytes()
        groups.setdefault(key, np.zeros(price.shape[1:], dtype=np.bool_))[zone, kind] = True
    return list(groups.values())
