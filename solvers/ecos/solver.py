"""ECOS, an interior-point method by Domahidi, Chu and Boyd (GPL-3.0 licence).

Problem classes: linear programs with second-order and exponential cones. Convex quadratic objectives are rewritten as
second-order cones (bridge `quadratic_to_cone`). If the resulting gradient is inaccurate, the program is recentred at
the solution, enlarged by 1 / `ZOOM_FACTOR`, and solved again, up to `MAX_ZOOMS` times.

Multipliers: ECOS solves  min c'x  s.t.  A x = b,  h - G x in K,  so the rows in the zero cone are  A = -F, b = g  and
all other rows  G = -F, h = g.  ECOS's multipliers y of A and z of G equal milopt's z of the same rows. ECOS orders the
rows of an exponential cone (x, z, y).

Warm start: no. ECOS's tolerances are absolute, so columns and objective are first scaled to unit size (`unit_scales`).
ECOS has no time limit of its own: with one, it runs in a child process (`milopt.solving.engine_process`), which is
stopped without a point when the time is up. ECOS's handler of Ctrl-C loses a signal that arrives during a
factorisation, so Ctrl-C is delayed until the call has ended.
"""

from __future__ import annotations

import time
from dataclasses import replace
from typing import TYPE_CHECKING, ClassVar

import numpy as np
import scipy.sparse as sp

from milopt.arrays import Index, Vector
from milopt.compilation.answer import Answer
from milopt.compilation.bridges import bounds_to_rows, idle_rows, quadratic_to_cone, recentring, unit_scales
from milopt.compilation.features import Feature
from milopt.compilation.recession import RecessionProgram
from milopt.compilation.standard_form import StandardForm
from milopt.compilation.status import Termination
from milopt.cones import EXPONENTIAL, NONNEGATIVE, SECOND_ORDER, ZERO
from milopt.errors import ParameterError
from milopt.solvers.ecos.call import ConeProgram, EcosReply, call_ecos
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
    -1: Termination.LIMIT,  # iteration limit
    -2: Termination.STALLED,  # numerical problems
    -3: Termination.STALLED,  # left the cone
    -4: Termination.LIMIT,  # Ctrl-C
}
"""Terminations by ECOS's exit flags; any other flag is an error."""
INTERRUPTED_FLAG = -4
"""Exit flag after Ctrl-C."""
EXPONENTIAL_CONE_ENTRY_ORDER = [0, 2, 1]
"""ECOS's order (x, z, y) of the rows (x, y, z) of an exponential cone, as indices."""
FLAGS_WITH_POINT = frozenset({0, 10, -1, -2, -3, -4})
"""Exit flags whose x is a point rather than a ray."""

MAX_UNSCALED_RHS = 10.0
"""If ECOS stalls and the largest |g| exceeds this value, the program is solved again with |g| scaled to at most 1."""
ZOOM_FACTOR, MAX_ZOOMS = 0.1, 3
"""The k-th recentred solve of a quadratic program has the unit of length ZOOM_FACTOR^k; at most MAX_ZOOMS are made."""


class ECOS(Solver):
    """Solver `ecos`: linear and convex quadratic programs with second-order and exponential cones.

    An interior-point method. It does not warm-start and has no time limit of its own.

    Examples
    --------
    >>> import milopt
    >>> program = milopt.Program("ball")
    >>> x = program.variable("x", 2)
    >>> program.minimize(x.sum())
    >>> _ = program.subject_to(milopt.norm(x) <= 1, name="ball")
    >>> result = milopt.solve(program, solver="ecos")
    >>> print(round(result.objective, 4))
    -1.4142
    """

    name = "ecos"
    features = frozenset({Feature.LINEAR, Feature.QUADRATIC})
    cones = frozenset({SECOND_ORDER.name, EXPONENTIAL.name})
    package = "ecos"
    licence = "GPL-3.0"
    remark: ClassVar[str] = "no wheels from Python 3.13 on, where pip builds it from source"
    max_eager_rows: ClassVar[int] = 200
    preferred_form: ClassVar[str] = "primal"
    """Form in which programs with functions are passed to the solver.

    With the quadratic bridge, the dense Gram matrix of the dual is slower and less accurate than the primal form.
    """

    time_limit_note = "ECOS has no time limit: it runs in a child process, which is stopped without a point"

    def rank(self, profile: Profile) -> float:
        """Return 10: `auto` chooses ECOS only after `highs`, `clarabel` and `native`."""
        return 10.0

    def late_reason(self, options: Options) -> str:
        """Return why a solve may exceed its time limit, or an empty string if a child process can be used."""
        return late_reason(self.name, options)

    def engine(self, form: StandardForm, options: Options) -> Engine:
        """Return an engine that passes the whole program to ECOS for every solve."""
        return EcosEngine(form, options)


class EcosEngine(Engine):
    """Engine that passes the whole program to ECOS for every solve."""

    def __init__(self, form: StandardForm, options: Options) -> None:
        super().__init__(form, options)
        self._settings = _ecos_settings(options)
        self._interrupted = False
        self._process = EngineProcess(ECOS.name, options)

    def solve(self, time_limit: float | None) -> Answer:
        """Solve from a cold start, in a child process if there is a time limit.

        If a quadratic program stalls, check whether it is unbounded.
        """
        if time_limit is not None and self._process.can_run():
            return self._process.solve(self.form, time_limit)
        self._interrupted = False
        deadline = None if time_limit is None else time.perf_counter() + time_limit
        form = idle_rows.apply(self.form)
        scales = unit_scales.choose_scales(form)
        answer = self._solve(unit_scales.apply(form, scales), scales.gradient_factors, deadline)
        answer = idle_rows.invert(self.form, unit_scales.invert(answer, scales))
        return replace(answer, interrupted=self._interrupted)

    def close(self) -> None:
        """Stop the child process, if one is running."""
        self._process.close()

    def _solve(self, form: StandardForm, unit: Vector, deadline: float | None) -> Answer:
        """Solve a scaled form without idle rows, and check a stalled quadratic program for unboundedness.

        The scaled gradient times `unit`, column by column, is the gradient in the original units.
        """
        if form.n == 0:
            return answer_without_columns(form, self.options.tolerance)
        if form.P.is_zero:
            return self._solve_linear(form)
        answer = self._solve_quadratic(form, unit, deadline)
        if answer.termination is not Termination.STALLED or self._interrupted or _is_deadline_within(deadline):
            return answer
        recession = RecessionProgram(form)
        if recession.verify_ray(self._solve_linear(recession.form).x) is None:
            return answer
        return replace(answer, termination=Termination.UNBOUNDED, x=None, z=None)

    def _solve_quadratic(self, form: StandardForm, unit: Vector, deadline: float | None) -> Answer:
        """Solve a quadratic program as a cone program, and recentre and solve again until the gradient P x is accurate.

        Accuracy is required both for the scaled gradient and for that in the original units (scaled times `unit`).
        """
        start = time.perf_counter()
        cone_form = quadratic_to_cone.apply(form)
        answer = self._solve_linear(cone_form)
        best = quadratic_to_cone.invert(form, answer)
        error = quadratic_to_cone.gradient_mismatch(form, cone_form, answer)
        target = (
            1e-2
            * self.options.tolerance
            * np.minimum(1.0 + float(np.abs(form.q).max()), (1.0 + float(np.abs(form.q * unit).max())) / unit)
        )
        for zoom in range(1, 1 + MAX_ZOOMS):
            accurate = bool(np.all(error <= target))
            if best.x is None or accurate or best.termination is Termination.LIMIT or self._interrupted:
                break
            if _is_deadline_within(deadline, time.perf_counter() - start):
                break  # another solve takes about as long and would exceed the deadline
            start, scale = time.perf_counter(), ZOOM_FACTOR**zoom
            zoomed = recentring.apply(form, best.x, scale)
            cone_form = quadratic_to_cone.apply(zoomed)
            answer = self._solve_linear(cone_form)
            new_error = scale * quadratic_to_cone.gradient_mismatch(zoomed, cone_form, answer)
            if answer.x is None or (new_error / target).max() >= (error / target).max():
                break
            second_answer = recentring.invert(quadratic_to_cone.invert(zoomed, answer), best.x, scale)
            status_source = best if best.termination is Termination.OPTIMAL else second_answer
            best, error = (
                replace(
                    second_answer,
                    termination=status_source.termination,
                    raw_status=status_source.raw_status,
                    iterations=best.iterations + second_answer.iterations,
                    log=best.log + second_answer.log,
                ),
                new_error,
            )
        return best

    def _solve_linear(self, form: StandardForm) -> Answer:
        """Solve a form with a linear objective; if ECOS stalls, solve again with right-hand sides of unit size."""
        answer = self._call_ecos(form)
        unit = float(np.abs(form.g).max(initial=0.0))
        if answer.termination is not Termination.STALLED or self._interrupted or unit <= MAX_UNSCALED_RHS:
            return answer
        origin = np.zeros(form.n)
        second_answer = recentring.invert(self._call_ecos(recentring.apply(form, origin, unit)), origin, unit)
        total = answer.iterations + second_answer.iterations
        better = second_answer if second_answer.termination is Termination.OPTIMAL else answer
        return replace(better, iterations=total, log=answer.log + second_answer.log)

    def _call_ecos(self, form: StandardForm) -> Answer:
        """Call ECOS once for a form with a linear objective."""
        form_without_bounds = bounds_to_rows.apply(form)
        equalities, conic = _equality_and_conic_rows(form_without_bounds)
        reply = call_ecos(_to_cone_program(form_without_bounds, equalities, conic), self._settings)
        termination = STATUS_MAP.get(reply.flag, Termination.ERROR)
        self._interrupted |= reply.flag == INTERRUPTED_FLAG
        answer = Answer(termination, reply.text, iterations=reply.iterations, log=reply.log)
        if reply.flag not in FLAGS_WITH_POINT or not _has_finite_point(reply):
            return answer
        z = np.zeros(form_without_bounds.m)
        z[equalities], z[conic] = reply.y, reply.z
        return bounds_to_rows.invert(form, replace(answer, x=reply.x, z=z))


def _equality_and_conic_rows(form: StandardForm) -> tuple[Index, Index]:
    """Return (equalities, conic): the indices of the rows of F that form ECOS's A, and of those that form G.

    A has the rows in the zero cone; G has those in the non-negative, second-order and exponential cones, in this order.
    """
    exponential = form.rows_in(EXPONENTIAL).reshape(-1, 3)[:, EXPONENTIAL_CONE_ENTRY_ORDER].ravel()
    conic = [form.rows_in(NONNEGATIVE), form.rows_in(SECOND_ORDER), exponential]
    return form.rows_in(ZERO), np.concatenate(conic)


def _to_cone_program(form: StandardForm, equalities: Index, conic: Index) -> ConeProgram:
    """Return the form as ECOS's cone program; `equalities` and `conic` are the indices of the rows of A and of G."""
    sizes = [block.cone_sizes for block in form.rows if block.cone is SECOND_ORDER]
    return ConeProgram(
        c=form.q,
        G=sp.csc_matrix(-form.F[conic]),
        h=form.g[conic],
        A=sp.csc_matrix(-form.F[equalities]),
        b=form.g[equalities],
        linear=form.rows_in(NONNEGATIVE).size,
        cones=np.concatenate([np.zeros(0, dtype=np.int64), *sizes]).astype(np.int64),
        exponential=form.rows_in(EXPONENTIAL).size // 3,
    )


def _is_deadline_within(deadline: float | None, seconds: float = 0.0) -> bool:
    """Return True if there is a deadline and fewer than `seconds` seconds are left until the deadline."""
    return deadline is not None and deadline - time.perf_counter() < seconds


def _has_finite_point(reply: EcosReply) -> bool:
    """Return True if the point and the multipliers are finite."""
    return bool(np.isfinite(reply.x).all() and np.isfinite(reply.y).all() and np.isfinite(reply.z).all())


def _ecos_settings(options: Options) -> dict[str, object]:
    """Return ECOS's settings: tolerances of 1e-4 times the certificate's, at least 1e-12, and the settings in `extra`.

    Each setting in `extra` is tried on a tiny program; `ParameterError` is raised if ECOS rejects it.
    """
    accuracy = max(1e-4 * options.tolerance, 1e-12)
    settings: dict[str, object] = {
        "abstol": accuracy,
        "reltol": accuracy,
        "feastol": accuracy,
        "max_iters": 200,
        "verbose": options.verbose,
    }
    minus_one = sp.csc_matrix(-np.eye(1))
    tiny_program = ConeProgram(
        np.ones(1), minus_one, np.zeros(1), minus_one[:0], np.zeros(0), 1, np.zeros(0, dtype=np.int64)
    )
    for name, value in options.extra.items():
        try:
            call_ecos(tiny_program, {"verbose": False, name: value})
        except (TypeError, ValueError) as problem:
            raise ParameterError(
                f"ECOS does not support the value {value!r} for its setting {name!r}: {problem}."
            ) from None
    return settings | dict(options.extra)
