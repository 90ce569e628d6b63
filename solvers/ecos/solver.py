"""ECOS (Domahidi, Chu, Boyd; GPL-3.0): an interior-point method for linear programs with cones.

It takes  min c'x  s.t.  A x = b,  h - G x in K,  so the zero-cone rows are  A = -F, b = g  and the others
G = -F, h = g;  its y and z are milopt's z. The rows of its exponential cones are (x, z, y). Its tolerances are
absolute, so columns and objective are first brought to unit size (`unit_scales`). Quadratic objectives go through the
quadratic-to-cone bridge, and then, if need be, up to three times recentred. It never starts warm and has no time limit:
with one, it runs in a process of its own (`milopt.solving.engine_process`), which is ended when the time is up, without
a point. Its own handler of Ctrl-C loses one that comes while it factorises: so Ctrl-C waits until the call has ended.
"""

from __future__ import annotations

import time
from dataclasses import replace
from typing import TYPE_CHECKING, ClassVar

import numpy as np
import scipy.sparse as sp

from milopt.arrays import Index, Vector
from milopt.compilation.answer import Answer
from milopt.compilation.bridges import bounds_to_rows, idle_rows, quadratic_to_cone, recentred, unit_scales
from milopt.compilation.features import Feature
from milopt.compilation.recession import Recession
from milopt.compilation.standard_form import StandardForm
from milopt.compilation.status import Termination
from milopt.cones import EXPONENTIAL, NONNEGATIVE, SECOND_ORDER, ZERO
from milopt.errors import ParameterError
from milopt.solvers.ecos.call import ConeProgram, Reply, call_ecos
from milopt.solving.columnless import answer_without_columns
from milopt.solving.engine import Engine
from milopt.solving.engine_process import EngineProcess, late_reason
from milopt.solving.options import Options
from milopt.solving.solver import Solver

if TYPE_CHECKING:
    from milopt.solving.profile import Profile


STATUS_MAP = {
    0: Termination.OPTIMAL,
    1: Termination.INFEASIBLE,
    2: Termination.UNBOUNDED,
    10: Termination.STALLED,  # close to optimal
    11: Termination.STALLED,  # close to primal infeasible
    12: Termination.STALLED,  # close to dual infeasible
    -1: Termination.LIMIT,  # iterations
    -2: Termination.STALLED,  # numerics
    -3: Termination.STALLED,  # left the cone
    -4: Termination.LIMIT,  # Ctrl-C
}
"""Exit flags; any other is an error."""
INTERRUPTED = -4
EXPONENTIAL_ORDER = [0, 2, 1]
"""ECOS's order of the rows (x, y, z) of an exponential cone."""
WITH_POINT = frozenset({0, 10, -1, -2, -3, -4})

LARGE = 10.0
"""Right-hand sides above this size are scaled down if ECOS stalls."""
LENS, LOOKS = 0.1, 3
"""Each further look at a quadratic program is closer by this factor, and there are at most so many."""


class ECOS(Solver):
    """The `ecos` solver."""

    name = "ecos"
    features = frozenset({Feature.LINEAR, Feature.QUADRATIC})
    cones = frozenset({SECOND_ORDER.name, EXPONENTIAL.name})
    package = "ecos"
    licence = "GPL-3.0"
    remark: ClassVar[str] = "no wheels from Python 3.13 on, where pip builds it from source"
    whole_up_to: ClassVar[int] = 200
    prefers: ClassVar[str] = "coordinates"
    """Through its quadratic bridge the dual's dense Gram costs more, and ends less accurate, than coordinates do."""

    time_limit_note = "ECOS has no time limit: it runs in a process of its own, which is ended without a point"

    def rank(self, profile: Profile) -> float:
        """After the others."""
        return 10.0

    def may_be_late(self, options: Options) -> str:
        """Return why it cannot run in a process of its own, if it cannot."""
        return late_reason(self.name, options)

    def engine(self, form: StandardForm, options: Options) -> Engine:
        """An engine that calls ECOS afresh for every solve."""
        return EcosEngine(form, options)


class EcosEngine(Engine):
    """Hands the whole program to ECOS at every solve."""

    def __init__(self, form: StandardForm, options: Options) -> None:
        super().__init__(form, options)
        self._settings = _settings(options)
        self._interrupted = False
        self._process = EngineProcess(ECOS.name, options)

    def solve(self, time_limit: float | None) -> Answer:
        """Solve from a cold start; where a quadratic program stalls, see whether it is unbounded."""
        if time_limit is not None and self._process.can_run():
            return self._process.solve(self.form, time_limit)
        self._interrupted = False
        deadline = None if time_limit is None else time.perf_counter() + time_limit
        form = idle_rows.apply(self.form)
        scales = unit_scales.scales(form)
        answer = self._solve(unit_scales.apply(form, scales), scales.gradient, deadline)
        answer = idle_rows.invert(self.form, unit_scales.invert(answer, scales))
        return replace(answer, interrupted=self._interrupted)

    def close(self) -> None:
        """End the process, if there is one."""
        self._process.close()

    def _solve(self, form: StandardForm, unit: Vector, deadline: float | None) -> Answer:
        if form.n == 0:
            return answer_without_columns(form, self.options.tolerance)
        if form.P.is_zero:
            return self._solve_linear(form)
        answer = self._solve_quadratic(form, unit, deadline)
        if answer.termination is not Termination.STALLED or self._interrupted or _is_over(deadline):
            return answer
        recession = Recession(form)
        if recession.ray(self._solve_linear(recession.form).x) is None:
            return answer
        return replace(answer, termination=Termination.UNBOUNDED, x=None, z=None)

    def _solve_quadratic(self, form: StandardForm, unit: Vector, deadline: float | None) -> Answer:
        """Solve by the cone, and again from closer by until the gradient Px is accurate, scaled and in its own unit."""
        began = time.perf_counter()
        conic = quadratic_to_cone.apply(form)
        found = self._solve_linear(conic)
        best = quadratic_to_cone.invert(form, found)
        error = quadratic_to_cone.mismatch(form, conic, found)
        target = (
            1e-2
            * self.options.tolerance
            * np.minimum(1.0 + float(np.abs(form.q).max()), (1.0 + float(np.abs(form.q * unit).max())) / unit)
        )
        for look in range(1, 1 + LOOKS):
            accurate = bool(np.all(error <= target))
            if best.x is None or accurate or best.termination is Termination.LIMIT or self._interrupted:
                break
            if _is_over(deadline, time.perf_counter() - began):
                break  # another look takes about as long, and would be cut off
            began, lens = time.perf_counter(), LENS**look
            near = recentred.apply(form, best.x, lens)
            conic = quadratic_to_cone.apply(near)
            found = self._solve_linear(conic)
            closer = lens * quadratic_to_cone.mismatch(near, conic, found)
            if found.x is None or (closer / target).max() >= (error / target).max():
                break
            again = recentred.invert(quadratic_to_cone.invert(near, found), best.x, lens)
            settled = best if best.termination is Termination.OPTIMAL else again
            best, error = (
                replace(
                    again,
                    termination=settled.termination,
                    raw_status=settled.raw_status,
                    iterations=best.iterations + again.iterations,
                    log=best.log + again.log,
                ),
                closer,
            )
        return best

    def _solve_linear(self, form: StandardForm) -> Answer:
        """Solve a form with a linear objective; if ECOS stalls, once more with the right-hand sides at unit size."""
        answer = self._call(form)
        unit = float(np.abs(form.g).max(initial=0.0))
        if answer.termination is not Termination.STALLED or self._interrupted or unit <= LARGE:
            return answer
        origin = np.zeros(form.n)
        again = recentred.invert(self._call(recentred.apply(form, origin, unit)), origin, unit)
        total = answer.iterations + again.iterations
        better = again if again.termination is Termination.OPTIMAL else answer
        return replace(better, iterations=total, log=answer.log + again.log)

    def _call(self, form: StandardForm) -> Answer:
        """Call ECOS once for a form with a linear objective."""
        free = bounds_to_rows.apply(form)
        equal, inner = _split(free)
        reply = call_ecos(_cone_program(free, equal, inner), self._settings)
        termination = STATUS_MAP.get(reply.flag, Termination.ERROR)
        self._interrupted |= reply.flag == INTERRUPTED
        answer = Answer(termination, reply.text, iterations=reply.iterations, log=reply.log)
        if reply.flag not in WITH_POINT or not _finite(reply):
            return answer
        z = np.zeros(free.m)
        z[equal], z[inner] = reply.y, reply.z
        return bounds_to_rows.invert(form, replace(answer, x=reply.x, z=z))


def _split(form: StandardForm) -> tuple[Index, Index]:
    """Return the rows of A, and the rows of G in ECOS's order: linear, second-order, exponential."""
    exponential = form.rows_in(EXPONENTIAL).reshape(-1, 3)[:, EXPONENTIAL_ORDER].ravel()
    inner = [form.rows_in(NONNEGATIVE), form.rows_in(SECOND_ORDER), exponential]
    return form.rows_in(ZERO), np.concatenate(inner)


def _cone_program(form: StandardForm, equal: Index, inner: Index) -> ConeProgram:
    sizes = [block.cone_sizes for block in form.rows if block.cone is SECOND_ORDER]
    return ConeProgram(
        c=form.q,
        G=sp.csc_matrix(-form.F[inner]),
        h=form.g[inner],
        A=sp.csc_matrix(-form.F[equal]),
        b=form.g[equal],
        linear=form.rows_in(NONNEGATIVE).size,
        cones=np.concatenate([np.zeros(0, dtype=np.int64), *sizes]).astype(np.int64),
        exponential=form.rows_in(EXPONENTIAL).size // 3,
    )


def _is_over(deadline: float | None, seconds: float = 0.0) -> bool:
    """Whether less than so many seconds are left."""
    return deadline is not None and deadline - time.perf_counter() < seconds


def _finite(reply: Reply) -> bool:
    return bool(np.isfinite(reply.x).all() and np.isfinite(reply.y).all() and np.isfinite(reply.z).all())


def _settings(options: Options) -> dict[str, object]:
    """ECOS's settings: four digits more than the certificate asks for, where they can be had."""
    accuracy = max(1e-4 * options.tolerance, 1e-12)
    settings: dict[str, object] = {
        "abstol": accuracy,
        "reltol": accuracy,
        "feastol": accuracy,
        "max_iters": 200,
        "verbose": options.verbose,
    }
    one = sp.csc_matrix(-np.eye(1))
    smallest = ConeProgram(np.ones(1), one, np.zeros(1), one[:0], np.zeros(0), 1, np.zeros(0, dtype=np.int64))
    for name, value in options.extra.items():
        try:
            call_ecos(smallest, {"verbose": False, name: value})
        except (TypeError, ValueError) as problem:
            raise ParameterError(f"ECOS does not take {value!r} for its setting {name!r}: {problem}.") from None
    return settings | dict(options.extra)
