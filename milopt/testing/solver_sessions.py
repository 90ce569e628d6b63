"""The cases of a solver's sessions: an engine that is told a change has the optimum of the changed form."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import numpy as np

from milopt import Options, Program, quad_form
from milopt.compilation.standard_form import StandardForm
from milopt.solving.engine import Change, What
from milopt.solving.solver import Solver
from milopt.testing.conformance import Case, CaseError
from milopt.testing.solver_answers import check_optimal, require_taken

COLUMNS = 5
_RNG = np.random.default_rng(81)
_ROWS, _CAPS, _COST = _RNG.normal(size=(6, COLUMNS)), _RNG.normal(size=(3, COLUMNS)), 4 * _RNG.normal(size=COLUMNS)
_NEAR = np.full(COLUMNS, 0.3)
"""A point that satisfies all rows."""


class ChangingProgram:
    """A small LP or QP whose pieces can be changed one by one."""

    def __init__(self, is_curved: bool) -> None:
        self.is_curved = is_curved
        self.cost, self.shift = _COST, np.zeros(6)
        self.rows, self.caps = _ROWS, _CAPS
        self.lower, self.upper = np.full(COLUMNS, -2.0), np.full(COLUMNS, 2.0)
        self.has_rows, self.has_total, self.has_columns = True, False, False

    def declare(self) -> Program:
        """Return the program as it is now."""
        program = Program("changing")
        x = program.variable("x", COLUMNS, lower=self.lower, upper=self.upper)
        objective = self.cost @ x + (0.5 * quad_form(x, np.eye(COLUMNS)) if self.is_curved else 0.0)
        rows, caps = self.rows @ x, self.caps @ x
        if self.has_columns:
            new = program.variable("new", 2, lower=0, upper=1)
            objective = objective + np.array([-0.3, 0.2]) @ new
            rows = rows + np.linspace(-1, 1, 12).reshape(6, 2) @ new
        program.minimize(objective)
        if self.has_rows:
            program.subject_to(rows >= self.rows @ _NEAR - 0.5 + self.shift, name="rows")
        program.subject_to(caps <= self.caps @ _NEAR + 0.5, name="caps")
        if self.has_total:
            program.subject_to(x.sum() >= 1.6, name="total")
        return program

    def form(self) -> StandardForm:
        """Return the flat form of the program as it is now."""
        return self.declare().to_standard_form()


def _linear(program: ChangingProgram) -> Change:
    program.cost = -2 * program.cost + np.eye(COLUMNS)[0]
    return Change(What.LINEAR)


def _offset(program: ChangingProgram) -> Change:
    program.shift = program.shift + np.linspace(0.0, 0.4, 6)
    return Change(What.OFFSET)


def _bounds(program: ChangingProgram) -> Change:
    program.lower, program.upper = np.linspace(-1.0, 0.2, COLUMNS), np.linspace(0.4, 1.5, COLUMNS)
    return Change(What.BOUNDS, np.arange(COLUMNS))


def _rows_added(program: ChangingProgram) -> Change:
    program.has_total = True
    return Change(What.ROWS_ADDED)


def _rows_replaced(program: ChangingProgram) -> Change:
    first = 6 if program.has_rows else 0
    program.caps = program.caps[::-1] + 0.2
    return Change(What.ROWS_REPLACED, np.arange(first, first + 3))


def _rows_deleted(program: ChangingProgram) -> Change:
    program.has_rows = False
    return Change(What.ROWS_DELETED, np.arange(6))


def _columns_added(program: ChangingProgram) -> Change:
    program.has_columns = True
    return Change(What.COLUMNS_ADDED, np.arange(COLUMNS, COLUMNS + 2))


def _everything(program: ChangingProgram) -> Change:
    program.rows, program.caps = program.rows[:, ::-1].copy(), program.caps[:2]
    return Change(What.EVERYTHING)


CHANGES: dict[str, tuple[Callable[[ChangingProgram], Change], ...]] = {
    "other costs": (_linear,),
    "other offsets": (_offset, _offset),
    "other bounds": (_bounds,),
    "rows added": (_rows_added,),
    "rows replaced": (_rows_replaced,),
    "rows deleted": (_rows_deleted,),
    "columns added": (_columns_added,),
    "everything": (_everything,),
    "one change after the other": (_offset, _rows_added, _bounds, _rows_replaced, _linear, _rows_deleted),
}


def session_cases(solver: Solver) -> list[Case]:
    """Return the cases about changes, for linear and for quadratic programs."""
    return [
        Case(f"session, {words}, {kind}", partial(_check_changes, solver, changes, kind == "quadratic"))
        for kind in ("linear", "quadratic")
        for words, changes in CHANGES.items()
    ]


def _check_changes(
    solver: Solver, changes: tuple[Callable[[ChangingProgram], Change], ...], is_curved: bool, is_excepted: bool
) -> None:
    program = ChangingProgram(is_curved)
    engine = solver.engine(require_taken(solver, program.form()), Options())
    try:
        engine.solve(None)
        for change in changes:
            told = change(program)
            form = require_taken(solver, program.form())
            engine.update(form, told)
            try:
                check_optimal(form, engine.solve(None))
            except CaseError as failure:
                words = f"after update with {told.what.name} ({told.what.value})"
                raise CaseError(f"{words}, its answer is not that of the changed form: {failure}") from None
    finally:
        engine.close()
