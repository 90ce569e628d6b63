"""A change that raises an error leaves a session as it was."""

from __future__ import annotations

import numpy as np
import pytest

import milopt
from milopt import Options, Program, as_bags, bag_max, norm, norm1
from milopt.compilation.status import PointStatus
from milopt.errors import ConvexityError, UnsupportedError
from milopt.solving.step_session import StepSession


def test_a_rejected_parameter_value_leaves_the_old_value() -> None:
    program = Program("sign")
    x, h = program.variable("x", 2, lower=0, upper=5), program.parameter("h")
    h.value = 1.0
    program.minimize(x.sum() + h * x[0])
    program.subject_to(h * norm1(x - 3) <= 4, "near")
    with StepSession(program, "highs") as session:
        first = session.solve()
        with pytest.raises(ConvexityError):
            session.set_parameter(h, -2.0)
        assert h.value == pytest.approx(1.0)
        again = session.solve()
    assert again.status is PointStatus.CERTIFIED
    assert again.objective == pytest.approx(first.objective)
    assert again.objective == pytest.approx(milopt.solve(program, "highs").objective)


@pytest.mark.parametrize("sense", ["maximize", "minimize"])
def test_a_program_without_its_witnesses_is_not_solved(sense: str) -> None:
    bags = as_bags([np.array([[1.0], [-1.0]])])
    program = Program("dc")
    w = program.variable("w", lower=-2, upper=2)
    if sense == "maximize":
        program.maximize(bag_max(bags.instances[:, 0] * w, bags).sum())
    else:
        program.minimize(norm1(w))
        program.subject_to(bag_max(bags.instances[:, 0] * w, bags) >= 1)
    with StepSession(program, "highs") as session:
        with pytest.raises(ConvexityError, match="witness"):
            session.solve()
        session.set_witnesses({atom: _first(atom) for atom in program.maxima()})
        assert session.solve().status is PointStatus.CERTIFIED


def _first(atom):
    from milopt.compilation.minorant import one_hot_minorant

    return one_hot_minorant(atom, atom.segments.offsets[:-1])


@pytest.mark.parametrize("solver", ["clarabel", "ecos"])
@pytest.mark.parametrize("seed", range(4))
def test_lazy_rows_beside_cones_survive_a_new_parameter(solver: str, seed: int) -> None:
    rng = np.random.default_rng(seed)
    bags = as_bags([np.round(rng.normal(size=(2, 3)), 1) for _ in range(3)])
    program = Program("lazy rows and a cone")
    x = program.variable("x", 3, lower=-2, upper=2)
    t, b = program.variable("t", lower=-5, upper=50), program.parameter("b", 6)
    b.value = np.zeros(6)
    program.minimize(x.sum() + t)
    program.subject_to(norm(x - 1) <= t + 4)
    program.subject_to(bag_max(bags.instances @ x + b, bags) <= t)
    with StepSession(program, solver, Options(lazy=True)) as session:
        session.solve()
        for _ in range(3):
            session.set_parameter(b, np.round(rng.normal(size=6), 1))
            outcome = session.solve()
            assert outcome.status is PointStatus.CERTIFIED
            assert outcome.objective == pytest.approx(milopt.solve(program, solver).objective, abs=1e-5)


def test_adding_rows_that_the_solver_does_not_support_raises_an_error() -> None:
    program = Program("lp")
    x = program.variable("x", 2, lower=-1, upper=1)
    program.minimize(x.sum())
    with StepSession(program, "highs") as session:
        session.solve()
        with pytest.raises(UnsupportedError, match="second-order"):
            session.add_rows(norm(x) <= 1)
        assert not program.constraints
        assert session.solve().objective == pytest.approx(-2.0)


@pytest.mark.parametrize("solver", ["clarabel", "ecos"])
def test_deleting_a_row_deletes_the_epigraph_of_its_atom(solver: str) -> None:
    program = Program("balls")
    x = program.variable("x", 2, lower=-2, upper=2)
    program.minimize(x.sum())
    program.subject_to(norm(x) <= 1, name="near")
    program.subject_to(norm(x - 1) <= 3, name="far")
    with StepSession(program, solver) as session:
        assert session.solve().objective == pytest.approx(-np.sqrt(2), abs=1e-6)
        session.delete("near")
        assert session.solve().objective == pytest.approx(2 - 3 * np.sqrt(2), abs=1e-6)
        ball = norm(x)
        session.add_rows(ball <= 1.5, "one")
        session.add_rows(ball <= 1.2, "other")
        assert session.solve().objective == pytest.approx(-1.2 * np.sqrt(2), abs=1e-6)
        session.delete("other")
        assert session.solve().objective == pytest.approx(-1.5 * np.sqrt(2), abs=1e-6)
