"""Bridge from a quadratic objective to a cone, for solvers with linear objectives and second-order cones.

With P = B'B, a new column t replaces the quadratic term:

    min 1/2 x'Px + q'x    becomes    min t + q'x   s.t.   t >= 1/2 ||Bx||^2,
    that is   || (t/s - s, sqrt(2) Bx) || <= t/s + s     for any s > 0,

since (t/s + s)^2 - (t/s - s)^2 = 4t. Accuracy is best if s is near sqrt(t) at the optimum. At the optimum, the
multiplier (u, v, w) of the cone satisfies  (u + v)/s = 1  and  sqrt(2) B'w = -Px.  So the multipliers z of the other
rows are those of the original program:  Px + q = F'z + reduced costs.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import scipy.sparse as sp

from milopt.arrays import Matrix, Vector
from milopt.compilation.answer import Answer
from milopt.compilation.quadratic import Quadratic
from milopt.compilation.standard_form import ColumnBlock, RowBlock, StandardForm
from milopt.cones import SECOND_ORDER
from milopt.errors import ConvexityError

EIGENVALUE_ZERO_TOLERANCE = 1e-13
"""Largest eigenvalue that counts as zero, relative to the largest absolute eigenvalue."""
NEGATIVE_TOLERANCE = 1e-9
"""An eigenvalue below minus this share of the largest absolute eigenvalue counts as negative."""


def apply(form: StandardForm, scale: float = 1.0) -> StandardForm:
    """Return the program with a linear objective, one more column t and one more cone; the form itself if P is zero.

    `scale` is the number s of the module docstring.
    """
    if form.P.is_zero:
        return form
    root = square_root(form.P)
    n, m, k = form.n, form.m, root.shape[0]
    ends = sp.csr_array(np.array([[1.0 / scale], [1.0 / scale]]))
    cone = sp.block_array([[sp.csr_array((2, n)), ends], [np.sqrt(2.0) * root, None]], format="csr")
    rows = sp.hstack([form.F, sp.csr_array((m, 1))], format="csr")
    return replace(
        form,
        P=Quadratic(n + 1),
        q=np.append(form.q, 1.0),
        F=sp.csr_array(sp.vstack([rows, cone], format="csr")),
        g=np.concatenate([form.g, [scale, -scale], np.zeros(k)]),
        lower=np.append(form.lower, -np.inf),
        upper=np.append(form.upper, np.inf),
        integer=np.append(form.integer, False),
        columns=(*form.columns, ColumnBlock("quadratic", n, n + 1, scalar=True)),
        rows=(*form.rows, RowBlock("quadratic", SECOND_ORDER, m, m + 2 + k)),
    )


def invert(form: StandardForm, answer: Answer) -> Answer:
    """Return the answer for `form`, given the answer for `apply(form)`: without the new column and the new rows."""
    return replace(
        answer,
        x=None if answer.x is None else answer.x[: form.n],
        z=None if answer.z is None else answer.z[: form.m],
    )


def gradient_mismatch(form: StandardForm, conic: StandardForm, answer: Answer) -> Vector:
    """Return |Px + sqrt(2) B'w| per column, which is 0 at an exact solution (see the module docstring).

    `conic` is `apply(form)`, and `answer` is the solver's answer for `conic`. The result is inf if the answer has no
    point or no multipliers.
    """
    if answer.x is None or answer.z is None:
        return np.full(form.n, np.inf)
    cone = slice(form.m, None)
    gradient = (conic.F[cone].T @ answer.z[cone])[: form.n]
    return np.asarray(np.abs(form.P.times(answer.x[: form.n]) + gradient))


def square_root(P: Quadratic) -> sp.csr_array:
    """Return B with P = B'B, computed piece by piece, or from the sum of all pieces if a piece is not convex."""
    roots = []
    for piece in P.pieces:
        if piece.weight.ndim == 1:
            if (piece.weight < 0).any():
                return _root_of_sum(P)
            kept = np.flatnonzero(piece.weight)
            roots.append(sp.csr_array(sp.diags_array(np.sqrt(piece.weight[kept])) @ piece.rows[kept]))
        else:
            root = _dense_root(piece.weight)
            if root is None:
                return _root_of_sum(P)
            roots.append(sp.csr_array(sp.csr_array(root) @ piece.rows))
    return sp.csr_array(sp.vstack(roots, format="csr"))


def _root_of_sum(P: Quadratic) -> sp.csr_array:
    """Return B with P = B'B, computed from the sum of all pieces, or raise a `ConvexityError` if P is not convex."""
    root = _dense_root(P.dense)
    if root is None:
        raise ConvexityError(
            "The quadratic objective has a negative eigenvalue, so it has no cone form; "
            "choose a solver that supports non-convex quadratics."
        )
    return sp.csr_array(root)


def _dense_root(W: Matrix) -> Matrix | None:
    """Return B with W = B'B for a symmetric W; None if W has a negative eigenvalue (see `NEGATIVE_TOLERANCE`).

    B is the transposed Cholesky factor. If W is not positive definite, B is computed from the eigenvectors whose
    eigenvalues exceed `EIGENVALUE_ZERO_TOLERANCE` times the largest.
    """
    try:
        return np.asarray(np.linalg.cholesky(W).T, dtype=np.float64)
    except np.linalg.LinAlgError:
        values, vectors = np.linalg.eigh(W)
    largest = float(np.abs(values).max(initial=0.0))
    if (values < -NEGATIVE_TOLERANCE * largest).any():
        return None
    kept = values > EIGENVALUE_ZERO_TOLERANCE * largest
    root: Matrix = (vectors[:, kept] * np.sqrt(values[kept])).T
    return root
