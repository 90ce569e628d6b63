"""SCIP, branch and bound by Bestuzheva, Bolusani, Chen and many others (Apache-2.0 licence), through PySCIPOpt (MIT).

Problem classes: linear and mixed-integer linear programs; convex quadratic objectives and second-order cones if some
variables are integer. SCIP's objective is linear, so with P = B'B

    min 1/2 x'Px + q'x    becomes    min t + q'x   s.t.   y = B x,   t >= 1/2 ||y||^2,

and a second-order cone becomes  u = F x + g,  u_0 >= ||u_1, u_2, ...||.  Nonlinear programs without integers are not
supported: SCIP returns a bound of its search instead of multipliers, and other solvers give solutions of such programs
that milopt can certify.

Multipliers: SCIP has them only for linear programs, and only without presolve, which is therefore disabled for linear
programs. SCIP's duals of linear constraints equal milopt's z.

Warm start: no. The search uses one thread, regardless of `threads`. SCIP checks its time limit between the steps of its
search, so large programs with a time limit are solved in a child process.
"""

from __future__ import annotations

import threading
import time
from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
import scipy.sparse as sp

from milopt.arrays import Vector
from milopt.compilation.answer import Answer
from milopt.compilation.bridges import idle_rows
from milopt.compilation.bridges.quadratic_to_cone import square_root
from milopt.compilation.features import Feature
from milopt.compilation.standard_form import StandardForm
from milopt.compilation.status import Termination
from milopt.cones import SECOND_ORDER, ZERO
from milopt.errors import ParameterError
from milopt.interrupt import CallEnd, run_interruptible
from milopt.solvers.family import MIP_GAP_FRACTION
from milopt.solving.capture import capture_output
from milopt.solving.columnless import answer_without_columns
from milopt.solving.engine import Engine
from milopt.solving.engine_process import EngineProcess, has_slow_iterations
from milopt.solving.options import Options
from milopt.solving.solver import Solver

if TYPE_CHECKING:
    from milopt.solving.profile import Profile

STATUS_MAP = {
    "optimal": Termination.OPTIMAL,
    "gaplimit": Termination.OPTIMAL,  # the gap that the certificate requires
    "infeasible": Termination.INFEASIBLE,
    "unbounded": Termination.UNBOUNDED,
    "inforunbd": Termination.UNBOUNDED,
    "timelimit": Termination.LIMIT,
    "nodelimit": Termination.LIMIT,
    "totalnodelimit": Termination.LIMIT,
    "stallnodelimit": Termination.LIMIT,
    "memlimit": Termination.LIMIT,
    "sollimit": Termination.LIMIT,
    "bestsollimit": Termination.LIMIT,
    "restartlimit": Termination.LIMIT,
    "primallimit": Termination.LIMIT,
    "duallimit": Termination.LIMIT,
    "userinterrupt": Termination.LIMIT,
    "terminate": Termination.LIMIT,
}
"""Terminations by the texts of `Model.getStatus`; any other status is an error.

`UNBOUNDED` is only a claim: the program may be infeasible.
"""
MIN_FEASIBILITY_TOLERANCE = 1e-7
"""Smallest feasibility tolerance that is set.

SCIP passes a thousandth of its feasibility tolerance to its LP solver, which requires at least 1e-10.
"""
SCIP_INFINITY = 1e20
"""Smallest absolute value that SCIP treats as infinite."""
ACTIVE_TOLERANCE = 1e-7
"""Largest slack, relative to 1 + |g|, at which a row counts as active."""
STOP_REQUEST_INTERVAL_SECONDS = 0.05
"""Seconds between requests to stop a search. SCIP ignores or refuses a request before the search has started."""
MAX_STOP_REQUESTS = 20
"""Maximum number of requests to stop a search."""


class SCIP(Solver):
    """Solver `scip`: linear, and mixed-integer linear, quadratic and second-order cone programs.

    Branch and bound. SCIP needs the extra ``milopt[scip]``. It does not warm-start.

    Examples
    --------
    >>> import milopt
    >>> program = milopt.Program("integer least squares")
    >>> x = program.variable("x", 2, integer=True, lower=-5, upper=5)
    >>> program.minimize(milopt.sum_squares(x - [0.4, 1.7]))
    >>> result = milopt.solve(program, solver="scip")
    >>> print(round(result.objective, 4))
    0.25
    """

    name = "scip"
    features = frozenset({Feature.LINEAR, Feature.INTEGER, Feature.INTEGER_QUADRATIC})
    integer_cones = frozenset({SECOND_ORDER.name})
    package = "pyscipopt"
    extra: ClassVar[str] = "scip"
    licence = "MIT (interface), Apache-2.0 (SCIP)"
    preferred_form: ClassVar[str] = "primal"
    """Form in which programs with functions are passed to the solver.

    The dual of such a program is quadratic, and programs with integers have no dual.
    """

    def rank(self, profile: Profile) -> float:
        """Return 5: `auto` prefers the solvers that milopt installs by default, if they support the program."""
        return 5.0

    def engine(self, form: StandardForm, options: Options) -> Engine:
        """Return an engine that builds SCIP's model for every solve."""
        return ScipEngine(form, options)


class ScipEngine(Engine):
    """Engine that passes the whole program to SCIP for every solve."""

    def __init__(self, form: StandardForm, options: Options) -> None:
        super().__init__(form, options)
        self._process = EngineProcess(SCIP.name, options)
        if options.extra:
            _create_model(form, options)  # raises an error for settings that SCIP does not support

    def solve(self, time_limit: float | None) -> Answer:
        """Build SCIP's model of the form, and run a new search, without a warm start.

        Large programs with a time limit are solved in a child process. Building the model counts towards the limit.
        """
        form = self.form
        if form.n == 0:
            return answer_without_columns(form, self.options.tolerance)
        if time_limit is not None and has_slow_iterations(form) and self._process.can_run():
            return self._process.solve(form, time_limit)
        start = time.perf_counter()
        program = _build_program(idle_rows.apply(form), self.options)
        model = program.model
        if time_limit is not None and "limits/time" not in self.options.extra:
            model.setParam("limits/time", max(0.0, time_limit - (time.perf_counter() - start)))
        done = threading.Event()

        def run_search() -> None:
            try:
                model.optimizeNogil()
            finally:
                done.set()

        def request_stop() -> None:
            for _ in range(MAX_STOP_REQUESTS):
                # SCIP raises an error while it initialises the search; the next request is in time.
                with suppress(Exception):
                    model.interruptSolve()
                if done.wait(STOP_REQUEST_INTERVAL_SECONDS):
                    return

        def solve_interruptibly() -> CallEnd:
            return run_interruptible(run_search, request_stop)

        call_end, log = capture_output(solve_interruptibly) if self.options.verbose else (solve_interruptibly(), "")
        if call_end is CallEnd.ABANDONED:
            return Answer(Termination.LIMIT, "abandoned after Ctrl-C", log=log, interrupted=True)
        return idle_rows.invert(form, program.make_answer(log, interrupted=call_end is CallEnd.STOPPED))

    def close(self) -> None:
        """Stop the child process, if one is running."""
        self._process.close()


@dataclass(frozen=True)
class _ScipProgram:
    """SCIP's model of a form, with its variables for the columns and its constraints for the linear rows."""

    form: StandardForm
    model: Any
    variables: list[Any]
    constraints: dict[int, Any]
    """Constraints by the indices of the linear rows."""

    def make_answer(self, log: str, interrupted: bool) -> Answer:
        """Return the answer after a search: status, best point, and multipliers or, with integers, the bound."""
        form, model = self.form, self.model
        status = str(model.getStatus())
        termination = STATUS_MAP.get(status, Termination.ERROR)
        x = None
        if termination in (Termination.OPTIMAL, Termination.LIMIT) and model.getNSols():
            best = model.getBestSol()
            x = np.array([best[variable] for variable in self.variables])
        bound = float(model.getDualbound())
        is_integer = bool(form.integer.any())
        return Answer(
            termination,
            status,
            x=x,
            z=self._multipliers(x) if x is not None and status == "optimal" and not is_integer else None,
            bound=bound + form.constant if is_integer and x is not None and abs(bound) < SCIP_INFINITY else None,
            iterations=int(model.getNLPIterations()),
            log=log,
            interrupted=interrupted,
        )

    def _multipliers(self, x: Vector) -> Vector:
        """Return the multipliers of the rows of a linear program at its optimum x.

        SCIP converts rows with one entry to bounds, and has no duals for them. If such a row is active, its multiplier
        is the reduced cost of its column divided by the entry, unless the sign would be wrong for an inequality.
        """
        form, F = self.form, self.form.F
        counts = np.diff(F.indptr)
        z = np.zeros(form.m)
        for i, constraint in self.constraints.items():
            z[i] = self.model.getDualsolLinear(constraint)
        reduced_costs = form.q - F.T @ z
        slack = np.abs(F @ x + form.g) / (1.0 + np.abs(form.g))
        equal = np.zeros(form.m, dtype=bool)
        equal[form.rows_in(ZERO)] = True
        for i in np.flatnonzero((counts == 1) & (slack <= ACTIVE_TOLERANCE)).tolist():
            j, a = F.indices[F.indptr[i]], F.data[F.indptr[i]]
            if equal[i] or reduced_costs[j] / a > 0.0:
                z[i], reduced_costs[j] = reduced_costs[j] / a, 0.0
        return z


def _build_program(form: StandardForm, options: Options) -> _ScipProgram:
    """Build SCIP's model of a form whose nonlinear cones are all second-order (see the module docstring)."""
    from pyscipopt import quicksum, sqrt

    model = _create_model(form, options)
    columns = zip(form.q.tolist(), form.lower.tolist(), form.upper.tolist(), form.integer.tolist(), strict=True)
    x = [
        model.addVar(vtype="I" if is_integer else "C", lb=_finite_or_none(low), ub=_finite_or_none(high), obj=cost)
        for cost, low, high, is_integer in columns
    ]
    linear: dict[int, Any] = {}
    for block in form.rows:
        rows = _affine_expressions(form.F[block.start : block.stop], form.g[block.start : block.stop], x)
        if block.cone.is_polyhedral:
            for i, row in enumerate(rows, start=block.start):
                linear[i] = model.addCons(row == 0.0 if block.cone is ZERO else row >= 0.0)
            continue
        start = 0
        for size in block.cone_sizes.tolist():
            head, *tail = _add_equal_variables(model, rows[start : start + size])
            model.chgVarLb(head, 0.0)
            if tail:
                model.addCons(sqrt(quicksum(u * u for u in tail)) <= head)
            start += size
    if not form.P.is_zero:
        factor_matrix = square_root(form.P)
        epigraph_variable = model.addVar(lb=0.0, ub=None, obj=1.0)
        y = _add_equal_variables(model, _affine_expressions(factor_matrix, np.zeros(factor_matrix.shape[0]), x))
        model.addCons(0.5 * quicksum(u * u for u in y) <= epigraph_variable)
    return _ScipProgram(form, model, x, linear)


def _affine_expressions(rows: sp.csr_array, offsets: Vector, x: list[Any]) -> list[Any]:
    """Return the expressions  rows x + offsets  in SCIP's variables x."""
    from pyscipopt import quicksum

    rows = sp.csr_array(rows)
    ends, indices, data = rows.indptr.tolist(), rows.indices.tolist(), rows.data.tolist()
    expressions = []
    for i, offset in enumerate(offsets.tolist()):
        entries = range(ends[i], ends[i + 1])
        expressions.append(quicksum(data[k] * x[indices[k]] for k in entries) + offset)
    return expressions


def _add_equal_variables(model: Any, expressions: list[Any]) -> list[Any]:
    """Add and return new free variables, one per expression, that are constrained to equal the expressions."""
    variables = []
    for expression in expressions:
        variable = model.addVar(lb=None, ub=None)
        model.addCons(expression - variable == 0.0)
        variables.append(variable)
    return variables


def _finite_or_none(bound: float) -> float | None:
    """Return the bound, or None if it is infinite."""
    return bound if np.isfinite(bound) else None


def _create_model(form: StandardForm, options: Options) -> Any:
    """Return an empty SCIP model with the settings for this form.

    If the form has no integers, presolve, heuristics, separation and propagation are off.
    Raises `ParameterError` if SCIP does not support a setting in `extra`.
    """
    from pyscipopt import SCIP_PARAMSETTING, Model

    model = Model()
    if not options.verbose:
        model.hideOutput()
    if not form.integer.any():
        model.setPresolve(SCIP_PARAMSETTING.OFF)
        model.setHeuristics(SCIP_PARAMSETTING.OFF)
        model.setSeparating(SCIP_PARAMSETTING.OFF)
        model.disablePropagation()
    feasibility_tolerance = float(np.clip(0.1 * options.tolerance, MIN_FEASIBILITY_TOLERANCE, 1e-6))
    settings = {
        "misc/catchctrlc": False,
        "numerics/feastol": feasibility_tolerance,
        "numerics/dualfeastol": feasibility_tolerance,
        "limits/gap": MIP_GAP_FRACTION * options.tolerance,
        "limits/absgap": MIP_GAP_FRACTION * options.tolerance,
    }
    for name, value in {**settings, **options.extra}.items():
        try:
            model.setParam(name, value)
        except KeyError:
            raise ParameterError(f"SCIP has no setting named {name!r}; see its documentation for `extra`.") from None
        except (TypeError, ValueError, OverflowError) as problem:
            raise ParameterError(
                f"SCIP does not support the value {value!r} for its setting {name!r}: {problem}."
            ) from None
    return model
