"""Directions along which the objective of a flat program falls without limit.

    min q'd   s.t.   F d in K,   P d = 0,   d_j >= 0 (<= 0) if x_j has a lower (upper) bound,   -1 <= d <= 1

in units that give all rows and columns about the same size (`scaling`). The point d = 0 is always feasible. A direction
with q'd < 0 proves that a program is unbounded only together with a feasible point of the program.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import scipy.sparse as sp

from milopt.arrays import Vector
from milopt.compilation.quadratic import Quadratic
from milopt.compilation.scaling import equilibrated_units
from milopt.compilation.standard_form import RowBlock, StandardForm
from milopt.cones import ZERO

ZERO_TOLERANCE = 1e-11
"""Entries of a direction below it, relative to the largest entry, are rounding."""
VIOLATION_PER_FALL = 1e-4
"""Largest violation of a row, in scaled units, relative to the fall of the objective along the same direction."""
CANCELLATION = 1e-9
"""Smallest fall that counts, relative to the terms that it is the sum of."""


class Recession:
    """The program over directions, and the check of its solutions."""

    def __init__(self, form: StandardForm) -> None:
        P = sp.csr_array(form.P.sparse)
        curved = np.flatnonzero(np.diff(P.indptr))
        F = sp.csr_array(sp.vstack([form.F, P[curved]], format="csr"))
        rows = (*form.rows, RowBlock("flat", ZERO, form.m, F.shape[0])) if curved.size else form.rows
        units = equilibrated_units(F, rows, np.zeros(form.n, dtype=bool))
        q = form.q * units.column
        self._column = units.column
        self.form = replace(
            form,
            P=Quadratic(form.n),
            q=q / (float(np.abs(q).max(initial=0.0)) or 1.0),
            constant=0.0,
            F=units.matrix(F),
            g=np.zeros(F.shape[0]),
            lower=np.where(np.isfinite(form.lower), 0.0, -1.0),
            upper=np.where(np.isfinite(form.upper), 0.0, 1.0),
            integer=np.zeros(form.n, dtype=bool),
            rows=rows,
        )

    def ray(self, d: Vector | None) -> Vector | None:
        """The direction in the units of the program if the objective falls along `d` without limit, else None."""
        form = self.form
        if d is None or d.size != form.n or not np.isfinite(d).all():
            return None
        d = np.clip(d, form.lower, form.upper)
        size = float(np.abs(d).max(initial=0.0))
        if size == 0.0:
            return None
        d = np.where(np.abs(d) <= ZERO_TOLERANCE * size, 0.0, d / size)
        terms = form.q * d
        fall = -float(terms.sum())
        if fall <= CANCELLATION * float(np.abs(terms).sum()):
            return None
        violation = float(np.abs(self._inside(form.F @ d) - form.F @ d).max(initial=0.0))
        return d * self._column if violation <= VIOLATION_PER_FALL * fall else None

    def _inside(self, rows: Vector) -> Vector:
        """Return values in K near `rows`."""
        near = np.zeros(rows.size)
        for block in self.form.rows:
            part = slice(block.start, block.stop)
            near[part] = block.cone.inside(rows[part], block.cone_sizes)
        return near
