"""Answers to forms without columns: the only point is the empty one, and only the rows must be checked."""

from __future__ import annotations

import numpy as np

from milopt.compilation.answer import Answer
from milopt.compilation.standard_form import StandardForm
from milopt.compilation.status import Termination
from milopt.compilation.violations import violations


def answer_without_columns(form: StandardForm, tolerance: float) -> Answer:
    """Return the answer to a form without columns: optimal if its rows, the constants g, hold; otherwise infeasible.

    The optimal point is empty. A row holds if its violation is at most `tolerance` times 1 + the largest absolute
    constant.
    """
    scale = 1.0 + float(np.abs(form.g).max(initial=0.0))
    if float(violations(form, form.g).max(initial=0.0)) > tolerance * scale:
        return Answer(Termination.INFEASIBLE, "no columns, and a row does not hold")
    return Answer(Termination.OPTIMAL, "no columns", x=np.zeros(0), z=np.zeros(form.m))
