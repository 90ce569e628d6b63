"""Check of the epigraph t >= atom(e) of an atom: the minimal t is the value, and the multipliers give slopes."""

from __future__ import annotations

import numpy as np

from milopt.arrays import Vector
from milopt.declaration.atoms.atom import Atom
from milopt.testing.atom_error import SOLVER_TOLERANCE, fail, format_point, require_equal
from milopt.testing.atom_minorant import require_minorant
from milopt.testing.atom_samples import AtomSamples
from milopt.testing.epigraph_program import EpigraphMinimum, EpigraphProgram

MAX_EPIGRAPH_RISE = 5.0
"""Maximum by which the check raises the epigraph variable t above the value of the atom."""


def check_epigraph(atom: Atom, samples: AtomSamples, inside: list[Vector]) -> None:
    """Check the epigraph at random points with finite slopes, for all runs of the argument and for some of the runs.

    A run is the part of the argument that one entry of the atom depends on (see `Segments`). `inside` are points of the
    domain at which minorants are tested.
    """
    at, random = atom.segments, samples.random
    program = EpigraphProgram(atom, at)
    for number in range(len(inside)):
        e = samples.point_with_slopes(number)
        value = atom.value(e, at)
        scale = _error_scale(atom, value, e)
        weights = 10.0 ** random.uniform(-0.5, 0.5, at.count)
        least = _require_solution(atom, program.minimise(e, weights), e)
        sentence = "the least t of the epigraph is not value"
        require_equal(atom, least.t, value, scale, SOLVER_TOLERANCE, e, sentence)
        sentence = "the multipliers of the epigraph, -E'z / T'z, are not slopes: value is below their minorant"
        require_minorant(atom, value, least.slopes, e, inside, 10 * SOLVER_TOLERANCE, sentence)

        raised = value + random.uniform(0.1, MAX_EPIGRAPH_RISE, at.count)
        larger = _require_solution(atom, program.minimise(e, weights, at_least=raised), e)
        sentence = "the epigraph does not allow a t above value"
        require_equal(atom, larger.t, raised, scale, SOLVER_TOLERANCE, e, sentence)

        run = int(random.integers(at.count))
        others = np.delete(np.arange(at.count), run)
        single = _require_solution(atom, program.minimise(e, np.eye(at.count)[run], fixed=(others, raised[others])), e)
        expected = np.where(np.arange(at.count) == run, value, raised)
        sentence = f"the least t of run {run} is not value if the other entries of t are larger"
        require_equal(atom, single.t, expected, scale, SOLVER_TOLERANCE, e, sentence)
    _check_some_runs(atom, samples)


def _check_some_runs(atom: Atom, samples: AtomSamples) -> None:
    """Check at one point that the epigraph of a random subset of the runs has the values of these runs as minimal t."""
    whole = atom.segments
    entries = samples.random.permutation(whole.count)[: 1 + whole.count // 2].astype(np.intp)
    at, read = whole.select(entries)
    e = samples.point_with_slopes(0)
    value = atom.value(e, whole)[entries]
    least = _require_solution(atom, EpigraphProgram(atom, at).minimise(e[read], np.ones(at.count)), e)
    scale = _error_scale(atom, value, e)
    sentence = f"the least t of the epigraph of the runs {entries.tolist()} is not value"
    require_equal(atom, least.t, value, scale, SOLVER_TOLERANCE, e, sentence)


def _error_scale(atom: Atom, value: Vector, e: Vector) -> Vector:
    """Return the scale of errors of the minimal t at e; the scale includes the slopes, which multiply an error of e."""
    slopes = np.abs(atom.slopes(e, atom.segments)).max(initial=0.0)
    return np.asarray(np.abs(value) + np.abs(e).max(initial=0.0) + slopes)


def _require_solution(atom: Atom, solution: EpigraphMinimum | str, e: Vector) -> EpigraphMinimum:
    """Return the solution, or raise an error if `solution` is only a text, the status of the failed solver."""
    if isinstance(solution, str):
        fail(atom, f"the epigraph has no least t at {format_point(e)}: Clarabel reports {solution}.")
    return solution
