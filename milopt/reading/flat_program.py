"""Declaration of the program of an MPS or LP file.

Rows become the blocks `equal`, `at_least` and `at_most`; a range (a row with two sides) becomes one row of `at_least`
and one of `at_most`. The names of the file are in `program.labels`. A semicontinuous column x, which is 0 or in [l, u],
gets a binary variable b with l b <= x <= u b. Contradictory bounds of a column become rows, so that a solver proves
that the program is infeasible.
"""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path

import numpy as np
import scipy.sparse as sp
from scipy.sparse.csgraph import connected_components

from milopt.arrays import Index, Mask, Vector
from milopt.data.messages import file_error, quote
from milopt.declaration.atoms.quad_form import quad_form
from milopt.declaration.programs.expression import Expression, as_expression
from milopt.declaration.programs.program import Program
from milopt.reading.blocks import FileColumns
from milopt.reading.flat_model import FlatModel

UPPER_SIDE_SUFFIX = ".upper"
"""Suffix of the name of a range (a row with two sides) in the block `at_most`; in `at_least` it has its own name."""
MAX_COMPONENT_COLUMNS = 5000
"""Maximum number of columns in a connected component of P, because the block of P of a component becomes dense."""
TARGET_GROUP_COLUMNS = 300
"""Approximate number of columns in one quadratic form, up to which small connected components of P are put together."""


def declare_flat(model: FlatModel, path: Path) -> Program:
    """Declare the program of an MPS or LP file; `path` is used in error messages."""
    _check_bounds(model, path)
    program = Program(model.name or "program")
    semicontinuous = model.semicontinuous
    lower = np.where(semicontinuous, np.minimum(model.lower, 0.0), model.lower)
    upper = np.where(semicontinuous, np.maximum(model.upper, 0.0), model.upper)
    conflicting = lower > upper
    columns = FileColumns(
        program,
        np.where(conflicting, -np.inf, lower),
        np.where(conflicting, np.inf, upper),
        model.integer,
        model.columns,
    )
    constant = as_expression(model.constant)
    objective = columns.cost_expression(model.cost) + _quadratic_objective(model, columns, path) + constant
    (program.maximize if model.maximizes else program.minimize)(objective)
    _declare_rows(model, columns)
    if conflicting.any():
        names = [model.columns[j] for j in np.flatnonzero(conflicting)]
        selected = columns.select(np.flatnonzero(conflicting))
        columns.subject_to(selected >= lower[conflicting], "lower_bounds", names)
        columns.subject_to(selected <= upper[conflicting], "upper_bounds", [name + UPPER_SIDE_SUFFIX for name in names])
    if semicontinuous.any():
        _declare_semicontinuous_switches(program, model, columns)
    for remark in model.remarks:
        program.remark(remark)
    return program


def _check_bounds(model: FlatModel, path: Path) -> None:
    """Raise an error if there are no columns, or if the bounds of a column or the sides of a row are not admissible.

    A lower bound or side must not be +infinity, and an upper one must not be -infinity. A semicontinuous column needs
    two finite bounds.
    """
    if not model.columns:
        raise file_error(path, "the file has no columns")
    wrong: tuple[tuple[Mask, tuple[str, ...], str], ...] = (
        ((model.row_lower == np.inf) | (model.row_upper == -np.inf), model.rows, "row"),
        ((model.lower == np.inf) | (model.upper == -np.inf), model.columns, "column"),
    )
    for mask, names, kind in wrong:
        if mask.any():
            raise file_error(path, f"the {kind} {quote(names[np.flatnonzero(mask)[0]])} would have to be infinite")
    unbounded = model.semicontinuous & ~(np.isfinite(model.lower) & np.isfinite(model.upper))
    if unbounded.any():
        name = quote(model.columns[np.flatnonzero(unbounded)[0]])
        raise file_error(path, f"the semicontinuous column {name} needs a finite lower and upper bound")


def _declare_rows(model: FlatModel, columns: FileColumns) -> None:
    """Declare the rows as the blocks `equal`, `at_least` and `at_most`; a row without finite sides is dropped."""
    low, high = model.row_lower, model.row_upper
    equal = low == high
    below, above = np.isfinite(low) & ~equal, np.isfinite(high) & ~equal
    for mask, wanted in ((equal, "equal"), (below, "at_least"), (above, "at_most")):
        places = np.flatnonzero(mask)
        if not places.size:
            continue
        rows = columns.times(sp.csr_array(model.A[places]))
        labels = [model.rows[i] for i in places]
        if wanted == "equal":
            columns.subject_to(rows == low[places], wanted, labels)
        elif wanted == "at_least":
            columns.subject_to(rows >= low[places], wanted, labels)
        else:
            ranges = below[places]
            labels = [label + UPPER_SIDE_SUFFIX if both else label for label, both in zip(labels, ranges, strict=True)]
            columns.subject_to(rows <= high[places], wanted, labels)


def _declare_semicontinuous_switches(program: Program, model: FlatModel, columns: FileColumns) -> None:
    """Declare a binary variable b for each semicontinuous column x with bounds l and u, and rows l b <= x <= u b."""
    places = np.flatnonzero(model.semicontinuous)
    names = [model.columns[j] for j in places]
    switch = program.variable("switched_on", places.size, binary=True)
    program.labels["switched_on"] = tuple(f"{name}.on" for name in names)
    selected = columns.select(places)
    columns.subject_to(selected >= model.lower[places] * switch, "switched_lower", [f"{name}.low" for name in names])
    columns.subject_to(selected <= model.upper[places] * switch, "switched_upper", [f"{name}.high" for name in names])


def _quadratic_objective(model: FlatModel, columns: FileColumns, path: Path) -> Expression:
    """Return 1/2 x'Px: one diagonal form for all columns without products, and dense forms for all other columns."""
    P = sp.csr_array(model.P)
    P.eliminate_zeros()
    total = as_expression(0.0)
    if not P.nnz:
        return total
    count, labels = connected_components(P, directed=False)
    component = labels.astype(np.intp)
    sizes = np.bincount(component, minlength=count)
    alone = np.flatnonzero((sizes[component] == 1) & (P.diagonal() != 0))
    if alone.size:
        total = total + quad_form(columns.select(alone), 0.5 * P.diagonal()[alone])
    for places in _group_components(component, sizes, path):
        weight: Vector = 0.5 * sp.csr_array(P[places][:, places]).toarray()
        total = total + quad_form(columns.select(places), weight)
    return total


def _group_components(component: Index, sizes: Index, path: Path) -> list[Index]:
    """Return the column indices of each dense form: a connected component of P, or several small ones together.

    `component` has the index of the component of each column, and `sizes` the number of columns of each component.
    Components of one column are omitted.
    """
    coupled = np.flatnonzero(sizes > 1)
    if not coupled.size:
        return []
    if sizes.max() > MAX_COMPONENT_COLUMNS:
        raise file_error(
            path,
            f"the quadratic objective couples {sizes.max()} columns; milopt reads up to "
            f"{MAX_COMPONENT_COLUMNS}, because their matrix becomes dense",
        )
    groups = np.cumsum(sizes[coupled]) // TARGET_GROUP_COLUMNS
    starts = [0, *(1 + np.flatnonzero(np.diff(groups))).tolist(), coupled.size]
    order = np.argsort(component, kind="stable")
    ends = np.cumsum(sizes)
    members = [order[ends[k] - sizes[k] : ends[k]] for k in coupled]
    return [np.sort(np.concatenate(members[start:stop])) for start, stop in pairwise(starts)]
