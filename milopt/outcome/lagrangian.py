"""The gradient of the Lagrangian of a lowered program."""

from __future__ import annotations

import numpy as np

from milopt.arrays import Vector
from milopt.compilation.evaluation_form import EvaluationForm
from milopt.compilation.quadratic import weighted
from milopt.declaration.programs.sparse import transposed
from milopt.outcome.certificate import Evaluated


def column_gradient(form: EvaluationForm, x: Vector, worth: Evaluated, z: Vector) -> Vector:
    """Return the gradient of the Lagrangian in the columns of a form."""
    gradient = form.objective.q - transposed(form.rows.A) @ z
    for square in form.objective.squares:
        if square.rows.A.nnz:
            r = square.rows.value(x, worth.evaluations)
            gradient = gradient + transposed(square.rows.A) @ weighted(square.weight, r)
    return np.asarray(gradient)
