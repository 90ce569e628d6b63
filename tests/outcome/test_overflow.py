"""A row whose atom overflows has an infinite scaled violation, however large its scale is."""

from __future__ import annotations

import numpy as np
import pytest

from milopt import Program, exp
from milopt.compilation.compiled_form import PrimalDualPoint
from milopt.compilation.lowering import Lowering
from milopt.outcome.declared_residuals import declared_residuals
from milopt.outcome.point_values import LeafValues


@pytest.mark.filterwarnings("ignore:overflow")
def test_an_infinite_violation_stays_infinite_after_scaling() -> None:
    program = Program("overflow")
    x, t = program.variable("x"), program.variable("t")
    program.minimize(t)
    program.subject_to(exp(x) <= t)
    lowering = Lowering(program)
    columns = np.zeros(lowering.form().n)
    columns[lowering.affine.columns_of(x)] = 800.0
    residuals = declared_residuals(lowering, LeafValues(lowering, PrimalDualPoint(columns, (), None), (), ()), 0.0)
    assert residuals.primal == residuals.violation == np.inf
