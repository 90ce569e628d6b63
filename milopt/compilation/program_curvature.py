"""Convexity of the quadratic objective of a declared program, judged with kernel values only if that is cheap."""

from __future__ import annotations

import numpy as np

from milopt.compilation.compile_program import compile_form
from milopt.compilation.curvature import ConvexityVerdict, judge_convexity, nonconvex_terms
from milopt.compilation.evaluation_form import EvaluationForm
from milopt.compilation.lowering_attempt import count_used_points, try_lower
from milopt.declaration.programs.program import Program

MAX_EXAMINED_POINTS = 2000
"""Largest sum of the numbers of points and columns for which eigenvalues are computed to judge convexity."""


def judge_program_convexity(program: Program) -> ConvexityVerdict:
    """Judge whether the quadratic objective of a program is convex.

    The objective is convex if each of its terms is convex, or if their sum is convex. For more than
    `MAX_EXAMINED_POINTS` points and columns, the sum is not computed: if a term is not convex, the verdict is then "not
    convex" with the eigenvalue NaN. The verdict on a program that `try_lower` does not lower is "convex".
    """
    return judge_form_convexity(try_lower(program).form)


def judge_form_convexity(form: EvaluationForm | None) -> ConvexityVerdict:
    """Judge the convexity of an evaluation form's objective as `judge_program_convexity` does; None is "convex"."""
    terms = nonconvex_terms(form) if form is not None else ()
    if form is None or not terms:
        return ConvexityVerdict(True, 0.0)
    if count_used_points(form) + form.n > MAX_EXAMINED_POINTS:
        return ConvexityVerdict(False, float("nan"), terms)
    return judge_convexity(form, compile_form(form, "primal", np.arange(form.rows.count)).form)


def nonconvexity_reason(verdict: ConvexityVerdict) -> str:
    """Return one sentence on why an objective is not, or may not be, convex; an empty string if it is convex."""
    if verdict.convex:
        return ""
    if np.isnan(verdict.smallest):
        return (
            f"The objective may not be convex (non-convex terms: {', '.join(verdict.terms)}); it is too large to check."
        )
    return verdict.reason()
