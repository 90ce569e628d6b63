"""Bridge that scales columns and objective to about unit size, for solvers with absolute tolerances.

With  x = D u  and the objective divided by s, the program becomes

    min 1/2 u'(DPD/s)u + (Dq/s)'u   s.t.   F D u + g in K,   lower/d <= u <= upper/d.

The diagonal matrix D of the column units d is computed together with a diagonal matrix E and a number e by a Ruiz
iteration, after which three sizes are about 1: the largest absolute entry of each row of E F D, the largest of the
numbers e |P_jj|^(1/2) d_j, and, in each column j, the larger of this number and the largest absolute entry of E F D. A
column without entries in F and on the diagonal of P has the unit 1. The scale s is the largest of all |d_j q_j| and
d_j^2 |P_jj|. All factors are rounded to powers of two, so that scaling causes no rounding errors. All factors are 1 if
the units d differ by less than a factor of 1024 and s is between 1/1024 and 1024. The multipliers of the rows are
z = s z_u,  where z_u are those of the program over u. The constant of the objective is dropped.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
import scipy.sparse as sp

from milopt.arrays import Vector
from milopt.compilation.answer import Answer
from milopt.compilation.quadratic import Quadratic, QuadraticPiece
from milopt.compilation.standard_form import StandardForm

HESSIAN_SCALING_PASSES = 4
"""Number of passes of the Ruiz iteration."""
MAX_UNSCALED_RATIO = 2.0**10
"""Nothing is scaled if the units of columns differ by less than this factor, and s differs from 1 by less."""


@dataclass(frozen=True)
class UnitScales:
    """Units d of the columns (`columns`) and scale s of the objective (`objective`); see the module docstring."""

    columns: Vector
    objective: float

    @property
    def gradient_factors(self) -> Vector:
        """Factors s/d that convert each entry of the gradient of the scaled program to the original units."""
        return np.asarray(self.objective / self.columns)


def choose_scales(form: StandardForm) -> UnitScales:
    """Return the units d and the scale s for a form, as the module docstring defines them."""
    d = _column_units(form)
    linear, curved = np.abs(form.q) * d, np.abs(form.P.diagonal) * d**2
    largest = max(float(linear.max(initial=0.0)), float(curved.max(initial=0.0)))
    s = float(_nearest_powers_of_two(np.array(largest))) if 0.0 < largest < np.inf else 1.0
    if (
        d.max(initial=1.0) < MAX_UNSCALED_RATIO * d.min(initial=1.0)
        and 1.0 / MAX_UNSCALED_RATIO < s < MAX_UNSCALED_RATIO
    ):
        return UnitScales(np.ones(form.n), 1.0)
    return UnitScales(d, s)


def apply(form: StandardForm, scales: UnitScales) -> StandardForm:
    """Return the program over u; its objective is that of `form` without the constant, divided by s."""
    d, s = scales.columns, scales.objective
    pieces = tuple(QuadraticPiece(_scale_columns(piece.rows, d), piece.weight / s) for piece in form.P.pieces)
    return replace(
        form,
        P=Quadratic(form.P.size, pieces),
        q=form.q * d / s,
        constant=0.0,
        F=_scale_columns(form.F, d),
        lower=form.lower / d,
        upper=form.upper / d,
    )


def invert(answer: Answer, scales: UnitScales) -> Answer:
    """Return the answer for the program over x, given the answer for the program over u."""
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
    for _ in range(HESSIAN_SCALING_PASSES):
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
    """Return the powers of two that are nearest to positive values on a logarithmic scale."""
    return np.asarray(np.exp2(np.round(np.log2(values))))
