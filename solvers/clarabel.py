"""Clarabel (Goulart, Chen; Apache-2.0): an interior-point method for linear, quadratic and conic programs.

It takes  min 1/2 x'Px + q'x  s.t.  A x + s = b,  s in K,  so  A = -F  and  b = g;  its z is milopt's. The rows of its
exponential cones are (x, y, z), as in milopt. It never starts warm; new q and g are written into the factorised model
where its presolve dropped no rows. It looks at its time limit once per iteration, so large programs with a time limit
are solved in a process of their own.
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
from milopt.interrupt import Ended, run_interruptible
from milopt.solving.capture import captured
from milopt.solving.columnless import answer_without_columns
from milopt.solving.engine import Change, Engine, What
from milopt.solving.engine_process import EngineProcess, is_heavy
from milopt.solving.options import Options
from milopt.solving.solver import Solver

if TYPE_CHECKING:
    from milopt.solving.profile import Profile

DROPPED_OFFSET = 1e30
"""Clarabel drops inequalities with an offset of 1e20 or more, and their multiplier is 0."""

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


class Clarabel(Solver):
    """The `clarabel` solver."""

    name = "clarabel"
    features = frozenset({Feature.LINEAR, Feature.QUADRATIC})
    cones = frozenset({SECOND_ORDER.name, EXPONENTIAL.name})
    package = "clarabel"
    licence = "Apache-2.0"

    def rank(self, profile: Profile) -> float:
        """After native for quadratic and conic programs, after HiGHS for linear ones."""
        return 20.0 if profile.is_linear else 30.0

    def engine(self, form: StandardForm, options: Options) -> Engine:
        """Clarabel's own model of the form."""
        return ClarabelEngine(form, options)


class ClarabelEngine(Engine):
    """Builds afresh on every change but those of q and g alone."""

    def __init__(self, form: StandardForm, options: Options) -> None:
        super().__init__(form, options)
        self._settings = _settings(options)
        self._solver: Any = None
        self._stop = threading.Event()
        self._process = EngineProcess(Clarabel.name, options)

    def update(self, form: StandardForm, change: Change) -> None:
        """Write q or g in place where Clarabel allows it; otherwise the next solve builds afresh."""
        self.form = form
        if change.what is What.LINEAR and self._editable():
            self._solver.update(q=form.q)
        elif change.what is What.OFFSET and self._editable():
            self._solver.update(b=_offsets(bounds_to_rows.apply(form)))
        else:
            self._solver = None
            self.rebuilds += 1

    def solve(self, time_limit: float | None) -> Answer:
        """Solve from a cold start."""
        form = self.form
        if form.n == 0:
            return answer_without_columns(form, self.options.tolerance)
        if time_limit is not None and is_heavy(form) and self._process.can_run():
            return self._process.solve(form, time_limit)
        self._settings.time_limit = np.inf if time_limit is None else time_limit
        self._stop.clear()
        found: list[Any] = []

        def run() -> Ended:
            return run_interruptible(lambda: found.append(self._ready().solve()), self._request_stop)

        ended, log = captured(run) if self.options.verbose else (run(), "")
        if ended is Ended.ABANDONED:
            self._solver = None
            return Answer(Termination.LIMIT, "left behind at Ctrl-C", log=log, interrupted=True)

        solution = found[0]
        status = str(solution.status)
        termination = STATUS_MAP.get(status, Termination.ERROR)
        answer = Answer(
            termination, status, iterations=int(solution.iterations), log=log, interrupted=ended is Ended.STOPPED
        )
        x, z = np.array(solution.x), np.array(solution.z)
        no_point = termination in (Termination.INFEASIBLE, Termination.UNBOUNDED, Termination.ERROR)
        if no_point or (status.startswith("Almost") and status.endswith("Infeasible")):
            return answer  # x and z are then rays
        if not (np.isfinite(x).all() and np.isfinite(z).all()):
            return answer
        return bounds_to_rows.invert(form, replace(answer, x=x, z=z))

    def close(self) -> None:
        """End the process, if there is one."""
        self._process.close()

    def _ready(self) -> Any:
        """The living solver with the current settings, built if there is none."""
        if self._editable():
            self._solver.update(settings=self._settings)
            return self._solver
        import clarabel

        form = bounds_to_rows.apply(self.form)
        self._solver = clarabel.DefaultSolver(
            sp.csc_matrix(sp.triu(form.P.sparse)),
            form.q,
            sp.csc_matrix(-form.F),
            _offsets(form),
            [cone for block in form.rows if block.size for cone in _cones(block)],
            self._settings,
        )
        if hasattr(self._solver, "set_termination_callback"):
            # Not self: the solver would hold what holds it, where the garbage collector cannot see.
            stop = self._stop
            self._solver.set_termination_callback(lambda info: stop.is_set())
        return self._solver

    def _editable(self) -> bool:
        """Whether there is a solver that can be changed: not before version 0.11, nor where presolve dropped rows."""
        allowed = getattr(self._solver, "is_data_update_allowed", None)
        return allowed is not None and bool(allowed())

    def _request_stop(self) -> None:
        self._stop.set()


def _offsets(form: StandardForm) -> Vector:
    """Return g, with offsets that Clarabel drops in place of huge ones, at which it breaks down."""
    g = form.g.copy()
    above = form.rows_in(NONNEGATIVE)
    g[above] = np.where(g[above] >= HUGE_OFFSET, DROPPED_OFFSET, g[above])
    return g


def _cones(block: RowBlock) -> list[Any]:
    """Return Clarabel's cones of a block; the rows of a polyhedral one are in one cone."""
    import clarabel

    if block.cone is ZERO:
        return [clarabel.ZeroConeT(block.size)]
    if block.cone is NONNEGATIVE:
        return [clarabel.NonnegativeConeT(block.size)]
    if block.cone is SECOND_ORDER:
        return [clarabel.SecondOrderConeT(size) for size in block.cone_sizes.tolist()]
    if block.cone is EXPONENTIAL:
        return [clarabel.ExponentialConeT() for _ in block.cone_sizes]
    raise UnsupportedError(f"Clarabel does not take {block.cone.words}s.")


def _settings(options: Options) -> Any:
    """Clarabel's settings: four digits more than the certificate asks for, where they can be had."""
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
            raise ParameterError(f"Clarabel does not take {value!r} for its setting {name!r}: {problem}.") from None
    return settings
