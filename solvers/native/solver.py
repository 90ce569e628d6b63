"""`native`: milopt's own algorithms, for the patterns of flat programs that they solve best.

* equality-constrained quadratics, convex or not: no finite bounds, every row in the zero cone (`closed_form`,
  or `kernel_closed_form` where the quadratic is that of a kernel over points and bags);
* box-constrained convex QPs: no rows at all (`box_qp`), warm-started from the last point;
* linear programs with few rows or few columns (`dense_simplex`), warm-started from the last basis.

Anything else is refused by name. Oracles over the 1-norm ball (`l1_ball`), over a ball of the kernel's space
(`hilbert_ball`) and over a simplex (`simplex_choice`) are priced by algorithms of their own.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from milopt.arrays import Vector
from milopt.compilation.answer import Answer
from milopt.compilation.features import Feature
from milopt.compilation.standard_form import StandardForm
from milopt.cones import NONNEGATIVE
from milopt.declaration.atoms.atom import Atom
from milopt.declaration.atoms.norm import Norm
from milopt.declaration.atoms.norm1 import Norm1
from milopt.declaration.programs.expression import Expression
from milopt.errors import ParameterError, UnsupportedError
from milopt.solving.columnless import answer_without_columns
from milopt.solving.engine import Change, Engine, What
from milopt.solving.engine_process import EngineProcess, is_heavy
from milopt.solving.options import Options
from milopt.solving.solver import Solver

if TYPE_CHECKING:
    from milopt.declaration.bags.bags import Bags
    from milopt.declaration.programs.program import Program
    from milopt.declaration.programs.semi_infinite import Oracle
    from milopt.solvers.native.box_qp.split import Split
    from milopt.solvers.native.closed_form.closed_form import ClosedForm
    from milopt.solvers.native.closed_form.kernel_closed_form import KernelClosedForm
    from milopt.solvers.native.dense_simplex.linear_form import LinearForm
    from milopt.solving.pricing import Pricing
    from milopt.solving.profile import Profile

FEW, ENTRIES = 500, 2_000_000
"""Of a linear program: rows or columns, whichever are fewer, and entries of its matrix, zeros included."""
SPARSE, SMALL = 0.05, 100_000
"""Share of entries that are not 0, below which a sparse method is faster unless there are so few in all."""
MANY_PRICES = 1000
"""Prices up to which its dense rows are added to a master and solved many times faster than HiGHS's sparse ones."""
CLOSED_FORM_ENTRIES, BOX_ENTRIES = 4_000_000, 16_000_000
"""Entries of P and F from which one factorisation, during which nothing looks at the clock, may take a second."""


class Native(Solver):
    """Closed forms, box QPs and small linear programs."""

    name = "native"
    features = frozenset({Feature.LINEAR, Feature.QUADRATIC, Feature.NONCONVEX})
    package = "milopt"
    licence = "BSD-3-Clause"
    starts_warm = True
    compiles = True
    recognises_patterns = True

    def rank(self, profile: Profile) -> float | None:
        """First if it knows the pattern; among linear programs only for masters, to which rows are added many times."""
        if 0 < profile.prices <= MANY_PRICES:
            return 50.0
        return None if profile.is_linear else 40.0

    def refusal(self, form: StandardForm) -> str | None:
        """What it found that it has no algorithm for, or None."""
        found = _obstacle(form)
        if found is None:
            return None
        patterns = f"equality-constrained quadratics, box-constrained QPs and dense LPs of up to {FEW} rows or columns"
        return f"it has {found}; native solves {patterns}"

    def takes_unseen(self, program: Program) -> bool:
        """Equality-constrained quadratics: squares of affine rows, and no inequality, bound or integer."""
        atoms = _atoms(program.objective)
        free = all(
            not one.integer and not np.isfinite(one.lower).any() and not np.isfinite(one.upper).any()
            for one in program.variables.values()
        )
        equal = all(one.equality and not _atoms(one.expression) for one in program.constraints.values())
        square = all(a.is_quadratic and (a.function is not None or not _atoms(a.argument)) for a in atoms)
        return bool(atoms) and free and equal and square

    def engine(self, form: StandardForm, options: Options) -> Engine:
        """An engine; factorisations and the last point stay in it."""
        return NativeEngine(form, options)

    def prices(self, oracle: Oracle, bags: Bags) -> bool:
        """Weak learners over the 1-norm ball, over a ball of the kernel's space, or over a simplex."""
        from milopt.solvers.native.edge_program import edge_program
        from milopt.solvers.native.simplex_choice import simplex_choice

        if any(edge_program(oracle, bags, ball) is not None for ball in (Norm1, Norm)):
            return True
        return simplex_choice(oracle, bags) is not None

    def pricing(self, oracle: Oracle, bags: Bags, options: Options) -> Pricing | None:
        """The algorithm for the oracle's ball, or for its simplex."""
        from milopt.solvers.native.simplex_choice import ChoicePricing, simplex_choice

        choice = simplex_choice(oracle, bags)
        if choice is not None:
            return ChoicePricing(choice)
        # numba, which they import, takes a second.
        from milopt.solvers.native.hilbert_ball.hilbert_ball import hilbert_ball_pricing
        from milopt.solvers.native.l1_ball.l1_ball import l1_ball_pricing

        return l1_ball_pricing(oracle, bags, options) or hilbert_ball_pricing(oracle, bags, options)


def _obstacle(form: StandardForm) -> str | None:
    """The part of a program that fits neither pattern, in words."""
    if form.integer.any():
        return _counted(int(form.integer.sum()), "integer column")
    for block in form.conic:
        count = sum(other.cone_sizes.size for other in form.conic if other.cone is block.cone)
        return _counted(count, block.cone.words)
    if not _needs_simplex(form):
        return None
    if not form.P.is_zero:
        inequalities = form.rows_in(NONNEGATIVE).size
        curved = "a quadratic objective together with"
        if inequalities:
            return f"{curved} {_counted(inequalities, 'inequality row')}"
        bounded = int(np.sum(np.isfinite(form.lower) | np.isfinite(form.upper)))
        return f"{curved} {_counted(form.m, 'equality row')} and {_counted(bounded, 'bounded column')}"
    entries, size = form.m * form.n, f"{_counted(form.m, 'row')} and {_counted(form.n, 'column')}"
    if min(form.m, form.n) > FEW or entries > ENTRIES:
        return size
    if entries > SMALL and form.F.nnz < SPARSE * entries:
        return f"{size} of which {form.F.nnz / entries:.1%} of the entries are not 0"
    return None


def _needs_simplex(form: StandardForm) -> bool:
    """Whether inequalities meet rows: then neither a closed form nor a box."""
    if form.rows_in(NONNEGATIVE).size:
        return True
    return form.m > 0 and bool(np.isfinite(form.lower).any() or np.isfinite(form.upper).any())


def _has_box(form: StandardForm) -> bool:
    """Return True if the program has bounds and no rows, or a bound that no number satisfies."""
    if np.any(form.lower == np.inf) or np.any(form.upper == -np.inf):
        return True
    return form.m == 0 and bool(np.isfinite(form.lower).any() or np.isfinite(form.upper).any())


def _may_be_late(form: StandardForm) -> bool:
    """Return True if one factorisation may take a second or more; the simplex method looks at the clock often."""
    if _needs_simplex(form):
        return False
    return is_heavy(form, BOX_ENTRIES if _has_box(form) else CLOSED_FORM_ENTRIES)


def _moved(last: Vector, places: npt.NDArray[np.intp], size: int) -> Vector | None:
    """The last point where its columns are now, and 0 elsewhere; None where they are not all there."""
    if places.size and places.max() >= size:
        return None
    start = np.zeros(size)
    start[places] = last
    return start


def _counted(count: int, what: str) -> str:
    return f"{count} {what}" if count == 1 else f"{count} {what}s"


class NativeEngine(Engine):
    """A flat program, its factorisation or its split and the last point of a box QP, or its simplex dictionary."""

    def __init__(self, form: StandardForm, options: Options) -> None:
        super().__init__(form, options)
        if options.extra:
            raise ParameterError(
                f"native has no option named {next(iter(options.extra))!r}; leave `extra` empty for it."
            )
        self._process = EngineProcess(Native.name, options)
        self._forget()

    def _forget(self) -> None:
        self._closed: ClosedForm | KernelClosedForm | None = None
        self._parts: Split | None = None
        self._last: Vector | None = None
        self._linear: LinearForm | None = None

    def update(self, form: StandardForm, change: Change) -> None:
        """Take the new form; new q and g keep what was factorised, LPs nearly everything.

        A box QP starts from the last point, also where all its numbers changed and its columns have kept their places.
        """
        self.form = form
        if self._linear is not None and form.P.is_zero and not form.integer.any() and not form.conic:
            kept = self._linear.apply(form, change)
        else:
            kept = self._linear is None and change.what in (What.LINEAR, What.OFFSET)
        if not kept:
            last = self._last
            self._forget()
            self.rebuilds += 1
            if last is not None and change.index is not None and change.index.size == last.size:
                self._last = _moved(last, change.index, form.n)

    def solve(self, time_limit: float | None) -> Answer:
        """Solve by the pattern that the form has."""
        if self._linear is not None:
            return self._solve_linear(self._linear, time_limit)
        form = self.form
        found = Native().refusal(form)
        if found is not None:
            raise UnsupportedError(f"native cannot take {form.name!r}: {found}.")
        if time_limit is not None and _may_be_late(form) and self._process.can_run():
            return self._process.solve(form, time_limit)
        if _needs_simplex(form):
            # numba takes a second to load.
            from milopt.solvers.native.dense_simplex.linear_form import LinearForm

            self._linear = LinearForm(form)
            return self._solve_linear(self._linear, time_limit)
        if _has_box(form):
            return self._solve_box(time_limit)
        if self._closed is None:
            # Here and below, algorithms are imported when they are needed: `auto` loads this file for its rank.
            from milopt.solvers.native.closed_form.closed_form import ClosedForm
            from milopt.solvers.native.closed_form.kernel_closed_form import KernelClosedForm, kernel_pattern

            pattern = kernel_pattern(form.P, form.F)
            self._closed = ClosedForm(form.P, form.F) if pattern is None else KernelClosedForm(pattern)
        found_point = self._closed.solve(form.q, form.g)
        return Answer(
            found_point.termination,
            found_point.reason,
            found_point.x,
            found_point.z,
            iterations=1,
            inertia=self._closed.inertia,
        )

    def close(self) -> None:
        """End the process, if there is one."""
        self._process.close()

    def _solve_linear(self, linear: LinearForm, time_limit: float | None) -> Answer:
        if self.form.n == 0:
            return answer_without_columns(self.form, self.options.tolerance)
        found = linear.solve(time_limit)
        return Answer(
            found.termination,
            found.reason,
            found.x,
            found.z,
            iterations=found.pivots,
            interrupted=found.interrupted,
        )

    def _solve_box(self, time_limit: float | None) -> Answer:
        from milopt.solvers.native.box_qp.box_qp import solve_box_qp
        from milopt.solvers.native.box_qp.split import prove_convex, split

        form = self.form
        if self._parts is None:
            parts = split(form.P)
            if not form.known_convex:
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


def _atoms(expression: Expression) -> list[Atom]:
    return [leaf for leaf, _ in expression.terms if isinstance(leaf, Atom)]
