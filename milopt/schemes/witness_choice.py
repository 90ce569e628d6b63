"""Choose the witnesses at a point, without leaving ties to rounding errors.

The witness of a bag is an instance at which the function is largest. With e, the values of all instances inside the
maximum, all instances within `tolerance (1 + max |e|)` of the largest value of their bag tie, because a certificate
proves values no better. Among them the witness is the one with the largest ridge score (see `ridge_scores`), then the
first after sorting the features of the instances lexicographically. If a function vanishes, that is, if it is constant
on every bag to within `tolerance (1 + max |e|)` or its certified error, all instances tie.

The certified error of a function f follows from a term  1/2 r ||f||^2  in the objective: if the objective is within d
of the optimum, then ||f - f*|| <= sqrt(2 d / r), where f* is the optimal function. So a difference between two values
of f within a bag has an error of at most  2 sqrt(2 d / r) max_x sqrt(K(x, x)).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from milopt.arrays import Index, Points, Vector
from milopt.compilation.minorant import Selections
from milopt.declaration.atoms.atom import SelectionAtom
from milopt.declaration.atoms.segments import Segments
from milopt.declaration.programs.leaves import FunctionEvaluation
from milopt.declaration.programs.program import Program
from milopt.outcome.outcome import Outcome
from milopt.outcome.point_values import PointValues
from milopt.schemes.ridge_scores import instance_features, ridge_scores
from milopt.solving.step_session import StepSession

MAX_NEGLIGIBLE_DIFFERENCE = 1e-3
"""A function does not vanish if its values within a bag differ by more than this times 1 + its largest value."""
SCORE_TIE_FRACTION = 1e-9
"""Ridge scores that differ by less than this fraction of their range tie."""


@dataclass(frozen=True)
class WitnessSelection:
    """Witnesses chosen at a point."""

    witnesses: Selections
    plain: Selections
    """Witnesses by the values alone: the first instance with exactly the largest value of its bag."""
    vanished: bool
    """Whether the function is constant on every bag to within its certified error."""

    @classmethod
    def choose_by_values(cls, values: PointValues, atoms: list[SelectionAtom]) -> WitnessSelection:
        """Choose by the values alone: the first of the instances with exactly the largest value of their bag."""
        plain = {atom: atom.segments.argmax(values.argument_values(atom)) for atom in atoms}
        return cls(plain, plain, vanished=False)

    @property
    def is_chosen_by_values_alone(self) -> bool:
        """Whether the witnesses are those chosen by the values alone."""
        return all(np.array_equal(self.witnesses[atom], self.plain[atom]) for atom in self.plain)


class WitnessChooser:
    """Choice of witnesses for the maxima of one program; ridge scores are computed when a tie first needs them."""

    def __init__(self, program: Program, atoms: list[SelectionAtom], tolerance: float) -> None:
        self._program = program
        self._atoms = atoms
        self._tolerance = tolerance
        self._features: dict[SelectionAtom, Points] = {}
        self._scores: dict[SelectionAtom, Vector] = {}

    def choose(self, session: StepSession, outcome: Outcome) -> WitnessSelection:
        """Return the witnesses at the point of an outcome."""
        values = PointValues(session.lowering, outcome)
        inner = {atom: values.argument_values(atom) for atom in self._atoms}
        plain = {atom: atom.segments.argmax(e) for atom, e in inner.items()}
        several = {atom: e for atom, e in inner.items() if (atom.segments.sizes > 1).any()}
        vanished = bool(several) and all(
            _is_constant_on_bags(session, outcome, atom, e, self._tolerance) for atom, e in several.items()
        )
        chosen: Selections = {}
        for atom, e in inner.items():
            room = np.inf if vanished else self._tolerance * (1.0 + float(np.abs(e).max(initial=0.0)))
            chosen[atom] = self._break_ties(atom, e, plain[atom], room)
        return WitnessSelection(chosen, plain, vanished)

    def _break_ties(self, atom: SelectionAtom, e: Vector, plain: Index, room: float) -> Index:
        """Return one witness per bag, chosen among the instances within `room` of the largest value of their bag.

        `e`: values of all instances; `plain`: for each bag, the index of its largest value.
        """
        bags, chosen = atom.segments, plain.copy()
        ties = e >= (e[plain] - room)[bags.run_of_entry]
        pending = _bags_with_ties(bags, ties)
        if not pending.size:
            return plain
        if atom not in self._features:
            self._features[atom] = instance_features(atom)
        features = self._features[atom]
        if atom in self._scores or any(_has_differences(features, _tied_instances(bags, bag, ties)) for bag in pending):
            scores = self._ridge_scores(atom)
            best = bags.max(np.where(ties, scores, -np.inf)) - SCORE_TIE_FRACTION * float(np.ptp(scores))
            ties &= scores >= best[bags.run_of_entry]
            chosen[pending] = bags.argmax(np.where(ties, scores, -np.inf))[pending]
            pending = _bags_with_ties(bags, ties)
        for bag in pending:
            places = _tied_instances(bags, bag, ties)
            # Without features, as in a maximum over other atoms only, the first instance is chosen.
            first = np.lexsort(_dense_rows(features, places).T[::-1])[0] if features.shape[1] else 0
            chosen[bag] = places[first]
        return chosen

    def _ridge_scores(self, atom: SelectionAtom) -> Vector:
        """Return the ridge scores of the instances in the maximum `atom`, which are cached."""
        if atom not in self._scores:
            self._scores[atom] = ridge_scores(self._program, atom, self._features[atom])
        return self._scores[atom]


def _bags_with_ties(bags: Segments, ties: npt.NDArray[np.bool_]) -> Index:
    """Return the bags in which several instances tie."""
    return np.flatnonzero(bags.sum(ties.astype(np.float64)) > 1)


def _tied_instances(bags: Segments, bag: int, ties: npt.NDArray[np.bool_]) -> Index:
    """Return the indices of the instances of a bag that tie."""
    first = int(bags.offsets[bag])
    return first + np.flatnonzero(ties[first : int(bags.offsets[bag + 1])])


def _has_differences(features: Points, places: Index) -> bool:
    """Return True unless the instances at these indices all have the same features."""
    rows = _dense_rows(features, places)
    return bool((rows != rows[0]).any())


def _is_constant_on_bags(
    session: StepSession, outcome: Outcome, atom: SelectionAtom, e: Vector, tolerance: float
) -> bool:
    """Return True if the argument e of a maximum is constant on every bag, up to an error.

    The error is the larger of `tolerance`, relative to 1 + max |e|, and the certified error of differences of e.
    Differences above `MAX_NEGLIGIBLE_DIFFERENCE`, relative to 1 + max |e|, are never neglected.
    """
    spread = float((atom.segments.max(e) + atom.segments.max(-e)).max())
    scale = 1.0 + float(np.abs(e).max())
    if spread > MAX_NEGLIGIBLE_DIFFERENCE * scale:
        return False
    return spread <= max(tolerance * scale, _difference_error_bound(session, outcome, atom))


def _difference_error_bound(session: StepSession, outcome: Outcome, atom: SelectionAtom) -> float:
    """Return the certified error of differences between instances of a bag (see the module docstring).

    Return 0 without a certificate, or if a function of the maximum has no term ||f||^2 in the objective.
    """
    if outcome.certificate is None:
        return 0.0
    off = outcome.certificate.gap * (1.0 + abs(outcome.objective))
    total = 0.0
    for leaf, coefficient in atom.argument.terms:
        place = (
            session.lowering.affine.free_function_index(leaf.function) if isinstance(leaf, FunctionEvaluation) else None
        )
        if place is None or not isinstance(leaf, FunctionEvaluation):
            continue
        ridge = outcome.form.objective.ridge[place]
        if ridge <= 0:
            return 0.0
        longest = float(np.sqrt(leaf.function.kernel.diagonal(leaf.points).max(initial=0.0)))
        total += 2.0 * np.sqrt(2.0 * off / ridge) * longest * float(np.abs(coefficient.value().data).max(initial=0.0))
    return total


def _dense_rows(features: Points, places: Index) -> npt.NDArray[np.float64]:
    """Return the rows `places` of the features as a dense array."""
    rows = features[places]
    return rows.toarray() if isinstance(rows, sp.csr_array) else np.asarray(rows)
