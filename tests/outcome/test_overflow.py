"""A row whose atom overflows is violated without limit, however large the numbers are that it is compared with."""

from __future__ import annotations

import numpy as np
import pytest

from milopt import Program, exp
from milopt.compilation.compiled import Point
from milopt.compilation.lowering import Lowering
from milopt.outcome.declared import declared_residuals
from milopt.outcome.point_values import LeafValues


@pytest.mark.filterwarnings("ignore:overflow")
def test_an_infinite_violation_is_not_small_beside_an_infinite_scale() -> None:
    program = Program("overflow")
    x, t = program.variable("x"), program.variable("t")
    program.minimize(t)
    program.subject_to(exp(x) <= t)
    lowering = Lowering(program)
    columns = np.zeros(lowering.form().n)
    columns[lowering.linear.columns_of(x)] = 800.0
    residuals = declared_residuals(lowering, LeafValues(lowering, Point(columns, (), None), ()), 0.0)
    assert residuals.primal == residuals.violation == np.inf
