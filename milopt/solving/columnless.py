"""Answers for programs without columns: there is nothing to choose, and only the rows must be checked."""

from __future__ import annotations

import numpy as np

from milopt.compilation.answer import Answer
from milopt.compilation.standard_form import StandardForm
from milopt.compilation.status import Termination
from milopt.compilation.violations import violations


def answer_without_columns(form: StandardForm, tolerance: float) -> Answer:
    """Return the empty point as optimal if the rows, which are the constants g, hold; "infeasible" otherwise.

    A row holds if its violation is at most `tolerance` times 1 + the largest absolute constant.
    """
    scale = 1.0 + float(np.abs(form.g).max(initial=0.0))
    if float(violations(form, form.g).max(initial=0.0)) > tolerance * scale:
        return Answer(Termination.INFEASIBLE, "no columns, and a row does not hold")
    return Answer(Termination.OPTIMAL, "no columns", x=np.zeros(0), z=np.zeros(form.m))
