"""Bridge that scales columns and objective to about unit size, for solvers with absolute tolerances.

With  x = D u  and the objective divided by s,

    min 1/2 u'(DPD/s)u + (Dq/s)'u   s.t.   F D u + g in K,   lower/d <= u <= upper/d.

The diagonal D of column units d is chosen together with a diagonal E and a number e (Ruiz): the rows of E F D and the
largest entry of e |P_jj|^(1/2) d_j have about size 1, and so has the larger of both in each column. A column without
entries in F and on the diagonal of P keeps its unit. The scale s is the largest of |d_j q_j| and d_j^2 |P_jj|. All
factors are powers of two, so that nothing is rounded. All factors are 1 if the units d differ by less than a factor of
1024 and s is between 1/1024 and 1024. The multipliers of the rows are  z = s z_u.  The constant of the objective is
dropped.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
import scipy.sparse as sp

from milopt.arrays import Vector
from milopt.compilation.answer import Answer
from milopt.compilation.quadratic import Piece, Quadratic
from milopt.compilation.standard_form import StandardForm

N_PASSES = 4
"""Number of passes of the equilibration of rows and columns."""
MAX_UNSCALED_RATIO = 2.0**10
"""Ratio below which units of columns, and the size of the objective, are left as they are."""


@dataclass(frozen=True)
class Scales:
    """Units d of the columns and size s of the objective in these units."""

    columns: Vector
    objective: float

    @property
    def gradient(self) -> Vector:
        """Factor s/d from each entry of the scaled gradient to the gradient itself."""
        return np.asarray(self.objective / self.columns)


def choose_scales(form: StandardForm) -> Scales:
    """Return the units d and the size s of a form, as the module docstring defines them."""
    d = _column_units(form)
    linear, curved = np.abs(form.q) * d, np.abs(form.P.diagonal) * d**2
    largest = max(float(linear.max(initial=0.0)), float(curved.max(initial=0.0)))
    s = float(_nearest_powers_of_two(np.array(largest))) if 0.0 < largest < np.inf else 1.0
    if (
        d.max(initial=1.0) < MAX_UNSCALED_RATIO * d.min(initial=1.0)
        and 1.0 / MAX_UNSCALED_RATIO < s < MAX_UNSCALED_RATIO
    ):
        return Scales(np.ones(form.n), 1.0)
    return Scales(d, s)


def apply(form: StandardForm, scales: Scales) -> StandardForm:
    """Return the program over u; its objective is that of `form`, without the constant, divided by s."""
    d, s = scales.columns, scales.objective
    pieces = tuple(Piece(_scale_columns(piece.rows, d), piece.weight / s) for piece in form.P.pieces)
    return replace(
        form,
        P=Quadratic(form.P.size, pieces),
        q=form.q * d / s,
        constant=0.0,
        F=_scale_columns(form.F, d),
        lower=form.lower / d,
        upper=form.upper / d,
    )


def invert(answer: Answer, scales: Scales) -> Answer:
    """Return the answer over x, given the answer over u."""
    return replace(
        answer,
        x=None if answer.x is None else scales.columns * answer.x,
        z=None if answer.z is None else scales.objective * answer.z,
    )


def _scale_columns(rows: sp.csr_array, d: Vector) -> sp.csr_array:
    """Return the matrix `rows` with column j multiplied by d_j."""
    return sp.csr_array((rows.data * d[rows.indices], rows.indices, rows.indptr), shape=rows.shape)


def _column_units(form: StandardForm) -> Vector:
    """Return d, the diagonal of D (see the module docstring)."""
    entries = abs(form.F).tocoo()
    row, column = entries.coords
    root = np.sqrt(np.abs(form.P.diagonal))
    e, d = np.ones(form.m), np.ones(form.n)
    for _ in range(N_PASSES):
        curved = root * d
        curved /= curved.max(initial=0.0) or 1.0
        size = entries.data * e[row] * d[column]
        rows, columns = np.zeros(form.m), curved
        np.maximum.at(rows, row, size)
        np.maximum.at(columns, column, size)
        e /= np.sqrt(np.where(rows > 0.0, rows, 1.0))
        d /= np.sqrt(np.where(columns > 0.0, columns, 1.0))
    return _nearest_powers_of_two(d)


def _nearest_powers_of_two(values: Vector) -> Vector:
    """Return the nearest powers of two, on a logarithmic scale."""
    return np.asarray(np.exp2(np.round(np.log2(values))))
