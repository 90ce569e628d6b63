"""Solver `native`: milopt's own algorithms (BSD-3-Clause licence), for some patterns of programs.

Problem classes:

* equality-constrained quadratics, convex or not: no finite bounds, every row in the zero cone (`closed_form`, or
  `kernel_closed_form` if the quadratic is a kernel matrix over points and bags plus a diagonal);
* box-constrained convex QPs: no rows (`box_qp`), warm-started from the last point;
* linear programs with few rows or few columns (`dense_simplex`), warm-started from the last basis;
* margin programs: a squared norm plus a hinge or squared hinge of the largest violation of each group of rows, for
  functions whose kernel has explicit features (`margin_newton`), warm-started from the last point. They are solved in
  evaluation form, and kernel values between points are not computed.

All other programs are rejected with a reason. Oracles of column generation are priced by separate algorithms: over the
1-norm ball (`l1_ball`), over a ball of the kernel's space (`hilbert_ball`), over a simplex (`unit_simplex_program`) and
over the entries of a dictionary (`dictionary_choice`).
Multipliers are computed in milopt's signs.
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
from milopt.solving.engine import Change, ChangeKind, Engine
from milopt.solving.engine_process import EngineProcess, has_slow_iterations
from milopt.solving.options import Options
from milopt.solving.solver import Solver

if TYPE_CHECKING:
    from milopt.compilation.evaluation_form import EvaluationForm
    from milopt.declaration.bags.bags import Bags
    from milopt.declaration.programs.program import Program
    from milopt.declaration.programs.semi_infinite import Oracle
    from milopt.solvers.native.box_qp.split import QuadraticSplit
    from milopt.solvers.native.closed_form.closed_form import ClosedForm
    from milopt.solvers.native.closed_form.kernel_closed_form import KernelClosedForm
    from milopt.solvers.native.dense_simplex.linear_form import LinearForm
    from milopt.solving.form_engine import FormEngine
    from milopt.solving.pricing import Pricing
    from milopt.solving.profile import Profile

MAX_SIMPLEX_SIZE, MAX_SIMPLEX_ENTRIES = 500, 2_000_000
"""Limits on linear programs: on the smaller of the numbers of rows and columns, and on the number of matrix entries.

Entries that are zero count too.
"""
MIN_DENSITY, MAX_SPARSE_ENTRIES = 0.05, 100_000
"""Smallest supported fraction of nonzero entries of a linear program, because below it a sparse method is faster.

The fraction is not limited for matrices with at most MAX_SPARSE_ENTRIES entries, zeros included.
"""
MAX_MASTER_PRICES = 1000
"""Largest number of prices of a master for which this solver is many times faster than HiGHS's sparse rows.

A master is a program to which columns or rows are added; its prices are the multipliers that the oracles get.
"""
HEAVY_CLOSED_FORM_ENTRIES, HEAVY_BOX_ENTRIES = 4_000_000, 16_000_000
"""Entries of P and F from which one factorisation may take a second, for closed forms and for box QPs.

The clock is not checked during a factorisation, so larger programs with a time limit run in a child process.
"""


class Native(Solver):
    """Solver `native`: closed forms, QPs with bounds only, margin programs, and small dense linear programs.

    `native` is the only solver that returns stationary points of nonconvex equality-constrained quadratics. Box QPs are
    warm-started from the last point, linear programs from the last basis.

    Examples
    --------
    >>> import milopt
    >>> program = milopt.Program("projection onto a box")
    >>> x = program.variable("x", 2, lower=0, upper=1)
    >>> program.minimize(milopt.sum_squares(x - [0.5, 3.0]))
    >>> result = milopt.solve(program, solver="native")
    >>> print(round(result.objective, 6))
    4.0
    """

    name = "native"
    features = frozenset({Feature.LINEAR, Feature.QUADRATIC, Feature.NONCONVEX})
    package = "milopt"
    licence = "BSD-3-Clause"
    supports_warm_start = True
    compiles_on_first_use = True
    recognises_patterns = True

    def rank(self, profile: Profile) -> float | None:
        """Return 50 for masters with at most MAX_MASTER_PRICES prices, None for other linear programs, 40 for the rest.

        None means that `auto` does not choose this solver. Many rows are added to a master, one after the other, and a
        dense simplex dictionary absorbs them quickly.
        """
        if 0 < profile.prices <= MAX_MASTER_PRICES:
            return 50.0
        return None if profile.is_linear else 40.0

    def unsupported_reason(self, form: StandardForm) -> str | None:
        """Return, as a part of a sentence, why no algorithm supports the form, or None if an algorithm supports it."""
        reason = _unsupported_reason(form)
        if reason is None:
            return None
        size = f"up to {MAX_SIMPLEX_SIZE} rows or columns"
        patterns = f"equality-constrained quadratics, box-constrained QPs, margin programs and dense LPs of {size}"
        return f"this form of the program has {reason}; native solves {patterns}"

    def supports_structure(self, program: Program) -> bool:
        """Return True if the declared program is certainly an equality-constrained quadratic.

        That is, its objective consists of squares of affine terms or of function norms (at least one) and linear terms,
        and it has no inequality, no finite bound and no integer.
        """
        atoms = _atoms_among_terms(program.objective)
        free = all(
            not variable.integer and not np.isfinite(variable.lower).any() and not np.isfinite(variable.upper).any()
            for variable in program.variables.values()
        )
        equal = all(row.equality and not _atoms_among_terms(row.expression) for row in program.constraints.values())
        square = all(a.is_quadratic and (a.function is not None or not _atoms_among_terms(a.argument)) for a in atoms)
        return bool(atoms) and free and equal and square

    def requires_dual(self, form: EvaluationForm) -> bool:
        """Return True if the program has inequalities or finite bounds: its dual may be a QP with bounds only."""
        bounded = bool(np.isfinite(form.lower).any() or np.isfinite(form.upper).any())
        return bounded or bool(form.is_inequality.any())

    def supports_form(self, form: EvaluationForm) -> bool:
        """Return True for margin programs of a function whose kernel has explicit features."""
        from milopt.solvers.native.margin_newton.margin_pattern import margin_columns

        return margin_columns(form) is not None

    def form_engine(self, options: Options) -> FormEngine | None:
        """Return an engine for margin programs, which keeps the last point between solves."""
        from milopt.solvers.native.margin_newton.margin_engine import MarginEngine

        return MarginEngine(options.tolerance)

    def engine(self, form: StandardForm, options: Options) -> Engine:
        """Return an engine that keeps factorisations and the last point between solves."""
        return NativeEngine(form, options)

    def supports_oracle(self, oracle: Oracle, bags: Bags) -> bool:
        """Return True for weak learners over a ball or a simplex, and for choices of a point of a dictionary."""
        from milopt.solvers.native.dictionary_choice import recognise_dictionary_choice
        from milopt.solvers.native.unit_simplex_program import recognise_unit_simplex_program
        from milopt.solvers.native.weak_learning_program import recognise_weak_learning_program

        if any(recognise_weak_learning_program(oracle, bags, ball) is not None for ball in (Norm1, Norm)):
            return True
        if recognise_unit_simplex_program(oracle, bags) is not None:
            return True
        return recognise_dictionary_choice(oracle, bags) is not None

    def pricing(self, oracle: Oracle, bags: Bags, options: Options) -> Pricing | None:
        """Return the pricing algorithm for the oracle's ball, simplex or dictionary; None if none supports it."""
        from milopt.solvers.native.dictionary_choice import DictionaryChoicePricing, recognise_dictionary_choice
        from milopt.solvers.native.unit_simplex_program import UnitSimplexPricing, recognise_unit_simplex_program

        choice = recognise_unit_simplex_program(oracle, bags)
        if choice is not None:
            return UnitSimplexPricing(choice)
        entry = recognise_dictionary_choice(oracle, bags)
        if entry is not None:
            return DictionaryChoicePricing(entry)
        # Imported here, because these modules import numba, which takes a second.
        from milopt.solvers.native.hilbert_ball.hilbert_ball import hilbert_ball_pricing
        from milopt.solvers.native.l1_ball.l1_ball import l1_ball_pricing

        return l1_ball_pricing(oracle, bags, options) or hilbert_ball_pricing(oracle, bags, options)


def _unsupported_reason(form: StandardForm) -> str | None:
    """Return the part of a form that no algorithm supports, as a phrase such as "2 integer columns", or None."""
    if form.integer.any():
        return _count_phrase(int(form.integer.sum()), "integer column")
    for block in form.conic_blocks:
        count = sum(other.cone_sizes.size for other in form.conic_blocks if other.cone is block.cone)
        return _count_phrase(count, block.cone.display_name)
    if not _needs_simplex(form):
        return None
    if not form.P.is_zero:
        inequalities = form.rows_in(NONNEGATIVE).size
        curved = "a quadratic objective together with"
        if inequalities:
            return f"{curved} {_count_phrase(inequalities, 'inequality row')}"
        bounded = int(np.sum(np.isfinite(form.lower) | np.isfinite(form.upper)))
        return f"{curved} {_count_phrase(form.m, 'equality row')} and {_count_phrase(bounded, 'bounded column')}"
    entries, size = form.m * form.n, f"{_count_phrase(form.m, 'row')} and {_count_phrase(form.n, 'column')}"
    if min(form.m, form.n) > MAX_SIMPLEX_SIZE or entries > MAX_SIMPLEX_ENTRIES:
        return size
    if entries > MAX_SPARSE_ENTRIES and form.F.nnz < MIN_DENSITY * entries:
        return f"{size} with {form.F.nnz / entries:.1%} nonzero entries"
    return None


def _needs_simplex(form: StandardForm) -> bool:
    """Return True if only the simplex method could solve the form: it has inequality rows, or rows and bounds."""
    if form.rows_in(NONNEGATIVE).size:
        return True
    return form.m > 0 and bool(np.isfinite(form.lower).any() or np.isfinite(form.upper).any())


def _is_box_program(form: StandardForm) -> bool:
    """Return True if the form has finite bounds and no rows, or a bound that no number satisfies, such as x >= inf."""
    if np.any(form.lower == np.inf) or np.any(form.upper == -np.inf):
        return True
    return form.m == 0 and bool(np.isfinite(form.lower).any() or np.isfinite(form.upper).any())


def _may_exceed_time_limit(form: StandardForm) -> bool:
    """Return True if one factorisation may take a second or more, which never holds for the simplex method."""
    if _needs_simplex(form):
        return False
    return has_slow_iterations(form, HEAVY_BOX_ENTRIES if _is_box_program(form) else HEAVY_CLOSED_FORM_ENTRIES)


def _relocate_point(last_point: Vector, columns: npt.NDArray[np.intp], size: int) -> Vector | None:
    """Return a starting point of the given size with the last point at `columns` and 0 elsewhere.

    `columns` has the new position of each entry of `last_point`. Returns None if a position is not below `size`.
    """
    if columns.size and columns.max() >= size:
        return None
    start = np.zeros(size)
    start[columns] = last_point
    return start


def _count_phrase(count: int, noun: str) -> str:
    """Return a count with its noun, in the plural unless the count is 1."""
    return f"{count} {noun}" if count == 1 else f"{count} {noun}s"


class NativeEngine(Engine):
    """Engine for all patterns of `native`.

    It keeps, between solves, the factors of a closed form, the `QuadraticSplit` and the last point of a box QP, or the
    simplex dictionary of a linear program.
    """

    def __init__(self, form: StandardForm, options: Options) -> None:
        super().__init__(form, options)
        if options.extra:
            raise ParameterError(
                f"native has no option named {next(iter(options.extra))!r}; leave `extra` empty for it."
            )
        self._process = EngineProcess(Native.name, options)
        self._discard_model()

    def _discard_model(self) -> None:
        """Discard factorisations, the last point and the simplex dictionary."""
        self._closed_form: ClosedForm | KernelClosedForm | None = None
        self._split: QuadraticSplit | None = None
        self._last_point: Vector | None = None
        self._linear_form: LinearForm | None = None

    def update(self, form: StandardForm, change: Change) -> None:
        """Change to a new form.

        Changes of q or g alone keep factorisations, and most changes keep the simplex dictionary. All other changes
        discard them and count in `rebuilds`. A box QP starts from the last point even if all its numbers changed,
        provided that `change` gives the new positions of its columns.
        """
        self.form = form
        if self._linear_form is not None and form.P.is_zero and not form.integer.any() and not form.conic_blocks:
            is_kept = self._linear_form.apply(form, change)
        else:
            is_kept = self._linear_form is None and change.kind in (ChangeKind.LINEAR, ChangeKind.OFFSET)
        if not is_kept:
            last_point = self._last_point
            self._discard_model()
            self.rebuilds += 1
            places = np.arange(form.n) if change.kind is ChangeKind.BOUNDS else change.index
            if last_point is not None and places is not None and places.size == last_point.size:
                self._last_point = _relocate_point(last_point, places, form.n)

    def solve(self, time_limit: float | None) -> Answer:
        """Solve by the algorithm for the pattern of the form; raise `UnsupportedError` if no algorithm supports it.

        Large programs with a time limit are solved in a child process.
        """
        if self._linear_form is not None:
            return self._solve_linear(self._linear_form, time_limit)
        form = self.form
        reason = Native().unsupported_reason(form)
        if reason is not None:
            raise UnsupportedError(f"native cannot solve {form.name!r}: {reason}.")
        if time_limit is not None and _may_exceed_time_limit(form) and self._process.can_run():
            return self._process.solve(form, time_limit)
        if _needs_simplex(form):
            # Imported here, because numba takes a second to load.
            from milopt.solvers.native.dense_simplex.linear_form import LinearForm

            self._linear_form = LinearForm(form)
            return self._solve_linear(self._linear_form, time_limit)
        if _is_box_program(form):
            return self._solve_box(time_limit)
        if self._closed_form is None:
            # Algorithms are imported on first use, because `auto` imports this module only for `rank`.
            from milopt.solvers.native.closed_form.closed_form import ClosedForm
            from milopt.solvers.native.closed_form.kernel_closed_form import KernelClosedForm, recognise_kernel_pattern

            pattern = recognise_kernel_pattern(form.P, form.F)
            self._closed_form = ClosedForm(form.P, form.F) if pattern is None else KernelClosedForm(pattern)
        stationary = self._closed_form.solve(form.q, form.g)
        return Answer(
            stationary.termination,
            stationary.reason,
            stationary.x,
            stationary.z,
            iterations=1,
            inertia=self._closed_form.inertia,
        )

    def close(self) -> None:
        """Stop the child process, if one is running."""
        self._process.close()

    def _solve_linear(self, linear: LinearForm, time_limit: float | None) -> Answer:
        """Solve the current linear program by the dense simplex method, from the last basis in `linear`."""
        if self.form.n == 0:
            return answer_without_columns(self.form, self.options.tolerance)
        vertex = linear.solve(time_limit)
        return Answer(
            vertex.termination,
            vertex.reason,
            vertex.x,
            vertex.z,
            iterations=vertex.pivots,
            interrupted=vertex.interrupted,
        )

    def _solve_box(self, time_limit: float | None) -> Answer:
        """Solve a box QP, from the last point if there is one; raise `ConvexityError` if it is not convex."""
        from milopt.solvers.native.box_qp.box_qp import solve_box_qp
        from milopt.solvers.native.box_qp.split import check_convex, split_quadratic

        form = self.form
        if self._split is None:
            parts = split_quadratic(form.P)
            if not form.known_convex:
                # Convexity is required only on the columns that are not fixed.
                check_convex(parts, np.flatnonzero(form.lower < form.upper), form.name)
            self._split = parts
        answer = solve_box_qp(self._split, form.q, form.lower, form.upper, self._last_point, time_limit)
        self._last_point = answer.x
        return Answer(
            answer.termination,
            answer.reason,
            answer.x,
            None if answer.x is None else np.zeros(0),
            iterations=answer.factorisations,
            interrupted=answer.interrupted,
        )


def _atoms_among_terms(expression: Expression) -> list[Atom]:
    """Return the atoms among the terms of an expression."""
    return [leaf for leaf, _ in expression.terms if isinstance(leaf, Atom)]
