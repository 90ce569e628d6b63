"""Declare the program of an MPS or LP file.

Rows become the blocks `equal`, `at_least` and `at_most`; a range is a row of the two last. The names of the file are
`program.labels`. A semicontinuous column, which is 0 or between its bounds, gets a binary variable b with
l b <= x <= u b. Bounds that contradict each other become rows, so that a solver proves the program infeasible.
"""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path

import numpy as np
import scipy.sparse as sp
from scipy.sparse.csgraph import connected_components

from milopt.arrays import Index, Mask, Vector
from milopt.data.messages import file_error, shown
from milopt.declaration.atoms.quad_form import quad_form
from milopt.declaration.programs.expression import Expression, as_expression
from milopt.declaration.programs.program import Program
from milopt.reading.blocks import Columns
from milopt.reading.flat_model import FlatModel

UPPER = ".upper"
"""Added to the name of a range for its row in `at_most`."""
LARGEST_COMPONENT = 5000
"""Columns that the quadratic objective may couple: a program keeps their part of P as a dense matrix."""
GROUPED_COLUMNS = 300
"""Columns of components of P that are declared as one quadratic form."""


def declare_flat(model: FlatModel, path: Path) -> Program:
    """Return the program; `path` is for messages."""
    _check(model, path)
    program = Program(model.name or "program")
    semicontinuous = model.semicontinuous
    lower = np.where(semicontinuous, np.minimum(model.lower, 0.0), model.lower)
    upper = np.where(semicontinuous, np.maximum(model.upper, 0.0), model.upper)
    conflicting = lower > upper
    columns = Columns(
        program,
        np.where(conflicting, -np.inf, lower),
        np.where(conflicting, np.inf, upper),
        model.integer,
        model.columns,
    )
    constant = as_expression(model.constant)
    objective = columns.cost(model.cost) + _quadratic(model, columns, path) + constant
    (program.maximize if model.maximizes else program.minimize)(objective)
    _declare_rows(model, columns)
    if conflicting.any():
        names = [model.columns[j] for j in np.flatnonzero(conflicting)]
        there = columns.picked(np.flatnonzero(conflicting))
        columns.subject_to(there >= lower[conflicting], "lower_bounds", names)
        columns.subject_to(there <= upper[conflicting], "upper_bounds", [name + UPPER for name in names])
    if semicontinuous.any():
        _declare_switches(program, model, columns)
    for remark in model.remarks:
        program.remark(remark)
    return program


def _check(model: FlatModel, path: Path) -> None:
    if not model.columns:
        raise file_error(path, "the file has no columns")
    wrong: tuple[tuple[Mask, tuple[str, ...], str], ...] = (
        ((model.row_lower == np.inf) | (model.row_upper == -np.inf), model.rows, "row"),
        ((model.lower == np.inf) | (model.upper == -np.inf), model.columns, "column"),
    )
    for mask, names, what in wrong:
        if mask.any():
            raise file_error(path, f"the {what} {shown(names[np.flatnonzero(mask)[0]])} would have to be infinite")
    unbounded = model.semicontinuous & ~(np.isfinite(model.lower) & np.isfinite(model.upper))
    if unbounded.any():
        name = shown(model.columns[np.flatnonzero(unbounded)[0]])
        raise file_error(path, f"the semicontinuous column {name} needs a finite lower and upper bound")


def _declare_rows(model: FlatModel, columns: Columns) -> None:
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
            labels = [label + UPPER if both else label for label, both in zip(labels, ranges, strict=True)]
            columns.subject_to(rows <= high[places], wanted, labels)


def _declare_switches(program: Program, model: FlatModel, columns: Columns) -> None:
    places = np.flatnonzero(model.semicontinuous)
    names = [model.columns[j] for j in places]
    switch = program.variable("switched_on", places.size, binary=True)
    program.labels["switched_on"] = tuple(f"{name}.on" for name in names)
    there = columns.picked(places)
    columns.subject_to(there >= model.lower[places] * switch, "switched_lower", [f"{name}.low" for name in names])
    columns.subject_to(there <= model.upper[places] * switch, "switched_upper", [f"{name}.high" for name in names])


def _quadratic(model: FlatModel, columns: Columns, path: Path) -> Expression:
    """Return 1/2 x'Px: squares as one diagonal form, and the connected components of P as dense ones."""
    P = sp.csr_array(model.P)
    P.eliminate_zeros()
    total = as_expression(0.0)
    if not P.nnz:
        return total
    count, found = connected_components(P, directed=False)
    component = found.astype(np.intp)
    sizes = np.bincount(component, minlength=count)
    alone = np.flatnonzero((sizes[component] == 1) & (P.diagonal() != 0))
    if alone.size:
        total = total + quad_form(columns.picked(alone), 0.5 * P.diagonal()[alone])
    for places in _groups(component, sizes, path):
        weight: Vector = 0.5 * sp.csr_array(P[places][:, places]).toarray()
        total = total + quad_form(columns.picked(places), weight)
    return total


def _groups(component: Index, sizes: Index, path: Path) -> list[Index]:
    """Return the columns of components with more than one column, small components together."""
    coupled = np.flatnonzero(sizes > 1)
    if not coupled.size:
        return []
    if sizes.max() > LARGEST_COMPONENT:
        raise file_error(
            path,
            f"the quadratic objective couples {sizes.max()} columns; milopt reads up to {LARGEST_COMPONENT}, because "
            "their matrix becomes dense",
        )
    groups = np.cumsum(sizes[coupled]) // GROUPED_COLUMNS
    starts = [0, *(1 + np.flatnonzero(np.diff(groups))).tolist(), coupled.size]
    order = np.argsort(component, kind="stable")
    ends = np.cumsum(sizes)
    members = [order[ends[one] - sizes[one] : ends[one]] for one in coupled]
    return [np.sort(np.concatenate(members[start:stop])) for start, stop in pairwise(starts)]
