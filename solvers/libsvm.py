"""LIBSVM, sequential minimal optimisation by Chang and Lin (BSD-3-Clause licence), through scikit-learn's `SVC`.

Problem classes: duals of the C-SVM only,

    min 1/2 a'Pa - k 1'a   s.t.  s'a = 0,  0 <= a_i <= C_i,     s_i = +-sigma,  k > 0.

With y = s / sigma this is the dual of an SVM with the precomputed Gram matrix  K_ij = P_ij / (k y_i y_j).

Multipliers: the multiplier of the row is computed here, from the KKT conditions, so that it adds no error to that of a.
LIBSVM stores K in single precision, which leaves dual residuals of about 1e-7 |P| a.

Warm start: no. LIBSVM counts iterations and does not check the clock, so large programs with a time limit are solved in
a child process.
"""

from __future__ import annotations

import warnings
from typing import TYPE_CHECKING

import numpy as np

from milopt.arrays import Vector
from milopt.compilation.answer import Answer
from milopt.compilation.features import Feature
from milopt.compilation.standard_form import StandardForm
from milopt.compilation.status import Termination
from milopt.cones import ZERO
from milopt.errors import ParameterError, UnsupportedError
from milopt.solvers.family import option_error
from milopt.solving.engine import Engine
from milopt.solving.engine_process import EngineProcess, has_slow_iterations
from milopt.solving.options import Options
from milopt.solving.solver import Solver

if TYPE_CHECKING:
    from milopt.compilation.evaluation_form import EvaluationForm
    from milopt.solving.profile import Profile

EQUALITY_TOLERANCE = 1e-9
"""Largest relative difference of numbers that must be equal in a C-SVM dual."""

MAX_ITERATIONS = 10_000_000
"""LIBSVM's own default limit on the iterations, which scikit-learn removes."""

SECONDS_PER_ITERATION_AND_ROW = 5e-9
"""Approximate seconds per iteration and per row of K, used to convert a time limit into an iteration limit."""

SUPPORTED_OPTIONS = ("tol", "cache_size", "max_iter", "shrinking")
"""Options that `extra` may contain. SVC's other parameters would change the program or have no effect."""


class LibSVM(Solver):
    """Solver `libsvm`: duals of the C-SVM, by sequential minimal optimisation.

    LIBSVM supports no other programs and does not warm-start. It stores the Gram matrix in single precision, which
    leaves dual residuals of about 1e-7 relative to the terms of the gradient; all other numbers have double precision.

    Examples
    --------
    >>> import milopt
    >>> import numpy as np
    >>> X = np.array([[0.0], [1.0], [2.0], [3.0]])
    >>> y = np.array([-1.0, -1.0, 1.0, 1.0])
    >>> program = milopt.Program("svm")
    >>> f = program.function("f", milopt.Linear())
    >>> b = program.variable("b")
    >>> slack = program.variable("slack", 4, lower=0)
    >>> program.minimize(0.5 * f.norm_squared() + 10 * slack.sum())
    >>> _ = program.subject_to(y * (f(X) + b) >= 1 - slack, name="margin")
    >>> result = milopt.solve(program, solver="libsvm")
    >>> print(round(result.objective, 4))
    2.0
    """

    name = "libsvm"
    features = frozenset({Feature.LINEAR, Feature.QUADRATIC})
    package = "scikit-learn"
    licence = "BSD-3-Clause"
    recognises_patterns = True

    def rank(self, profile: Profile) -> None:
        """Return None: `auto` never chooses this solver, because its Gram matrix has single precision only."""

    def unsupported_reason(self, form: StandardForm) -> str | None:
        """Return, as a part of a sentence, why the form is not the dual of a C-SVM, or None if it is."""
        difference = _difference_from_svm_dual(form)
        return None if difference is None else f"libsvm only solves C-SVM duals{difference}"

    def requires_dual(self, form: EvaluationForm) -> bool:
        """Return True: only duals of C-SVMs are solved."""
        return True

    def engine(self, form: StandardForm, options: Options) -> Engine:
        """Return an engine for a C-SVM dual. Its `solve` raises `UnsupportedError` for any other form."""
        return LibSVMEngine(form, options)


class LibSVMEngine(Engine):
    """Engine that fits one SVC per solve. LIBSVM keeps no state between solves."""

    def __init__(self, form: StandardForm, options: Options) -> None:
        super().__init__(form, options)
        for name in options.extra:
            if name not in SUPPORTED_OPTIONS:
                raise ParameterError(
                    f"libsvm has no option named {name!r} for `extra`; it has {', '.join(SUPPORTED_OPTIONS)}."
                )
        self._process = EngineProcess(LibSVM.name, options)

    def solve(self, time_limit: float | None) -> Answer:
        """Fit the SVC on the columns whose upper bound is positive; all other columns are 0.

        Large programs with a time limit are solved in a child process. Raises `UnsupportedError` for other programs.
        """
        form = self.form
        reason = LibSVM().unsupported_reason(form)
        if reason is not None:
            raise UnsupportedError(f"libsvm cannot solve {form.name!r}: {reason}.")
        if time_limit is not None and has_slow_iterations(form) and self._process.can_run():
            return self._process.solve(form, time_limit)
        s = _equality_coefficients(form)
        y, k = np.sign(s), -float(form.q[0])
        free = np.flatnonzero(form.upper > 0)
        a = np.zeros(form.n)
        if np.unique(y[free]).size < 2:
            # All signs agree, so a = 0 is the only solution of s'a = 0.
            return Answer(Termination.OPTIMAL, "one class", a, _bias_row_multiplier(form, a, s))
        from sklearn.exceptions import ConvergenceWarning
        from sklearn.svm import SVC

        largest_bound = float(form.upper[free].max())
        gram = form.P.submatrix(free) * (np.outer(y[free], y[free]) / k)
        iterations = MAX_ITERATIONS
        if time_limit is not None:
            iterations = int(min(iterations, 1000 + time_limit / (SECONDS_PER_ITERATION_AND_ROW * free.size)))
        settings = {
            "tol": 1e-3 * self.options.tolerance,
            "cache_size": min(2000.0, 100.0 + 8e-6 * free.size**2),
            "max_iter": iterations,
            "shrinking": False,
            **self.options.extra,
        }
        svc = SVC(kernel="precomputed", C=largest_bound, **settings)
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", ConvergenceWarning)
                svc.fit(gram, y[free], sample_weight=form.upper[free] / largest_bound)
        except ValueError as problem:
            rejected = option_error("libsvm", self.options.extra, problem)
            if rejected is None:
                raise
            raise rejected from problem
        a[free[svc.support_]] = np.abs(svc.dual_coef_[0])
        # SVC computes upper bounds as C times a weight: remove the rounding error of the bounds that are attained.
        a = np.where(a >= form.upper * (1 - 1e-12), form.upper, a)
        done = int(np.max(svc.n_iter_))
        z = _bias_row_multiplier(form, a, s)
        if svc.fit_status_ == 0:
            return Answer(Termination.OPTIMAL, "converged", a, z, iterations=done)
        stopped = Termination.STALLED if settings["max_iter"] == MAX_ITERATIONS else Termination.LIMIT
        return Answer(stopped, "iteration limit", a, z, iterations=done)

    def close(self) -> None:
        """Stop the child process, if one is running."""
        self._process.close()


def _bias_row_multiplier(form: StandardForm, a: Vector, s: Vector) -> Vector:
    """Return the multiplier z of the row s'a = 0, as an array of length 1.

    It is the midpoint of the range of z in which (P a + q - s z)_i is >= 0 if a_i can grow and <= 0 if a_i can shrink;
    the finite end of the range if only one end is finite, and 0 if none is.
    """
    ratio = (form.P.times(a) + form.q) / s
    grows, shrinks = a < form.upper, a > 0
    low = float(ratio[np.where(s > 0, shrinks, grows)].max(initial=-np.inf))
    high = float(ratio[np.where(s > 0, grows, shrinks)].min(initial=np.inf))
    ends = [end for end in (low, high) if np.isfinite(end)]
    return np.array([sum(ends) / len(ends) if ends else 0.0])


def _equality_coefficients(form: StandardForm) -> Vector:
    """Return the coefficients s of the only row  s'a = 0,  as a dense vector."""
    return np.asarray(form.F[[0]].toarray()).ravel()


def _difference_from_svm_dual(form: StandardForm) -> str | None:
    """Return how a program differs from the dual of a C-SVM, as the end of a sentence, or None if it is one."""
    if form.n == 0 or form.integer.any():
        return ", and this form of the program has integer columns" if form.n else ", and this program has no columns"
    if form.m != 1 or form.rows_in(ZERO).size != 1:
        rows = "an inequality row" if form.m == 1 else f"{form.m} rows"
        return f" (one equality row s'a = 0), and this form of the program has {rows}"
    if form.g[0] != 0:
        return " (one equality row s'a = 0), and the right-hand side of the row of this form of the program is not 0"
    size = np.abs(_equality_coefficients(form))
    if size.max() == 0 or np.ptp(size) > EQUALITY_TOLERANCE * size.max():
        return " (with s_i = +-sigma in the row s'a = 0), and the coefficients of the row of this form differ in size"
    if (form.lower != 0).any() or not np.isfinite(form.upper).all() or (form.upper < 0).any():
        return " (with finite bounds 0 <= a_i <= C_i), and this form of the program has other bounds"
    if (form.q >= 0).any() or np.ptp(form.q) > EQUALITY_TOLERANCE * np.abs(form.q).max():
        return " (with the linear objective -k 1'a, k > 0), and this form of the program has another linear objective"
    return None
