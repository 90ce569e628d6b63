"""Choice of the form in which a solver gets the functions of a program, by cost, with the reason in words.

    features        columns are the weights of the features of the kernels; the cost is linear in the number of points
    touched points  columns are coordinates in the span of the points that occur in the rows
    dual            columns are the multipliers of the rows, with kernel values between the rows

If every kernel has features and there are at most half as many features as rows, the features are the smallest form.
Otherwise the dual form is used if the solver prefers it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from milopt.arrays import Index
from milopt.compilation.dual_form import dual_unsupported_reason
from milopt.compilation.evaluation_form import EvaluationForm
from milopt.compilation.kernel_space import Coordinates, FeatureCoordinates, KernelSpace, Whitening
from milopt.declaration.programs.sparse import row_lengths
from milopt.errors import UnsupportedError

MAX_FEATURES_PER_ROW = 0.5
"""Largest number of features per row for which features are the coordinates."""


@dataclass(frozen=True)
class FormRequest:
    """Form that the options and the solver request."""

    form: str
    """Option `form`: "auto", "primal" or "dual"."""
    prefers_dual: bool
    """Whether the solver prefers the dual form to coordinates over touched points."""
    requires_dual: bool
    """Whether the solver needs the dual form of this program."""
    supports_nonconvex: bool
    """Whether the solver finds stationary points of non-convex programs."""


@dataclass(frozen=True)
class FormChoice:
    """Chosen form of a program."""

    uses_dual: bool
    uses_features: bool
    """Whether the coordinates of points, if the form has any, are the features of the kernels."""
    reason: str
    """The form and why it was chosen; empty if the program has no functions."""

    def without_dual_reason(self) -> str:
        """Return the form and its reason if the dual form failed, or shows nothing about the program."""
        return f"{_coordinates_name(self.uses_features)} (the dual form gave no answer)" if self.reason else ""

    def coordinates(self, spaces: Sequence[KernelSpace]) -> list[Coordinates]:
        """Return the coordinates of the points of each function."""
        return [
            FeatureCoordinates(space, space.features)
            if self.uses_features and space.features is not None
            else Whitening(space)
            for space in spaces
        ]


def choose_form(form: EvaluationForm, active: Index, request: FormRequest) -> FormChoice:
    """Return the form of the `active` rows for a solver (see the module docstring).

    Raises
    ------
    UnsupportedError
        If the dual form is requested and the program has none.
    """
    rows, features = count_function_rows(form, active), count_features(form)
    few = features is not None and features <= MAX_FEATURES_PER_ROW * rows
    size = "" if features is None else f"{features} features, {rows} rows"
    if not form.spaces:
        if request.form == "dual":
            _require_dual(form, request)
            return FormChoice(True, False, "")
        return FormChoice(False, False, "")
    if request.form == "primal":
        return _coordinates_choice(few, size, "requested")
    if request.form == "dual":
        _require_dual(form, request)
        return FormChoice(True, few, "dual (requested)")
    reason = dual_unsupported_reason(form, request.supports_nonconvex)
    if reason is None and request.requires_dual:
        words = "the kernel has no features" if features is None else "the solver requires it"
        return FormChoice(True, few, f"dual ({words})")
    if few:
        return _coordinates_choice(few, size, "at most half as many features as rows")
    if reason is not None:
        return _coordinates_choice(few, size, "the program has no dual form of this kind")
    if request.prefers_dual:
        return FormChoice(True, few, f"dual ({size or 'the kernel has no features'})")
    touched = sum(np.unique(e.indices).size for e in form.rows.take(active).E)
    # With many more points than rows, the factorisation of the primal form would cost more than the dual form.
    if touched > 2 * active.size:
        return FormChoice(True, few, f"dual ({touched} points, {active.size} rows)")
    return _coordinates_choice(few, size, f"{touched} points, {active.size} rows")


def count_function_rows(form: EvaluationForm, active: Index) -> int:
    """Return the number of active rows and of rows of squares in which functions occur."""
    parts = [form.rows.take(active), *(square.rows for square in form.objective.squares)]
    return sum(int(np.any([row_lengths(e) > 0 for e in rows.E], axis=0).sum()) for rows in parts if rows.E)


def count_features(form: EvaluationForm) -> int | None:
    """Return the number of features of all functions together; None if there are none, or one function has none.

    Functions that the program does not evaluate at any point do not count.
    """
    total = 0
    for space in form.spaces:
        if not space.count:
            continue
        first = next(points[:1] for points in space.points if points.shape[0])
        features = space.function.kernel.features(first) if space.function.kernel.has_features else None
        if features is None:
            return None
        total += int(features.shape[1])
    return total or None


def _coordinates_choice(few: bool, size: str, reason: str) -> FormChoice:
    """Return the choice of coordinates: features if there are few of them, otherwise over touched points."""
    return FormChoice(False, few, f"{_coordinates_name(few)} ({', '.join(part for part in (size, reason) if part)})")


def _coordinates_name(uses_features: bool) -> str:
    """Return the name of a form whose columns are coordinates."""
    return "features" if uses_features else "touched points"


def _require_dual(form: EvaluationForm, request: FormRequest) -> None:
    """Raise `UnsupportedError` if the program has no dual form."""
    reason = dual_unsupported_reason(form, request.supports_nonconvex)
    if reason is not None:
        raise UnsupportedError(reason)
