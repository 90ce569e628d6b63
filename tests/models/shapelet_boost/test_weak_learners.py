"""The weak learners of boosted shapelets as programs: duals, steps between witnesses, the global optimum."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import milopt
from milopt import Bags, ConvexConcave, Program, quad_form, solve
from milopt.compilation.minorant import one_hot_minorant
from milopt.compilation.sides import other_side_atoms
from milopt.declaration.kernels.similarity import similarity
from milopt.errors import UnsupportedError
from milopt.outcome.point_values import PointValues
from milopt.solving.step_session import StepSession
from tests.models.shapelet_boost.cases import K, random_bags, weak_learner


@dataclass(frozen=True)
class WeakLearnerCase:
    """Bags, labels, prices, and the radius of the ball."""

    bags: Bags
    y: np.ndarray
    d: np.ndarray
    radius: float

    @property
    def gram(self) -> np.ndarray:
        return np.asarray(K(self.bags.instances, self.bags.instances))

    @property
    def negative(self) -> np.ndarray:
        """Instances of negative bags."""
        return np.flatnonzero(self.y[self.bags.bag_of] < 0)

    def program(self, ball: str) -> Program:
        return weak_learner(ball, self.bags, self.y, self.d, radius=self.radius)[1]

    def edge(self, values: np.ndarray) -> float:
        """Return the edge of a function with these values at the instances."""
        return float((self.y * self.d) @ self.bags.max(values))


@st.composite
def cases(draw) -> WeakLearnerCase:
    """Draw cases in which some prices are zero, as in a master."""
    seed = draw(st.integers(0, 10_000))
    rng = np.random.default_rng(seed)
    bags, y = random_bags(seed, draw(st.sampled_from([4, 6])))
    d = rng.dirichlet(np.ones(len(bags))) * (rng.random(len(bags)) < 0.85)
    return WeakLearnerCase(bags, y, d, draw(st.sampled_from([1.0, 0.4, 3.0])))


class Steps:
    """Convex steps of a weak learner, from witnesses to a function."""

    def __init__(self, case: WeakLearnerCase, ball: str, solver: str, first: np.ndarray) -> None:
        self.case, self.program = case, case.program(ball)
        (self.atom,) = other_side_atoms(self.program)
        self.session = StepSession(self.program, milopt.get_solver(solver), witnesses={self.atom: self._at(first)})

    def _at(self, witnesses: np.ndarray) -> object:
        return one_hot_minorant(self.atom, witnesses)

    def step(self, witnesses: np.ndarray) -> tuple[float, np.ndarray]:
        """Return the optimum f of the subproblem, and the values of its function at all instances."""
        self.session.set_witnesses({self.atom: self._at(witnesses)})
        outcome = self.session.solve()
        assert outcome.certificate.holds(1e-6)
        return outcome.objective, PointValues(self.session.lowering, outcome).argument_values(self.atom)


def any_witnesses(case: WeakLearnerCase, seed: int) -> np.ndarray:
    rng = np.random.default_rng(seed)
    return np.array([rng.integers(*case.bags.offsets[i : i + 2]) for i in range(len(case.bags))])


def nearest_point(case: WeakLearnerCase, witnesses: np.ndarray) -> tuple[float, np.ndarray]:
    """Return (v, mu) of the minimum-norm problem, with mu_i in the simplex of each bag.

    min  || sum_+ d_i Phi(x_i) - sum_- d_i sum_x mu_ix Phi(x) ||
    """
    positive, inside = np.flatnonzero(case.y > 0), case.negative
    pull = np.zeros(len(case.gram))
    np.add.at(pull, witnesses[positive], case.d[positive])
    bag = case.bags.bag_of[inside]
    scaled = case.d[bag]
    program = Program("nearest point")
    mu = program.variable("mu", inside.size, lower=0)
    hessian = scaled[:, None] * case.gram[np.ix_(inside, inside)] * scaled
    linear = scaled * (case.gram[inside] @ pull)
    program.minimize(quad_form(mu, hessian) - 2 * linear @ mu)
    member = (bag == np.flatnonzero(case.y < 0)[:, None]).astype(float)
    program.subject_to(member @ mu == 1, name="simplices")
    result = solve(program, "clarabel", tolerance=1e-8)
    squared = float(pull @ case.gram @ pull) + result.objective
    return float(np.sqrt(max(0.0, squared))), result.values["mu"]


@given(cases(), st.integers(0, 100), st.sampled_from(["clarabel", "ecos"]))
@settings(max_examples=20, deadline=None)
def test_the_step_over_the_hilbert_ball_is_a_minimum_norm_problem(
    case: WeakLearnerCase, seed: int, solver: str
) -> None:
    """The solution is u = radius (sum_+ d_i Phi(x_i) - sum_- d_i mu_ix Phi(x)) / v, one instance per positive bag."""
    witnesses = any_witnesses(case, seed)
    f, values = Steps(case, "hilbert", solver, witnesses).step(witnesses)
    v, mu = nearest_point(case, witnesses)
    assert -f == pytest.approx(case.radius * v, abs=2e-5 if v < 1e-3 else 2e-6)
    if v < 1e-2:
        return
    alpha = np.zeros(len(case.gram))
    positive = np.flatnonzero(case.y > 0)
    alpha[witnesses[positive]] = case.radius * case.d[positive] / v
    alpha[case.negative] = -case.radius * case.d[case.bags.bag_of[case.negative]] * mu / v
    assert (case.y[case.bags.bag_of] * alpha >= -1e-7).all()
    assert alpha @ case.gram @ alpha == pytest.approx(case.radius**2, rel=1e-4)
    np.testing.assert_allclose(case.gram @ alpha, values, atol=1e-3 * case.radius)


def infinity_norm(case: WeakLearnerCase, witnesses: np.ndarray) -> float:
    """Compute min || c - sum_- d_i sum_x mu_ix k_x ||_inf  over mu_i in the simplex of each bag."""
    positive, inside = np.flatnonzero(case.y > 0), case.negative
    c = case.d[positive] @ case.gram[witnesses[positive]]
    bag = case.bags.bag_of[inside]
    program = Program("infinity norm")
    mu, t = program.variable("mu", inside.size, lower=0), program.variable("t")
    rest = c - (case.d[bag][:, None] * case.gram[inside]).T @ mu
    program.minimize(t)
    program.subject_to(rest <= t, name="above")
    program.subject_to(rest >= -t, name="below")
    program.subject_to((bag == np.flatnonzero(case.y < 0)[:, None]).astype(float) @ mu == 1, name="simplices")
    return solve(program, "highs").objective


@given(cases(), st.integers(0, 100), st.sampled_from(["highs", "clarabel", "ecos"]))
@settings(max_examples=20, deadline=None)
def test_the_step_over_the_one_norm_ball_is_its_dual_in_the_infinity_norm(
    case: WeakLearnerCase, seed: int, solver: str
) -> None:
    witnesses = any_witnesses(case, seed)
    f, _ = Steps(case, "l1", solver, witnesses).step(witnesses)
    assert -f == pytest.approx(case.radius * infinity_norm(case, witnesses), abs=2e-6 * max(1.0, case.radius))


@given(cases(), st.sampled_from([("l1", "highs"), ("hilbert", "clarabel")]))
@settings(max_examples=20, deadline=None)
def test_steps_and_true_values_interleave_and_never_increase(case: WeakLearnerCase, way: tuple[str, str]) -> None:
    """phi_0 >= f_1 >= phi_1 >= f_2 ...: a step is not worse than its start, a function not worse than its step."""
    ball, solver = way
    z = int(np.argmax((case.y * case.d) @ case.bags.max(case.gram)))
    values = case.radius * case.gram[:, z]
    sequence, steps = [-case.edge(values)], Steps(case, ball, solver, case.bags.argmax(values))
    for _ in range(5):
        f, values = steps.step(case.bags.argmax(values))
        sequence += [f, -case.edge(values)]
    assert (np.diff(sequence) <= 2e-6 * max(1.0, case.radius)).all()


@given(cases(), st.sampled_from([("l1", "highs"), ("hilbert", "clarabel")]))
@settings(max_examples=15, deadline=None)
def test_a_descent_ends_between_the_best_single_pattern_and_the_global_optimum(case: WeakLearnerCase, way) -> None:
    ball, solver = way
    program = case.program(ball)
    edges = (case.y * case.d) @ case.bags.max(case.gram)
    first = ConvexConcave(start=case.gram[:, int(np.argmax(edges))])
    local, exact = solve(program, solver, first), solve(program, solver, "exact")
    assert local.objective >= case.radius * edges.max() - 2e-6
    assert local.objective <= exact.bound + 2e-6
    assert exact.bound == pytest.approx(exact.objective, abs=2e-6)


@given(cases(), st.sampled_from([("l1", "highs"), ("hilbert", "clarabel")]))
@settings(max_examples=8, deadline=None)
def test_the_global_optimum_is_the_best_of_all_choices_of_witnesses(
    case: WeakLearnerCase, way: tuple[str, str]
) -> None:
    ball, solver = way
    inside = [range(*case.bags.offsets[i : i + 2]) if case.y[i] > 0 else (0,) for i in range(len(case.bags))]
    choices = list(product(*inside))
    if ball == "l1":
        best = max(case.radius * infinity_norm(case, np.array(choice)) for choice in choices)
    else:
        best = max(case.radius * nearest_point(case, np.array(choice))[0] for choice in choices)
    assert solve(case.program(ball), solver, "exact").objective == pytest.approx(best, abs=2e-5)


@given(cases(), st.sampled_from([1.0, -1.0]), st.sampled_from(["highs", "native", "clarabel"]))
@settings(max_examples=20, deadline=None)
def test_the_best_signed_pattern_is_found_by_search(case: WeakLearnerCase, sign: float, solver: str) -> None:
    program = weak_learner("one-hot", case.bags, sign * case.y, case.d, radius=case.radius)[1]
    atoms = np.unique(case.bags.instances, axis=0)
    largest = similarity(K, case.bags, atoms)
    smallest = -case.bags.max(-np.asarray(K(case.bags.instances, atoms)))
    edges = sign * (case.y * case.d) @ np.hstack([largest, -smallest])
    assert solve(program, solver).objective == pytest.approx(case.radius * edges.max(), abs=1e-6)


@given(cases(), st.sampled_from([("l1", "highs"), ("l1", "clarabel"), ("hilbert", "clarabel"), ("hilbert", "ecos")]))
@settings(max_examples=20, deadline=None)
def test_the_ball_is_active_or_the_edge_is_zero(case: WeakLearnerCase, way: tuple[str, str]) -> None:
    ball, solver = way
    result = solve(case.program(ball), solver, "ccp")
    if result.objective > 1e-4:
        u = result.functions["u"]
        size = np.abs(u.coefficients).sum() if ball == "l1" else np.sqrt(u.norm_squared)
        assert size == pytest.approx(case.radius, rel=2e-4)
    else:
        assert result.objective >= -1e-6


def test_highs_raises_an_error_for_the_hilbert_ball_that_names_supporting_solvers(golden_bags) -> None:
    bags, y = golden_bags
    with pytest.raises(UnsupportedError, match=r"second-order cones.*clarabel"):
        solve(weak_learner("hilbert", bags, y, np.full(6, 1 / 6))[1], "highs")
