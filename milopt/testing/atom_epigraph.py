"""The check of epigraphs: the least t is the value, and the multipliers are slopes."""

from __future__ import annotations

import numpy as np

from milopt.arrays import Vector
from milopt.declaration.atoms.atom import Atom
from milopt.testing.atom_error import SOLVER_TOLERANCE, fail, require_equal, spelled
from milopt.testing.atom_minorant import require_minorant
from milopt.testing.atom_samples import AtomSamples
from milopt.testing.epigraph_program import EpigraphProgram, LeastT

LARGEST_RISE = 5.0
"""How far t is raised above the value."""


def check_epigraph(atom: Atom, samples: AtomSamples, inside: list[Vector]) -> None:
    """Check the epigraph at random points with finite slopes, for all runs and for some of them."""
    at, random = atom.segments, samples.random
    program = EpigraphProgram(atom, at)
    for number in range(len(inside)):
        e = samples.with_slopes(number)
        value = atom.value(e, at)
        scale = _scale(atom, value, e)
        weights = 10.0 ** random.uniform(-0.5, 0.5, at.count)
        least = _solved(atom, program.least(e, weights), e)
        sentence = "the least t of the epigraph is not value"
        require_equal(atom, least.t, value, scale, SOLVER_TOLERANCE, e, sentence)
        sentence = "the multipliers of the epigraph, -E'z / T'z, are not slopes: value is below their minorant"
        require_minorant(atom, value, least.slopes, e, inside, 10 * SOLVER_TOLERANCE, sentence)

        raised = value + random.uniform(0.1, LARGEST_RISE, at.count)
        larger = _solved(atom, program.least(e, weights, at_least=raised), e)
        sentence = "the epigraph does not allow a t above value"
        require_equal(atom, larger.t, raised, scale, SOLVER_TOLERANCE, e, sentence)

        run = int(random.integers(at.count))
        others = np.delete(np.arange(at.count), run)
        single = _solved(atom, program.least(e, np.eye(at.count)[run], fixed=(others, raised[others])), e)
        expected = np.where(np.arange(at.count) == run, value, raised)
        sentence = f"the least t of run {run} is not value if the other entries of t are larger"
        require_equal(atom, single.t, expected, scale, SOLVER_TOLERANCE, e, sentence)
    _check_some_runs(atom, samples)


def _check_some_runs(atom: Atom, samples: AtomSamples) -> None:
    """Check the epigraph of some runs only."""
    whole = atom.segments
    entries = samples.random.permutation(whole.count)[: 1 + whole.count // 2].astype(np.intp)
    at, read = whole.taken(entries)
    e = samples.with_slopes(0)
    value = atom.value(e, whole)[entries]
    least = _solved(atom, EpigraphProgram(atom, at).least(e[read], np.ones(at.count)), e)
    scale = _scale(atom, value, e)
    sentence = f"the least t of the epigraph of the runs {entries.tolist()} is not value"
    require_equal(atom, least.t, value, scale, SOLVER_TOLERANCE, e, sentence)


def _scale(atom: Atom, value: Vector, e: Vector) -> Vector:
    """Return by what an error of the least t is measured: an error of e counts as much as the slopes are steep."""
    slopes = np.abs(atom.slopes(e, atom.segments)).max(initial=0.0)
    return np.asarray(np.abs(value) + np.abs(e).max(initial=0.0) + slopes)


def _solved(atom: Atom, solution: LeastT | str, e: Vector) -> LeastT:
    """Return a solution, or raise an error that gives the status of the solver."""
    if isinstance(solution, str):
        fail(atom, f"the epigraph has no least t at {spelled(e)}: Clarabel reports {solution}.")
    return solution
