"""libsvm by Chang and Lin, through scikit-learn's SVC on a precomputed Gram: for duals of the C-SVM, and those only.

    min 1/2 a'Pa - k 1'a   s.t.  s'a = 0,  0 <= a_i <= C_i,     s_i = +-sigma

With y = s / sigma it is the dual of an SVM on the Gram K = P / (k yy'). libsvm keeps K in single precision, which
leaves dual residuals of about 1e-7 |P| a; the row's multiplier is computed afresh, so that it adds nothing to them.
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
from milopt.solvers.family import blame
from milopt.solving.engine import Engine
from milopt.solving.engine_process import EngineProcess, is_heavy
from milopt.solving.options import Options
from milopt.solving.solver import Solver

if TYPE_CHECKING:
    from milopt.solving.profile import Profile

SAME = 1e-9
"""How far entries that must be equal may differ, relative to their size."""

MOST_ITERATIONS = 10_000_000
"""libsvm's own limit, which scikit-learn takes away."""

SECONDS_AN_ENTRY = 5e-9
"""About what one iteration costs for each row; libsvm counts iterations and does not look at the clock."""

SETTINGS = ("tol", "cache_size", "max_iter", "shrinking")
"""What `extra` may hold: SVC's other parameters would change the program, or do nothing."""


class LibSVM(Solver):
    """Sequential minimal optimisation of C-SVM duals."""

    name = "libsvm"
    features = frozenset({Feature.LINEAR, Feature.QUADRATIC})
    package = "scikit-learn"
    licence = "BSD-3-Clause"
    recognises_patterns = True

    def rank(self, profile: Profile) -> None:
        """Never chosen by `auto`: its single precision leaves residuals that other solvers do not leave."""

    def refusal(self, form: StandardForm) -> str | None:
        """What makes the form something else than the dual of a C-SVM, or None."""
        found = _obstacle(form)
        return None if found is None else f"it solves duals of the C-SVM; {found}"

    def engine(self, form: StandardForm, options: Options) -> Engine:
        """An engine for a C-SVM dual; `UnsupportedError` for anything else."""
        return LibSVMEngine(form, options)


class LibSVMEngine(Engine):
    """One SVC a solve: libsvm keeps nothing between solves."""

    def __init__(self, form: StandardForm, options: Options) -> None:
        super().__init__(form, options)
        for name in options.extra:
            if name not in SETTINGS:
                raise ParameterError(f"libsvm has no option named {name!r} for `extra`; it has {', '.join(SETTINGS)}.")
        self._process = EngineProcess(LibSVM.name, options)

    def solve(self, time_limit: float | None) -> Answer:
        """Fit the SVC on the columns that may move."""
        form = self.form
        found = LibSVM().refusal(form)
        if found is not None:
            raise UnsupportedError(f"libsvm cannot take {form.name!r}: {found}.")
        if time_limit is not None and is_heavy(form) and self._process.can_run():
            return self._process.solve(form, time_limit)
        s = _row(form)
        y, k = np.sign(s), -float(form.q[0])
        moving = np.flatnonzero(form.upper > 0)
        a = np.zeros(form.n)
        if np.unique(y[moving]).size < 2:
            # All signs agree, so s'a = 0 leaves nothing but a = 0.
            return Answer(Termination.OPTIMAL, "one class", a, _multiplier(form, a, s))
        from sklearn.exceptions import ConvergenceWarning
        from sklearn.svm import SVC

        top = float(form.upper[moving].max())
        gram = form.P.submatrix(moving) * (np.outer(y[moving], y[moving]) / k)
        iterations = MOST_ITERATIONS
        if time_limit is not None:
            iterations = int(min(iterations, 1000 + time_limit / (SECONDS_AN_ENTRY * moving.size)))
        settings = {
            "tol": 1e-3 * self.options.tolerance,
            "cache_size": min(2000.0, 100.0 + 8e-6 * moving.size**2),
            "max_iter": iterations,
            "shrinking": False,
            **self.options.extra,
        }
        svc = SVC(kernel="precomputed", C=top, **settings)
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", ConvergenceWarning)
                svc.fit(gram, y[moving], sample_weight=form.upper[moving] / top)
        except ValueError as problem:
            blamed = blame("libsvm", self.options.extra, problem)
            if blamed is None:
                raise
            raise blamed from problem
        a[moving[svc.support_]] = np.abs(svc.dual_coef_[0])
        # Upper bounds went through C times a weight: bring those that were reached back to the last digit.
        a = np.where(a >= form.upper * (1 - 1e-12), form.upper, a)
        done = int(np.max(svc.n_iter_))
        z = _multiplier(form, a, s)
        if svc.fit_status_ == 0:
            return Answer(Termination.OPTIMAL, "converged", a, z, iterations=done)
        stopped = Termination.STALLED if settings["max_iter"] == MOST_ITERATIONS else Termination.LIMIT
        return Answer(stopped, "iteration limit", a, z, iterations=done)

    def close(self) -> None:
        """End the process, if there is one."""
        self._process.close()


def _multiplier(form: StandardForm, a: Vector, s: Vector) -> Vector:
    """The middle of the range for z in which `P a + q - s z` is >= 0 where a can grow and <= 0 where it can shrink."""
    ratio = (form.P.times(a) + form.q) / s
    grows, shrinks = a < form.upper, a > 0
    low = float(ratio[np.where(s > 0, shrinks, grows)].max(initial=-np.inf))
    high = float(ratio[np.where(s > 0, grows, shrinks)].min(initial=np.inf))
    ends = [end for end in (low, high) if np.isfinite(end)]
    return np.array([sum(ends) / len(ends) if ends else 0.0])


def _row(form: StandardForm) -> Vector:
    return np.asarray(form.F[[0]].toarray()).ravel()


def _obstacle(form: StandardForm) -> str | None:
    """The part of a program that is not as in a C-SVM's dual, in words."""
    if form.n == 0 or form.integer.any():
        return "this program has integer columns" if form.n else "this program has no columns"
    if form.m != 1 or form.rows_in(ZERO).size != 1:
        return "their only row is the equality s'a = 0 of the bias, and this program has other rows, or none"
    if form.g[0] != 0:
        return "the equality of the bias has the right-hand side 0, and here it has another"
    size = np.abs(_row(form))
    if size.max() == 0 or np.ptp(size) > SAME * size.max():
        return "the equality of the bias has coefficients +1 and -1 times one number, and here it has others"
    if (form.lower != 0).any() or not np.isfinite(form.upper).all() or (form.upper < 0).any():
        return "their columns have bounds 0 <= a <= C with a finite C, and here some have not"
    if (form.q >= 0).any() or np.ptp(form.q) > SAME * np.abs(form.q).max():
        return "their linear objective is the same negative number in every column, and here it is not"
    return None
