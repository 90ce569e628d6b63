"""A program without columns: nothing to choose, so its rows hold or they do not."""

from __future__ import annotations

import numpy as np

from milopt.compilation.standard_form import StandardForm
from milopt.cones import NONNEGATIVE, ZERO
from milopt.outcome.status import Termination
from milopt.solving.engine import Answer


def answer_without_columns(form: StandardForm, tolerance: float) -> Answer:
    """Optimal with x = () and z = 0 if g lies in K up to `tolerance`, infeasible otherwise."""
    worst = 0.0
    for block in form.rows:
        part = form.g[block.start : block.stop]
        if block.cone is ZERO:
            violation = float(np.abs(part).max(initial=0.0))
        elif block.cone is NONNEGATIVE:
            violation = float((-part).max(initial=0.0))
        else:
            violation = float(np.linalg.norm(part[1:]) - part[0])
        worst = max(worst, violation)
    scale = 1.0 + float(np.abs(form.g).max(initial=0.0))
    if worst > tolerance * scale:
        return Answer(Termination.INFEASIBLE, "no columns, and a row does not hold")
    return Answer(Termination.OPTIMAL, "no columns", x=np.zeros(0), z=np.zeros(form.m))
