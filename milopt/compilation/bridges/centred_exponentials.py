"""Bridge that shifts exponential cones, so that their rows contain no large numbers near the optimum.

For every c, (x, y, z) is in the exponential cone if and only if (x - c y, y, exp(-c) z) is in the cone. A solver that
scales the three rows of a cone by one factor cannot make this change itself, and stalls if z is thousands of times y.
One c is used for all cones: the logarithm of the largest z / y at a point near the optimum, over the cones with y > 0
and z > 0 there, clipped to the range +-`MAX_LOG_SHIFT`. Unless c was clipped, no z of these cones is then large
relative to y. Columns that occur in several z keep their proportions. Multipliers are mapped back by the transpose of
the change.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import scipy.sparse as sp

from milopt.arrays import Vector
from milopt.compilation.answer import Answer
from milopt.compilation.standard_form import StandardForm
from milopt.cones import EXPONENTIAL

MAX_LOG_SHIFT = 30.0
"""Largest |c|: exp(30) is about 1e13, and a row that is scaled by a larger factor would be lost to rounding."""


def choose_shift(form: StandardForm, point: Vector) -> float:
    """Return c, the logarithm of the largest z / y of a cone at a point, limited to the range +-`MAX_LOG_SHIFT`.

    Only cones with y > 0 and z > 0 at the point are considered; c is 0 if there are none.
    """
    rows = form.rows_in(EXPONENTIAL).reshape(-1, 3)
    s = form.F @ point + form.g
    y, z = s[rows[:, 1]], s[rows[:, 2]]
    inside = (y > 0.0) & (z > 0.0)
    return float(np.clip(np.log((z[inside] / y[inside]).max(initial=0.0) or 1.0), -MAX_LOG_SHIFT, MAX_LOG_SHIFT))


def apply(form: StandardForm, c: float) -> StandardForm:
    """Return the program with the rows (x, y, z) of its exponential cones replaced by (x - c y, y, exp(-c) z)."""
    change = _shift_matrix(form, c)
    return replace(form, F=sp.csr_array(change @ form.F), g=change @ form.g)


def invert(form: StandardForm, answer: Answer, c: float) -> Answer:
    """Return the answer for `form`, given the answer for `apply(form, c)`."""
    return answer if answer.z is None else replace(answer, z=_shift_matrix(form, c).T @ answer.z)


def _shift_matrix(form: StandardForm, c: float) -> sp.csr_array:
    """Return the matrix that maps the values of the rows of `form` to those of the rows of `apply(form, c)`."""
    first, second, third = form.rows_in(EXPONENTIAL).reshape(-1, 3).T
    diagonal = np.ones(form.m)
    diagonal[third] = np.exp(-c)
    off_diagonal = sp.coo_array((np.full(first.size, c), (first, second)), shape=(form.m, form.m))
    return sp.csr_array(sp.diags_array(diagonal) - off_diagonal)
