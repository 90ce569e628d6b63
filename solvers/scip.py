"""SCIP (Bestuzheva, Bolusani, Chen and many others; Apache-2.0): branch and bound for programs with integer variables.

It takes linear programs, and convex quadratic objectives and second-order cones if some variables are integer. Its
objective is linear, so with P = B'B

    min 1/2 x'Px + q'x    becomes    min t + q'x   s.t.   y = B x,   t >= 1/2 ||y||^2,

and a cone is  u = F x + g,  u_0 >= ||u_1, u_2, ...||.  A curved program without integers is refused: SCIP ends with a
bound of its search, not with multipliers, and for programs without integers there are solvers whose answers milopt can
prove. Linear programs are solved without presolve, because only then SCIP has multipliers.

It never starts warm. Its search runs in one thread, whatever `threads` is. It looks at its time limit between the steps
of its search, so large programs with a time limit are solved in a process of their own.
"""

from __future__ import annotations

import threading
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
import scipy.sparse as sp

from milopt.arrays import Vector
from milopt.compilation.answer import Answer
from milopt.compilation.bridges import idle_rows
from milopt.compilation.bridges.quadratic_to_cone import factor
from milopt.compilation.features import Feature
from milopt.compilation.standard_form import StandardForm
from milopt.compilation.status import Termination
from milopt.cones import SECOND_ORDER, ZERO
from milopt.errors import ParameterError
from milopt.interrupt import Ended, run_interruptible
from milopt.solvers.family import MIP_GAP
from milopt.solving.capture import captured
from milopt.solving.columnless import answer_without_columns
from milopt.solving.engine import Engine
from milopt.solving.engine_process import EngineProcess, is_heavy
from milopt.solving.options import Options
from milopt.solving.solver import Solver

if TYPE_CHECKING:
    from milopt.solving.profile import Profile

STATUS_MAP = {
    "optimal": Termination.OPTIMAL,
    "gaplimit": Termination.OPTIMAL,  # the gap that the certificate asks for
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
"""What `Model.getStatus` returns; any other is an error. `UNBOUNDED` is a claim: the program may be infeasible."""
SMALLEST_TOLERANCE = 1e-7
"""SCIP asks its LP solver for a thousandth of its own tolerance, and that one goes down to 1e-10."""
INFINITY = 1e20
"""Numbers from this size on are infinite to SCIP."""
ACTIVE = 1e-7
"""Largest slack, relative to 1 + |g|, of a row that counts as active."""
ASK_SECONDS = 0.05
"""How often a search is asked to stop, up to `ASKS` times: it forgets a request that comes before it has begun."""
ASKS = 20


class SCIP(Solver):
    """The `scip` solver."""

    name = "scip"
    features = frozenset({Feature.LINEAR, Feature.INTEGER, Feature.INTEGER_QUADRATIC})
    integer_cones = frozenset({SECOND_ORDER.name})
    package = "pyscipopt"
    extra: ClassVar[str] = "scip"
    licence = "MIT (interface), Apache-2.0 (SCIP)"
    prefers: ClassVar[str] = "coordinates"
    """The dual of a program with functions is quadratic, and programs with integers have none."""

    def rank(self, profile: Profile) -> float:
        """After the solvers that milopt installs: first for the programs that they do not take."""
        return 5.0

    def engine(self, form: StandardForm, options: Options) -> Engine:
        """An engine that builds SCIP's model for every solve."""
        return ScipEngine(form, options)


class ScipEngine(Engine):
    """Hands the whole program to SCIP at every solve."""

    def __init__(self, form: StandardForm, options: Options) -> None:
        super().__init__(form, options)
        self._process = EngineProcess(SCIP.name, options)
        if options.extra:
            _new_model(form, options)  # raises for settings that SCIP does not take

    def solve(self, time_limit: float | None) -> Answer:
        """Search from the start."""
        form = self.form
        if form.n == 0:
            return answer_without_columns(form, self.options.tolerance)
        if time_limit is not None and is_heavy(form) and self._process.can_run():
            return self._process.solve(form, time_limit)
        began = time.perf_counter()
        program = _built(idle_rows.apply(form), self.options)
        model = program.model
        if time_limit is not None and "limits/time" not in self.options.extra:
            model.setParam("limits/time", max(0.0, time_limit - (time.perf_counter() - began)))
        done = threading.Event()

        def search() -> None:
            try:
                model.optimizeNogil()
            finally:
                done.set()

        def stop() -> None:
            for _ in range(ASKS):
                model.interruptSolve()
                if done.wait(ASK_SECONDS):
                    return

        def run() -> Ended:
            return run_interruptible(search, stop)

        ended, log = captured(run) if self.options.verbose else (run(), "")
        if ended is Ended.ABANDONED:
            return Answer(Termination.LIMIT, "left behind at Ctrl-C", log=log, interrupted=True)
        return idle_rows.invert(form, program.answer(log, interrupted=ended is Ended.STOPPED))

    def close(self) -> None:
        """End the process, if there is one."""
        self._process.close()


@dataclass(frozen=True)
class _Program:
    """SCIP's model of a form, its variables for the columns and its constraints for the linear rows."""

    form: StandardForm
    model: Any
    variables: list[Any]
    constraints: dict[int, Any]

    def answer(self, log: str, interrupted: bool) -> Answer:
        """Read what the search found."""
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
            bound=bound + form.constant if is_integer and x is not None and abs(bound) < INFINITY else None,
            iterations=int(model.getNLPIterations()),
            log=log,
            interrupted=interrupted,
        )

    def _multipliers(self, x: Vector) -> Vector:
        """Return the multipliers of the rows; SCIP makes rows with one entry bounds, and forgets them.

        What the other rows leave of the gradient is theirs, if they are active and it has their sign.
        """
        form, F = self.form, self.form.F
        counts = np.diff(F.indptr)
        z = np.zeros(form.m)
        for i, constraint in self.constraints.items():
            z[i] = self.model.getDualsolLinear(constraint)
        left = form.q - F.T @ z
        slack = np.abs(F @ x + form.g) / (1.0 + np.abs(form.g))
        equal = np.zeros(form.m, dtype=bool)
        equal[form.rows_in(ZERO)] = True
        for i in np.flatnonzero((counts == 1) & (slack <= ACTIVE)).tolist():
            j, a = F.indices[F.indptr[i]], F.data[F.indptr[i]]
            if equal[i] or left[j] / a > 0.0:
                z[i], left[j] = left[j] / a, 0.0
        return z


def _built(form: StandardForm, options: Options) -> _Program:
    from pyscipopt import quicksum, sqrt

    model = _new_model(form, options)
    columns = zip(form.q.tolist(), form.lower.tolist(), form.upper.tolist(), form.integer.tolist(), strict=True)
    x = [
        model.addVar(vtype="I" if is_integer else "C", lb=_finite(low), ub=_finite(high), obj=cost)
        for cost, low, high, is_integer in columns
    ]
    linear: dict[int, Any] = {}
    for block in form.rows:
        rows = _expressions(form.F[block.start : block.stop], form.g[block.start : block.stop], x)
        if block.cone.is_polyhedral:
            for i, row in enumerate(rows, start=block.start):
                linear[i] = model.addCons(row == 0.0 if block.cone is ZERO else row >= 0.0)
            continue
        start = 0
        for size in block.cone_sizes.tolist():
            head, *tail = _named(model, rows[start : start + size])
            model.chgVarLb(head, 0.0)
            if tail:
                model.addCons(sqrt(quicksum(u * u for u in tail)) <= head)
            start += size
    if not form.P.is_zero:
        root = factor(form.P)
        height = model.addVar(lb=0.0, ub=None, obj=1.0)
        y = _named(model, _expressions(root, np.zeros(root.shape[0]), x))
        model.addCons(0.5 * quicksum(u * u for u in y) <= height)
    return _Program(form, model, x, linear)


def _expressions(rows: sp.csr_array, offsets: Vector, x: list[Any]) -> list[Any]:
    """Rows times x plus offsets."""
    from pyscipopt import quicksum

    rows = sp.csr_array(rows)
    ends, indices, data = rows.indptr.tolist(), rows.indices.tolist(), rows.data.tolist()
    found = []
    for i, offset in enumerate(offsets.tolist()):
        entries = range(ends[i], ends[i + 1])
        found.append(quicksum(data[k] * x[indices[k]] for k in entries) + offset)
    return found


def _named(model: Any, expressions: list[Any]) -> list[Any]:
    """New free variables that are equal to the expressions."""
    found = []
    for expression in expressions:
        variable = model.addVar(lb=None, ub=None)
        model.addCons(expression - variable == 0.0)
        found.append(variable)
    return found


def _finite(bound: float) -> float | None:
    return bound if np.isfinite(bound) else None


def _new_model(form: StandardForm, options: Options) -> Any:
    """An empty model with its settings."""
    from pyscipopt import SCIP_PARAMSETTING, Model

    model = Model()
    if not options.verbose:
        model.hideOutput()
    if not form.integer.any():
        model.setPresolve(SCIP_PARAMSETTING.OFF)
        model.setHeuristics(SCIP_PARAMSETTING.OFF)
        model.setSeparating(SCIP_PARAMSETTING.OFF)
        model.disablePropagation()
    feasibility = float(np.clip(0.1 * options.tolerance, SMALLEST_TOLERANCE, 1e-6))
    settings = {
        "misc/catchctrlc": False,
        "numerics/feastol": feasibility,
        "numerics/dualfeastol": feasibility,
        "limits/gap": MIP_GAP * options.tolerance,
        "limits/absgap": MIP_GAP * options.tolerance,
    }
    for name, value in {**settings, **options.extra}.items():
        try:
            model.setParam(name, value)
        except KeyError:
            raise ParameterError(f"SCIP has no setting named {name!r}; see its documentation for `extra`.") from None
        except (TypeError, ValueError, OverflowError) as problem:
            raise ParameterError(f"SCIP does not take {value!r} for its setting {name!r}: {problem}.") from None
    return model
