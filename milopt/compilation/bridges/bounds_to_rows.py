"""Bridge from bounds to rows, for solvers that do not support bounds on columns.

    lower_j = upper_j     becomes   x_j - lower_j  = 0
    x_j >= lower_j        becomes   x_j - lower_j >= 0
    x_j <= upper_j        becomes   upper_j - x_j >= 0

The new rows follow the rows of the form; an infinite bound gives no row. The multipliers of the new rows are the
reduced costs (with a minus sign for upper bounds). milopt computes reduced costs itself, so `invert` drops these
multipliers.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import scipy.sparse as sp

from milopt.compilation.answer import Answer
from milopt.compilation.standard_form import RowBlock, StandardForm
from milopt.cones import NONNEGATIVE, ZERO


def apply(form: StandardForm) -> StandardForm:
    """Return the program with rows in place of the bounds on columns; the form itself if it has no bounds."""
    fixed = np.flatnonzero(form.lower == form.upper)
    lower = np.flatnonzero(np.isfinite(form.lower) & (form.lower != form.upper))
    upper = np.flatnonzero(np.isfinite(form.upper) & (form.lower != form.upper))
    added = fixed.size + lower.size + upper.size
    if not added:
        return form

    sign = np.ones(added)
    sign[fixed.size + lower.size :] = -1.0
    column = np.concatenate([fixed, lower, upper])
    rows = sp.csr_array((sign, (np.arange(added), column)), shape=(added, form.n))
    offset = np.concatenate([-form.lower[fixed], -form.lower[lower], form.upper[upper]])

    blocks = list(form.rows)
    start = form.m
    for name, cone, index in (
        ("fixed", ZERO, fixed),
        ("lower bound", NONNEGATIVE, lower),
        ("upper bound", NONNEGATIVE, upper),
    ):
        if index.size:
            blocks.append(RowBlock(name, cone, start, start + index.size))
            start += index.size
    return replace(
        form,
        F=sp.csr_array(sp.vstack([form.F, rows], format="csr")),
        g=np.concatenate([form.g, offset]),
        lower=np.full(form.n, -np.inf),
        upper=np.full(form.n, np.inf),
        rows=tuple(blocks),
    )


def invert(form: StandardForm, answer: Answer) -> Answer:
    """Return the answer for `form`, given the answer for `apply(form)`, without the multipliers of the added rows."""
    return answer if answer.z is None else replace(answer, z=answer.z[: form.m])
