"""A covering program that grows column by column: HiGHS keeps its basis, so a solve after each step costs little."""

from __future__ import annotations

import highspy
import numpy as np

from karpenter.scheduling.catalog import Floats, Ints
from karpenter.scheduling.packing.linear import Optimum, Quiet


class Program:
    """min cost·x over x ≥ 0 with what columns bring ≥ `least` (S) and what they take ≤ `budget` (Q).

    Whatever is lacking can be had for `penalty` a piece, so there always is a solution.
    """

    def __init__(self, least: Floats, budget: Floats, *, penalty: float) -> None:
        self._needs, self._limits = len(least), len(budget)
        self._solver = Quiet()  # type: ignore[no-untyped-call] # the library has no types there
        self._solver.setOptionValue("threads", 1)
        self._solver.setOptionValue("presolve", "off")
        program = highspy.HighsLp()
        program.num_col_, program.num_row_ = self._needs, self._needs + self._limits
        program.col_cost_ = np.full(self._needs, penalty)
        program.col_lower_, program.col_upper_ = np.zeros(self._needs), np.full(self._needs, highspy.kHighsInf)
        program.row_lower_ = np.concatenate((least, np.full(self._limits, -highspy.kHighsInf)))
        program.row_upper_ = np.concatenate((np.full(self._needs, highspy.kHighsInf), budget))
        program.a_matrix_.format_ = highspy.MatrixFormat.kColwise
        program.a_matrix_.start_ = np.arange(self._needs + 1, dtype=np.int32)
        program.a_matrix_.index_ = np.arange(self._needs, dtype=np.int32)
        program.a_matrix_.value_ = np.ones(self._needs)
        self._solver.passModel(program)

    def add(self, cost: Floats, brings: Ints, takes: Floats) -> None:
        """Add N columns: what each costs (N), brings (N×S) and takes of the budget (N×Q)."""
        entries = np.concatenate((brings, takes), axis=1)
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

    def change(self, least: Floats, budget: Floats) -> None:
        """Ask for other amounts (S) under other limits (Q)."""
        rows = np.arange(self._needs + self._limits, dtype=np.int32)
        lower = np.concatenate((least, np.full(self._limits, -highspy.kHighsInf)))
        upper = np.concatenate((np.full(self._needs, highspy.kHighsInf), budget))
        self._solver.changeRowsBounds(len(rows), rows, lower, upper)  # type: ignore[attr-defined] # missing there

    def solve(self) -> Optimum:
        """Return the best mixture of the columns so far; `x` in the order they came, duals of needs, then of limits."""
        self._solver.run()
        solution = self._solver.getSolution()
        return Optimum(
            x=np.array(solution.col_value)[self._needs :],
            duals=np.array(solution.row_dual),
            objective=float(self._solver.getInfo().objective_function_value),
        )
