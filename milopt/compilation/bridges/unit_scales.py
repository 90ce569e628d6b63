"""Unit scales: the same program in columns and an objective of about unit size, for solvers with absolute tolerances.

With  x = D u  and the objective divided by s,

    min 1/2 u'(DPD/s)u + (Dq/s)'u   s.t.   F D u + g in K,   lower/d <= u <= upper/d.

The diagonal D brings the columns of E F D and of e P^(1/2) D to size 1 together, where the diagonal E and the number e
bring the rows of the one and the whole of the other to size 1 (Ruiz). A column in neither keeps its unit. The scale s
is the largest of |d_j q_j| and d_j^2 |P_jj|. All of them are powers of two, so that nothing is rounded. A program is
left as it is if its units differ by less than a factor of 1024 and s is between 1/1024 and 1024. The multipliers of
the rows are  z = s z_u.  The constant of the objective is left out.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
import scipy.sparse as sp

from milopt.arrays import Vector
from milopt.compilation.answer import Answer
from milopt.compilation.quadratic import Piece, Quadratic
from milopt.compilation.standard_form import StandardForm

PASSES = 4
"""Passes of the equilibration of rows and columns."""
APART = 2.0**10
"""Sizes that differ by less are left as they are."""


@dataclass(frozen=True)
class Scales:
    """The units d of the columns and the size s of the objective in them."""

    columns: Vector
    objective: float

    @property
    def gradient(self) -> Vector:
        """Return s/d: the factor from each entry of the scaled gradient to the gradient itself."""
        return np.asarray(self.objective / self.columns)


def scales(form: StandardForm) -> Scales:
    """Find the scales of a form."""
    d = _column_units(form)
    linear, curved = np.abs(form.q) * d, np.abs(form.P.diagonal) * d**2
    largest = max(float(linear.max(initial=0.0)), float(curved.max(initial=0.0)))
    s = float(_power_of_two(np.array(largest))) if 0.0 < largest < np.inf else 1.0
    if d.max(initial=1.0) < APART * d.min(initial=1.0) and 1.0 / APART < s < APART:
        return Scales(np.ones(form.n), 1.0)
    return Scales(d, s)


def apply(form: StandardForm, scales: Scales) -> StandardForm:
    """Return the program over u; its objective is that of `form` less the constant, over s."""
    d, s = scales.columns, scales.objective
    pieces = tuple(Piece(_scaled(piece.rows, d), piece.weight / s) for piece in form.P.pieces)
    return replace(
        form,
        P=Quadratic(form.P.size, pieces),
        q=form.q * d / s,
        constant=0.0,
        F=_scaled(form.F, d),
        lower=form.lower / d,
        upper=form.upper / d,
    )


def invert(answer: Answer, scales: Scales) -> Answer:
    """Return the answer over x."""
    return replace(
        answer,
        x=None if answer.x is None else scales.columns * answer.x,
        z=None if answer.z is None else scales.objective * answer.z,
    )


def _scaled(rows: sp.csr_array, d: Vector) -> sp.csr_array:
    return sp.csr_array((rows.data * d[rows.indices], rows.indices, rows.indptr), shape=rows.shape)


def _column_units(form: StandardForm) -> Vector:
    entries = abs(form.F).tocoo()
    row, column = entries.coords
    root = np.sqrt(np.abs(form.P.diagonal))
    e, d = np.ones(form.m), np.ones(form.n)
    for _ in range(PASSES):
        curved = root * d
        curved /= curved.max(initial=0.0) or 1.0
        size = entries.data * e[row] * d[column]
        rows, columns = np.zeros(form.m), curved
        np.maximum.at(rows, row, size)
        np.maximum.at(columns, column, size)
        e /= np.sqrt(np.where(rows > 0.0, rows, 1.0))
        d /= np.sqrt(np.where(columns > 0.0, columns, 1.0))
    return _power_of_two(d)


def _power_of_two(values: Vector) -> Vector:
    return np.asarray(np.exp2(np.round(np.log2(values))))
