"""PIQP (Schwan, Jiang, Kuhn, Jones; BSD-2-Clause): a proximal interior-point method for linear and quadratic programs.

It takes  min 1/2 x'Px + c'x  s.t.  A x = b,  h_l <= G x <= h_u,  x_l <= x <= x_u,  so the zero-cone rows are
A = F, b = -g  and the others  G = F, h_l = -g;  milopt's z is -y and z_l. It has a dense and a sparse interface, chosen
by the share of entries that are not zero. It never starts warm; new q and g are written into the living model. It has
no time limit: with one, it runs in a process of its own (`milopt.solving.engine_process`), which is ended when the time
is up, without a point. It holds Python's lock while it works: Ctrl-C waits until the call has ended.
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
from milopt.solving.capture import captured
from milopt.solving.columnless import answer_without_columns
from milopt.solving.engine import Change, Engine, What
from milopt.solving.engine_process import EngineProcess
from milopt.solving.options import Options
from milopt.solving.solver import Solver

if TYPE_CHECKING:
    from milopt.solving.profile import Profile

STATUS_MAP = {
    "PIQP_SOLVED": Termination.OPTIMAL,
    # Sound runs take a few dozen of its 250 iterations: it is lost, often because the program is unbounded.
    "PIQP_MAX_ITER_REACHED": Termination.STALLED,
    "PIQP_PRIMAL_INFEASIBLE": Termination.INFEASIBLE,
    "PIQP_DUAL_INFEASIBLE": Termination.UNBOUNDED,
    "PIQP_NUMERICS": Termination.STALLED,
}
"""Names of piqp.Status; any other is an error."""
DENSE_SHARE = 0.2
"""Share of entries of P and F that are not zero from which on the dense interface is used."""

SMALLEST_REGULARISATION = 1e-8
"""With less, its default, points run away along directions in which the program is flat."""


class PIQP(Solver):
    """The `piqp` solver."""

    name = "piqp"
    features = frozenset({Feature.LINEAR, Feature.QUADRATIC})
    package = "piqp"
    extra: ClassVar[str] = "piqp"
    licence = "BSD-2-Clause"

    def rank(self, profile: Profile) -> float:
        """After the solvers that milopt installs."""
        return 5.0

    def engine(self, form: StandardForm, options: Options) -> Engine:
        """PIQP's own model of the form."""
        return PiqpEngine(form, options)


class PiqpEngine(Engine):
    """Builds afresh on every change but those of q and g alone."""

    def __init__(self, form: StandardForm, options: Options) -> None:
        super().__init__(form, options)
        self._solver: Any = None
        self._process = EngineProcess(PIQP.name, options)
        _new_solver(options, is_dense=True)  # raises for settings that PIQP does not take

    def update(self, form: StandardForm, change: Change) -> None:
        """Write q or g into the living model; after any other change the next solve builds afresh."""
        self.form = form
        if change.what is What.LINEAR and self._solver is not None:
            self._solver.update(c=form.q)
        elif change.what is What.OFFSET and self._solver is not None:
            self._solver.update(b=-form.g[form.rows_in(ZERO)], h_l=-form.g[form.rows_in(NONNEGATIVE)])
        else:
            self._solver = None
            self.rebuilds += 1

    def solve(self, time_limit: float | None) -> Answer:
        """Solve from a cold start."""
        form = self.form
        if form.n == 0:
            return answer_without_columns(form, self.options.tolerance)
        if time_limit is not None and self._process.can_run():
            return self._process.solve(form, time_limit)
        if self._solver is None:
            self._solver = _built(form, self.options)
        call = self._solver.solve
        status, log = captured(call) if self.options.verbose else (call(), "")
        if status.name == "PIQP_INVALID_SETTINGS":
            names = ", ".join(repr(name) for name in self.options.extra)
            raise ParameterError(f"PIQP does not take the values in `extra` of its settings {names}.")
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
        """End the process, if there is one."""
        self._process.close()


def _multipliers(form: StandardForm, result: Any) -> Vector:
    z = np.zeros(form.m)
    z[form.rows_in(ZERO)] = -result.y
    z[form.rows_in(NONNEGATIVE)] = result.z_l
    return z


def _built(form: StandardForm, options: Options) -> Any:
    """A PIQP solver that holds the form."""
    is_dense = _is_dense(form)
    equal, above = form.rows_in(ZERO), form.rows_in(NONNEGATIVE)
    solver = _new_solver(options, is_dense)
    solver.setup(
        np.asfortranarray(form.P.dense) if is_dense else sp.csc_matrix(form.P.sparse),
        form.q,
        _matrix(form.F[equal], is_dense),
        -form.g[equal],
        _matrix(form.F[above], is_dense),
        -form.g[above],
        np.full(above.size, np.inf),
        form.lower,
        form.upper,
    )
    return solver


def _is_dense(form: StandardForm) -> bool:
    if form.P.is_dense:
        return True
    return bool(form.P.sparse.nnz + form.F.nnz >= DENSE_SHARE * form.n * (form.n + form.m))


def _matrix(rows: sp.csr_array, is_dense: bool) -> Any:
    return np.asfortranarray(rows.toarray()) if is_dense else sp.csc_matrix(rows)


def _new_solver(options: Options, is_dense: bool) -> Any:
    """An empty solver with its settings: four digits more than the certificate asks for, where they can be had."""
    import piqp

    solver = piqp.DenseSolver() if is_dense else piqp.SparseSolver()
    settings = solver.settings
    accuracy = max(1e-4 * options.tolerance, 1e-12)
    settings.eps_abs = settings.eps_rel = accuracy
    settings.eps_duality_gap_abs = settings.eps_duality_gap_rel = accuracy
    settings.reg_lower_limit = SMALLEST_REGULARISATION
    settings.verbose = options.verbose
    for name, value in options.extra.items():
        if not hasattr(settings, name):
            raise ParameterError(f"PIQP has no setting named {name!r}; see piqp.Settings for `extra`.")
        try:
            setattr(settings, name, value)
        except (TypeError, ValueError) as problem:
            reason = str(problem).partition("\n")[0]
            raise ParameterError(f"PIQP does not take {value!r} for its setting {name!r}: {reason}.") from None
    return solver
