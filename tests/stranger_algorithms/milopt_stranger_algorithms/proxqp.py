"""ProxQP (Bambade, Schramm, El Kazdadi, Caron, Taylor, Carpentier; BSD-2-Clause): an augmented Lagrangian for QPs.

ProxQP solves  min 1/2 x'Hx + g'x  s.t.  A x = b,  l <= C x <= u,  so the rows in the zero cone are  A = F, b = -g  and
the others  C = F, l = -g, u = inf. Its multipliers have the opposite sign of milopt's.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from milopt import Options, Termination
from milopt.compilation.answer import Answer
from milopt.compilation.bridges import bounds_to_rows
from milopt.compilation.features import Feature
from milopt.compilation.standard_form import StandardForm
from milopt.cones import NONNEGATIVE, ZERO
from milopt.errors import ParameterError
from milopt.solving.columnless import answer_without_columns
from milopt.solving.engine import Engine
from milopt.solving.solver import Solver

if TYPE_CHECKING:
    from milopt.solving.profile import Profile

STATUS_MAP = {
    "PROXQP_SOLVED": Termination.OPTIMAL,
    "PROXQP_PRIMAL_INFEASIBLE": Termination.INFEASIBLE,
    "PROXQP_DUAL_INFEASIBLE": Termination.UNBOUNDED,
    "PROXQP_MAX_ITER_REACHED": Termination.LIMIT,
}
MAX_SIZE = 500
"""Number of columns and rows up to which the dense factorisation is fast."""


class ProxQP(Solver):
    """The solver `proxqp` for small quadratic programs."""

    name = "proxqp"
    features = frozenset({Feature.LINEAR, Feature.QUADRATIC})
    package = "proxsuite"
    licence = "BSD-2-Clause"
    time_limit_note = "ProxQP has no setting for a time limit"

    def rank(self, profile: Profile) -> float | None:
        """Return a rank before all other solvers for small quadratic programs, and None for others."""
        is_small = profile.columns + profile.rows <= MAX_SIZE
        return 60.0 if profile.kind == "QP" and is_small else None

    def engine(self, form: StandardForm, options: Options) -> Engine:
        return ProxQPEngine(form, options)


class ProxQPEngine(Engine):
    """Engine that solves every form from the start."""

    def solve(self, time_limit: float | None) -> Answer:
        from proxsuite import proxqp

        form = bounds_to_rows.apply(self.form)
        if form.n == 0:
            return answer_without_columns(self.form, self.options.tolerance)
        equal, inner, F = form.rows_in(ZERO), form.rows_in(NONNEGATIVE), form.F.toarray()
        qp = proxqp.dense.QP(form.n, equal.size, inner.size)
        qp.settings.eps_abs = 1e-3 * self.options.tolerance
        # Without iteration limits ProxQP may not end on infeasible programs.
        qp.settings.max_iter, qp.settings.max_iter_in = 200, 50
        for name, value in self.options.extra.items():
            if not hasattr(qp.settings, name):
                raise ParameterError(f"ProxQP has no setting named {name!r}; see proxsuite's Settings for `extra`.")
            setattr(qp.settings, name, value)
        everything = np.full(inner.size, np.inf)
        qp.init(form.P.dense, form.q, F[equal], -form.g[equal], F[inner], -form.g[inner], everything)
        qp.solve()
        status = qp.results.info.status.name
        termination = STATUS_MAP.get(status, Termination.ERROR)
        if termination not in (Termination.OPTIMAL, Termination.LIMIT):
            return Answer(termination, status)
        z = np.zeros(form.m)
        z[equal], z[inner] = -np.array(qp.results.y), np.maximum(0.0, -np.array(qp.results.z))
        answer = Answer(termination, status, np.array(qp.results.x), z, iterations=int(qp.results.info.iter))
        return bounds_to_rows.invert(self.form, answer)
