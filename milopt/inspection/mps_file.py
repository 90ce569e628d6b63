"""Writer of free MPS files, which every LP, QP and MILP solver reads.

Rows are `F x >= -g` (G) or `= -g` (E). The right-hand side of the objective row is minus the constant. QUADOBJ has one
triangle of P in `1/2 x'Px`. Bounds are always written, because readers disagree about the defaults of integer columns.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
import scipy.sparse as sp

from milopt.compilation.standard_form import StandardForm
from milopt.cones import ZERO
from milopt.inspection.legal_names import OBJECTIVE_NAME, legal_columns, legal_name, legal_rows
from milopt.inspection.preamble import check_no_cones, preamble_lines


def write_mps(form: StandardForm) -> str:
    """Return the text of a free MPS file of the form.

    Raises
    ------
    UnsupportedError
        If rows lie in cones that are not polyhedral.
    """
    check_no_cones(form, "MPS")
    names, labels = legal_columns(form), legal_rows(form)
    lines = preamble_lines(form, "*", columns=form.n, rows=form.m)
    lines += [f"NAME {legal_name(form.name)}", "OBJSENSE", " MIN", "ROWS", f" N {OBJECTIVE_NAME}"]
    for block in form.rows:
        letter = "E" if block.cone is ZERO else "G"
        lines.extend(f" {letter} {label}" for label in labels[block.start : block.stop])
    lines.append("COLUMNS")
    lines.extend(_column_lines(form, names, labels))
    lines.append("RHS")
    if form.constant:
        lines.append(f" RHS {OBJECTIVE_NAME} {-form.constant!r}")
    lines.extend(f" RHS {labels[i]} {-float(form.g[i])!r}" for i in np.flatnonzero(form.g))
    lines.append("BOUNDS")
    lines.extend(_bound_lines(form, names))
    lines.extend(_quadratic_lines(form, names))
    lines.append("ENDATA\n")
    return "\n".join(lines)


def _column_lines(form: StandardForm, names: Sequence[str], labels: Sequence[str]) -> Iterator[str]:
    """Yield the lines of the section COLUMNS: markers around integer columns, then costs and entries per column."""
    matrix = sp.csc_array(form.F, copy=True)
    matrix.sum_duplicates()
    starts, rows, values = matrix.indptr.tolist(), matrix.indices.tolist(), matrix.data.tolist()
    costs, integer = form.q.tolist(), form.integer.tolist()
    inside = False
    markers = 0
    for j, name in enumerate(names):
        if integer[j] != inside:
            inside = integer[j]
            markers += 1
            yield f" MARKER{markers} 'MARKER' '{'INTORG' if inside else 'INTEND'}'"
        first, last = starts[j], starts[j + 1]
        # An empty column must occur once, otherwise readers ignore it.
        if costs[j] or first == last:
            yield f" {name} {OBJECTIVE_NAME} {costs[j]!r}"
        for k in range(first, last):
            yield f" {name} {labels[rows[k]]} {values[k]!r}"
    if inside:
        yield f" MARKER{markers + 1} 'MARKER' 'INTEND'"


def _bound_lines(form: StandardForm, names: Sequence[str]) -> Iterator[str]:
    """Yield the lines of the section BOUNDS."""
    for name, low, high in zip(names, form.lower.tolist(), form.upper.tolist(), strict=True):
        if low == high:
            yield f" FX BND {name} {low!r}"
        elif low == -np.inf and high == np.inf:
            yield f" FR BND {name}"
        else:
            yield f" MI BND {name}" if low == -np.inf else f" LO BND {name} {low!r}"
            yield f" PL BND {name}" if high == np.inf else f" UP BND {name} {high!r}"


def _quadratic_lines(form: StandardForm, names: Sequence[str]) -> Iterator[str]:
    """Yield the lines of the section QUADOBJ (the lower triangle of P), if the objective is quadratic."""
    if form.P.is_zero:
        return
    triangle = sp.coo_array(sp.tril(form.P.sparse))
    used = triangle.data != 0
    if not used.any():
        return
    yield "QUADOBJ"
    rows, columns, values = triangle.row[used].tolist(), triangle.col[used].tolist(), triangle.data[used].tolist()
    for i, j, value in zip(rows, columns, values, strict=True):
        yield f" {names[j]} {names[i]} {value!r}"
