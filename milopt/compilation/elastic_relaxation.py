"""Elastic relaxation of a program in standard form, whose solution can show whether the program has a feasible point.

    min  sum of e   s.t.   F x + g + D e in K,   lower <= x <= upper,   e >= 0

This program is called the elastic form. To the rows of each cone, D adds e_k times an interior point of the cone (the
number 1 for an inequality); to each equation, D adds e_k - e_l. The elastic form always has a feasible point. It is
stated in units that give all rows and columns about the same size (`scaling`). Its multipliers z lie in K*, so
z'(F x + g) >= 0 at every feasible point x of the program. Hence z proves that the program has no feasible point
(Farkas' lemma) if

    margin = -( g'z + max of z'F x over the bounds )  >  0.

If a column has no bound on the side where its entry of z'F would require one, the maximum is infinite. An entry that
is not exactly 0 because of rounding is therefore left out, and the margin then excludes only points up to a certain
size; `ElasticRelaxation` requires that this size is at least `MIN_EXCLUDED_POINT_SIZE` in scaled units.
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
from milopt.declaration.programs.sparse import absolute, selection_matrix
from milopt.errors import UnsupportedError

MIN_EXCLUDED_POINT_SIZE = 1e8
"""A Farkas vector must exclude all feasible points of at most this size, in scaled units."""
MIN_PROOF_MARGIN = 1e-9
"""Smallest margin of a proof, relative to the sum of the absolute terms of the margin."""
FEASIBILITY_TOLERANCE = 1e-7
"""Largest violation of a row at a feasible point, in scaled units, relative to 1 + |g|."""
ROW_ROUNDING_TOLERANCE = 1e-11
"""Largest violation of a row at a feasible point, relative to the sum of the absolute terms of the row.

A row holds if its violation is within this tolerance or within `FEASIBILITY_TOLERANCE`.
"""
MIN_REPORTED_VIOLATION_SHARE = 1e-6
"""Smallest share of the total violation for which a block is named in a message."""


class ElasticRelaxation:
    """Elastic form of a program (see the module docstring), and the verification of its solutions."""

    def __init__(self, form: StandardForm) -> None:
        self._source = form
        units = equilibrated_units(form.F, form.rows, form.integer)
        self._row, self._column = units.row, units.column
        column = units.column
        self._unit = _point_unit(form, self._row, column)
        self._scaled = replace(
            form,
            P=Quadratic(form.n),
            q=np.zeros(form.n),
            constant=0.0,
            F=units.scale(form.F),
            g=form.g * self._row / self._unit,
            lower=form.lower / (column * self._unit),
            upper=form.upper / (column * self._unit),
        )
        self.form = self._elastic_form()

    @property
    def unrelaxed_form(self) -> StandardForm:
        """Program in scaled units, without relaxation and without its objective."""
        return self._scaled

    def proves_infeasibility(self, z: Vector | None) -> bool:
        """Return True if the multipliers `z` of the elastic form prove that the program has no feasible point.

        `z` is first moved into K*. The result is False if `z` is None, is not finite or has a wrong size.
        """
        form = self._scaled
        if z is None or z.size != form.m or not np.isfinite(z).all():
            return False
        z = _move_into_dual_cone(form, z)
        combination = np.asarray(form.F.T @ z)
        side = np.where(combination > 0.0, form.upper, form.lower)
        is_bounded = np.isfinite(side)
        terms = np.concatenate([form.g * z, (combination * np.where(is_bounded, side, 0.0))])
        margin = -float(terms.sum())
        unbounded_part = float(np.abs(combination[~is_bounded]).sum())
        return (
            margin > MIN_PROOF_MARGIN * float(np.abs(terms).sum()) and margin > MIN_EXCLUDED_POINT_SIZE * unbounded_part
        )

    def proves_feasibility(self, x: Vector | None) -> bool:
        """Return True if a point of the elastic or of the unrelaxed form satisfies the rows of the program.

        The point is first moved into the bounds, and its integer columns are rounded. The relaxation e is ignored. The
        result is False if `x` is None, is not finite or has a wrong size.
        """
        form = self._scaled
        if x is None or x.size not in (form.n, self.form.n) or not np.isfinite(x).all():
            return False
        y = np.clip(x[: form.n], form.lower, form.upper)
        y = np.where(form.integer, np.round(y), y)
        wrong, offsets = violations(form, form.F @ y + form.g), np.abs(form.g)
        terms = absolute(form.F) @ np.abs(y) + offsets
        return bool(
            (wrong <= np.maximum(FEASIBILITY_TOLERANCE * (1.0 + offsets), ROW_ROUNDING_TOLERANCE * terms)).all()
        )

    def unscaled_multipliers(self, z: Vector) -> Vector:
        """Return the Farkas vector `z`, moved into K*, in the original units of the program's rows."""
        return _move_into_dual_cone(self._scaled, z) * self._row

    def unscaled_point(self, x: Vector) -> Vector:
        """Return a point of the elastic form, without the columns e, in the original units of the program."""
        return x[: self._scaled.n] * self._column * self._unit

    def describe_violations(self, x: Vector | None) -> str:
        """Return text with the blocks of rows that a point of the elastic form violates, and their violations.

        The block with the largest total violation comes first. The text is empty if there is no point or no violation.
        """
        if x is None or x.size != self.form.n or not np.isfinite(x).all():
            return ""
        form = self._scaled
        wrong = violations(form, form.F @ x[: form.n] + form.g) * self._unit / self._row
        total = float(wrong.sum())
        worst: dict[str, float] = {}
        for block in form.rows:
            size = float(wrong[block.start : block.stop].sum())
            if size > MIN_REPORTED_VIOLATION_SHARE * total:
                worst[block.name] = worst.get(block.name, 0.0) + size
        return ", ".join(f"{name!r} by {size:.3g}" for name, size in sorted(worst.items(), key=lambda item: -item[1]))

    def _elastic_form(self) -> StandardForm:
        """Return the elastic form: with one more column per inequality and per cone, and two more per equation."""
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
    """Return the matrix D of the module docstring: columns for inequalities, for other cones, and for equations."""
    equal, above = form.rows_in(ZERO), form.rows_in(NONNEGATIVE)
    columns = [selection_matrix(above, form.m)]
    for block in form.conic_blocks:
        sizes = block.cone_sizes
        points = [_interior_point(block.cone, int(size)) for size in sizes]
        owner = np.repeat(np.arange(sizes.size), sizes)
        values = np.concatenate(points) if points else np.zeros(0)
        met = np.flatnonzero(values)
        entries = (values[met], (owner[met], block.start + met))
        columns.append(sp.csr_array(entries, shape=(sizes.size, form.m)))
    columns += [selection_matrix(equal, form.m), selection_matrix(equal, form.m, -1.0)]
    return sp.csr_array(sp.vstack(columns, format="csr").T)


def _interior_point(cone: Cone, size: int) -> Vector:
    """Return an interior point of a cone with `size` rows, or raise `UnsupportedError` if the cone has none."""
    point = cone.interior_point(size)
    if point is None:
        raise UnsupportedError(f"Rows in {cone.display_name}s have no relaxation: the cone has no interior point.")
    return point


def _point_unit(form: StandardForm, row: Vector, column: Vector) -> float:
    """Return the unit in which points are measured, given the units `row` and `column` of rows and columns.

    The unit is the power of two nearest to the geometric mean of the smallest and the largest absolute value among
    offsets and bounds in scaled units, without 0 and infinity. It is 1 if there are no such values, or if a column is
    integer.
    """
    if form.integer.any():
        return 1.0
    sizes = np.abs(np.concatenate([form.g * row, form.lower / column, form.upper / column]))
    sizes = sizes[(sizes > 0.0) & np.isfinite(sizes)]
    if not sizes.size:
        return 1.0
    return float(np.exp2(np.round((np.log2(sizes.min()) + np.log2(sizes.max())) / 2)))


def _move_into_dual_cone(form: StandardForm, z: Vector) -> Vector:
    """Return the multipliers `z` of all rows, moved into the dual cone K*."""
    inside = z.copy()
    for block in form.rows:
        span = slice(block.start, block.stop)
        inside[span] = block.cone.move_inside_dual(z[span], block.cone_sizes)
    return inside
