"""Proof that a program has no feasible point: multipliers of declared rows and bounds that contradict each other.

Rows  e_i >= 0  (or  e_i = 0)  with multipliers y, lower bounds with r_j >= 0 and upper bounds with r_j <= 0 satisfy

    sum_i y_i e_i(x) + sum_j r_j (x_j - bound_j)  >=  0      at every feasible x.

If the left side is negative at every x, no x is feasible. The multipliers are scaled so that the left side is -1 (at
most -1 if atoms occur), and the inequality reads -1 >= 0.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from milopt.arrays import Vector
from milopt.compilation.evaluation_form import EvaluationForm
from milopt.compilation.lowering import Lowering
from milopt.outcome.multiplier_slopes import declared_duals


@dataclass(frozen=True)
class Contradiction:
    """Multipliers of rows (by constraint name) and of bounds (by variable name) that prove infeasibility.

    The module docstring states their signs and their scale.
    """

    rows: dict[str, Vector]
    bounds: dict[str, Vector]


def build_contradiction(lowering: Lowering, form: EvaluationForm, y: Vector) -> Contradiction | None:
    """Return the contradiction that multipliers y of the rows of a form without cones prove; None if they prove none.

    The caller has checked that A'y is 0 up to rounding on columns without the bound that its sign requires.
    """
    combination = form.rows.transpose_times(y)
    side = np.where(combination > 0.0, form.upper, form.lower)
    is_bounded = np.isfinite(side)
    combination, side = np.where(is_bounded, combination, 0.0), np.where(is_bounded, side, 0.0)
    margin = -float(form.rows.g @ y + combination @ side)
    if not margin > 0.0:
        return None
    program, columns = lowering.program, lowering.affine.columns_of
    rows, bounds = declared_duals(lowering.program.constraints, form, y / margin), 0.0 - combination / margin
    return Contradiction(
        {name: program.constraints[name].multipliers(part) for name, part in rows.items()},
        {name: bounds[columns(variable)].reshape(variable.shape) for name, variable in program.variables.items()},
    )
