"""Compare solvers on one program: each solves it, and each answer is proved on its own."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace

from milopt.comparison.agreement import Agreement, agreement
from milopt.comparison.cell import Cell
from milopt.comparison.formulation import refusal_of, sizes_of
from milopt.comparison.layout import OPTIMUM, Layout
from milopt.declaration.programs.program import Program
from milopt.declaration.programs.semi_infinite import SemiInfinite
from milopt.errors import ConvexityError, MiloptError, SolverError, UnsupportedError
from milopt.outcome.by_name import ByName
from milopt.outcome.result import Result
from milopt.schemes.scheme import Scheme
from milopt.schemes.solve import solve
from milopt.solving.explain import case_of
from milopt.solving.options import Options

PAGE_WIDTH = 79
"""Columns of the printed table: narrow, so that the program is named once, above its solvers."""


@dataclass(frozen=True)
class SolverComparison:
    """What several solvers made of one program; prints as a table.

    Attributes
    ----------
    rows : tuple of Cell
        One row per solver: `solver`, `termination`, `objective`, `certificate` (its largest residual is
        `certificate.worst`), `seconds` (without just-in-time compilation), and for a solver that cannot take the
        program `refused` and `reason`.
    results : mapping
        The result of each solver that has one, by its name.
    """

    rows: tuple[Cell, ...]
    results: Mapping[str, Result]

    @property
    def agreement(self) -> Agreement:
        """Whether the certified objectives agree to 1e-6, and proofs that there is none."""
        return agreement(self.rows[0].model, self.rows)

    def __str__(self) -> str:
        layout = Layout([row.model for row in self.rows], [row.solver for row in self.rows], PAGE_WIDTH, OPTIMUM)
        rows = [layout.row(row) for row in self.rows]
        # The heading comes before the names of the columns.
        heading, rows[0] = rows[0][:1], rows[0][1:]
        lines = [*heading, *layout.header(), *(line for row in rows for line in row)]
        return "\n".join([*lines, *layout.verdict(self.agreement), *layout.remarks(self.rows)])

    __repr__ = __str__


def compare_solvers(
    program: Program | SemiInfinite,
    solvers: Sequence[str],
    scheme: str | Scheme | None,
    options: Options,
) -> SolverComparison:
    """Solve a program by each of several solvers."""
    case, sizes = case_of(program), sizes_of(program)
    rows: list[Cell] = []
    results: dict[str, Result] = {}
    for name in solvers:
        reason = refusal_of(case, name)
        row = Cell(program.name, name, sizes, bool(reason), reason)
        if not reason:
            _load(name)
            try:
                results[name] = solve(program, name, scheme, options)
                row = _filled(row, results[name])
            except (UnsupportedError, ConvexityError, SolverError) as error:
                row = replace(row, reason=str(error))
        rows.append(row)
    return SolverComparison(tuple(rows), ByName("solver", results, {}))


def _filled(row: Cell, result: Result) -> Cell:
    return replace(
        row,
        termination=result.termination,
        point=result.point,
        objective=result.objective,
        certificate=result.certificate,
        iterations=result.iterations,
        seconds=result.seconds.total - result.seconds.jit,
    )


def _load(solver: str) -> None:
    """Let a solver import its package, so that its seconds are those of the work."""
    tiny = Program("tiny")
    x = tiny.variable("x", 2, lower=0)
    tiny.minimize(x.sum())
    tiny.subject_to(x.sum() >= 1)
    with suppress(MiloptError):
        solve(tiny, solver)
