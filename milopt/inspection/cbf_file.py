"""Conic Benchmark Format text of a flat program, the one format here that holds all cones.

CBF minimises `a'x + b` subject to `A x + b in K` and `x in K_x`, which is the standard form itself: blocks keep their
order, and each cone has its own code and order of rows (`Cone.cbf`). A bound at zero is a cone of the variable;
any other bound is a row after the declared ones. A quadratic objective is the last cone: with P = B'B and one more
column t,

    min t + q'x + c   s.t.  (t, 1, B x) in QR,   that is  2 t 1 >= ||B x||^2.

Comment lines give the names of the blocks, which the format itself does not have.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import groupby

import numpy as np
import scipy.sparse as sp

from milopt.arrays import Vector
from milopt.compilation.bridges.quadratic_to_cone import factor
from milopt.compilation.standard_form import StandardForm
from milopt.inspection.preamble import one_line, preamble


@dataclass(frozen=True)
class _Rows:
    """Consecutive rows `A x + b` in cones of one code; the comment says where they came from."""

    cone: str
    matrix: sp.csr_array
    offset: Vector
    comment: str
    sizes: list[int]
    """The number of rows of each cone."""
    version: int = 1
    """The version of the format that has the cone."""


def write_cbf(form: StandardForm) -> str:
    """Return the form as CBF text, in the first version of the format that has its cones.

    Raise `ConvexityError` if the quadratic objective is not convex.
    """
    blocks = [block for block in (*_declared(form), *_bounds(form)) if block.offset.size]
    width = form.n
    cost = form.q
    variable_cones = _variable_cones(form)
    if not form.P.is_zero:
        blocks.append(_epigraph(form))
        cost = np.append(cost, 1.0)
        variable_cones.append(("F", 1))
        width += 1
    height = sum(block.offset.size for block in blocks)
    version = str(max((block.version for block in blocks), default=1))
    cones = [f"{block.cone} {size}" for block in blocks for size in block.sizes]
    lines = [*preamble(form, "#", columns=width, rows=height), *_comments(form, blocks), ""]
    lines += ["VER", version, "", "OBJSENSE", "MIN", ""]
    lines += ["VAR", f"{width} {len(variable_cones)}", *(f"{cone} {size}" for cone, size in variable_cones), ""]
    integer = np.flatnonzero(form.integer)
    if integer.size:
        lines += ["INT", str(integer.size), *map(str, integer.tolist()), ""]
    if blocks:
        lines += ["CON", f"{height} {len(cones)}", *cones, ""]
    used = np.flatnonzero(cost)
    if used.size:
        lines += ["OBJACOORD", str(used.size), *(f"{j} {float(cost[j])!r}" for j in used), ""]
    if form.constant:
        lines += ["OBJBCOORD", repr(float(form.constant)), ""]
    lines.extend(_coordinates(blocks, width))
    return "\n".join(lines)


def _declared(form: StandardForm) -> Iterator[_Rows]:
    for block in form.rows:
        code = block.cone.cbf
        rows = np.arange(block.start, block.stop)
        if code.order is not None:
            rows = rows.reshape(-1, len(code.order))[:, code.order].ravel()
        sizes = [block.size] if block.cone.is_polyhedral else block.cone_sizes.tolist()
        yield _Rows(code.code, sp.csr_array(form.F[rows]), form.g[rows], one_line(block.name), sizes, code.version)


def _bounds(form: StandardForm) -> Iterator[_Rows]:
    """`x - lower >= 0` and `x - upper <= 0`, without the bounds that `_variable_cones` has said already."""
    signs = np.array([_sign_cone(low, high) for low, high in zip(form.lower, form.upper, strict=True)], dtype=object)
    identity = sp.eye_array(form.n, format="csr")
    below = np.flatnonzero(np.isfinite(form.lower) & (signs != "L+"))
    above = np.flatnonzero(np.isfinite(form.upper) & (signs != "L-"))
    yield _Rows("L+", sp.csr_array(identity[below]), -form.lower[below], "lower bounds", [below.size])
    yield _Rows("L-", sp.csr_array(identity[above]), -form.upper[above], "upper bounds", [above.size])


def _sign_cone(low: float, high: float) -> str:
    if low == 0:
        return "L+"
    return "L-" if high == 0 else "F"


def _variable_cones(form: StandardForm) -> list[tuple[str, int]]:
    cones = (_sign_cone(low, high) for low, high in zip(form.lower.tolist(), form.upper.tolist(), strict=True))
    return [(cone, len(list(run))) for cone, run in groupby(cones)]


def _epigraph(form: StandardForm) -> _Rows:
    """(t, 1, B x), t being the column after the last."""
    root = factor(form.P)
    head = sp.csr_array(([1.0], ([0], [form.n])), shape=(2, form.n + 1))
    tail = sp.hstack([root, sp.csr_array((root.shape[0], 1))])
    offset = np.zeros(2 + root.shape[0])
    offset[1] = 1.0
    return _Rows("QR", sp.csr_array(sp.vstack([head, tail])), offset, "quadratic objective", [offset.size])


def _comments(form: StandardForm, blocks: list[_Rows]) -> Iterator[str]:
    for column in form.columns:
        yield f"# columns {column.start}..{column.stop - 1}: {one_line(column.name)}"
    if not form.P.is_zero:
        yield f"# columns {form.n}..{form.n}: epigraph of the quadratic objective"
    start = 0
    for block in blocks:
        yield f"# rows {start}..{start + block.offset.size - 1}: {block.comment}"
        start += block.offset.size


def _widened(matrix: sp.csr_array, width: int) -> sp.csr_array:
    """The same rows over more columns."""
    return sp.csr_array((matrix.data, matrix.indices, matrix.indptr), shape=(matrix.shape[0], width))


def _coordinates(blocks: list[_Rows], width: int) -> Iterator[str]:
    if not blocks:
        return
    matrix = sp.csr_array(sp.vstack([_widened(block.matrix, width) for block in blocks]))
    matrix.sum_duplicates()
    matrix.eliminate_zeros()
    entries = sp.coo_array(matrix)
    if entries.nnz:
        yield from ("ACOORD", str(entries.nnz))
        triples = zip(entries.row.tolist(), entries.col.tolist(), entries.data.tolist(), strict=True)
        yield from (f"{i} {j} {value!r}" for i, j, value in triples)
        yield ""
    offset = np.concatenate([block.offset for block in blocks])
    used = np.flatnonzero(offset)
    if used.size:
        yield from ("BCOORD", str(used.size))
        yield from (f"{i} {value!r}" for i, value in zip(used.tolist(), offset[used].tolist(), strict=True))
        yield ""
