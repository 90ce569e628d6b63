"""A wrong answer caused by a broken epigraph is never certified, but the unbroken program always is.

A mutant is never reported as infeasible or unbounded either, because the unbroken programs have optima.

The epigraph of every atom is broken by 13 mutations, in whole programs: in the objective, written into a row, behind a
column, inside another atom, around other atoms, and over a function of a kernel space. The correct optimum is that of
the unbroken program.
"""

from __future__ import annotations

from collections import Counter
from functools import cache

import numpy as np
import pytest

import milopt
from milopt.compilation.status import PointStatus
from milopt.declaration.atoms import Atom
from milopt.declaration.atoms.membership import Membership, NewVariables, non_negative
from milopt.declaration.atoms.segments import Segments
from milopt.declaration.programs.expression import Leaf
from tests.declaration.atoms.cases import CASES, atom_of
from tests.testing.mutants import alter_atom, mutants

from .broken_epigraphs import PLACES, break_epigraph, is_wrong, program_of, verdict

MUTATIONS = [name for name, _ in mutants(atom_of(CASES["norm"]()), seed=0)]
SAMPLE = 104
"""Number of mutants of the default run: eight per mutation."""
SOLVERS = ("clarabel", "ecos")


@cache
def optimum(name: str, place: str, seed: int) -> float | None:
    """Return the certified optimum of the unbroken program; None if the atom cannot occur in the place."""
    program = program_of(name, place, seed)
    if program is None:
        return None
    result = milopt.solve(program, "clarabel").require_certified()
    assert not is_wrong(result, result.objective), (name, place, seed)
    return result.objective


def mutant_verdict(name: str, place: str, seed: int, mutation: str, solver: str) -> str:
    """Return the verdict on one mutant as a word; empty if the atom cannot occur in the place."""
    best = optimum(name, place, seed)
    program = program_of(name, place, seed, break_epigraph(mutation, seed))
    if best is None or program is None:
        return ""
    row_verdict = verdict(program, best, solver)
    if not row_verdict.is_wrong:
        return "harmless"
    return "wrong and certified" if row_verdict.is_certified else row_verdict.claims or "wrong"


@pytest.mark.parametrize("mutation", MUTATIONS)
def test_a_sample_of_broken_epigraphs_is_not_certified(mutation: str) -> None:
    random = np.random.default_rng([7, MUTATIONS.index(mutation)])
    counts: Counter[str] = Counter()
    while counts.total() < SAMPLE // len(MUTATIONS):
        name, place = str(random.choice(list(CASES))), str(random.choice(list(PLACES)))
        word = mutant_verdict(name, place, 0, mutation, SOLVERS[counts.total() % 2])
        counts[word] += bool(word)
        assert word in ("", "harmless", "wrong"), (name, place, word)
    assert counts["wrong"], counts


@pytest.mark.parametrize("name", ["log", "inv_pos"])
def test_steep_slopes_of_an_objective_do_not_prove_that_rows_are_infeasible(name: str) -> None:
    """The multipliers are those of rows without an objective, where the slopes of exp(phi_0 / 4) exceed 1e25."""
    assert mutant_verdict(name, "inside another", 0, "extra rows |e| <= 0.5", "clarabel") in ("harmless", "wrong")


@pytest.mark.thorough
@pytest.mark.parametrize("place", PLACES)
@pytest.mark.parametrize("mutation", MUTATIONS)
def test_no_broken_epigraph_is_certified(mutation: str, place: str) -> None:
    words = {name: mutant_verdict(name, place, 0, mutation, "clarabel") for name in CASES}
    assert set(words.values()) <= {"", "harmless", "wrong"}, words


@pytest.mark.thorough(unless={"solver": ["clarabel"]})
@pytest.mark.parametrize("solver", SOLVERS)
@pytest.mark.parametrize("place", PLACES)
def test_the_unbroken_programs_are_certified(place: str, solver: str) -> None:
    uncertified = []
    for name in CASES:
        program, best = program_of(name, place, 0), optimum(name, place, 0)
        if program is None or best is None:
            continue
        result = milopt.solve(program, solver)
        if result.point is not PointStatus.CERTIFIED or is_wrong(result, best):
            uncertified.append(f"{name}: {result}")
    assert not uncertified, uncertified


def test_every_kind_of_atom_is_broken() -> None:
    def below(kind: type) -> set[type]:
        return {kind}.union(*(below(subclass) for subclass in kind.__subclasses__()))

    own = {kind for kind in below(Atom) if kind.__module__.startswith("milopt.") and "word" in vars(kind)}
    assert {kind.word for kind in own} == {atom_of(make()).word for make in CASES.values()}


def test_a_point_outside_a_domain_is_not_certified() -> None:
    """Outside of x >= 0, x log x has the value of the nearest point, so that values alone do not show the violation."""
    results = []
    for change in (lambda atom: atom, lambda atom: alter_atom(atom, epigraph=without_domain)):
        program = milopt.Program("domain")
        x = program.variable("x")
        program.minimize(milopt.square(x + 1.0))
        program.subject_to(change(atom_of(milopt.entropy(x))) <= 5.0, name="held")
        results.append(milopt.solve(program, "clarabel"))
    right, wrong = results
    assert right.require_certified().objective == pytest.approx(1.0, abs=1e-6)
    assert wrong.values["x"] == pytest.approx(-1.0, abs=1e-3)
    assert wrong.point is PointStatus.NONE


def without_domain(t: Leaf, e: Leaf, at: Segments, new: NewVariables) -> list[Membership]:
    """Return an epigraph without the cone: t >= -10."""
    return [non_negative("sum", t + 10.0)]


# -- optima at infinity, and the units of residuals -----------------------------------------------------------------


@pytest.mark.parametrize("solver", SOLVERS)
def test_separable_logistic_regression_is_certified_at_a_finite_point(solver: str) -> None:
    """The infimum 0 is not attained; the point is optimal within tolerance."""
    program = milopt.Program("separable")
    w = program.variable("w")
    program.minimize(milopt.logistic(np.array([-1.0, -2.0, -1.5]) * w).sum())
    result = milopt.solve(program, solver).require_certified()
    assert result.objective == pytest.approx(0.0, abs=1e-6)
    assert 10 < result.values["w"] < 100


def test_a_row_that_no_point_satisfies_but_points_approach_is_certified_within_tolerance() -> None:
    program = milopt.Program("approached")
    x = program.variable("x")
    program.minimize(0.0 * x)
    program.subject_to(milopt.exp(x) <= 0, name="never")
    result = milopt.solve(program, "clarabel").require_certified()
    assert np.exp(result.values["x"]) <= 1e-6


@pytest.mark.parametrize("shift", [0.0, 800.0])
def test_a_point_that_is_not_optimal_is_not_certified_by_a_steep_slope_far_away(shift: float) -> None:
    """At x = 0 the slope of exp(800 + x) is infinite; it must not make every residual look small."""
    program = milopt.Program("steep")
    x = program.variable("x")
    program.minimize(milopt.exp(shift + x) - x)
    result = milopt.solve(program, "clarabel")
    if result.point is PointStatus.CERTIFIED:
        assert result.objective == pytest.approx(1.0 + shift, rel=1e-5)
