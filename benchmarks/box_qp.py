"""native against Clarabel on box QPs, both sides in one run: time, projected gradient, ratio.

The MIORDM dual  P = [[Q + cI, -Q], [-Q, Q + (c/mu)I]],  delta >= 0  (FORMULATIONS 7.2), and generic box QPs. Times are
medians of processor time over whole solves from a flat program, each on a new engine: splitting P and proving it convex
is counted for native, building its own model for Clarabel. KKT is the largest entry of x - clip(x - gradient). One
thread each: run it as `OMP_NUM_THREADS=1 python benchmarks/box_qp.py`.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from statistics import median

import clarabel
import numpy as np
import scipy.sparse as sp

from milopt.compilation.quadratic import Matrix, Piece, Quadratic, Vector
from milopt.compilation.standard_form import ColumnBlock, StandardForm
from milopt.solvers.native import Native
from milopt.solving.options import Options


def flat(name: str, P: Quadratic, q: Vector, lower: Vector, upper: Vector) -> StandardForm:
    """A box QP as a flat program."""
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


def odm_dual(n: int, condition: float) -> StandardForm:
    """The dual of MIORDM on n random bag means, with c set for the condition number of P."""
    rng = np.random.default_rng(0)
    y = np.where(rng.random(n) < 0.5, 1.0, -1.0)
    points = rng.normal(size=(n, 8)) + 0.3 * (y > 0)[:, None]
    squares = (points**2).sum(axis=1)
    gram = np.exp(-(squares[:, None] + squares - 2 * points @ points.T) / 8)
    Q = np.outer(y, y) * gram
    theta, mu = 0.5, 0.5
    c = 2 * float(np.linalg.eigvalsh(Q)[-1]) / condition
    rows = sp.csr_array(sp.hstack([sp.eye_array(n), -sp.eye_array(n)]))
    own = np.concatenate([np.full(n, c), np.full(n, c / mu)])
    P = Quadratic(2 * n, (Piece(rows, Q), Piece(sp.csr_array(sp.eye_array(2 * n)), own)))
    q = np.concatenate([np.full(n, theta - 1), np.full(n, theta + 1)])
    return flat(f"MIORDM {n} bags, cond {condition:.0e}", P, q, np.zeros(2 * n), np.full(2 * n, np.inf))


def generic(name: str, P: Matrix, width: float) -> StandardForm:
    """A dense P over [-width, width]^n, or over the non-negative orthant when the width is infinite."""
    n = P.shape[0]
    q = np.asarray(np.random.default_rng(1).normal(size=n))
    lower = np.zeros(n) if np.isinf(width) else np.full(n, -width)
    return flat(name, Quadratic(n, (Piece(sp.csr_array(sp.eye_array(n)), P),)), q, lower, np.full(n, width))


def spectrum(n: int, condition: float) -> Matrix:
    """A random matrix with eigenvalues spread evenly, in logarithm, between 1 and 1/condition."""
    basis = np.linalg.qr(np.random.default_rng(2).normal(size=(n, n)))[0]
    P = (basis * np.logspace(0, -np.log10(condition), n)) @ basis.T
    return np.asarray(0.5 * (P + P.T))


def low_rank(n: int, rank: int) -> Matrix:
    """A positive semidefinite matrix of this rank."""
    factor = np.random.default_rng(3).normal(size=(rank, n))
    return np.asarray(factor.T @ factor / n)


def by_native(form: StandardForm) -> Vector:
    """milopt's own."""
    x = Native().engine(form, Options()).solve(None).x
    assert x is not None
    return x


def by_clarabel(form: StandardForm) -> Vector:
    """Clarabel at its default tolerances, the finite bounds as rows."""
    up, down = np.flatnonzero(np.isfinite(form.upper)), np.flatnonzero(np.isfinite(form.lower))
    eye = sp.eye_array(form.n, format="csr")
    A = sp.csc_matrix(sp.vstack([eye[up], -eye[down]]))
    b = np.concatenate([form.upper[up], -form.lower[down]])
    settings = clarabel.DefaultSettings()
    settings.verbose = False
    P = sp.csc_matrix(sp.triu(form.P.sparse))
    return np.array(clarabel.DefaultSolver(P, form.q, A, b, [clarabel.NonnegativeConeT(b.size)], settings).solve().x)


def measured(solve: Callable[[StandardForm], Vector], form: StandardForm, runs: int) -> tuple[float, float]:
    """Median milliseconds, and how far a gradient step, projected back, moves the point: 0 at the optimum."""
    seconds = []
    for _ in range(runs):
        started = time.process_time()
        x = solve(form)
        seconds.append(time.process_time() - started)
    x = np.clip(x, form.lower, form.upper)
    gradient = form.P.times(x) + form.q
    moved = np.clip(x - gradient, form.lower, form.upper) - x
    return 1e3 * median(seconds), float(np.abs(moved).max())


def main() -> None:
    """Print the table."""
    by_native(odm_dual(92, 1e2))  # compiles, or loads what was compiled
    cases = [
        (odm_dual(92, 1e2), True),
        (odm_dual(500, 1e2), True),
        (odm_dual(500, 6e5), True),
        (odm_dual(2000, 6e5), False),
        (generic("dense 300, cond 1e2, box", spectrum(300, 1e2), 1.0), True),
        (generic("dense 300, cond 1e4, box", spectrum(300, 1e4), 1.0), True),
        (generic("dense 300, cond 1e8, box", spectrum(300, 1e8), 1.0), True),
        (generic("dense 300, cond 1e4, x >= 0", spectrum(300, 1e4), np.inf), True),
        (generic("dense 300, cond 1e8, x >= 0", spectrum(300, 1e8), np.inf), True),
        (generic("dense 300, rank 100, box", low_rank(300, 100), 1.0), True),
    ]
    print(f"{'box QP':32}{'native ms':>11}{'KKT':>10}{'Clarabel ms':>13}{'KKT':>10}{'ratio':>8}")
    for form, both in cases:
        ours, residual = measured(by_native, form, 7 if form.n < 2000 else 3)
        line = f"{form.name:32}{ours:11.2f}{residual:10.1e}"
        if both:
            theirs, other = measured(by_clarabel, form, 3)
            line += f"{theirs:13.1f}{other:10.1e}{theirs / ours:8.1f}"
        print(line, flush=True)


if __name__ == "__main__":
    main()
