"""LIBSVM on random duals of the C-SVM: the optimum compared with Clarabel, and the multiplier of the bias."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
import scipy.sparse as sp

from milopt.compilation.answer import Answer
from milopt.compilation.quadratic import Quadratic, QuadraticPiece
from milopt.compilation.standard_form import ColumnBlock, RowBlock, StandardForm
from milopt.compilation.status import Termination
from milopt.cones import ZERO
from milopt.errors import ParameterError, UnsupportedError
from milopt.solvers.cvxpy.solver import CVXPY
from milopt.solvers.libsvm import LibSVM
from milopt.solving.options import Options


def svm_dual(seed: int, C: float = 1.0, k: float = 1.0, sigma: float = 1.0, n: int = 30) -> StandardForm:
    """Return  min 1/2 a'(yy' o K)a k - k 1'a  s.t.  sigma y'a = 0,  0 <= a <= C_i  with an RBF Gram matrix K."""
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, 3))
    y = np.where(X[:, 0] + 0.5 * rng.standard_normal(n) > 0, 1.0, -1.0)
    K = np.exp(-0.5 * ((X[:, None] - X[None]) ** 2).sum(axis=2))
    P = Quadratic(n, (QuadraticPiece(sp.csr_array(sp.diags_array(y)), k * K),))
    upper = C * rng.uniform(0.5, 2.0, n)
    row = sp.csr_array(sigma * y[None])
    columns, rows = (ColumnBlock("a", 0, n),), (RowBlock("bias", ZERO, 0, 1),)
    not_integer = np.zeros(n, bool)
    return StandardForm("SVM", P, np.full(n, -k), 0.0, row, np.zeros(1), np.zeros(n), upper, not_integer, columns, rows)


def solve(form: StandardForm) -> Answer:
    return LibSVM().engine(form, Options()).solve(None)


def dual_residual(form: StandardForm, answer: Answer) -> float:
    assert answer.x is not None
    assert answer.z is not None
    reduced = form.P.times(answer.x) + form.q - form.F.T @ answer.z
    can_grow, can_shrink = answer.x < form.upper, answer.x > 0
    return float(max((-reduced[can_grow]).max(initial=0.0), reduced[can_shrink].max(initial=0.0)))


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize(
    ("C", "k", "sigma"), [(1.0, 1.0, 1.0), (10.0, 3.0, -0.25), (1e-3, 0.5, 2.0), (100.0, 1.0, 1.0)]
)
def test_optimum_and_multiplier_agree_with_clarabel(seed: int, C: float, k: float, sigma: float) -> None:
    form = svm_dual(seed, C, k, sigma)
    assert LibSVM().unsupported_reason(form) is None
    answer = solve(form)
    assert answer.termination is Termination.OPTIMAL
    assert answer.x is not None
    reference = CVXPY("CLARABEL").engine(form, Options()).solve(None)
    assert reference.x is not None
    best = form.value(reference.x)
    assert form.value(answer.x) == pytest.approx(best, rel=1e-6)
    assert np.abs(form.F @ answer.x).max() <= 1e-8 * max(1.0, C)
    assert (answer.x >= 0).all()
    assert (answer.x <= form.upper).all()
    # LIBSVM stores the Gram matrix in single precision.
    assert dual_residual(form, answer) <= 1e-8 + 2e-7 * (np.abs(form.P.dense) @ answer.x).max()


def test_columns_fixed_at_zero_stay_zero() -> None:
    form = svm_dual(0)
    upper = form.upper.copy()
    upper[:7] = 0.0
    answer = solve(replace(form, upper=upper))
    assert answer.x is not None
    assert (answer.x[:7] == 0).all()
    assert answer.x.sum() > 0


@pytest.mark.parametrize("sign", [1.0, -1.0])
def test_the_only_solution_for_one_class_is_zero(sign: float) -> None:
    form = svm_dual(0)
    one_class = replace(form, F=sp.csr_array(np.full((1, form.n), 2 * sign)))
    answer = solve(one_class)
    assert answer.termination is Termination.OPTIMAL
    assert answer.x is not None
    assert not answer.x.any()
    assert dual_residual(one_class, answer) == 0.0


def test_too_few_iterations_are_reported_as_a_limit() -> None:
    form = svm_dual(0, C=1e4, n=60)
    answer = LibSVM().engine(form, Options(time_limit=1e-9, extra={"max_iter": 2})).solve(1e-9)
    assert answer.termination is Termination.LIMIT
    assert answer.x is not None
    assert LibSVM().engine(form, Options(extra={"max_iter": 2})).solve(None).termination is Termination.LIMIT


@pytest.mark.parametrize("extra", [{"foo": 1}, {"kernel": "linear"}, {"max_iter": "ten"}])
def test_a_wrong_option_is_named(extra: dict[str, object]) -> None:
    with pytest.raises(ParameterError, match=f"^libsvm .*'{next(iter(extra))}'"):
        LibSVM().engine(svm_dual(0), Options(extra=extra)).solve(None)


def changed_form(what: str) -> StandardForm:
    form = svm_dual(0)
    n = form.n
    if what == "integer":
        return replace(form, integer=np.ones(n, bool))
    if what == "rows":
        return replace(form, F=sp.csr_array((0, n)), g=np.zeros(0), rows=())
    if what == "right-hand side":
        return replace(form, g=np.ones(1))
    if what == "coefficients":
        return replace(form, F=sp.csr_array(np.arange(1.0, n + 1)[None]))
    if what == "bounds":
        return replace(form, upper=np.full(n, np.inf))
    return replace(form, q=-np.arange(1.0, n + 1))


@pytest.mark.parametrize("what", ["integer", "rows", "right-hand side", "coefficients", "bounds", "linear objective"])
def test_other_programs_are_unsupported_with_a_reason(what: str) -> None:
    form = changed_form(what)
    reason = LibSVM().unsupported_reason(form)
    assert reason is not None
    assert what in reason
    with pytest.raises(UnsupportedError, match=r"libsvm cannot solve 'SVM': libsvm only solves C-SVM duals.*[.]$"):
        solve(form)
