"""Comparison of solvers on one program: each solver solves it, and milopt computes the certificate of each solution."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from milopt.comparison.agreement import Agreement, compare_objectives
from milopt.comparison.cell import ComparisonCell
from milopt.comparison.formulation import program_sizes, unsupported_reason
from milopt.comparison.layout import OPTIMUM_COLUMNS, ComparisonLayout
from milopt.declaration.programs.program import Program
from milopt.declaration.programs.semi_infinite import SemiInfinite
from milopt.errors import ConvexityError, MiloptError, SolverError, UnsupportedError
from milopt.html import notes, view
from milopt.outcome.named_parts import NamedParts
from milopt.outcome.result import Result
from milopt.schemes.scheme import Scheme
from milopt.schemes.solve import solve
from milopt.solving.explain import make_support_checker
from milopt.solving.options import Options
from milopt.table import to_data_frame

if TYPE_CHECKING:
    import pandas

PAGE_WIDTH = 79
"""Number of characters per line: so narrow that the name of the program is a heading above its solvers."""


@dataclass(frozen=True)
class SolverComparison:
    """Results of several solvers for one program; prints as a table, and `to_frame` returns it as a data frame.

    Attributes
    ----------
    rows : tuple of ComparisonCell
        One row per solver: `solver`, `termination`, `objective`, `certificate` (its largest residual is
        `certificate.worst`), `seconds` (without just-in-time compilation), and for a solver that does not support the
        program `is_not_run` and `reason`.
    results : mapping
        Result of each solver that returned one, by the name of the solver.
    """

    rows: tuple[ComparisonCell, ...]
    results: Mapping[str, Result]

    @property
    def agreement(self) -> Agreement:
        """Agreement of the certified objectives: relative difference at most 1e-6.

        Best iterates of cycles and proofs that the program is infeasible or unbounded are compared, too.
        """
        return compare_objectives(self.rows[0].model, self.rows)

    def to_frame(self) -> pandas.DataFrame:
        """Return one row per solver as a data frame of pandas, with numbers that are not rounded."""
        rows = [row.as_row() for row in self.rows]
        without = ("accuracy", "positive_label")
        return to_data_frame([{name: value for name, value in row.items() if name not in without} for row in rows])

    def __str__(self) -> str:
        """Return the table as text."""
        layout = ComparisonLayout(
            [row.model for row in self.rows], [row.solver for row in self.rows], PAGE_WIDTH, OPTIMUM_COLUMNS
        )
        rows = [layout.row(row) for row in self.rows]
        # The heading with the program's name comes before the line with the column headings.
        heading, rows[0] = rows[0][:1], rows[0][1:]
        lines = [*heading, *layout.header(), *(line for row in rows for line in row)]
        return "\n".join([*lines, *layout.summary(self.agreement), *layout.notes(self.rows)])

    __repr__ = __str__

    def _repr_html_(self) -> str:
        """Return the table for a notebook."""
        from milopt.comparison.comparison_view import cell_notes, cells_table

        return view(cells_table("", self.rows).html(), notes([*cell_notes(self.rows), str(self.agreement)]))


def compare_solvers(
    program: Program | SemiInfinite,
    solvers: Sequence[str],
    scheme: str | Scheme | None,
    options: Options,
) -> SolverComparison:
    """Solve a program with each of several solvers; one that does not support it, or fails, gets a reason."""
    checker, sizes = make_support_checker(program), program_sizes(program)
    rows: list[ComparisonCell] = []
    results: dict[str, Result] = {}
    for name in solvers:
        reason = unsupported_reason(checker, name)
        row = ComparisonCell(program.name, name, sizes, bool(reason), reason)
        if not reason:
            _import_solver(name)
            try:
                results[name] = solve(program, name, scheme, options)
                row = _fill_row(row, results[name])
            except (UnsupportedError, ConvexityError, SolverError) as error:
                row = replace(row, reason=str(error))
        rows.append(row)
    return SolverComparison(tuple(rows), NamedParts("solver", results, {}))


def _fill_row(row: ComparisonCell, result: Result) -> ComparisonCell:
    """Return the row with the numbers of a result."""
    return replace(
        row,
        termination=result.termination,
        point=result.point,
        objective=result.objective,
        certificate=result.certificate,
        iterations=result.iterations,
        seconds=result.seconds.total - result.seconds.jit,
        jit_seconds=result.seconds.jit,
    )


def _import_solver(solver: str) -> None:
    """Solve a tiny program, so that the solver's package is imported before the time is measured."""
    tiny = Program("tiny")
    x = tiny.variable("x", 2, lower=0)
    tiny.minimize(x.sum())
    tiny.subject_to(x.sum() >= 1)
    with suppress(MiloptError):
        solve(tiny, solver)
