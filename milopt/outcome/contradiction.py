"""The proof that a program has no feasible point: multipliers of declared rows and bounds that contradict each other.

Rows  e_i >= 0  (or  e_i = 0)  with multipliers y, lower bounds with r_j >= 0 and upper bounds with r_j <= 0 add up to

    sum_i y_i e_i(x) + sum_j r_j (x_j - bound_j)  >=  0      at every feasible x.

The multipliers prove that there is none if the left side is negative at every x. They are given in units in which it is
-1, or at most -1 if atoms occur: the sum then reads -1 >= 0.
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
    """Multipliers of declared rows and of bounds, by the names of constraints and variables; see the module."""

    rows: dict[str, Vector]
    bounds: dict[str, Vector]


def scaled_contradiction(lowering: Lowering, form: EvaluationForm, y: Vector) -> Contradiction | None:
    """Return the contradiction of rows without cones, from multipliers that prove it; None if they do not."""
    pull = form.rows.pulled(y)
    side = np.where(pull > 0.0, form.upper, form.lower)
    is_bounded = np.isfinite(side)
    pull, side = np.where(is_bounded, pull, 0.0), np.where(is_bounded, side, 0.0)
    margin = -float(form.rows.g @ y + pull @ side)
    if not margin > 0.0:
        return None
    program, columns = lowering.program, lowering.linear.columns_of
    rows, bounds = declared_duals(lowering.program.constraints, form, y / margin), 0.0 - pull / margin
    return Contradiction(
        {name: program.constraints[name].multipliers(part) for name, part in rows.items()},
        {name: bounds[columns(variable)].reshape(variable.shape) for name, variable in program.variables.items()},
    )
