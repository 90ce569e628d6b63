"""Conformance cases of sessions: after a change, an engine must find the optimum of the changed form.

Each change is a function that changes a `ChangingProgram` in place and returns the `Change` to report to the engine.
Every case has a parameter `is_excepted` (see `ConformanceCase`), which these cases do not use.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import numpy as np

from milopt import Options, Program, quad_form
from milopt.compilation.standard_form import StandardForm
from milopt.solving.engine import Change, ChangeKind
from milopt.solving.solver import Solver
from milopt.testing.conformance import CaseError, ConformanceCase
from milopt.testing.solver_answers import check_optimal, require_supported

COLUMN_COUNT = 5
"""Number of columns of the program, before columns are added."""
_RNG = np.random.default_rng(81)
_ROWS, _CAPS, _COST = (
    _RNG.normal(size=(6, COLUMN_COUNT)),
    _RNG.normal(size=(3, COLUMN_COUNT)),
    4 * _RNG.normal(size=COLUMN_COUNT),
)
_FEASIBLE_POINT = np.full(COLUMN_COUNT, 0.3)
"""Point that satisfies all rows before they are changed."""


class ChangingProgram:
    """Small LP, or QP if `is_curved`, whose parts can be changed one by one."""

    def __init__(self, is_curved: bool) -> None:
        self.is_curved = is_curved
        self.cost, self.shift = _COST, np.zeros(6)
        self.rows, self.caps = _ROWS, _CAPS
        self.lower, self.upper = np.full(COLUMN_COUNT, -2.0), np.full(COLUMN_COUNT, 2.0)
        self.has_rows, self.has_total, self.has_columns = True, False, False

    def declare(self) -> Program:
        """Declare the program in its current state."""
        program = Program("changing")
        x = program.variable("x", COLUMN_COUNT, lower=self.lower, upper=self.upper)
        objective = self.cost @ x + (0.5 * quad_form(x, np.eye(COLUMN_COUNT)) if self.is_curved else 0.0)
        rows, caps = self.rows @ x, self.caps @ x
        if self.has_columns:
            new = program.variable("new", 2, lower=0, upper=1)
            objective = objective + np.array([-0.3, 0.2]) @ new
            rows = rows + np.linspace(-1, 1, 12).reshape(6, 2) @ new
        program.minimize(objective)
        if self.has_rows:
            program.subject_to(rows >= self.rows @ _FEASIBLE_POINT - 0.5 + self.shift, name="rows")
        program.subject_to(caps <= self.caps @ _FEASIBLE_POINT + 0.5, name="caps")
        if self.has_total:
            program.subject_to(x.sum() >= 1.6, name="total")
        return program

    def standard_form(self) -> StandardForm:
        """Return the standard form of the program in its current state."""
        return self.declare().to_standard_form()


def _change_objective(program: ChangingProgram) -> Change:
    """Change the linear objective."""
    program.cost = -2 * program.cost + np.eye(COLUMN_COUNT)[0]
    return Change(ChangeKind.LINEAR)


def _change_offsets(program: ChangingProgram) -> Change:
    """Change the offsets (right-hand sides) of rows."""
    program.shift = program.shift + np.linspace(0.0, 0.4, 6)
    return Change(ChangeKind.OFFSET)


def _change_bounds(program: ChangingProgram) -> Change:
    """Change bounds of columns."""
    program.lower, program.upper = np.linspace(-1.0, 0.2, COLUMN_COUNT), np.linspace(0.4, 1.5, COLUMN_COUNT)
    return Change(ChangeKind.BOUNDS, np.arange(COLUMN_COUNT))


def _add_rows(program: ChangingProgram) -> Change:
    """Add rows."""
    program.has_total = True
    return Change(ChangeKind.ROWS_ADDED)


def _replace_rows(program: ChangingProgram) -> Change:
    """Replace rows."""
    first = 6 if program.has_rows else 0
    program.caps = program.caps[::-1] + 0.2
    return Change(ChangeKind.ROWS_REPLACED, np.arange(first, first + 3))


def _delete_rows(program: ChangingProgram) -> Change:
    """Delete rows."""
    program.has_rows = False
    return Change(ChangeKind.ROWS_DELETED, np.arange(6))


def _add_columns(program: ChangingProgram) -> Change:
    """Add columns."""
    program.has_columns = True
    return Change(ChangeKind.COLUMNS_ADDED, np.arange(COLUMN_COUNT, COLUMN_COUNT + 2))


def _change_several_parts(program: ChangingProgram) -> Change:
    """Change the matrices of two blocks and the number of rows at once."""
    program.rows, program.caps = program.rows[:, ::-1].copy(), program.caps[:2]
    return Change(ChangeKind.EVERYTHING)


CHANGE_SEQUENCES: dict[str, tuple[Callable[[ChangingProgram], Change], ...]] = {
    "other costs": (_change_objective,),
    "other offsets": (_change_offsets, _change_offsets),
    "other bounds": (_change_bounds,),
    "rows added": (_add_rows,),
    "rows replaced": (_replace_rows,),
    "rows deleted": (_delete_rows,),
    "columns added": (_add_columns,),
    "everything": (_change_several_parts,),
    "one change after the other": (
        _change_offsets,
        _add_rows,
        _change_bounds,
        _replace_rows,
        _change_objective,
        _delete_rows,
    ),
}
"""Changes that are made one after the other to one session, by the words that name the case."""


def session_cases(solver: Solver) -> list[ConformanceCase]:
    """Return the cases about changes, for linear and for quadratic programs."""
    return [
        ConformanceCase(f"session, {words}, {kind}", partial(_check_changes, solver, changes, kind == "quadratic"))
        for kind in ("linear", "quadratic")
        for words, changes in CHANGE_SEQUENCES.items()
    ]


def _check_changes(
    solver: Solver, changes: tuple[Callable[[ChangingProgram], Change], ...], is_curved: bool, is_excepted: bool
) -> None:
    """Check that the answer of one engine is optimal after each of the changes to an LP (a QP if `is_curved`)."""
    program = ChangingProgram(is_curved)
    engine = solver.engine(require_supported(solver, program.standard_form()), Options())
    try:
        engine.solve(None)
        for change in changes:
            message = change(program)
            form = require_supported(solver, program.standard_form())
            engine.update(form, message)
            try:
                check_optimal(form, engine.solve(None))
            except CaseError as failure:
                words = f"after update with {message.kind.name} ({message.kind.value})"
                raise CaseError(f"{words}, its answer is not that of the changed form: {failure}") from None
    finally:
        engine.close()
