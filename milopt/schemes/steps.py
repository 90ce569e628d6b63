"""What alternating schemes share: selections at a point, how they differ, what is kept, totals over all steps."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from milopt.compilation.evaluation_form import Index
from milopt.compilation.minorant import Selections
from milopt.compilation.quadratic import Vector
from milopt.declaration.atoms.atom import Selecting
from milopt.declaration.atoms.segments import Segments
from milopt.outcome.outcome import Outcome
from milopt.outcome.point_values import PointValues
from milopt.outcome.result import Result
from milopt.outcome.status import PointStatus, Termination

TIE_TOLERANCE = 1e-9
"""Values that differ from the maximum of their bag by less, relative to 1 + the largest magnitude of all, are tied."""


def selections(values: PointValues, atoms: list[Selecting]) -> Selections:
    """Return the argmax of each maximum at a point; the smallest flat index of those that are tied.

    Several rows of a bag are often active at an optimum. Their values are then equal up to rounding, which depends on
    the processor.
    """
    return {atom: _tied_argmax(atom.segments, values.inner(atom)) for atom in atoms}


def _tied_argmax(over: Segments, values: Vector) -> Index:
    slack = TIE_TOLERANCE * (1.0 + float(np.abs(values).max(initial=0.0)))
    tied = values >= np.repeat(over.max(values), over.sizes) - slack
    return over.argmax(tied.astype(np.float64))


def kept_status(outcome: Outcome, ended: Termination) -> PointStatus:
    """A point is certified only where the scheme came to its end: a fixed point, or a proved optimum."""
    settled = ended in (Termination.STATIONARY, Termination.OPTIMAL)
    return PointStatus.FEASIBLE if outcome.status is PointStatus.CERTIFIED and not settled else outcome.status


def differences(new: Selections, old: Selections | None) -> int:
    """How many witnesses changed."""
    if old is None:
        return sum(len(atom.segments) for atom in new)
    return int(sum((new[atom] != old[atom]).sum() for atom in new))


def named(chosen: Selections) -> dict[str, Index]:
    """Selections by what their maxima are called; equal names are numbered."""
    result: dict[str, Index] = {}
    for atom, index in chosen.items():
        name, number = atom.describe(), 2
        while name in result:
            name, number = f"{atom.describe()} ({number})", number + 1
        result[name] = index
    return result


class Totals:
    """Iterations, logs and notes over all steps; their seconds are in `clock.work`."""

    def __init__(self) -> None:
        self.iterations, self.log = 0, ""
        self.notes: list[str] = []

    def add(self, outcome: Outcome) -> None:
        """Count a step."""
        self.iterations += outcome.iterations
        self.log += outcome.log
        if outcome.status is PointStatus.CERTIFIED and outcome.message and outcome.message not in self.notes:
            self.notes.append(outcome.message)

    def add_result(self, result: Result) -> None:
        """Count all that another scheme did."""
        self.iterations += result.iterations
        self.log = result.log + self.log

    def noted(self, message: str) -> str:
        """How the scheme ended, and what its steps had to say (such as a form that had to be left)."""
        return " ".join(part for part in (message, *self.notes) if part)

    def into(self, outcome: Outcome) -> Outcome:
        """The outcome with the totals of the whole scheme; its bound is the last step's alone, so it goes."""
        return replace(outcome, iterations=self.iterations, log=self.log, bound=None)
