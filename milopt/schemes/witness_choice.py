"""Choose the witnesses at a point, without leaving ties to rounding errors.

The witness of a bag is an instance at which the function is largest. All instances within `tolerance (1 + max |e|)` of
that value tie, because a certificate proves values no better. Among them the witness is the one with the largest ridge
score (see `ridge_scores`), then the first after sorting the rows of the bag lexicographically. On a function that
vanishes, that is one that is constant on every bag to within its certified error, all instances tie.

The certified error of a function: with  1/2 r ||f||^2  in the objective, a point whose objective is within e of the
optimum has ||f - f*|| <= sqrt(2 e / r), so that its differences within a bag are off by at most
2 sqrt(2 e / r) max_x sqrt(K(x, x)).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from milopt.arrays import Index, Points, Vector
from milopt.compilation.minorant import Selections
from milopt.declaration.atoms.atom import Selecting
from milopt.declaration.atoms.segments import Segments
from milopt.declaration.programs.leaves import Evaluation
from milopt.declaration.programs.program import Program
from milopt.outcome.outcome import Outcome
from milopt.outcome.point_values import PointValues
from milopt.schemes.ridge_scores import instance_features, ridge_scores
from milopt.solving.step_session import StepSession

LARGEST_VANISHING = 1e-3
"""A larger difference within a bag, beside 1 + max |e|, is not taken for an error, whatever the certificate proves."""
EQUAL_SCORES = 1e-9
"""Ridge scores that differ by less than this share of their range tie."""


@dataclass(frozen=True)
class Choice:
    """Witnesses at a point."""

    witnesses: Selections
    plain: Selections
    """The argmax of every bag by the values alone."""
    vanished: bool
    """Whether the function is constant on every bag to within its certified error."""

    @classmethod
    def by_values(cls, values: PointValues, atoms: list[Selecting]) -> Choice:
        """Choose by the values alone, the first of the instances that tie."""
        plain = {atom: atom.segments.argmax(values.inner(atom)) for atom in atoms}
        return cls(plain, plain, vanished=False)

    @property
    def is_plain(self) -> bool:
        """Whether no tie was decided otherwise than by the values alone."""
        return all(np.array_equal(self.witnesses[atom], self.plain[atom]) for atom in self.plain)


class WitnessChoice:
    """Chooses witnesses for the maxima of one program; ridge scores are computed when a tie first needs them."""

    def __init__(self, program: Program, atoms: list[Selecting], tolerance: float) -> None:
        self._program = program
        self._atoms = atoms
        self._tolerance = tolerance
        self._features: dict[Selecting, Points] = {}
        self._scores: dict[Selecting, Vector] = {}

    def at(self, session: StepSession, outcome: Outcome) -> Choice:
        """Choose at the point of an outcome."""
        values = PointValues(session.lowering, outcome)
        inner = {atom: values.inner(atom) for atom in self._atoms}
        plain = {atom: atom.segments.argmax(e) for atom, e in inner.items()}
        several = {atom: e for atom, e in inner.items() if (atom.segments.sizes > 1).any()}
        vanished = bool(several) and all(
            _vanishes(session, outcome, atom, e, self._tolerance) for atom, e in several.items()
        )
        chosen: Selections = {}
        for atom, e in inner.items():
            room = np.inf if vanished else self._tolerance * (1.0 + float(np.abs(e).max(initial=0.0)))
            chosen[atom] = self._untied(atom, e, plain[atom], room)
        return Choice(chosen, plain, vanished)

    def _untied(self, atom: Selecting, e: Vector, plain: Index, room: float) -> Index:
        """Choose among the instances within `room` of the largest value of their bag."""
        bags, chosen = atom.segments, plain.copy()
        ties = e >= (e[plain] - room)[bags.of]
        pending = _with_several(bags, ties)
        if not pending.size:
            return plain
        if atom not in self._features:
            self._features[atom] = instance_features(atom)
        features = self._features[atom]
        if atom in self._scores or any(_differ(features, _within(bags, bag, ties)) for bag in pending):
            scores = self._ridge_scores(atom)
            best = bags.max(np.where(ties, scores, -np.inf)) - EQUAL_SCORES * float(np.ptp(scores))
            ties &= scores >= best[bags.of]
            chosen[pending] = bags.argmax(np.where(ties, scores, -np.inf))[pending]
            pending = _with_several(bags, ties)
        for bag in pending:
            places = _within(bags, bag, ties)
            # Without features, as in a maximum over other atoms only, the first instance is chosen.
            first = np.lexsort(_dense(features, places).T[::-1])[0] if features.shape[1] else 0
            chosen[bag] = places[first]
        return chosen

    def _ridge_scores(self, atom: Selecting) -> Vector:
        if atom not in self._scores:
            self._scores[atom] = ridge_scores(self._program, atom, self._features[atom])
        return self._scores[atom]


def _with_several(bags: Segments, ties: npt.NDArray[np.bool_]) -> Index:
    """Return the bags in which several instances tie."""
    return np.flatnonzero(bags.sum(ties.astype(np.float64)) > 1)


def _within(bags: Segments, bag: int, ties: npt.NDArray[np.bool_]) -> Index:
    """Return the places of the instances of a bag that tie."""
    first = int(bags.offsets[bag])
    return first + np.flatnonzero(ties[first : int(bags.offsets[bag + 1])])


def _differ(features: Points, places: Index) -> bool:
    """Return True unless the instances at these places are all equal."""
    rows = _dense(features, places)
    return bool((rows != rows[0]).any())


def _vanishes(session: StepSession, outcome: Outcome, atom: Selecting, e: Vector, tolerance: float) -> bool:
    """Whether what is inside a maximum is constant on every bag to within its certified error."""
    spread = float((atom.segments.max(e) + atom.segments.max(-e)).max())
    scale = 1.0 + float(np.abs(e).max())
    if spread > LARGEST_VANISHING * scale:
        return False
    return spread <= max(tolerance * scale, _certified_error(session, outcome, atom))


def _certified_error(session: StepSession, outcome: Outcome, atom: Selecting) -> float:
    """Bound the error of differences within a bag (see the module); 0 if the objective bounds none."""
    if outcome.certificate is None:
        return 0.0
    off = outcome.certificate.gap * (1.0 + abs(outcome.objective))
    total = 0.0
    for leaf, coefficient in atom.argument.terms:
        place = session.lowering.linear.place_of(leaf.function) if isinstance(leaf, Evaluation) else None
        if place is None or not isinstance(leaf, Evaluation):
            continue
        ridge = outcome.form.objective.ridge[place]
        if ridge <= 0:
            return 0.0
        longest = float(np.sqrt(leaf.function.kernel.diagonal(leaf.points).max(initial=0.0)))
        total += 2.0 * np.sqrt(2.0 * off / ridge) * longest * float(np.abs(coefficient.value().data).max(initial=0.0))
    return total


def _dense(features: Points, places: Index) -> npt.NDArray[np.float64]:
    rows = features[places]
    return rows.toarray() if isinstance(rows, sp.csr_array) else np.asarray(rows)
