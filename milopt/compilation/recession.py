"""Recession directions d: from any feasible point, the objective decreases without limit along d.

For a program in standard form, such a direction is a solution with q'd < 0 of the program

    min q'd   s.t.   F d in K,   P d = 0,   d_j >= 0 (<= 0) if x_j has a lower (upper) bound,   -1 <= d <= 1

The bounds -1 <= d <= 1 make the optimum finite. The program is stated in units that give all rows and columns about the
same size (`scaling`). The point d = 0 is always feasible. A direction with q'd < 0 proves that the original program is
unbounded only together with a feasible point of the original program.
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

RAY_ZERO_TOLERANCE = 1e-11
"""Largest absolute entry of a direction, relative to its largest entry, that is replaced by 0."""
MAX_VIOLATION_PER_DECREASE = 1e-4
"""Largest violation of a row by a direction, in scaled units, relative to the decrease of the objective along it."""
MIN_DECREASE_FRACTION = 1e-9
"""Smallest decrease -q'd of the objective that is accepted, relative to the sum of the absolute terms of q'd."""


class RecessionProgram:
    """Program over recession directions d (see the module docstring), and the verification of its solutions."""

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
            F=units.scale(F),
            g=np.zeros(F.shape[0]),
            lower=np.where(np.isfinite(form.lower), 0.0, -1.0),
            upper=np.where(np.isfinite(form.upper), 0.0, 1.0),
            integer=np.zeros(form.n, dtype=bool),
            rows=rows,
        )
        """Program over directions d, in standard form and in scaled units."""

    def verify_ray(self, d: Vector | None) -> Vector | None:
        """Return the direction `d`, converted to the units of the original program, if it passes the checks; else None.

        `d` is a solution of `form`, or None. The objective must decrease along `d` by more than rounding errors, and
        violations of rows must be small relative to this decrease.
        """
        form = self.form
        if d is None or d.size != form.n or not np.isfinite(d).all():
            return None
        d = np.clip(d, form.lower, form.upper)
        size = float(np.abs(d).max(initial=0.0))
        if size == 0.0:
            return None
        d = np.where(np.abs(d) <= RAY_ZERO_TOLERANCE * size, 0.0, d / size)
        terms = form.q * d
        fall = -float(terms.sum())
        if fall <= MIN_DECREASE_FRACTION * float(np.abs(terms).sum()):
            return None
        violation = float(np.abs(self._move_into_cones(form.F @ d) - form.F @ d).max(initial=0.0))
        return d * self._column if violation <= MAX_VIOLATION_PER_DECREASE * fall else None

    def _move_into_cones(self, rows: Vector) -> Vector:
        """Return `rows`, the values of all rows, moved to nearby points of their cones."""
        near = np.zeros(rows.size)
        for block in self.form.rows:
            part = slice(block.start, block.stop)
            near[part] = block.cone.move_inside(rows[part], block.cone_sizes)
        return near
