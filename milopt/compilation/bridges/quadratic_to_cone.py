"""Quadratic objective to cone: for solvers with linear objectives and second-order cones.

With P = B'B, one new column t stands for the quadratic term:

    min 1/2 x'Px + q'x    becomes    min t + q'x   s.t.   t >= 1/2 ||Bx||^2,
    that is   || (t/s - s, sqrt(2) Bx) || <= t/s + s     for any s > 0,

since (t/s + s)^2 - (t/s - s)^2 = 4t. The scale s is best near sqrt(t) at the optimum. The cone's multiplier (u, v, w)
has  (u + v)/s = 1  and  sqrt(2) B'w = -Px  at the optimum, so the other rows keep theirs:  Px + q = F'z + ...
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

SINGULAR = 1e-13
"""Eigenvalues up to this share of the largest are zero."""
NEGATIVE = 1e-9
"""Eigenvalues below minus this share of the largest are truly negative."""


def apply(form: StandardForm, scale: float = 1.0) -> StandardForm:
    """The same program with a linear objective, one more column and one more cone; the form itself if P is zero."""
    if form.P.is_zero:
        return form
    root = factor(form.P)
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
    """The answer for `form` from the answer for `apply(form)`: its own columns and rows."""
    return replace(
        answer,
        x=None if answer.x is None else answer.x[: form.n],
        z=None if answer.z is None else answer.z[: form.m],
    )


def mismatch(form: StandardForm, conic: StandardForm, answer: Answer) -> Vector:
    """|Px + sqrt(2) B'w|: how far the point and the cone's multiplier disagree on the gradient of the quadratic."""
    if answer.x is None or answer.z is None:
        return np.full(form.n, np.inf)
    cone = slice(form.m, None)
    gradient = (conic.F[cone].T @ answer.z[cone])[: form.n]
    return np.asarray(np.abs(form.P.times(answer.x[: form.n]) + gradient))


def factor(P: Quadratic) -> sp.csr_array:
    """B with P = B'B, piece by piece; by the eigenvalues of the whole where a piece alone is not convex."""
    roots = []
    for piece in P.pieces:
        if piece.weight.ndim == 1:
            if (piece.weight < 0).any():
                return _whole(P)
            kept = np.flatnonzero(piece.weight)
            roots.append(sp.csr_array(sp.diags_array(np.sqrt(piece.weight[kept])) @ piece.rows[kept]))
        else:
            root = _dense_root(piece.weight)
            if root is None:
                return _whole(P)
            roots.append(sp.csr_array(sp.csr_array(root) @ piece.rows))
    return sp.csr_array(sp.vstack(roots, format="csr"))


def _whole(P: Quadratic) -> sp.csr_array:
    root = _dense_root(P.dense)
    if root is None:
        raise ConvexityError(
            "The quadratic objective has a negative eigenvalue, so it has no cone form; "
            "choose a solver that takes non-convex quadratics."
        )
    return sp.csr_array(root)


def _dense_root(W: Matrix) -> Matrix | None:
    """B with W = B'B for a symmetric W, by Cholesky or, where W is singular, by eigenvalues; None if not convex."""
    try:
        return np.asarray(np.linalg.cholesky(W).T, dtype=np.float64)
    except np.linalg.LinAlgError:
        values, vectors = np.linalg.eigh(W)
    largest = float(np.abs(values).max(initial=0.0))
    if (values < -NEGATIVE * largest).any():
        return None
    kept = values > SINGULAR * largest
    root: Matrix = (vectors[:, kept] * np.sqrt(values[kept])).T
    return root
