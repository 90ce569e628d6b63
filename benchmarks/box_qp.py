"""QPs with bounds only: `native` against Clarabel, both through milopt: time, projected gradient, ratio.

First flat programs, each solved by a new engine: the MIORDM dual  P = [[Q + cI, -Q], [-Q, Q + (c/mu)I]],  delta >= 0,
and generic box QPs; the time of `native` includes splitting P and proving it convex, that of Clarabel building its
model. Then the MIORDM dual as a model author declares it, through `milopt.solve`: lowering, curvature check,
certificate and polish too. Times are medians of processor time; KKT is the largest entry of x - clip(x - gradient).
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

import numpy as np
import scipy.sparse as sp
from timing import median, single_thread, table

import milopt
from milopt import Program, quad_form, sum_squares
from milopt.arrays import Matrix, Vector
from milopt.compilation.quadratic import Quadratic, QuadraticPiece
from milopt.compilation.standard_form import ColumnBlock, StandardForm
from milopt.solving.options import Options
from milopt.solving.solver import Solver

THETA, MU = 0.5, 0.5


def flat(name: str, P: Quadratic, q: Vector, lower: Vector, upper: Vector) -> StandardForm:
    """Return a box QP as a flat program."""
    n = q.size
    return StandardForm(
        name=name,
        P=P,
        q=q,
        constant=0.0,
        F=sp.csr_array((0, n)),
        g=np.zeros(0),
        lower=lower,
        upper=upper,
        integer=np.zeros(n, dtype=bool),
        columns=(ColumnBlock("x", 0, n),),
        rows=(),
    )


def odm_data(n: int, condition: float) -> tuple[Matrix, float]:
    """Return Q and c of MIORDM for n random bag means; c gives P the condition number."""
    rng = np.random.default_rng(0)
    y = np.where(rng.random(n) < 0.5, 1.0, -1.0)
    points = rng.normal(size=(n, 8)) + 0.3 * (y > 0)[:, None]
    squares = (points**2).sum(axis=1)
    gram = np.exp(-(squares[:, None] + squares - 2 * points @ points.T) / 8)
    Q = np.outer(y, y) * gram
    return Q, 2 * float(np.linalg.eigvalsh(Q)[-1]) / condition


def odm_dual(n: int, condition: float) -> StandardForm:
    """Return the dual of MIORDM as a flat program."""
    Q, c = odm_data(n, condition)
    rows = sp.csr_array(sp.hstack([sp.eye_array(n), -sp.eye_array(n)]))
    own = np.concatenate([np.full(n, c), np.full(n, c / MU)])
    P = Quadratic(2 * n, (QuadraticPiece(rows, Q), QuadraticPiece(sp.csr_array(sp.eye_array(2 * n)), own)))
    q = np.concatenate([np.full(n, THETA - 1), np.full(n, THETA + 1)])
    return flat(f"MIORDM {n} bags, cond {condition:.0e}", P, q, np.zeros(2 * n), np.full(2 * n, np.inf))


def odm_program(Q: Matrix, c: float) -> Program:
    """Declare the dual of MIORDM as a program."""
    n = Q.shape[0]
    program = Program("MIORDM dual")
    alpha = program.variable("alpha", n, lower=0)
    beta = program.variable("beta", n, lower=0)
    margin = 0.5 * quad_form(alpha - beta, Q)
    own = 0.5 * c * sum_squares(alpha) + 0.5 * c / MU * sum_squares(beta)
    program.minimize(margin + own + (THETA - 1) * alpha.sum() + (THETA + 1) * beta.sum())
    return program


def generic(name: str, P: Matrix, width: float) -> StandardForm:
    """Return a QP with dense P over [-width, width]^n, or over x >= 0 if the width is infinite."""
    n = P.shape[0]
    q = np.asarray(np.random.default_rng(1).normal(size=n))
    lower = np.zeros(n) if np.isinf(width) else np.full(n, -width)
    return flat(name, Quadratic(n, (QuadraticPiece(sp.csr_array(sp.eye_array(n)), P),)), q, lower, np.full(n, width))


def spectrum(n: int, condition: float) -> Matrix:
    """Return a random matrix with eigenvalues from 1 to 1/condition, evenly spaced on a logarithmic scale."""
    basis = np.linalg.qr(np.random.default_rng(2).normal(size=(n, n)))[0]
    P = (basis * np.logspace(0, -np.log10(condition), n)) @ basis.T
    return np.asarray(0.5 * (P + P.T))


def low_rank(n: int, rank: int) -> Matrix:
    """Return a random positive semidefinite matrix of a given rank."""
    factor = np.random.default_rng(3).normal(size=(rank, n))
    return np.asarray(factor.T @ factor / n)


def solution(solver: Solver, form: StandardForm) -> Vector:
    """Solve a flat program with a new engine, and clip the solution to the bounds."""
    x = solver.engine(form, Options()).solve(None).x
    assert x is not None
    return np.clip(x, form.lower, form.upper)


def declared_solution(Q: Matrix, c: float, solver: str) -> Vector:
    """Declare the dual, solve it and certify it."""
    result = milopt.solve(odm_program(Q, c), solver)
    return np.asarray(np.maximum(np.concatenate([result.values["alpha"], result.values["beta"]]), 0.0))


def residual(form: StandardForm, x: Vector) -> float:
    """Return the largest entry of x - clip(x - gradient), which is 0 at the optimum."""
    gradient = form.P.times(x) + form.q
    return float(np.abs(np.clip(x - gradient, form.lower, form.upper) - x).max())


def flat_results() -> Iterator[tuple[object, ...]]:
    """Yield one row per flat program; the largest is solved by `native` only."""
    native, clarabel = milopt.get_solver("native"), milopt.get_solver("clarabel")
    for form in (
        odm_dual(92, 1e2),
        odm_dual(500, 1e2),
        odm_dual(500, 6e5),
        odm_dual(2000, 6e5),
        generic("dense 300, cond 1e2, box", spectrum(300, 1e2), 1.0),
        generic("dense 300, cond 1e4, box", spectrum(300, 1e4), 1.0),
        generic("dense 300, cond 1e8, box", spectrum(300, 1e8), 1.0),
        generic("dense 300, cond 1e4, x >= 0", spectrum(300, 1e4), np.inf),
        generic("dense 300, cond 1e8, x >= 0", spectrum(300, 1e8), np.inf),
        generic("dense 300, rank 100, box", low_rank(300, 100), 1.0),
    ):
        ours = 1e3 * median(partial(solution, native, form))
        mine = residual(form, solution(native, form))
        if form.n > 2000:
            yield form.name, ours, mine, "-", "-", "-"
            continue
        theirs = 1e3 * median(partial(solution, clarabel, form), runs=3, warm=0)
        yield form.name, ours, mine, theirs, residual(form, solution(clarabel, form)), theirs / ours


def declared_results() -> Iterator[tuple[object, ...]]:
    """Yield one row per declared dual: declaration, lowering, solve and certificate."""
    for n, condition in ((92, 1e2), (500, 1e2), (500, 6e5)):
        Q, c = odm_data(n, condition)
        form = odm_dual(n, condition)
        ours = 1e3 * median(partial(declared_solution, Q, c, "native"))
        theirs = 1e3 * median(partial(declared_solution, Q, c, "clarabel"), runs=3, warm=0)
        mine, others = (residual(form, declared_solution(Q, c, solver)) for solver in ("native", "clarabel"))
        yield form.name, ours, mine, theirs, others, theirs / ours


def main() -> None:
    """Print the tables."""
    single_thread()
    heads = ["native ms", "KKT", "Clarabel ms", "KKT", "ratio"]
    table(["flat box QP", *heads], flat_results())
    print()
    table(["declared, milopt.solve", *heads], declared_results())


if __name__ == "__main__":
    main()
