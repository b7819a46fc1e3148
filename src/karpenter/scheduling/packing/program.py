"""A covering program that grows column by column: HiGHS keeps its basis, so a solve after each step costs little."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import highspy
import numpy as np

from karpenter.scheduling.catalog import Bools, Floats, Ints
from karpenter.scheduling.packing.linear import Optimum, Quiet

_BASIC, _LOWER, _UPPER = (getattr(highspy.HighsBasisStatus, name) for name in ("kBasic", "kLower", "kUpper"))
_WHICHEVER: Final = 0
"""HiGHS's number for the simplex method that suits the basis: the primal one if that is feasible, else the dual one."""


@dataclass(frozen=True, slots=True)
class Basis:
    """What a solution is made of: what may be other than nothing."""

    lacking: Bools
    """Needs that are lacking in part (S)."""
    used: Bools
    """Columns (N)."""
    slack: Bools
    """Needs that are more than met (S)."""
    spare: Bools
    """Limits that do not bind (Q)."""


class Program:
    """min cost·x over x ≥ 0 with what columns bring ≥ `least` (S) and what they take ≤ `budget` (Q).

    Whatever is lacking can be had for `penalty` a piece, so there always is a solution.
    """

    def __init__(self, least: Floats, budget: Floats, *, penalty: float, unit: Floats) -> None:
        """`unit` is what each limit is counted in, so that entries are of one size (Q, none of them 0)."""
        self._needs, self._limits, self._unit = len(least), len(budget), unit
        self._solver = Quiet()  # type: ignore[no-untyped-call] # the library has no types there
        self._solver.setOptionValue("threads", 1)
        self._solver.setOptionValue("presolve", "off")
        # Entries are counts of one size. New columns leave a solution feasible: the primal simplex goes on from there.
        self._solver.setOptionValue("simplex_scale_strategy", 0)
        self._solver.setOptionValue("simplex_strategy", _WHICHEVER)
        program = highspy.HighsLp()
        program.num_col_, program.num_row_ = self._needs, self._needs + self._limits
        program.col_cost_ = np.full(self._needs, penalty)
        program.col_lower_, program.col_upper_ = np.zeros(self._needs), np.full(self._needs, highspy.kHighsInf)
        program.row_lower_ = np.concatenate((least, np.full(self._limits, -highspy.kHighsInf)))
        program.row_upper_ = np.concatenate((np.full(self._needs, highspy.kHighsInf), budget / self._unit))
        program.a_matrix_.format_ = highspy.MatrixFormat.kColwise
        program.a_matrix_.start_ = np.arange(self._needs + 1, dtype=np.int32)
        program.a_matrix_.index_ = np.arange(self._needs, dtype=np.int32)
        program.a_matrix_.value_ = np.ones(self._needs)
        self._solver.passModel(program)

    def add(self, cost: Floats, brings: Ints, takes: Floats) -> None:
        """Add N columns: what each costs (N), brings (N×S) and takes of the budget (N×Q)."""
        entries = np.concatenate((brings, takes / self._unit), axis=1)
        column, row = np.nonzero(entries)
        count = len(cost)
        self._solver.addCols(
            count,
            cost,
            np.zeros(count),
            np.full(count, highspy.kHighsInf),
            len(row),
            np.searchsorted(column, np.arange(count)).astype(np.int32),
            row.astype(np.int32),
            entries[column, row].astype(np.float64),
        )

    def solve(self) -> Optimum:
        """Return the best mixture of the columns so far; `x` in the order they came, duals of needs, then of limits."""
        self._solver.run()
        solution = self._solver.getSolution()
        return Optimum(
            x=np.array(solution.col_value)[self._needs :],
            duals=np.array(solution.row_dual) / np.concatenate((np.ones(self._needs), self._unit)),
            objective=float(self._solver.getInfo().objective_function_value),
        )

    def basis(self) -> Basis:
        """Return the basis of the last solve."""
        found = self._solver.getBasis()
        columns, rows = (np.array([at == _BASIC for at in each]) for each in (found.col_status, found.row_status))
        needs = self._needs
        return Basis(columns[:needs], columns[needs:], rows[:needs], rows[needs:])

    def resume(self, basis: Basis) -> None:
        """Begin the next solve from a basis, as far as it is one."""
        known = highspy.HighsBasis()
        columns = [*basis.lacking.tolist(), *basis.used.tolist()]
        known.col_status = [_BASIC if at else _LOWER for at in columns]
        slack, spare = basis.slack.tolist(), basis.spare.tolist()
        known.row_status = [*(_BASIC if at else _LOWER for at in slack), *(_BASIC if at else _UPPER for at in spare)]
        known.valid = known.alien = True
        self._solver.setBasis(known)
