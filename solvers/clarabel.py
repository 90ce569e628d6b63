"""Clarabel, an interior-point method by Goulart and Chen (Apache-2.0 licence).

Problem classes: linear and convex quadratic programs, with second-order and exponential cones.

Multipliers: Clarabel solves  min 1/2 x'Px + q'x  s.t.  A x + s = b,  s in K,  so  A = -F  and  b = g.  Clarabel's
z equals milopt's z. Clarabel orders the rows of an exponential cone (x, y, z), as milopt does.

Warm start: no. New q and g are written into the existing model, which saves the setup, unless presolve removed rows.
Clarabel checks its time limit once per iteration, so large programs with a time limit are solved in a child process.
"""

from __future__ import annotations

import threading
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
import scipy.sparse as sp

from milopt.arrays import Vector
from milopt.compilation.answer import Answer
from milopt.compilation.bridges import bounds_to_rows
from milopt.compilation.bridges.idle_rows import HUGE_OFFSET
from milopt.compilation.features import Feature
from milopt.compilation.standard_form import RowBlock, StandardForm
from milopt.compilation.status import Termination
from milopt.cones import EXPONENTIAL, NONNEGATIVE, SECOND_ORDER, ZERO
from milopt.errors import ParameterError, UnsupportedError
from milopt.interrupt import CallEnd, run_interruptible
from milopt.solving.capture import capture_output
from milopt.solving.columnless import answer_without_columns
from milopt.solving.engine import Change, ChangeKind, Engine
from milopt.solving.engine_process import EngineProcess, has_slow_iterations
from milopt.solving.options import Options
from milopt.solving.solver import Solver

if TYPE_CHECKING:
    from milopt.solving.profile import Profile

DROPPED_ROW_OFFSET = 1e30
"""Offset that replaces every offset of at least HUGE_OFFSET in a non-negative row.

Clarabel drops inequalities with an offset of 1e20 or more; the multipliers of dropped rows are 0.
"""

STATUS_MAP = {
    "Solved": Termination.OPTIMAL,
    "AlmostSolved": Termination.STALLED,
    "PrimalInfeasible": Termination.INFEASIBLE,
    "AlmostPrimalInfeasible": Termination.STALLED,
    "DualInfeasible": Termination.UNBOUNDED,
    "AlmostDualInfeasible": Termination.STALLED,
    "MaxIterations": Termination.LIMIT,
    "MaxTime": Termination.LIMIT,
    "CallbackTerminated": Termination.LIMIT,
    "InsufficientProgress": Termination.STALLED,
    "NumericalError": Termination.STALLED,
    "Unsolved": Termination.ERROR,
}
"""Terminations by the names of Clarabel's SolverStatus; any other status is an error."""


class Clarabel(Solver):
    """Solver `clarabel`: linear and convex quadratic programs with second-order and exponential cones.

    An interior-point method. It does not warm-start.

    Examples
    --------
    >>> import milopt
    >>> program = milopt.Program("ball")
    >>> x = program.variable("x", 2)
    >>> program.minimize(x.sum())
    >>> _ = program.subject_to(milopt.norm(x) <= 1, name="ball")
    >>> result = milopt.solve(program, solver="clarabel")
    >>> print(round(result.objective, 4))
    -1.4142
    """

    name = "clarabel"
    features = frozenset({Feature.LINEAR, Feature.QUADRATIC})
    cones = frozenset({SECOND_ORDER.name, EXPONENTIAL.name})
    package = "clarabel"
    licence = "Apache-2.0"

    def rank(self, profile: Profile) -> float:
        """Return 20 for linear programs (after HiGHS) and 30 for quadratic and conic ones (after `native`)."""
        return 20.0 if profile.is_linear else 30.0

    def engine(self, form: StandardForm, options: Options) -> Engine:
        """Return an engine that keeps Clarabel's model of the form between solves."""
        return ClarabelEngine(form, options)


class ClarabelEngine(Engine):
    """Engine that writes a new q or g into Clarabel's model if possible, and otherwise builds a new model.

    Clarabel allows such updates from version 0.11 on, and only if its presolve removed no rows.
    """

    def __init__(self, form: StandardForm, options: Options) -> None:
        super().__init__(form, options)
        self._settings = _clarabel_settings(options)
        self._solver: Any = None
        self._stop = threading.Event()
        self._process = EngineProcess(Clarabel.name, options)

    def update(self, form: StandardForm, change: Change) -> None:
        """Change to a new form: write a new q or g into the model if Clarabel allows it, else discard the model."""
        self.form = form
        if change.kind is ChangeKind.LINEAR and self._supports_updates():
            self._solver.update(q=form.q)
        elif change.kind is ChangeKind.OFFSET and self._supports_updates():
            self._solver.update(b=_clarabel_offsets(bounds_to_rows.apply(form)))
        else:
            self._solver = None
            self.rebuilds += 1

    def solve(self, time_limit: float | None) -> Answer:
        """Solve the current form from a cold start, in a child process if it is large and has a time limit."""
        form = self.form
        if form.n == 0:
            return answer_without_columns(form, self.options.tolerance)
        if time_limit is not None and has_slow_iterations(form) and self._process.can_run():
            return self._process.solve(form, time_limit)
        self._settings.time_limit = np.inf if time_limit is None else time_limit
        self._stop.clear()
        solutions: list[Any] = []

        def solve_interruptibly() -> CallEnd:
            return run_interruptible(lambda: solutions.append(self._get_or_build_solver().solve()), self._request_stop)

        call_end, log = capture_output(solve_interruptibly) if self.options.verbose else (solve_interruptibly(), "")
        if call_end is CallEnd.ABANDONED:
            self._solver = None
            return Answer(Termination.LIMIT, "abandoned after Ctrl-C", log=log, interrupted=True)

        solution = solutions[0]
        status = str(solution.status)
        termination = STATUS_MAP.get(status, Termination.ERROR)
        answer = Answer(
            termination, status, iterations=int(solution.iterations), log=log, interrupted=call_end is CallEnd.STOPPED
        )
        x, z = np.array(solution.x), np.array(solution.z)
        no_point = termination in (Termination.INFEASIBLE, Termination.UNBOUNDED, Termination.ERROR)
        if no_point or (status.startswith("Almost") and status.endswith("Infeasible")):
            return answer  # x and z are rays or have no meaning, and are not a point
        if not (np.isfinite(x).all() and np.isfinite(z).all()):
            return answer
        return bounds_to_rows.invert(form, replace(answer, x=x, z=z))

    def close(self) -> None:
        """Stop the child process, if one is running."""
        self._process.close()

    def _get_or_build_solver(self) -> Any:
        """Return Clarabel's solver object with the current settings, and build it if necessary."""
        if self._supports_updates():
            self._solver.update(settings=self._settings)
            return self._solver
        import clarabel

        form = bounds_to_rows.apply(self.form)
        self._solver = clarabel.DefaultSolver(
            sp.csc_matrix(sp.triu(form.P.sparse)),
            form.q,
            sp.csc_matrix(-form.F),
            _clarabel_offsets(form),
            [cone for block in form.rows if block.size for cone in _clarabel_cones(block)],
            self._settings,
        )
        if hasattr(self._solver, "set_termination_callback"):
            # Capture the event, not self: the garbage collector cannot see a reference cycle through the solver.
            stop = self._stop
            self._solver.set_termination_callback(lambda info: stop.is_set())
        return self._solver

    def _supports_updates(self) -> bool:
        """Return True if there is a solver object whose data can be updated.

        Updates need version 0.11 or later, and a presolve that removed no rows.
        """
        allowed = getattr(self._solver, "is_data_update_allowed", None)
        return allowed is not None and bool(allowed())

    def _request_stop(self) -> None:
        """Request the running solve to stop."""
        self._stop.set()


def _clarabel_offsets(form: StandardForm) -> Vector:
    """Return a copy of g in which offsets >= HUGE_OFFSET of non-negative rows are replaced by `DROPPED_ROW_OFFSET`.

    Clarabel breaks down at huge offsets that are below its own infinity.
    """
    g = form.g.copy()
    nonnegative = form.rows_in(NONNEGATIVE)
    g[nonnegative] = np.where(g[nonnegative] >= HUGE_OFFSET, DROPPED_ROW_OFFSET, g[nonnegative])
    return g


def _clarabel_cones(block: RowBlock) -> list[Any]:
    """Return the cones of a block of rows as Clarabel's objects. A zero or non-negative block is one cone."""
    import clarabel

    if block.cone is ZERO:
        return [clarabel.ZeroConeT(block.size)]
    if block.cone is NONNEGATIVE:
        return [clarabel.NonnegativeConeT(block.size)]
    if block.cone is SECOND_ORDER:
        return [clarabel.SecondOrderConeT(size) for size in block.cone_sizes.tolist()]
    if block.cone is EXPONENTIAL:
        return [clarabel.ExponentialConeT() for _ in block.cone_sizes]
    raise UnsupportedError(f"Clarabel does not support {block.cone.display_name}s.")


def _clarabel_settings(options: Options) -> Any:
    """Return Clarabel's settings: tolerances of 1e-4 times the certificate's (at least 1e-12), which `extra` overrides.

    Raises `ParameterError` if Clarabel does not support a setting in `extra`.
    """
    import clarabel

    settings = clarabel.DefaultSettings()
    accuracy = max(1e-4 * options.tolerance, 1e-12)
    settings.tol_gap_abs = settings.tol_gap_rel = settings.tol_feas = accuracy
    settings.verbose = options.verbose
    if hasattr(settings, "max_threads"):
        settings.max_threads = int(options.threads)
    for name, value in options.extra.items():
        if not hasattr(settings, name) or callable(getattr(settings, name)):
            raise ParameterError(f"Clarabel has no setting named {name!r}; see clarabel.DefaultSettings for `extra`.")
        try:
            setattr(settings, name, value)
        except (TypeError, ValueError, OverflowError) as problem:
            raise ParameterError(
                f"Clarabel does not support the value {value!r} for its setting {name!r}: {problem}."
            ) from None
    return settings
