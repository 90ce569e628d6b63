"""Conversion of a program in standard form to a Pyomo model that keeps the names of the form's blocks.

There is one indexed `Var` per column block, one indexed `Constraint` per row block, the objective `1/2 x'Px + q'x + c`,
and a `dual` suffix unless a column is integer. Pyomo stores every term as a Python object, so expressions are built
from lists of coefficients instead of sums of terms.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import scipy.sparse as sp

from milopt.arrays import Vector
from milopt.compilation.standard_form import StandardForm
from milopt.cones import ZERO, Cone
from milopt.errors import UnsupportedError
from milopt.inspection.legal_names import legal_names

if TYPE_CHECKING:
    from pyomo.environ import ConcreteModel

RESERVED_NAMES = ("objective", "dual", "slack", "rc")
"""Names of components of the model that the components of blocks must not have."""


def to_pyomo(form: StandardForm) -> ConcreteModel:
    """Convert a program in standard form to a Pyomo model.

    A component has the name of its block, if Pyomo accepts this name; a variable and a constraint with the same name
    become `name` and `name_2`. `column_components` and `row_components` return the components in the order of the form.

    Raises
    ------
    UnsupportedError
        If rows lie in cones that are not polyhedral.
    """
    import pyomo.environ as pyo

    for block in form.conic_blocks:
        raise UnsupportedError(
            f"Pyomo supports LP, QP and MILP, and {block.name!r} has {block.cone.display_name}s; "
            "use to_cvxpy(), or a CBF file, instead."
        )
    model = pyo.ConcreteModel(name=form.name)
    names = component_names(form)
    columns: list[Any] = []
    for column, name in zip(form.columns, names, strict=False):
        variable = pyo.Var(range(column.size), domain=pyo.Reals)
        model.add_component(name, variable)
        columns.extend(variable.values())
    _set_domains(form, columns)
    matrix = sp.csr_array(form.F, copy=True)
    matrix.sum_duplicates()
    for row, name in zip(form.rows, names[len(form.columns) :], strict=True):
        constraint = pyo.Constraint(range(row.size))
        model.add_component(name, constraint)
        _add_rows(constraint, matrix[row.start : row.stop], 0.0 - form.g[row.start : row.stop], row.cone, columns)
    model.add_component("objective", pyo.Objective(expr=_objective_expression(form, columns), sense=pyo.minimize))
    if not form.integer.any():
        model.add_component("dual", pyo.Suffix(direction=pyo.Suffix.IMPORT))
    return model


def component_names(form: StandardForm) -> list[str]:
    """Return the names of the components of the column blocks, then of the row blocks."""
    return legal_names(
        [block.name for block in form.columns] + [block.name for block in form.rows], reserved=RESERVED_NAMES
    )


def column_components(form: StandardForm, model: ConcreteModel) -> list[Any]:
    """Return the Pyomo variable of every column."""
    names = component_names(form)[: len(form.columns)]
    return [variable for name in names for variable in model.component(name).values()]


def row_components(form: StandardForm, model: ConcreteModel) -> list[Any]:
    """Return the Pyomo constraint of every row."""
    names = component_names(form)[len(form.columns) :]
    return [constraint for name in names for constraint in model.component(name).values()]


def _set_domains(form: StandardForm, columns: list[Any]) -> None:
    """Set the bounds of the Pyomo variables `columns`, and the domain of those that are integer."""
    import pyomo.environ as pyo

    for variable, low, high, integer in zip(
        columns, form.lower.tolist(), form.upper.tolist(), form.integer.tolist(), strict=True
    ):
        variable.setlb(low if np.isfinite(low) else None)
        variable.setub(high if np.isfinite(high) else None)
        if integer:
            variable.domain = pyo.Integers


def _add_rows(constraint: Any, matrix: sp.csr_array, right: Vector, cone: Cone, columns: list[Any]) -> None:
    """Add `F_i x >= right_i` (`=` if `cone` is ZERO) for every row F_i of `matrix` to the indexed `constraint`."""
    from pyomo.core.expr.numeric_expr import LinearExpression

    starts, indices, values = matrix.indptr.tolist(), matrix.indices.tolist(), matrix.data.tolist()
    for i, bound in enumerate(right.tolist()):
        entries = slice(starts[i], starts[i + 1])
        # Pyomo rejects a constraint without a variable, so an empty row gets one with coefficient 0.
        coefficients = values[entries] or [0.0]
        variables = [columns[j] for j in indices[entries]] or columns[:1]
        body = LinearExpression(linear_coefs=coefficients, linear_vars=variables)
        constraint.add(i, (bound, body, bound if cone is ZERO else None))


def _objective_expression(form: StandardForm, columns: list[Any]) -> Any:
    """Return the objective as a Pyomo expression."""
    from pyomo.core.expr.numeric_expr import LinearExpression, MonomialTermExpression, ProductExpression, SumExpression

    linear = LinearExpression(constant=form.constant, linear_coefs=form.q.tolist(), linear_vars=columns)
    if form.P.is_zero:
        return linear
    upper = sp.coo_array(sp.triu(form.P.sparse))
    terms = [linear]
    for i, j, value in zip(upper.row.tolist(), upper.col.tolist(), upper.data.tolist(), strict=True):
        if value:
            term = MonomialTermExpression((value * (0.5 if i == j else 1.0), columns[i]))
            terms.append(ProductExpression((term, columns[j])))
    return SumExpression(terms)
