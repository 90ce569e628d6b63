"""Centred exponential cones: the same program with the large numbers taken out of its exponential cones.

For every c, (x, y, z) is in the exponential cone exactly if (x - c y, y, exp(-c) z) is. A solver whose scaling treats
the three rows of a cone alike cannot make this change itself, and gets stuck where z is thousands of times y. With one
c for all cones, the log of the largest z / y at a point near the optimum, no z is large, and columns that stand for
several z keep their proportions. Multipliers are mapped back by the transpose.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import scipy.sparse as sp

from milopt.arrays import Vector
from milopt.compilation.answer import Answer
from milopt.compilation.standard_form import StandardForm
from milopt.cones import EXPONENTIAL

LARGEST = 30.0
"""Limit on |c|: exp(30) is about 1e13, beyond which a row would be lost to rounding."""


def shift(form: StandardForm, point: Vector) -> float:
    """Return c, the log of the largest z / y at the point; 0 if no exponential cone has both positive."""
    rows = form.rows_in(EXPONENTIAL).reshape(-1, 3)
    s = form.F @ point + form.g
    y, z = s[rows[:, 1]], s[rows[:, 2]]
    inside = (y > 0.0) & (z > 0.0)
    return float(np.clip(np.log((z[inside] / y[inside]).max(initial=0.0) or 1.0), -LARGEST, LARGEST))


def apply(form: StandardForm, c: float) -> StandardForm:
    """Return the program with the rows of its exponential cones changed by c."""
    change = _change(form, c)
    return replace(form, F=sp.csr_array(change @ form.F), g=change @ form.g)


def invert(form: StandardForm, answer: Answer, c: float) -> Answer:
    """Return the answer for `form` from the answer for `apply(form, c)`."""
    return answer if answer.z is None else replace(answer, z=_change(form, c).T @ answer.z)


def _change(form: StandardForm, c: float) -> sp.csr_array:
    """Return the matrix that maps the rows of `form` to the changed rows."""
    first, second, third = form.rows_in(EXPONENTIAL).reshape(-1, 3).T
    diagonal = np.ones(form.m)
    diagonal[third] = np.exp(-c)
    off_diagonal = sp.coo_array((np.full(first.size, c), (first, second)), shape=(form.m, form.m))
    return sp.csr_array(sp.diags_array(diagonal) - off_diagonal)
