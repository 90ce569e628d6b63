"""Is a declared program's quadratic objective convex? Judged where it costs little."""

from __future__ import annotations

import numpy as np

from milopt.compilation.compile_program import compile_form
from milopt.compilation.curvature import Curvature, bending_terms, curvature
from milopt.compilation.evaluation_form import EvaluationForm
from milopt.compilation.lowered import lowered, touched_points
from milopt.declaration.programs.program import Program

MAX_EXAMINED_POINTS = 2000
"""Points over which kernels are evaluated, and columns over which eigenvalues are computed, for a look."""


def verdict(program: Program) -> Curvature:
    """Convex when every term is, or their sum; a sum too large to judge counts as not convex, eigenvalue NaN."""
    return form_verdict(lowered(program).form)


def form_verdict(form: EvaluationForm | None) -> Curvature:
    """The verdict on a lowered program; convex if there is no form to judge."""
    terms = bending_terms(form) if form is not None else ()
    if form is None or not terms:
        return Curvature(True, 0.0)
    if touched_points(form) + form.n > MAX_EXAMINED_POINTS:
        return Curvature(False, float("nan"), terms)
    return curvature(form, compile_form(form, "coordinates", np.arange(form.rows.count)).form)


def sentence(found: Curvature) -> str:
    """The verdict in words; empty when convex."""
    if found.convex:
        return ""
    if np.isnan(found.smallest):
        return f"The objective may not be convex: {', '.join(found.terms)} bends down; too large to judge here."
    return found.reason()
