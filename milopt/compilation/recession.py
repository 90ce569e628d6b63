"""Directions in which a convex program has no bottom: for solvers that only stall, or hide it by a regularisation.

    min q'd   s.t.   F d in K,   P d = 0,   d_j >= 0 (<= 0) where x_j has a lower (upper) bound,   -1 <= d <= 1

A feasible program is unbounded below along d if this minimum is negative; it always has the point d = 0.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import scipy.sparse as sp

from milopt.compilation.quadratic import Quadratic, Vector
from milopt.compilation.standard_form import Cone, RowBlock, StandardForm


def recession_form(form: StandardForm) -> StandardForm:
    """The program over directions d."""
    n, P = form.n, sp.csr_array(form.P.sparse)
    scale = float(np.abs(P.data).max(initial=0.0)) or 1.0
    return replace(
        form,
        P=Quadratic(n),
        constant=0.0,
        F=sp.csr_array(sp.vstack([form.F, P / scale], format="csr")),
        g=np.zeros(form.m + n),
        lower=np.where(np.isfinite(form.lower), 0.0, -1.0),
        upper=np.where(np.isfinite(form.upper), 0.0, 1.0),
        rows=(*form.rows, RowBlock("flat", Cone.ZERO, form.m, form.m + n)),
    )


def feasibility_form(form: StandardForm) -> StandardForm:
    """The same constraints with nothing to minimise."""
    return replace(form, P=Quadratic(form.n), q=np.zeros(form.n), constant=0.0)


def falls(form: StandardForm, d: Vector) -> bool:
    """Whether the linear objective truly falls along d."""
    return float(form.q @ d) < -1e-6 * float(np.abs(form.q).max(initial=0.0))
