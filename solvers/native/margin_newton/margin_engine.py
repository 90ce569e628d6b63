"""Engine for margin programs, which starts from the answer of the last solve."""

from __future__ import annotations

import time
from collections.abc import Sequence

import numpy as np
import scipy.sparse as sp

from milopt.compilation.evaluation_form import EvaluationForm
from milopt.compilation.kernel_space import KernelSpace, Whitening
from milopt.compilation.status import Termination
from milopt.declaration.kernels.feature_rows import FeatureRows
from milopt.declaration.kernels.kernel import Linear
from milopt.solvers.native.margin_newton.margin_newton import MarginAnswer, solve_margin_program
from milopt.solvers.native.margin_newton.margin_pattern import MarginPattern, has_few_rows, margin_columns
from milopt.solving.form_engine import FormAnswer, FormEngine

TARGET_GAP_FRACTION, ACCEPTED_GAP_FRACTION = 1e-3, 0.1
"""Duality gaps at which the method stops, as fractions of the tolerance of the certificate.

The second applies if the method makes no progress, because of rounding errors.
"""

PATTERN_NAME = "a margin program"
"""Name of the pattern in `Result.form`."""


class MarginEngine(FormEngine):
    """Newton's method for margin programs, warm-started from the last answer if the groups are the same."""

    def __init__(self, tolerance: float) -> None:
        self._tolerance = tolerance
        self._last: tuple[MarginPattern, MarginAnswer] | None = None
        self._coordinates: tuple[KernelSpace | sp.csr_array, FeatureRows] | None = None
        """Last space without features, or its combinations of points, and the exact coordinates of these."""

    def solve(self, form: EvaluationForm, spaces: Sequence[KernelSpace], time_limit: float | None) -> FormAnswer | None:
        """Solve a form; None if it is not a margin program."""
        if len(spaces) != 1:
            return None
        if margin_columns(form) is None:
            return None
        pattern = MarginPattern.recognise(form, *self._features_of(form, spaces[0]))
        if pattern is None:
            return None
        answer = self._solve_program(pattern, time_limit)
        self._last = pattern, answer
        reason = f"duality gap {answer.gap:.1e} after {answer.newton_steps} Newton steps"
        if answer.gap <= self._tolerance:
            ended = Termination.OPTIMAL
        else:
            ended = Termination.LIMIT if answer.is_late else Termination.STALLED
        point = pattern.point(answer, spaces[0])
        return FormAnswer(ended, reason, point, answer.newton_steps, PATTERN_NAME)

    def _solve_program(self, pattern: MarginPattern, time_limit: float | None) -> MarginAnswer:
        """Solve from the last answer, and once more without it if the method stalls far from the optimum."""
        gaps = TARGET_GAP_FRACTION * self._tolerance, ACCEPTED_GAP_FRACTION * self._tolerance
        began, start = time.monotonic(), self._start_from_last_answer(pattern)
        answer = solve_margin_program(pattern.program, *gaps, start, time_limit)
        if start is None or answer.is_late or answer.gap <= self._tolerance:
            return answer
        left = None if time_limit is None else max(time_limit - (time.monotonic() - began), 0.0)
        again = solve_margin_program(pattern.program, *gaps, None, left)
        return again if again.gap < answer.gap else answer

    def _features_of(self, form: EvaluationForm, space: KernelSpace) -> tuple[FeatureRows, sp.csr_array]:
        """Return features, and the rows of the form as their combinations.

        If the kernel has no features, exact coordinates replace them: those of the rows if they are few, otherwise
        those of the points.
        """
        combinations = form.rows.E[0]
        if space.features is not None:
            return space.features, combinations
        if has_few_rows(form):
            if self._coordinates is None or self._coordinates[0] is not combinations:
                self._coordinates = combinations, FeatureRows(Linear(), space.combination_coordinates(combinations))
            return self._coordinates[1], sp.eye_array(form.rows.count, format="csr")
        if self._coordinates is None or self._coordinates[0] is not space:
            whitening, every = Whitening(space), np.arange(space.count)
            whitening.extend(every)
            self._coordinates = space, FeatureRows(Linear(), whitening.coordinates(every))
        return self._coordinates[1], combinations

    def _start_from_last_answer(self, pattern: MarginPattern) -> MarginAnswer | None:
        """Return the last answer if the new program has the same groups and the same features.

        Coordinates of other points or rows are other features, even if their number is the same.
        """
        if self._last is None:
            return None
        before, answer = self._last
        old, new = before.program, pattern.program
        if self._coordinates is not None and old.rows.features is not new.rows.features:
            return None
        same = old.rows.shape == new.rows.shape and np.array_equal(old.group_starts, new.group_starts)
        return answer if same and old.has_bias == new.has_bias else None
