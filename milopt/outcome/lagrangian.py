"""Gradient of the Lagrangian of a lowered program."""

from __future__ import annotations

import numpy as np

from milopt.arrays import Vector
from milopt.compilation.evaluation_form import EvaluationForm
from milopt.compilation.quadratic import apply_weight
from milopt.declaration.programs.sparse import transpose
from milopt.outcome.certificate import PointEvaluation


def column_gradient(form: EvaluationForm, x: Vector, evaluation: PointEvaluation, z: Vector) -> Vector:
    """Return P x + q - A'z, the gradient of the Lagrangian with respect to the columns of a form."""
    gradient = form.objective.q - transpose(form.rows.A) @ z
    for square in form.objective.squares:
        if square.rows.A.nnz:
            r = square.rows.value(x, evaluation.function_values)
            gradient = gradient + transpose(square.rows.A) @ apply_weight(square.weight, r)
    return np.asarray(gradient)
