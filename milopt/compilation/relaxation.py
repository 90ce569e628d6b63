"""The elastic relaxation of a flat program, which decides whether the program has a feasible point.

    min  sum of e   s.t.   F x + g + D e in K,   lower <= x <= upper,   e >= 0

where D adds e_k times a point in the interior of the k-th cone, which is 1 for an inequality, and +-e_k to equations.
The program is in units that give all rows and columns about the same size (`scaling`). It always has a point. Its
multipliers z lie in K*, so z'(F x + g) >= 0 at every feasible x. Hence z proves that there is no feasible point
(Farkas) if

    margin = -( g'z + max of z'F x over the bounds )  >  0.

Where z'F has a rest on a column without a bound on that side, the margin only covers points up to a size; `Relaxation`
demands `REACH` times the size of the data.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import scipy.sparse as sp

from milopt.arrays import Vector
from milopt.compilation.quadratic import Quadratic
from milopt.compilation.scaling import equilibrated_units
from milopt.compilation.standard_form import ColumnBlock, StandardForm
from milopt.compilation.violations import violations
from milopt.cones import NONNEGATIVE, ZERO, Cone
from milopt.declaration.programs.sparse import absolute, picked
from milopt.errors import UnsupportedError

REACH = 1e8
"""A Farkas vector must exclude all points of up to this size, in scaled units."""
CANCELLATION = 1e-9
"""Smallest margin that counts, relative to the terms that it is the sum of."""
FEASIBILITY_TOLERANCE = 1e-7
"""Largest violation of a row at a feasible point, in scaled units, relative to 1 + |g|."""
ROUNDING = 1e-11
"""Largest violation of a row at a feasible point relative to the terms of the row, for rows whose terms are large."""
BLAMED_SHARE = 1e-6
"""Share of all violations from which on a block is named."""


class Relaxation:
    """The elastic form of a program, and the checks of its solutions."""

    def __init__(self, form: StandardForm) -> None:
        self._source = form
        units = equilibrated_units(form.F, form.rows, form.integer)
        self._row, self._column = units.row, units.column
        column = units.column
        self._unit = _unit(form, self._row, column)
        self._scaled = replace(
            form,
            P=Quadratic(form.n),
            q=np.zeros(form.n),
            constant=0.0,
            F=units.matrix(form.F),
            g=form.g * self._row / self._unit,
            lower=form.lower / (column * self._unit),
            upper=form.upper / (column * self._unit),
        )
        self.form = self._elastic()

    @property
    def rigid_form(self) -> StandardForm:
        """The constraints of the program in the same units, without relaxation and with nothing to minimise."""
        return self._scaled

    def is_infeasible(self, z: Vector | None) -> bool:
        """Whether the multipliers `z` of the elastic form prove that the program has no feasible point."""
        form = self._scaled
        if z is None or z.size != form.m or not np.isfinite(z).all():
            return False
        z = _in_dual_cone(form, z)
        pull = np.asarray(form.F.T @ z)
        side = np.where(pull > 0.0, form.upper, form.lower)
        is_bounded = np.isfinite(side)
        terms = np.concatenate([form.g * z, (pull * np.where(is_bounded, side, 0.0))])
        margin = -float(terms.sum())
        rest = float(np.abs(pull[~is_bounded]).sum())
        return margin > CANCELLATION * float(np.abs(terms).sum()) and margin > REACH * rest

    def is_feasible(self, x: Vector | None) -> bool:
        """Whether a point of the elastic or of the rigid form satisfies the rows of the program without relaxation."""
        form = self._scaled
        if x is None or x.size not in (form.n, self.form.n) or not np.isfinite(x).all():
            return False
        y = np.clip(x[: form.n], form.lower, form.upper)
        y = np.where(form.integer, np.round(y), y)
        wrong, offsets = violations(form, form.F @ y + form.g), np.abs(form.g)
        terms = absolute(form.F) @ np.abs(y) + offsets
        return bool((wrong <= np.maximum(FEASIBILITY_TOLERANCE * (1.0 + offsets), ROUNDING * terms)).all())

    def multipliers(self, z: Vector) -> Vector:
        """Return the multipliers of a Farkas vector in the units of the program."""
        return _in_dual_cone(self._scaled, z) * self._row

    def point(self, x: Vector) -> Vector:
        """Return a point of the elastic form in the units of the program."""
        return x[: self._scaled.n] * self._column * self._unit

    def blamed(self, x: Vector | None) -> str:
        """The blocks that this point of the elastic form violates, and by how much, in words."""
        if x is None or x.size != self.form.n or not np.isfinite(x).all():
            return ""
        form = self._scaled
        wrong = violations(form, form.F @ x[: form.n] + form.g) * self._unit / self._row
        total = float(wrong.sum())
        worst: dict[str, float] = {}
        for block in form.rows:
            size = float(wrong[block.start : block.stop].sum())
            if size > BLAMED_SHARE * total:
                worst[block.name] = worst.get(block.name, 0.0) + size
        return ", ".join(f"{name!r} by {size:.3g}" for name, size in sorted(worst.items(), key=lambda item: -item[1]))

    def _elastic(self) -> StandardForm:
        """Add one column per cone, or two columns per equation."""
        form = self._scaled
        extra = _elastic_columns(form)
        count = extra.shape[1]
        return replace(
            form,
            P=Quadratic(form.n + count),
            q=np.concatenate([form.q, np.ones(count)]),
            F=sp.csr_array(sp.hstack([form.F, extra], format="csr")),
            lower=np.concatenate([form.lower, np.zeros(count)]),
            upper=np.concatenate([form.upper, np.full(count, np.inf)]),
            integer=np.concatenate([form.integer, np.zeros(count, dtype=bool)]),
            columns=(*form.columns, ColumnBlock("relaxation", form.n, form.n + count)),
        )


def _elastic_columns(form: StandardForm) -> sp.csr_array:
    """Return D: columns for inequalities, then for other cones, then for equations."""
    equal, above = form.rows_in(ZERO), form.rows_in(NONNEGATIVE)
    columns = [picked(above, form.m)]
    for block in form.conic:
        sizes = block.cone_sizes
        points = [_interior(block.cone, int(size)) for size in sizes]
        owner = np.repeat(np.arange(sizes.size), sizes)
        values = np.concatenate(points) if points else np.zeros(0)
        met = np.flatnonzero(values)
        entries = (values[met], (owner[met], block.start + met))
        columns.append(sp.csr_array(entries, shape=(sizes.size, form.m)))
    columns += [picked(equal, form.m), picked(equal, form.m, -1.0)]
    return sp.csr_array(sp.vstack(columns, format="csr").T)


def _interior(cone: Cone, size: int) -> Vector:
    point = cone.interior(size)
    if point is None:
        raise UnsupportedError(f"Rows in {cone.words}s have no relaxation: the cone has no interior point.")
    return point


def _unit(form: StandardForm, row: Vector, column: Vector) -> float:
    """The size of points: between the smallest and the largest offset and bound; 1 if columns are integer."""
    if form.integer.any():
        return 1.0
    sizes = np.abs(np.concatenate([form.g * row, form.lower / column, form.upper / column]))
    sizes = sizes[(sizes > 0.0) & np.isfinite(sizes)]
    if not sizes.size:
        return 1.0
    return float(np.exp2(np.round((np.log2(sizes.min()) + np.log2(sizes.max())) / 2)))


def _in_dual_cone(form: StandardForm, z: Vector) -> Vector:
    """Return the multipliers moved into K*."""
    inside = z.copy()
    for block in form.rows:
        span = slice(block.start, block.stop)
        inside[span] = block.cone.dual_inside(z[span], block.cone_sizes)
    return inside
