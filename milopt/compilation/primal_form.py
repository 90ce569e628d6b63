"""Primal form: the program in standard form, in which columns beta represent each function f.

    f(x_p) = L_p beta  at the points x_p,   ||f|| = ||beta||

beta are the coordinates of f and the row vector L_p those of the point x_p: its features if the kernel has few of them
(`FeatureCoordinates`), otherwise coordinates in the span of the points that occur in the rows (`Whitening`).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from itertools import pairwise

import numpy as np
import scipy.sparse as sp

from milopt.arrays import Index, Vector
from milopt.compilation.compiled_form import CompiledForm, PrimalDualPoint, row_blocks, split_polyhedral_rows
from milopt.compilation.evaluation_form import EvaluationForm, SquaredTerm
from milopt.compilation.kernel_space import Coordinates, FeatureCoordinates
from milopt.compilation.quadratic import Quadratic, QuadraticPiece, apply_weight
from milopt.compilation.rows import Rows
from milopt.compilation.standard_form import ColumnBlock, RowBlock, StandardForm
from milopt.declaration.kernels.feature_rows import FEATURE_BLOCK_BYTES
from milopt.declaration.kernels.gram import symmetrise
from milopt.declaration.programs.sparse import selection_matrix, stack_rows, transpose


class PrimalForm(CompiledForm):
    """Standard form whose columns are those of the program, followed by the coordinates of each function."""

    def __init__(self, source: EvaluationForm, whitenings: Sequence[Coordinates], active: Index) -> None:
        self.source = source
        self.whitenings = list(whitenings)
        polyhedral, cones = split_polyhedral_rows(source, active)
        self._extend_whitenings(polyhedral, cones)
        self.space_starts = np.concatenate(
            [[source.n], source.n + np.cumsum([w.rank for w in self.whitenings])]
        ).astype(int)
        self.active = polyhedral
        self._is_in_order = bool((polyhedral == np.arange(polyhedral.size)).all())
        self._row_of, matrix, g, blocks = self._form_rows(polyhedral, cones)
        q, constant, P = self.objective(source)
        extra = int(self.space_starts[-1]) - source.n
        columns = [
            ColumnBlock(f"{w.space.function.name}.coordinates", int(a), int(b))
            for w, a, b in zip(self.whitenings, self.space_starts[:-1], self.space_starts[1:], strict=True)
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
        """Return (q, constant, P) of the objective of `source`; all points in the objective must have coordinates."""
        o, width = source.objective, int(self.space_starts[-1])
        q = np.zeros(width)
        q[: source.n] = o.q
        constant = o.constant
        pieces: list[QuadraticPiece] = []
        for k, whitening in enumerate(self.whitenings):
            span = slice(int(self.space_starts[k]), int(self.space_starts[k + 1]))
            used = np.flatnonzero(o.p[k])
            if used.size:
                q[span] += np.asarray(whitening.coordinates(used).T @ o.p[k][used])
            if o.ridge[k]:
                pieces.append(QuadraticPiece(_unit_rows(span, width), np.full(whitening.rank, o.ridge[k])))
        for square in o.squares:
            offset = square.rows.g
            weighted_offset = apply_weight(square.weight, offset)
            constant += 0.5 * float(offset @ weighted_offset)
            if self._is_tall(square):
                piece, linear = self._sum_rows(square)
                q += linear
                pieces.append(piece)
                continue
            rows = self._row_matrix(square.rows)
            q += rows.T @ weighted_offset
            pieces.append(QuadraticPiece(rows, square.weight))
        return q, constant, Quadratic(width, tuple(pieces))

    def _is_tall(self, square: SquaredTerm) -> bool:
        """Return True if a square has more rows than columns, most of them dense features of functions."""
        has_features = all(isinstance(w, FeatureCoordinates) and not w.is_sparse for w in self.whitenings)
        width = sum(w.rank for w in self.whitenings)
        met = any(e.nnz for e in square.rows.E)
        return has_features and met and square.weight.ndim == 1 and self.source.n <= width < square.rows.count

    def _sum_rows(self, square: SquaredTerm) -> tuple[QuadraticPiece, Vector]:
        """Return R'WR as one dense piece, and R'W g, for a square with rows R x + g, summed over blocks of rows."""
        width = int(self.space_starts[-1])
        gram, linear = np.zeros((width, width)), np.zeros(width)
        step = max(1, FEATURE_BLOCK_BYTES // (8 * width))
        for start in range(0, square.rows.count, step):
            some = np.arange(start, min(start + step, square.rows.count))
            rows = square.rows.take(some)
            dense = np.hstack(
                [
                    rows.A.toarray(),
                    *(np.asarray(w.combine(e)) for w, e in zip(self.whitenings, rows.E, strict=True)),
                ]
            )
            weighted = square.weight[some, None] * dense
            gram += dense.T @ weighted
            linear += weighted.T @ rows.g
        return QuadraticPiece(selection_matrix(np.arange(width), width), symmetrise(gram)), linear

    def polyhedral_rows(self, active: Index) -> tuple[sp.csr_array, Vector, list[RowBlock]]:
        """Return (F, g, blocks) of the rows `active` in polyhedral cones; all their points must have coordinates."""
        taken = self.source.rows.take(active)
        return self._row_matrix(taken), taken.g, row_blocks(self.source, active)

    def append_rows(self, source: EvaluationForm, rows: Index) -> None:
        """Append the rows `rows` of a changed `source`; the program must have no functions."""
        self.source = source
        self.active = np.concatenate([self.active, rows])
        self._row_of = np.concatenate([self._row_of, rows])
        if self.active.size == source.rows.count and rows[-1] == self.active.size - 1 and self._is_in_order:
            F, g = source.rows.A, source.rows.g
        else:
            self._is_in_order = False
            new_rows = source.rows.take(rows)
            F, g = stack_rows([self.form.F, new_rows.A]), np.concatenate([self.form.g, new_rows.g])
        blocks = row_blocks(source, rows, start=self.form.m)
        self.form = replace(self.form, F=F, g=g, rows=(*self.form.rows, *blocks))

    def change_objective(self, source: EvaluationForm) -> None:
        """Replace q and the constant by those of a changed `source`, whose P and points must be unchanged."""
        self.source = source
        q, constant, _ = self.objective(source)
        self.form = replace(self.form, q=q, constant=constant)

    def change_bounds(self, source: EvaluationForm) -> None:
        """Replace the bounds of the program's own columns by those of a changed `source`."""
        self.source = source
        own, form = source.n, self.form
        lower = np.concatenate([source.lower, form.lower[own:]])
        self.form = replace(form, lower=lower, upper=np.concatenate([source.upper, form.upper[own:]]))

    def recover(self, x: Vector, z: Vector | None) -> PrimalDualPoint:
        """Return the point of the evaluation form with the columns `x` and multipliers `z` of `form`.

        The functions are those in the span of the basis points. Rows that `form` does not contain get the multiplier 0.
        If `z` is None, the point has no multipliers.
        """
        full: Vector | None = None
        if z is not None:
            full = np.zeros(self.source.rows.count)
            known = self._row_of >= 0
            full[self._row_of[known]] = z[known]
        coefficients = tuple(
            w.function(x[span]) for w, span in zip(self.whitenings, self._coordinate_slices, strict=True)
        )
        return PrimalDualPoint(x[: self.source.n].copy(), coefficients, full)

    def add_orthogonal_components(self, point: PrimalDualPoint, x: Vector) -> PrimalDualPoint | None:
        """Return the point with the components of functions outside the span of basis points; None if nothing changes.

        Stationarity determines these components: c f = E'z - p - sum_k E_k'W_k r_k, for the term 1/2 c ||f||^2 and with
        the symbols of the docstring of `evaluation_form`. Functions with c <= 0 and functions that are part of a cone
        are left unchanged. The components matter for points that are almost in the span and so define no coordinate: if
        the multiplier is large, even a relative error of 1e-13 is not negligible.
        """
        o, completed = self.source.objective, list(point.coefficients)
        in_cones = {block.space for block in self.source.blocks}
        for k, (whitening, span) in enumerate(zip(self.whitenings, self._coordinate_slices, strict=True)):
            if point.z is None or o.ridge[k] <= 0 or k in in_cones or whitening.is_complete:
                continue
            stationary_weights = transpose(self.source.rows.E[k]) @ point.z - o.p[k]
            for square in o.squares:
                r = self._row_matrix(square.rows) @ x + square.rows.g
                stationary_weights = stationary_weights - transpose(square.rows.E[k]) @ apply_weight(square.weight, r)
            completed[k] = whitening.function(x[span], stationary_weights / o.ridge[k])
        same = all(new is old for new, old in zip(completed, point.coefficients, strict=True))
        return None if same else replace(point, coefficients=tuple(completed))

    @property
    def _coordinate_slices(self) -> list[slice]:
        """Per function, the slice of the columns that contain its coordinates."""
        return [slice(int(a), int(b)) for a, b in pairwise(self.space_starts)]

    def _extend_whitenings(self, polyhedral: Index, cones: list[int]) -> None:
        """Compute coordinates of all points in the rows `polyhedral`, in the blocks `cones` and in the objective."""
        o = self.source.objective
        for k, whitening in enumerate(self.whitenings):
            if isinstance(whitening, FeatureCoordinates):
                continue
            used = [np.flatnonzero(o.p[k]), _columns_with_entries(self.source.rows.E[k], polyhedral)]
            used += [np.unique(square.rows.E[k].indices) for square in o.squares]
            used += [np.unique(self.source.blocks[c].rows.E[k].indices) for c in cones]
            whitening.extend(np.unique(np.concatenate(used)).astype(np.intp))

    def _row_matrix(self, rows: Rows) -> sp.csr_array:
        """Return one matrix with the coefficients of affine rows over all columns of `form`, without the constants."""
        parts = [rows.A]
        for whitening, e in zip(self.whitenings, rows.E, strict=True):
            parts.append(sp.csr_array(whitening.combine(e)))
        return parts[0] if len(parts) == 1 else sp.csr_array(sp.hstack(parts, format="csr"))

    def _form_rows(self, polyhedral: Index, cones: list[int]) -> tuple[Index, sp.csr_array, Vector, list[RowBlock]]:
        """Return (row_of, F, g, blocks) of the rows `polyhedral`, followed by the blocks with the indices `cones`.

        `row_of` is the source row of each row of F. It is -1 for a row that is a coordinate of a function which is the
        last part of a cone.
        """
        F, g, blocks = self.polyhedral_rows(polyhedral)
        matrices, offsets, row_of, stop = [F], [g], [polyhedral], int(polyhedral.size)
        for c in cones:
            block = self.source.blocks[c]
            matrices.append(self._row_matrix(block.rows))
            offsets.append(block.rows.g)
            row_of.append(np.arange(self.source.block_starts[c], self.source.block_starts[c + 1]))
            size = block.count
            if block.space is not None:
                span = slice(int(self.space_starts[block.space]), int(self.space_starts[block.space + 1]))
                matrices.append(_unit_rows(span, int(self.space_starts[-1])))
                rank = span.stop - span.start
                offsets.append(np.zeros(rank))
                row_of.append(np.full(rank, -1, dtype=np.intp))
                size += rank
            sizes = block.sizes if block.space is None else None
            blocks.append(RowBlock(block.name, block.cone, stop, stop + size, sizes=sizes))
            stop += size
        return np.concatenate(row_of).astype(np.intp), stack_rows(matrices), np.concatenate(offsets), blocks


def _unit_rows(span: slice, width: int) -> sp.csr_array:
    """Return a matrix with `width` columns and one unit row per column in `span`."""
    return selection_matrix(np.arange(span.start, span.stop), width)


def _columns_with_entries(matrix: sp.csr_array, rows: Index) -> Index:
    """Return the columns in which the given rows of a matrix have stored entries."""
    return np.unique(matrix[rows].indices).astype(np.intp)
