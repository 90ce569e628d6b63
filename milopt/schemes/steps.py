"""Helpers of alternating schemes: selections at a point, differences, final status, and totals over all steps."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from milopt.arrays import Index, Vector
from milopt.compilation.minorant import Selections
from milopt.compilation.status import PointStatus, Termination
from milopt.declaration.atoms.atom import SelectionAtom
from milopt.declaration.atoms.segments import Segments
from milopt.outcome.outcome import Outcome
from milopt.outcome.point_values import PointValues
from milopt.outcome.result import Result

TIE_TOLERANCE = 1e-9
"""Values within this distance of the maximum of their bag, relative to 1 + the largest magnitude of all, are tied."""


def select_largest_values(values: PointValues, atoms: list[SelectionAtom]) -> Selections:
    """Return, for each maximum, the index of the instance with the largest value in each bag; the first if several tie.

    At an optimum, several rows of a bag are often active. Their values are then equal up to rounding, which depends on
    the processor. Therefore values within `TIE_TOLERANCE` of the maximum count as tied.
    """
    return {atom: _first_tied_argmax(atom.segments, values.argument_values(atom)) for atom in atoms}


def _first_tied_argmax(over: Segments, values: Vector) -> Index:
    """Return the first instance of each bag `over` whose value ties with the maximum (see `TIE_TOLERANCE`)."""
    slack = TIE_TOLERANCE * (1.0 + float(np.abs(values).max(initial=0.0)))
    tied = values >= np.repeat(over.max(values), over.sizes) - slack
    return over.argmax(tied.astype(np.float64))


def final_status(outcome: Outcome, ended: Termination) -> PointStatus:
    """Return the status of a scheme's point, given the outcome of its last step and how the scheme ended.

    A certified step counts only as feasible unless the scheme ended as stationary or optimal.
    """
    settled = ended in (Termination.STATIONARY, Termination.OPTIMAL)
    return PointStatus.FEASIBLE if outcome.status is PointStatus.CERTIFIED and not settled else outcome.status


def count_differences(new: Selections, old: Selections | None) -> int:
    """Return the number of witnesses that differ; the number of all witnesses if `old` is None."""
    if old is None:
        return sum(len(atom.segments) for atom in new)
    return int(sum((new[atom] != old[atom]).sum() for atom in new))


def witnesses_by_name(chosen: Selections) -> dict[str, Index]:
    """Return the instance index of each bag by the description of the maximum; equal descriptions are numbered."""
    result: dict[str, Index] = {}
    for atom, index in chosen.items():
        name, number = atom.describe(), 2
        while name in result:
            name, number = f"{atom.describe()} ({number})", number + 1
        result[name] = index
    return result


class StepTotals:
    """Iterations, logs and notes summed over all steps; the seconds are in `clock.work`."""

    def __init__(self) -> None:
        self.iterations, self.log = 0, ""
        self.notes: list[str] = []

    def add(self, outcome: Outcome) -> None:
        """Add the iterations and the log of a step, and its message as a note if the step is certified."""
        self.iterations += outcome.iterations
        self.log += outcome.log
        if outcome.status is PointStatus.CERTIFIED and outcome.message and outcome.message not in self.notes:
            self.notes.append(outcome.message)

    def add_result(self, result: Result) -> None:
        """Add the iterations and the log of another scheme's result."""
        self.iterations += result.iterations
        self.log = result.log + self.log

    def with_notes(self, message: str) -> str:
        """Return the message followed by the notes of the steps, such as a change of the form."""
        return " ".join(part for part in (message, *self.notes) if part)

    def apply_to(self, outcome: Outcome) -> Outcome:
        """Return the outcome with the totals of the scheme, and without its bound, which holds for one step only."""
        return replace(outcome, iterations=self.iterations, log=self.log, bound=None)
