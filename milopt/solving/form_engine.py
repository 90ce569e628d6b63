"""An engine for programs in evaluation form, for algorithms that use functions by their features.

A flat form (`milopt.solving.engine`) contains a function by its coordinates or by its Gram matrix. An algorithm that
needs neither solves the evaluation form itself, with all of its rows.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass

from milopt.compilation.compiled_form import PrimalDualPoint
from milopt.compilation.evaluation_form import EvaluationForm
from milopt.compilation.kernel_space import KernelSpace
from milopt.compilation.status import Termination


@dataclass(frozen=True)
class FormAnswer:
    """Answer of a form engine; milopt certifies the point afterwards."""

    termination: Termination
    raw_status: str
    point: PrimalDualPoint
    """Point with the multipliers of all rows."""
    iterations: int
    reason: str
    """Why the engine was used, such as the pattern that it found."""


class FormEngine(ABC):
    """Solver of evaluation forms of one pattern, which may keep its last answer for a warm start."""

    @abstractmethod
    def solve(self, form: EvaluationForm, spaces: Sequence[KernelSpace], time_limit: float | None) -> FormAnswer | None:
        """Solve a form.

        Parameters
        ----------
        form : EvaluationForm
            Program to solve.
        spaces : sequence of KernelSpace
            Points and kernel values of the functions of the form.
        time_limit : float or None
            Time limit in seconds; None for no limit.

        Returns
        -------
        FormAnswer or None
            Answer; None if the form does not have the pattern.
        """
