"""Writer of the Conic Benchmark Format (CBF), the only format here that supports all cones.

CBF minimises `q'x + c` subject to `A x + b in K` and `x in K_x`, which is the standard form itself. Blocks keep their
order, and each cone has its own code and order of rows (`Cone.cbf`). A bound at zero is a cone of the variable; any
other bound is a row after the declared rows. A quadratic objective becomes the last cone: with P = B'B and an
additional column t,

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
from milopt.compilation.bridges.quadratic_to_cone import square_root
from milopt.compilation.standard_form import StandardForm
from milopt.inspection.preamble import as_one_line, preamble_lines


@dataclass(frozen=True)
class _ConeRows:
    """Consecutive rows `A x + b` in cones of one type.

    Attributes
    ----------
    cone : str
        CBF code of the cone.
    matrix, offset : csr_array, ndarray
        A and b.
    comment : str
        Name of the block, for a comment line.
    sizes : list of int
        Number of rows of each cone.
    version : int
        Version of the format that has the cone.
    """

    cone: str
    matrix: sp.csr_array
    offset: Vector
    comment: str
    sizes: list[int]
    version: int = 1


def write_cbf(form: StandardForm) -> str:
    """Return the form as CBF text, in the first version of the format that supports the cones of the form.

    Raises
    ------
    ConvexityError
        If the quadratic objective is not convex.
    """
    blocks = [block for block in (*_declared_rows(form), *_bound_rows(form)) if block.offset.size]
    width = form.n
    cost = form.q
    variable_cones = _variable_cones(form)
    if not form.P.is_zero:
        blocks.append(_epigraph_rows(form))
        cost = np.append(cost, 1.0)
        variable_cones.append(("F", 1))
        width += 1
    height = sum(block.offset.size for block in blocks)
    version = str(max((block.version for block in blocks), default=1))
    cones = [f"{block.cone} {size}" for block in blocks for size in block.sizes]
    lines = [*preamble_lines(form, "#", columns=width, rows=height), *_block_comments(form, blocks), ""]
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
    lines.extend(_coordinate_lines(blocks, width))
    return "\n".join(lines)


def _declared_rows(form: StandardForm) -> Iterator[_ConeRows]:
    """Yield the rows of each row block of the form, in the order of rows that CBF has for its cone."""
    for block in form.rows:
        code = block.cone.cbf
        rows = np.arange(block.start, block.stop)
        if code.order is not None:
            rows = rows.reshape(-1, len(code.order))[:, code.order].ravel()
        sizes = [block.size] if block.cone.is_polyhedral else block.cone_sizes.tolist()
        yield _ConeRows(
            code.code, sp.csr_array(form.F[rows]), form.g[rows], as_one_line(block.name), sizes, code.version
        )


def _bound_rows(form: StandardForm) -> Iterator[_ConeRows]:
    """Yield the rows `x - lower >= 0` and `x - upper <= 0` of the bounds that are not written as cones of variables."""
    signs = np.array([_sign_cone(low, high) for low, high in zip(form.lower, form.upper, strict=True)], dtype=object)
    identity = sp.eye_array(form.n, format="csr")
    below = np.flatnonzero(np.isfinite(form.lower) & (signs != "L+"))
    above = np.flatnonzero(np.isfinite(form.upper) & (signs != "L-"))
    yield _ConeRows("L+", sp.csr_array(identity[below]), -form.lower[below], "lower bounds", [below.size])
    yield _ConeRows("L-", sp.csr_array(identity[above]), -form.upper[above], "upper bounds", [above.size])


def _sign_cone(low: float, high: float) -> str:
    """Return the CBF cone of a variable: L+ (x >= 0) if low = 0, L- (x <= 0) if only high = 0, otherwise F (free)."""
    if low == 0:
        return "L+"
    return "L-" if high == 0 else "F"


def _variable_cones(form: StandardForm) -> list[tuple[str, int]]:
    """Return (code, number of consecutive variables) for each cone of variables."""
    cones = (_sign_cone(low, high) for low, high in zip(form.lower.tolist(), form.upper.tolist(), strict=True))
    return [(cone, len(list(run))) for cone, run in groupby(cones)]


def _epigraph_rows(form: StandardForm) -> _ConeRows:
    """Return the rows (t, 1, B x) with P = B'B, where t is a new column after the last column of the form."""
    root = square_root(form.P)
    head = sp.csr_array(([1.0], ([0], [form.n])), shape=(2, form.n + 1))
    tail = sp.hstack([root, sp.csr_array((root.shape[0], 1))])
    offset = np.zeros(2 + root.shape[0])
    offset[1] = 1.0
    return _ConeRows("QR", sp.csr_array(sp.vstack([head, tail])), offset, "quadratic objective", [offset.size])


def _block_comments(form: StandardForm, blocks: list[_ConeRows]) -> Iterator[str]:
    """Yield comment lines with the names of the column blocks and of the row blocks."""
    for column in form.columns:
        yield f"# columns {column.start}..{column.stop - 1}: {as_one_line(column.name)}"
    if not form.P.is_zero:
        yield f"# columns {form.n}..{form.n}: epigraph of the quadratic objective"
    start = 0
    for block in blocks:
        yield f"# rows {start}..{start + block.offset.size - 1}: {block.comment}"
        start += block.offset.size


def _append_zero_columns(matrix: sp.csr_array, width: int) -> sp.csr_array:
    """Return the matrix with zero columns appended, so that it has `width` columns."""
    return sp.csr_array((matrix.data, matrix.indices, matrix.indptr), shape=(matrix.shape[0], width))


def _coordinate_lines(blocks: list[_ConeRows], width: int) -> Iterator[str]:
    """Yield the lines of A (ACOORD) and b (BCOORD) of all blocks: one line with indices and value per nonzero entry."""
    if not blocks:
        return
    matrix = sp.csr_array(sp.vstack([_append_zero_columns(block.matrix, width) for block in blocks]))
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
