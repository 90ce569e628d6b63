"""Engine for margin programs, which starts from the answer of the last solve."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from milopt.compilation.evaluation_form import EvaluationForm
from milopt.compilation.kernel_space import KernelSpace, Whitening
from milopt.compilation.status import Termination
from milopt.declaration.kernels.feature_rows import FeatureRows
from milopt.declaration.kernels.kernel import Linear
from milopt.solvers.native.margin_newton.margin_newton import MarginAnswer, solve_margin_program
from milopt.solvers.native.margin_newton.margin_pattern import MarginPattern, margin_columns
from milopt.solving.form_engine import FormAnswer, FormEngine

GAP_SHARE, ACCEPTED_SHARE = 1e-3, 0.1
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
        self._coordinates: tuple[KernelSpace, FeatureRows] | None = None
        """Last space without features, and the exact coordinates of its points."""

    def solve(self, form: EvaluationForm, spaces: Sequence[KernelSpace], time_limit: float | None) -> FormAnswer | None:
        """Solve a form; None if it is not a margin program."""
        if len(spaces) != 1:
            return None
        if margin_columns(form) is None:
            return None
        features = self._features_of(spaces[0])
        pattern = MarginPattern.of(form, features)
        if pattern is None:
            return None
        answer = solve_margin_program(
            pattern.program,
            GAP_SHARE * self._tolerance,
            ACCEPTED_SHARE * self._tolerance,
            self._start_from_last_answer(pattern),
            time_limit,
        )
        self._last = pattern, answer
        reason = f"duality gap {answer.gap:.1e} after {answer.newton_steps} Newton steps"
        if answer.gap <= self._tolerance:
            ended = Termination.OPTIMAL
        else:
            ended = Termination.LIMIT if answer.is_late else Termination.STALLED
        point = pattern.point(answer, spaces[0])
        return FormAnswer(ended, reason, point, answer.newton_steps, PATTERN_NAME)

    def _features_of(self, space: KernelSpace) -> FeatureRows:
        """Return the features of the points of a function, or their exact coordinates if the kernel has no features."""
        if space.features is not None:
            return space.features
        if self._coordinates is None or self._coordinates[0] is not space:
            whitening, every = Whitening(space), np.arange(space.count)
            whitening.extend(every)
            self._coordinates = space, FeatureRows(Linear(), whitening.coordinates(every))
        return self._coordinates[1]

    def _start_from_last_answer(self, pattern: MarginPattern) -> MarginAnswer | None:
        """Return the last answer if the new program has the same groups and the same number of features."""
        if self._last is None:
            return None
        before, answer = self._last
        old, new = before.program, pattern.program
        same = old.rows.shape == new.rows.shape and np.array_equal(old.starts, new.starts)
        return answer if same and old.has_bias == new.has_bias else None
