"""The linear program of a bound: machines in fractions, copies in fractions, rounded rows where that helps."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import highspy
import numpy as np

from karpenter.scheduling.bound.certificate import Demand, Multipliers, Places
from karpenter.scheduling.bound.cuts import Cut, violated
from karpenter.scheduling.catalog import Floats, Ints
from karpenter.scheduling.packing.linear import Quiet

_CUTS_A_TURN: Final = 2
"""Rounded rows that join for one offer at once."""
_FEW_COPIES, _FEW_SHAPES = 12, 24
"""Rows for what there is less of than a machine holds are made at once while there are few."""
_DUAL, _PRIMAL = 1, 4
"""HiGHS's numbers of its two simplex methods."""
_TINY: Final = 1e-7
_OVER: Final = 1.001
"""More copies of a shape than a machine holds, by this factor, make a row of their own."""


@dataclass(frozen=True, slots=True)
class Duals:
    """What the program says: USD per hour of copies (S) and of limits (Q), and multipliers of the offers in it."""

    worth: Floats
    scarcity: Floats
    multipliers: tuple[Multipliers, ...]
    objective: float
    offers: tuple[int, ...] = ()
    """The offers that the multipliers are of."""


@dataclass(frozen=True, slots=True)
class _Row:
    """One thing that machines of an offer are made of: copies take some of it."""

    member: int
    """Position of the offer in the program."""
    source: int | Cut | None
    """A resource, a group (its position after the resources), a cut; None for what one shape by itself takes."""
    takes: Floats
    """S, as shares of what one machine has."""
    amount: float
    """What one machine has."""


class Relaxation:
    """A program over some of J offers; others join it, and rounded rows where its solution breaks them."""

    def __init__(self, demand: Demand, places: Places, price: Floats, *, charge: Floats) -> None:
        self._demand = demand
        self._places = places
        self._price = price
        self._charge = charge
        self.offers: list[int] = []
        """Those in the program."""
        self._columns: list[int] = []
        """The column of each one's machines; those of the shapes that it holds follow."""
        self._held: list[Ints] = []
        self._rows: list[_Row] = []
        self._x: Floats = np.zeros(0)
        self._solver = Quiet()  # type: ignore[no-untyped-call] # the library has no types there
        self._solver.setOptionValue("threads", 1)
        self._solver.setOptionValue("presolve", "off")
        # Rows are shares and counts already; scaling them anew after every turn doubles the iterations.
        self._solver.setOptionValue("simplex_scale_strategy", 0)
        # From nothing the primal simplex takes half as long here; after cuts it is the dual one that goes on.
        self._solver.setOptionValue("simplex_strategy", _PRIMAL)
        shapes, limits = len(demand.count), len(demand.budget)
        program = highspy.HighsLp()
        program.num_row_ = shapes + limits
        program.row_lower_ = np.concatenate((demand.count, np.full(limits, -highspy.kHighsInf)))
        program.row_upper_ = np.concatenate((np.full(shapes, highspy.kHighsInf), demand.budget))
        self._solver.passModel(program)

    def join(self, offers: Ints) -> None:
        """Let offers join the program."""
        for offer in offers.tolist():
            held, charged = np.flatnonzero(self._places.most[offer] > 0), np.flatnonzero(self._charge[offer])
            self._columns.append(self._columns[-1] + 1 + len(self._held[-1]) if self._held else 0)
            self._held.append(held)
            self.offers.append(offer)
            count = 1 + len(held)
            self._solver.addCols(
                count,
                np.concatenate(([self._price[offer]], np.zeros(len(held)))),
                np.zeros(count),
                np.full(count, highspy.kHighsInf),
                len(charged) + len(held),
                np.concatenate(([0], len(charged) + np.arange(len(held)))).astype(np.int32),
                np.concatenate((len(self._demand.count) + charged, held)).astype(np.int32),
                np.concatenate((self._charge[offer, charged], np.ones(len(held)))),
            )
            self._add(self._base(len(self.offers) - 1))

    def _base(self, member: int) -> list[_Row]:
        requests, width = self._demand.requests, self._demand.requests.shape[1]
        rooms = self._places.room[self.offers[member]].tolist()
        used = [resource for resource in np.flatnonzero(requests.any(axis=0)).tolist() if rooms[resource] > 0]
        rows = [_Row(member, resource, requests[:, resource] / rooms[resource], rooms[resource]) for resource in used]
        caps = enumerate(self._demand.caps.tolist())
        rows += [_Row(member, width + group, self._demand.groups[:, group] / cap, cap) for group, cap in caps]
        return rows + (self._scarce(member) if len(requests) <= _FEW_SHAPES else [])

    def _scarce(self, member: int) -> list[_Row]:
        """Return rows for shapes of which there are fewer than one machine would hold."""
        most, room = self._places.most[self.offers[member]], self._places.room[self.offers[member]]
        few = np.flatnonzero((most > 0) & (self._demand.count <= _FEW_COPIES))
        share = (self._demand.requests[few] / np.maximum(room, 1.0)).max(axis=1)
        return [self._single(member, shape) for shape in few[share * most[few] * _OVER < 1].tolist()]

    def _single(self, member: int, shape: int) -> _Row:
        most = self._places.most[self.offers[member]]
        return _Row(member, None, (np.arange(len(most)) == shape) / most[shape], float(most[shape]))

    def _add(self, rows: Sequence[_Row]) -> None:
        """Add rows: no more copies on an offer than its machines have room for."""
        starts: list[int] = []
        columns: list[Ints] = []
        values: list[Floats] = []
        size = 0
        for row in rows:
            held, first = self._held[row.member], self._columns[row.member]
            taken = np.flatnonzero(row.takes[held])
            starts.append(size)
            columns.append(np.concatenate(([first], first + 1 + taken)))
            values.append(np.concatenate(([1.0], -row.takes[held[taken]])))
            size += 1 + len(taken)
        if rows:
            self._solver.addRows(
                len(rows),
                np.zeros(len(rows)),
                np.full(len(rows), highspy.kHighsInf),
                size,
                np.array(starts, dtype=np.int32),
                np.concatenate(columns).astype(np.int32),
                np.concatenate(values),
            )
            self._rows += rows

    def solve(self) -> Duals:
        """Return the duals of the program as it is."""
        self._solver.run()
        self._solver.setOptionValue("simplex_strategy", _DUAL)
        solution = self._solver.getSolution()
        self._x = np.array(solution.col_value)
        dual = np.array(solution.row_dual)
        shapes, limits = len(self._demand.count), len(self._demand.budget)
        return Duals(
            worth=np.maximum(dual[:shapes], 0.0),
            scarcity=np.maximum(-dual[shapes : shapes + limits], 0.0),
            multipliers=self._multipliers(np.maximum(dual[shapes + limits :], 0.0)),
            objective=float(self._solver.getInfo().objective_function_value),
        )

    def _multipliers(self, duals: Floats) -> tuple[Multipliers, ...]:
        width = self._demand.requests.shape[1]
        simple = np.zeros((len(self.offers), width + len(self._demand.caps)))
        cuts: list[list[tuple[Cut, float]]] = [[] for _ in self.offers]
        for row, dual in zip(self._rows, duals.tolist(), strict=True):
            if isinstance(row.source, Cut):
                if dual > 0:
                    cuts[row.member].append((row.source, dual / row.amount))
            elif row.source is not None:
                simple[row.member, row.source] = dual / row.amount
        return tuple(
            Multipliers(tuple(each[:width].tolist()), tuple(each[width:].tolist()), tuple(own))
            for each, own in zip(simple, cuts, strict=True)
        )

    def cut(self) -> bool:
        """Add rows that the last solution breaks; return whether there were any."""
        rows: list[_Row] = []
        for member, (first, held) in enumerate(zip(self._columns, self._held, strict=True)):
            machines = self._x[first]
            if machines > _TINY:
                copies = np.zeros(len(self._demand.count))
                copies[held] = self._x[first + 1 : first + 1 + len(held)] / machines
                rows += self._broken(member, copies)
        self._add(rows)
        return bool(rows)

    def _broken(self, member: int, copies: Floats) -> list[_Row]:
        """Return rows that these fractional copies (S) on one machine break."""
        room, most = self._places.room[self.offers[member]], self._places.most[self.offers[member]]
        rows: list[_Row] = []
        for cut in violated(room, self._demand.requests, copies, most=_CUTS_A_TURN):
            amount = float(cut.of(room[None])[0])
            rows.append(_Row(member, cut, cut.of(self._demand.requests) / amount, amount))
        return rows + [self._single(member, shape) for shape in np.flatnonzero(copies > most * _OVER).tolist()]
