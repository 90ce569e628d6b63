"""`native`: milopt's own algorithms, for the two patterns of flat programs that they solve best.

* equality-constrained quadratics, convex or not: no finite bounds, every row in the zero cone (`closed_form`);
* box-constrained convex QPs: no rows at all (`box_qp`), warm-started from the last point.

Anything else is refused by name.
"""

from __future__ import annotations

import numpy as np

from milopt.compilation.quadratic import Vector
from milopt.compilation.standard_form import Cone, StandardForm
from milopt.errors import ParameterError, UnsupportedError
from milopt.solvers.box_qp import solve_box_qp
from milopt.solvers.box_qp_split import Split, prove_convex, split
from milopt.solvers.closed_form import ClosedForm
from milopt.solving.engine import Answer, Change, Engine, What
from milopt.solving.options import Options
from milopt.solving.solver import Feature, Solver


class Native(Solver):
    """Closed forms and box QPs."""

    name = "native"
    features = frozenset({Feature.LINEAR, Feature.QUADRATIC, Feature.NONCONVEX})
    package = "milopt"
    licence = "BSD-3-Clause"
    recognises_patterns = True

    def refusal(self, form: StandardForm) -> str | None:
        """What it found that it has no algorithm for, or None."""
        found = _obstacle(form)
        if found is None:
            return None
        return f"it has {found}; native solves equality-constrained quadratics and box-constrained QPs"

    def engine(self, form: StandardForm, options: Options) -> Engine:
        """An engine; factorisations and the last point stay in it."""
        return NativeEngine(form, options)


def _obstacle(form: StandardForm) -> str | None:
    """The part of a program that fits neither pattern, in words."""
    if form.integer.any():
        return _counted(int(form.integer.sum()), "integer column")
    if form.second_order:
        return _counted(len(form.second_order), "second-order cone")
    inequalities = form.rows_in(Cone.NONNEGATIVE).size
    if inequalities:
        return _counted(inequalities, "inequality row")
    bounded = int(np.sum(np.isfinite(form.lower) | np.isfinite(form.upper)))
    if form.m and bounded:
        return f"{_counted(form.m, 'equality row')} together with {_counted(bounded, 'bounded column')}"
    return None


def _counted(count: int, what: str) -> str:
    return f"{count} {what}" if count == 1 else f"{count} {what}s"


class NativeEngine(Engine):
    """A flat program, its factorisation or its split, and the last point of a box QP."""

    def __init__(self, form: StandardForm, options: Options) -> None:
        super().__init__(form, options)
        if options.extra:
            raise ParameterError(
                f"native has no option named {next(iter(options.extra))!r}; leave `extra` empty for it."
            )
        self._forget()

    def _forget(self) -> None:
        self._closed: ClosedForm | None = None
        self._parts: Split | None = None
        self._last: Vector | None = None

    def update(self, form: StandardForm, change: Change) -> None:
        """Take the new form; new q and g keep what was factorised and start from the last point."""
        self.form = form
        if change.what not in (What.LINEAR, What.OFFSET):
            self._forget()
            self.rebuilds += 1

    def solve(self, time_limit: float | None) -> Answer:
        """Solve by the pattern that the form has."""
        found = Native().refusal(self.form)
        if found is not None:
            raise UnsupportedError(f"native cannot take {self.form.name!r}: {found}.")
        form = self.form
        if form.m == 0 and (np.isfinite(form.lower).any() or np.isfinite(form.upper).any()):
            return self._solve_box(time_limit)
        if np.any(form.lower == np.inf) or np.any(form.upper == -np.inf):
            return self._solve_box(time_limit)
        if self._closed is None:
            self._closed = ClosedForm(form.P, form.F)
        found_point = self._closed.solve(form.q, form.g)
        return Answer(found_point.termination, found_point.reason, found_point.x, found_point.z, iterations=1)

    def _solve_box(self, time_limit: float | None) -> Answer:
        form = self.form
        if self._parts is None:
            parts = split(form.P)
            # Columns that cannot move need no convexity.
            prove_convex(parts, np.flatnonzero(form.lower < form.upper), form.name)
            self._parts = parts
        found = solve_box_qp(self._parts, form.q, form.lower, form.upper, self._last, time_limit)
        self._last = found.x
        return Answer(
            found.termination,
            found.reason,
            found.x,
            None if found.x is None else np.zeros(0),
            iterations=found.factorisations,
            interrupted=found.interrupted,
        )
