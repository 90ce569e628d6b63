"""PIQP, a proximal interior-point method by Schwan, Jiang, Kuhn and Jones (BSD-2-Clause licence).

Problem classes: linear and convex quadratic programs.

Multipliers: PIQP solves  min 1/2 x'Px + c'x  s.t.  A x = b,  h_l <= G x <= h_u,  x_l <= x <= x_u,  with multipliers y
of the equalities and z_l of the lower bounds h_l. milopt's rows  F x + g  are passed as  A = F, b = -g  (zero cone) and
as  G = F, h_l = -g  (non-negative cone). Their multipliers z are -y and z_l.

Warm start: no. New q and g are written into the existing model. PIQP has a dense and a sparse interface; the fraction
of nonzero entries decides which one is used. PIQP has no time limit of its own: with a time limit, it runs in a child
process (`milopt.solving.engine_process`), which is stopped without a point when the time is up. PIQP holds the GIL
while it works, so Ctrl-C takes effect only after the call has ended.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
import scipy.sparse as sp

from milopt.arrays import Vector
from milopt.compilation.answer import Answer
from milopt.compilation.features import Feature
from milopt.compilation.standard_form import StandardForm
from milopt.compilation.status import Termination
from milopt.cones import NONNEGATIVE, ZERO
from milopt.errors import ParameterError
from milopt.solving.capture import capture_output
from milopt.solving.columnless import answer_without_columns
from milopt.solving.engine import Change, ChangeKind, Engine
from milopt.solving.engine_process import EngineProcess, late_reason
from milopt.solving.options import Options
from milopt.solving.solver import Solver

if TYPE_CHECKING:
    from milopt.solving.profile import Profile

STATUS_MAP = {
    "PIQP_SOLVED": Termination.OPTIMAL,
    # Normal runs take a few dozen iterations. Runs that reach the limit of 250 diverge, often because the program is
    # unbounded.
    "PIQP_MAX_ITER_REACHED": Termination.STALLED,
    "PIQP_PRIMAL_INFEASIBLE": Termination.INFEASIBLE,
    "PIQP_DUAL_INFEASIBLE": Termination.UNBOUNDED,
    "PIQP_NUMERICS": Termination.STALLED,
}
"""Terminations by the names of piqp.Status; any other status is an error."""
MIN_DENSE_FRACTION = 0.2
"""Smallest fraction of nonzero entries in P and F together at which the dense interface is used."""

MIN_REGULARISATION = 1e-8
"""Lower limit of PIQP's regularisation.

With PIQP's smaller default, iterates diverge along directions in which the objective is constant.
"""


class PIQP(Solver):
    """Solver `piqp`: linear and convex quadratic programs.

    A proximal interior-point method. PIQP needs the extra ``milopt[piqp]``. It does not warm-start and has no time
    limit of its own.

    Examples
    --------
    >>> import milopt
    >>> program = milopt.Program("projection")
    >>> x = program.variable("x", 2, lower=0)
    >>> program.minimize(milopt.sum_squares(x - 1))
    >>> _ = program.subject_to(x.sum() <= 1, name="budget")
    >>> result = milopt.solve(program, solver="piqp")
    >>> print(round(result.objective, 4))
    0.5
    """

    name = "piqp"
    features = frozenset({Feature.LINEAR, Feature.QUADRATIC})
    package = "piqp"
    extra: ClassVar[str] = "piqp"
    licence = "BSD-2-Clause"
    time_limit_note = "PIQP has no time limit: it runs in a child process, which is stopped without a point"

    def rank(self, profile: Profile) -> float:
        """Return 5: `auto` chooses PIQP only after the solvers that milopt installs by default."""
        return 5.0

    def late_reason(self, options: Options) -> str:
        """Return why a solve may exceed its time limit, or an empty string if a child process can be used."""
        return late_reason(self.name, options)

    def engine(self, form: StandardForm, options: Options) -> Engine:
        """Return an engine that keeps PIQP's model of the form between solves."""
        return PiqpEngine(form, options)


class PiqpEngine(Engine):
    """Engine that writes a new q or g into PIQP's model, and builds a new model after any other change."""

    def __init__(self, form: StandardForm, options: Options) -> None:
        super().__init__(form, options)
        self._solver: Any = None
        self._process = EngineProcess(PIQP.name, options)
        _create_solver(options, is_dense=True)  # raises an error for settings that PIQP does not support

    def update(self, form: StandardForm, change: Change) -> None:
        """Change to a new form: write a new q or g into the model, or discard the model after any other change."""
        self.form = form
        if change.kind is ChangeKind.LINEAR and self._solver is not None:
            self._solver.update(c=form.q)
        elif change.kind is ChangeKind.OFFSET and self._solver is not None:
            self._solver.update(b=-form.g[form.rows_in(ZERO)], h_l=-form.g[form.rows_in(NONNEGATIVE)])
        else:
            self._solver = None
            self.rebuilds += 1

    def solve(self, time_limit: float | None) -> Answer:
        """Solve the current form from a cold start, in a child process if there is a time limit."""
        form = self.form
        if form.n == 0:
            return answer_without_columns(form, self.options.tolerance)
        if time_limit is not None and self._process.can_run():
            return self._process.solve(form, time_limit)
        if self._solver is None:
            self._solver = _build_solver(form, self.options)
        call = self._solver.solve
        status, log = capture_output(call) if self.options.verbose else (call(), "")
        if status.name == "PIQP_INVALID_SETTINGS":
            names = ", ".join(repr(name) for name in self.options.extra)
            raise ParameterError(f"PIQP does not support the values in `extra` of its settings {names}.")
        termination = STATUS_MAP.get(status.name, Termination.ERROR)
        result = self._solver.result
        has_point = termination in (Termination.OPTIMAL, Termination.STALLED)
        return Answer(
            termination,
            status.name,
            x=np.array(result.x) if has_point else None,
            z=_multipliers(form, result) if has_point else None,
            iterations=int(result.info.iter),
            log=log,
        )

    def close(self) -> None:
        """Stop the child process, if one is running."""
        self._process.close()


def _multipliers(form: StandardForm, result: Any) -> Vector:
    """Return the multipliers of the rows of F, with milopt's signs (see the module docstring)."""
    z = np.zeros(form.m)
    z[form.rows_in(ZERO)] = -result.y
    z[form.rows_in(NONNEGATIVE)] = result.z_l
    return z


def _build_solver(form: StandardForm, options: Options) -> Any:
    """Return a PIQP solver that is set up with the form."""
    is_dense = _is_dense(form)
    equalities, nonnegative = form.rows_in(ZERO), form.rows_in(NONNEGATIVE)
    solver = _create_solver(options, is_dense)
    solver.setup(
        np.asfortranarray(form.P.dense) if is_dense else sp.csc_matrix(form.P.sparse),
        form.q,
        _to_piqp_matrix(form.F[equalities], is_dense),
        -form.g[equalities],
        _to_piqp_matrix(form.F[nonnegative], is_dense),
        -form.g[nonnegative],
        np.full(nonnegative.size, np.inf),
        form.lower,
        form.upper,
    )
    return solver


def _is_dense(form: StandardForm) -> bool:
    """Return True if the dense interface is to be used: P is stored densely, or P and F have enough nonzero entries."""
    if form.P.is_dense:
        return True
    return bool(form.P.sparse.nnz + form.F.nnz >= MIN_DENSE_FRACTION * form.n * (form.n + form.m))


def _to_piqp_matrix(rows: sp.csr_array, is_dense: bool) -> Any:
    """Return the rows as a Fortran-ordered array if `is_dense`, else as a CSC matrix."""
    return np.asfortranarray(rows.toarray()) if is_dense else sp.csc_matrix(rows)


def _create_solver(options: Options, is_dense: bool) -> Any:
    """Return a PIQP solver without data. Its tolerances are 1e-4 times the certificate's, but at least 1e-12.

    The settings in `extra` override all others. Raises `ParameterError` if PIQP does not support a setting in
    `extra`.
    """
    import piqp

    solver = piqp.DenseSolver() if is_dense else piqp.SparseSolver()
    settings = solver.settings
    accuracy = max(1e-4 * options.tolerance, 1e-12)
    settings.eps_abs = settings.eps_rel = accuracy
    settings.eps_duality_gap_abs = settings.eps_duality_gap_rel = accuracy
    settings.reg_lower_limit = MIN_REGULARISATION
    settings.verbose = options.verbose
    for name, value in options.extra.items():
        if not hasattr(settings, name):
            raise ParameterError(f"PIQP has no setting named {name!r}; see piqp.Settings for `extra`.")
        try:
            setattr(settings, name, value)
        except (TypeError, ValueError) as problem:
            reason = str(problem).partition("\n")[0]
            raise ParameterError(
                f"PIQP does not support the value {value!r} for its setting {name!r}: {reason}."
            ) from None
    return solver
