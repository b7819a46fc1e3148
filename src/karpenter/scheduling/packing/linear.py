"""Linear programs, solved by HiGHS."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import highspy
import numpy as np

from karpenter.scheduling.catalog import Floats


@dataclass(frozen=True, slots=True)
class Optimum:
    """The solution of min cost·x with rows·x ≥ least and x ≥ 0."""

    x: Floats
    duals: Floats
    """Change of the objective by one more of each row's `least`."""
    objective: float


class Quiet(highspy.Highs):
    """HiGHS without its banner, which the constructor prints while it sets up callbacks."""

    def enableCallbacks(self) -> None:  # noqa: N802 - the library's name
        self.silent()
        super().enableCallbacks()  # type: ignore[no-untyped-call] # the library has no types there


def covers(cost: Floats, rows: Floats, leasts: Sequence[Floats]) -> Iterator[Optimum]:
    """Solve a covering program that has a solution, for several demands: M rows over N columns, all dense."""
    count, width = rows.shape
    program = highspy.HighsLp()
    program.num_col_, program.num_row_ = width, count
    program.col_cost_ = cost
    program.col_lower_, program.col_upper_ = np.zeros(width), np.full(width, highspy.kHighsInf)
    program.row_lower_, program.row_upper_ = leasts[0], np.full(count, highspy.kHighsInf)
    program.a_matrix_.format_ = highspy.MatrixFormat.kRowwise
    program.a_matrix_.start_ = np.arange(count + 1) * width
    program.a_matrix_.index_ = np.tile(np.arange(width), count)
    program.a_matrix_.value_ = rows.ravel()
    solver = Quiet()  # type: ignore[no-untyped-call] # the library has no types there
    solver.setOptionValue("threads", 1)
    # Presolve takes ten times as long as the simplex itself on programs of three rows.
    solver.setOptionValue("presolve", "off")
    solver.passModel(program)
    each = np.arange(count, dtype=np.int32)
    for least in leasts:
        solver.changeRowsBounds(count, each, least, program.row_upper_)  # type: ignore[attr-defined] # missing there
        solver.run()
        solution = solver.getSolution()
        yield Optimum(
            x=np.array(solution.col_value),
            duals=np.array(solution.row_dual),
            objective=float(solver.getInfo().objective_function_value),
        )
