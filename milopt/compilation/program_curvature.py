"""Convexity of a declared program's quadratic objective, judged only if that is cheap."""

from __future__ import annotations

import numpy as np

from milopt.compilation.compile_program import compile_form
from milopt.compilation.curvature import ConvexityVerdict, judge_convexity, nonconvex_terms
from milopt.compilation.evaluation_form import EvaluationForm
from milopt.compilation.lowering_attempt import count_touched_points, try_lower
from milopt.declaration.programs.program import Program

MAX_EXAMINED_POINTS = 2000
"""Largest number of points and columns in total for which kernels and eigenvalues are computed to judge convexity."""


def judge_program_convexity(program: Program) -> ConvexityVerdict:
    """Judge the convexity of a program's quadratic objective.

    The objective is convex if each of its terms is convex, or if their sum is convex. With more than
    `MAX_EXAMINED_POINTS` points and columns the sum is not computed, and the verdict is "not convex" with the
    eigenvalue NaN. A program that `try_lower` does not lower counts as convex.
    """
    return judge_form_convexity(try_lower(program).form)


def judge_form_convexity(form: EvaluationForm | None) -> ConvexityVerdict:
    """Judge the convexity of an evaluation form's objective, as `program_curvature` does; None counts as convex."""
    terms = nonconvex_terms(form) if form is not None else ()
    if form is None or not terms:
        return ConvexityVerdict(True, 0.0)
    if count_touched_points(form) + form.n > MAX_EXAMINED_POINTS:
        return ConvexityVerdict(False, float("nan"), terms)
    return judge_convexity(form, compile_form(form, "primal", np.arange(form.rows.count)).form)


def nonconvexity_reason(verdict: ConvexityVerdict) -> str:
    """Return the reason why an objective is not (or may not be) convex; empty if it is convex."""
    if verdict.convex:
        return ""
    if np.isnan(verdict.smallest):
        return (
            f"The objective may not be convex (non-convex terms: {', '.join(verdict.terms)}); it is too large to check."
        )
    return verdict.reason()
