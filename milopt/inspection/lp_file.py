"""Writer of CPLEX LP files, the most readable format, for LP, QP and MILP.

    minimize    obj: q'x + c + [ x'Px ] / 2
    subject to  row: F x >= -g   (or = -g)
    bounds, general, binary, end

Square brackets contain twice the quadratic part, so `1/2 x'Px` has coefficients P_ii and 2 P_ij inside `[ ... ] / 2`.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
import scipy.sparse as sp

from milopt.compilation.standard_form import StandardForm
from milopt.cones import ZERO
from milopt.inspection.legal_names import OBJECTIVE_NAME, legal_columns, legal_rows
from milopt.inspection.preamble import check_no_cones, preamble_lines

LINE_CHARACTERS = 240
"""Target number of characters per line. Readers accept at least 510."""

TERM_CHARACTERS = 28
"""Maximum number of characters of the sign and the number of a term, with the blanks around them."""


def write_lp(form: StandardForm) -> str:
    """Return the text of a CPLEX LP file of the form.

    Raises
    ------
    UnsupportedError
        If rows lie in cones that are not polyhedral.
    """
    check_no_cones(form, "LP")
    names = legal_columns(form)
    longest = max(map(len, names), default=0)
    parts = [
        *preamble_lines(form, "\\", columns=form.n, rows=form.m),
        "minimize",
        _wrap_terms(f" {OBJECTIVE_NAME}:", list(_objective_terms(form, names)), 2 * longest),
        "subject to",
    ]
    parts.extend(_row_lines(form, names, longest))
    parts.append("bounds")
    binary = form.integer & (form.lower == 0) & (form.upper == 1)
    parts.extend(_bound_lines(form, names, binary))
    parts.extend(_name_section("general", [names[j] for j in np.flatnonzero(form.integer & ~binary)], longest))
    parts.extend(_name_section("binary", [names[j] for j in np.flatnonzero(binary)], longest))
    parts.append("end\n")
    return "\n".join(parts)


def _objective_terms(form: StandardForm, names: Sequence[str]) -> Iterator[str]:
    """Yield the text of the terms of the objective; there is at least one, because readers need it."""
    used = np.flatnonzero(form.q).tolist()
    yield from _format_terms(form.q[used].tolist(), [names[j] for j in used])
    if not used:
        yield from _format_terms([0.0], list(names[:1]))
    if form.constant:
        yield _format_signed(form.constant)
    upper = sp.coo_array(sp.triu(form.P.sparse)) if not form.P.is_zero else None
    if upper is None or upper.nnz == 0:
        return
    yield "+ ["
    for i, j, value in zip(upper.row.tolist(), upper.col.tolist(), upper.data.tolist(), strict=True):
        if value:
            product = f"{names[i]} ^ 2" if i == j else f"{names[i]} * {names[j]}"
            yield f"{_format_signed(value if i == j else 2 * value)} {product}"
    yield "] / 2"


def _row_lines(form: StandardForm, names: Sequence[str], longest: int) -> Iterator[str]:
    """Yield the text of each row; `longest` is the number of characters of the longest column name."""
    labels = legal_rows(form)
    matrix = sp.csr_array(form.F, copy=True)
    matrix.sum_duplicates()
    starts, columns = matrix.indptr.tolist(), matrix.indices.tolist()
    values, offsets = matrix.data.tolist(), (0.0 - form.g).tolist()
    for block in form.rows:
        relation = "=" if block.cone is ZERO else ">="
        for i in range(block.start, block.stop):
            entries = slice(starts[i], starts[i + 1])
            terms = _format_terms(values[entries], [names[j] for j in columns[entries]])
            # Readers need a term in every row, even in a row without variables (0 >= -g).
            terms = terms or _format_terms([0.0], list(names[:1]))
            terms.append(f"{relation} {offsets[i]!r}")
            yield _wrap_terms(f" {labels[i]}:", terms, longest)


def _bound_lines(
    form: StandardForm, names: Sequence[str], binary: np.ndarray[tuple[int], np.dtype[np.bool_]]
) -> Iterator[str]:
    """Yield the bounds of each column that is not binary, one line per column, also for the default `x >= 0`."""
    for name, low, high, is_binary in zip(
        names, form.lower.tolist(), form.upper.tolist(), binary.tolist(), strict=True
    ):
        if is_binary:
            continue
        if low == high:
            yield f" {name} = {low!r}"
        elif low == -np.inf:
            yield f" {name} free" if high == np.inf else f" -inf <= {name} <= {high!r}"
        else:
            yield f" {name} >= {low!r}" if high == np.inf else f" {low!r} <= {name} <= {high!r}"


def _name_section(title: str, names: list[str], longest: int) -> list[str]:
    """Return the lines of a section that lists names, or an empty list if there are no names."""
    return [title, _wrap_terms("", names, longest)] if names else []


def _format_terms(values: list[float], names: list[str]) -> list[str]:
    """Return the text of one term per value: sign, absolute value and name."""
    return [
        f"- {-value!r} {name}" if value < 0 else f"+ {value!r} {name}"
        for value, name in zip(values, names, strict=True)
    ]


def _format_signed(value: float) -> str:
    """Return a number as text with its sign in front, as in "- 2.0" or "+ 2.0"."""
    return f"- {-value!r}" if value < 0 else f"+ {value!r}"


def _wrap_terms(head: str, terms: list[str], longest: int) -> str:
    """Return the head and the terms, broken into lines of about `LINE_CHARACTERS` characters.

    `longest` is the maximum number of characters of the names in one term.
    """
    size = max(1, LINE_CHARACTERS // (TERM_CHARACTERS + longest))
    lines = [" ".join(terms[k : k + size]) for k in range(0, len(terms), size)]
    return f"{head} " + "\n  ".join(lines)
