"""From evaluation form to standard form by coordinates over touched points: f(x_p) = L_p beta, ||f|| = ||beta||."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from itertools import pairwise

import numpy as np
import scipy.sparse as sp

from milopt.arrays import Index, Vector
from milopt.compilation.compiled import Compiled, Point, row_blocks, split_cones
from milopt.compilation.evaluation_form import EvaluationForm
from milopt.compilation.kernel_space import Whitening
from milopt.compilation.quadratic import Piece, Quadratic, weighted
from milopt.compilation.rows import Rows
from milopt.compilation.standard_form import ColumnBlock, RowBlock, StandardForm
from milopt.declaration.programs.sparse import picked, stacked, transposed


class Coordinates(Compiled):
    """Columns are the program's own, then one block of coordinates a function."""

    def __init__(self, source: EvaluationForm, whitenings: Sequence[Whitening], active: Index) -> None:
        self.source = source
        self.whitenings = list(whitenings)
        flat, cones = split_cones(source, active)
        self._touch(flat, cones)
        self.starts = np.concatenate([[source.n], source.n + np.cumsum([w.rank for w in self.whitenings])]).astype(int)
        self.active = flat
        self._is_in_order = bool((flat == np.arange(flat.size)).all())
        self._row_of, matrix, g, blocks = self._rows(flat, cones)
        q, constant, P = self.objective(source)
        extra = int(self.starts[-1]) - source.n
        columns = [
            ColumnBlock(f"{w.space.function.name}.coordinates", int(a), int(b))
            for w, a, b in zip(self.whitenings, self.starts[:-1], self.starts[1:], strict=True)
        ]
        self.form = StandardForm(
            name=source.name,
            P=P,
            q=q,
            constant=constant,
            F=matrix,
            g=g,
            lower=np.concatenate([source.lower, np.full(extra, -np.inf)]),
            upper=np.concatenate([source.upper, np.full(extra, np.inf)]),
            integer=np.concatenate([source.integer, np.zeros(extra, dtype=bool)]),
            columns=(*source.columns, *columns),
            rows=tuple(blocks),
            maximize=source.maximize,
        )

    def objective(self, source: EvaluationForm) -> tuple[Vector, float, Quadratic]:
        """(q, constant, P) of an objective over the same points; used again when only the objective changes."""
        o, width = source.objective, int(self.starts[-1])
        q = np.zeros(width)
        q[: source.n] = o.q
        constant = o.constant
        pieces: list[Piece] = []
        for k, whitening in enumerate(self.whitenings):
            span = slice(int(self.starts[k]), int(self.starts[k + 1]))
            used = np.flatnonzero(o.p[k])
            if used.size:
                q[span] += whitening.rows(used).T @ o.p[k][used]
            if o.ridge[k]:
                pieces.append(Piece(_unit(span, width), np.full(whitening.rank, o.ridge[k])))
        for square in o.squares:
            rows = self._flat(square.rows)
            offset = square.rows.g
            pull = weighted(square.weight, offset)
            q += rows.T @ pull
            constant += 0.5 * float(offset @ pull)
            pieces.append(Piece(rows, square.weight))
        return q, constant, Quadratic(width, tuple(pieces))

    def rows_of(self, active: Index) -> tuple[sp.csr_array, Vector, list[RowBlock]]:
        """(F, g, blocks) of rows in polyhedral cones, whose points have coordinates already."""
        taken = self.source.rows.take(active)
        return self._flat(taken), taken.g, row_blocks(self.source, active)

    def append(self, source: EvaluationForm, rows: Index) -> None:
        """Add rows at the end; without functions, so that no coordinate is new."""
        self.source = source
        self.active = np.concatenate([self.active, rows])
        self._row_of = np.concatenate([self._row_of, rows])
        if self.active.size == source.rows.count and rows[-1] == self.active.size - 1 and self._is_in_order:
            F, g = source.rows.A, source.rows.g
        else:
            self._is_in_order = False
            taken = source.rows.take(rows)
            F, g = stacked([self.form.F, taken.A]), np.concatenate([self.form.g, taken.g])
        blocks = row_blocks(source, rows, start=self.form.m)
        self.form = replace(self.form, F=F, g=g, rows=(*self.form.rows, *blocks))

    def change_objective(self, source: EvaluationForm) -> None:
        """Another linear objective over the same points."""
        self.source = source
        q, constant, _ = self.objective(source)
        self.form = replace(self.form, q=q, constant=constant)

    def change_bounds(self, source: EvaluationForm) -> None:
        """Other bounds of the program's own columns."""
        self.source = source
        own, form = source.n, self.form
        lower = np.concatenate([source.lower, form.lower[own:]])
        self.form = replace(form, lower=lower, upper=np.concatenate([source.upper, form.upper[own:]]))

    def recover(self, x: Vector, z: Vector | None) -> Point:
        """Columns, functions in the span of the kept points, and a multiplier for every row."""
        full: Vector | None = None
        if z is not None:
            full = np.zeros(self.source.rows.count)
            known = self._row_of >= 0
            full[self._row_of[known]] = z[known]
        coefficients = tuple(w.coefficients(x[span]) for w, span in zip(self.whitenings, self._spans, strict=True))
        return Point(x[: self.source.n].copy(), coefficients, full)

    def completed(self, point: Point, x: Vector) -> Point | None:
        """With what stationarity says of functions outside that span, c f = E'z - p - sum E'W r; None where nothing.

        A point that has no coordinate may have a large multiplier, and then 1e-13 of it tells.
        """
        o, found = self.source.objective, list(point.coefficients)
        in_cones = {block.space for block in self.source.blocks}
        for k, (whitening, span) in enumerate(zip(self.whitenings, self._spans, strict=True)):
            if point.z is None or o.ridge[k] <= 0 or k in in_cones or whitening.rank == whitening.points.size:
                continue
            pull = transposed(self.source.rows.E[k]) @ point.z - o.p[k]
            for square in o.squares:
                r = self._flat(square.rows) @ x + square.rows.g
                pull = pull - transposed(square.rows.E[k]) @ weighted(square.weight, r)
            found[k] = whitening.coefficients(x[span], pull / o.ridge[k])
        same = all(new is old for new, old in zip(found, point.coefficients, strict=True))
        return None if same else replace(point, coefficients=tuple(found))

    @property
    def _spans(self) -> list[slice]:
        """The columns of each function's coordinates."""
        return [slice(int(a), int(b)) for a, b in pairwise(self.starts)]

    def _touch(self, flat: Index, cones: list[int]) -> None:
        o = self.source.objective
        for k, whitening in enumerate(self.whitenings):
            used = [np.flatnonzero(o.p[k]), _columns_of(self.source.rows.E[k], flat)]
            used += [np.unique(square.rows.E[k].indices) for square in o.squares]
            used += [np.unique(self.source.blocks[c].rows.E[k].indices) for c in cones]
            whitening.extend(np.unique(np.concatenate(used)).astype(np.intp))

    def _flat(self, rows: Rows) -> sp.csr_array:
        """Rows over columns and coordinates."""
        parts = [rows.A]
        for whitening, e in zip(self.whitenings, rows.E, strict=True):
            used = np.unique(e.indices).astype(np.intp)
            dense = e[:, used] @ whitening.rows(used) if used.size else np.zeros((rows.count, whitening.rank))
            parts.append(sp.csr_array(dense))
        return parts[0] if len(parts) == 1 else sp.csr_array(sp.hstack(parts, format="csr"))

    def _rows(self, flat: Index, cones: list[int]) -> tuple[Index, sp.csr_array, Vector, list[RowBlock]]:
        F, g, blocks = self.rows_of(flat)
        matrices, offsets, row_of, stop = [F], [g], [flat], int(flat.size)
        for c in cones:
            block = self.source.blocks[c]
            matrices.append(self._flat(block.rows))
            offsets.append(block.rows.g)
            row_of.append(np.arange(self.source.starts[c], self.source.starts[c + 1]))
            size = block.count
            if block.space is not None:
                span = slice(int(self.starts[block.space]), int(self.starts[block.space + 1]))
                matrices.append(_unit(span, int(self.starts[-1])))
                rank = span.stop - span.start
                offsets.append(np.zeros(rank))
                row_of.append(np.full(rank, -1, dtype=np.intp))
                size += rank
            sizes = block.sizes if block.space is None else None
            blocks.append(RowBlock(block.name, block.cone, stop, stop + size, sizes=sizes))
            stop += size
        return np.concatenate(row_of).astype(np.intp), stacked(matrices), np.concatenate(offsets), blocks


def _unit(span: slice, width: int) -> sp.csr_array:
    """Rows that pick a span of columns."""
    return picked(np.arange(span.start, span.stop), width)


def _columns_of(matrix: sp.csr_array, rows: Index) -> Index:
    """The columns in which some of these rows have entries."""
    return np.unique(matrix[rows].indices).astype(np.intp)
