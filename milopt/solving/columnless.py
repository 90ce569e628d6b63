"""A program without columns: nothing to choose, so its rows hold or they do not."""

from __future__ import annotations

import numpy as np

from milopt.compilation.answer import Answer
from milopt.compilation.standard_form import StandardForm
from milopt.compilation.status import Termination
from milopt.compilation.violations import violations


def answer_without_columns(form: StandardForm, tolerance: float) -> Answer:
    """Return x = () and z = 0 as optimal if g lies in K up to `tolerance`, and "infeasible" otherwise."""
    scale = 1.0 + float(np.abs(form.g).max(initial=0.0))
    if float(violations(form, form.g).max(initial=0.0)) > tolerance * scale:
        return Answer(Termination.INFEASIBLE, "no columns, and a row does not hold")
    return Answer(Termination.OPTIMAL, "no columns", x=np.zeros(0), z=np.zeros(form.m))
