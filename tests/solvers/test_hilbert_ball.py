"""Weak learning over the Hilbert ball by `native`: minimum-norm points, steps of the procedure, and priced columns."""

from __future__ import annotations

import cvxpy as cp
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import milopt
from milopt import RBF, Bags, Linear, Program, bag_max, norm1
from milopt.declaration.programs.semi_infinite import Oracle, SemiInfinite
from milopt.errors import ConvexityError
from milopt.schemes.column_generation import ColumnGeneration
from milopt.schemes.oracle_program import ProgramPricing
from milopt.solvers.native.hilbert_ball import coordinates as hilbert_coordinates
from milopt.solvers.native.hilbert_ball import hilbert_ball
from milopt.solvers.native.hilbert_ball.coordinates import DictionaryCoordinates, GrowingCoordinates
from milopt.solvers.native.hilbert_ball.hilbert_ball import hilbert_ball_pricing
from milopt.solvers.native.hilbert_ball.instance_bounds import InstanceBounds, bag_maxima
from milopt.solvers.native.hilbert_ball.minimum_norm import MinimumNormSolver
from milopt.solving.clock import Clock
from milopt.solving.options import Options

K = RBF(0.5)
UNIFORM = np.full(6, 1 / 6)
SKEW = np.array([0.3, 0.1, 0.05, 0.25, 0.1, 0.2])


def weak_learning(bags, y, kernel=K, dictionary=None, radius=1.0, starts=None):
    """Return the oracle of  max sum_i y_i d_i max_{x in B_i} u(x)  over ||u|| <= radius, and a maker of its prices."""
    program = Program("weak learning")
    u = program.function("u", kernel, dictionary=dictionary)
    p = program.parameter("d", len(bags), sign=+1)
    program.maximize((y * p) @ bag_max(u(bags)))
    program.subject_to(u.norm() <= radius, name="ball")
    price = Program("master").variable("d", len(bags))
    return Oracle(program, {p: price}, lambda new: bag_max(u(new)), None, starts), lambda d: {p: d}


def native_pricing(bags, y, **settings_of_program):
    oracle, prices = weak_learning(bags, y, **settings_of_program)
    pricing = hilbert_ball_pricing(oracle, bags, Options())
    return pricing, lambda d, starts=1: pricing.price(prices(np.asarray(d)), starts, Clock(None))


def soft_margin(bags, y, nu):
    """Return the boosting problem with hypotheses from the Hilbert ball."""
    master = Program("soft margin")
    d = master.variable("d", len(bags), lower=0, upper=1 / (nu * len(bags)))
    gamma = master.variable("gamma")
    master.minimize(gamma)
    master.subject_to(d.sum() == 1, name="simplex")
    edge = master.family("edge", lambda h: (y * h) @ d <= gamma)
    oracle, _ = weak_learning(bags, y)
    (p,) = oracle.prices
    oracle = Oracle(oracle.program, {p: d}, oracle.column)
    return SemiInfinite(master, edge, oracle, bags, {d: np.full(len(bags), 1 / len(bags))})


def function_of(priced, kernel, dictionary=None):
    """Return u as a function of points, and ||u||, for a priced column."""
    points, a = priced.functions["u"] if dictionary is None else (dictionary, priced.values["u.coefficients"])
    if not a.size:
        return (lambda x: np.zeros(len(x))), 0.0
    return (lambda x: kernel(x, points) @ a), np.sqrt(max(0.0, a @ kernel(points, points) @ a))


def features(kernel, bags, dictionary=None):
    """Return coordinates of all instances, by the eigenvalues of a Gram matrix."""
    atoms = bags.instances if dictionary is None else dictionary
    values, vectors = np.linalg.eigh(kernel(atoms, atoms))
    kept = values > 1e-10 * values[-1]
    return kernel(bags.instances, atoms) @ (vectors[:, kept] / np.sqrt(values[kept]))


def optimum_by_cone_program(x, offsets, c, bag_weights):
    """Return  max c'u - sum_r d_r max_{x in B_r} x'u  over ||u|| <= 1,  by Clarabel."""
    u, values_of_best = cp.Variable(x.shape[1]), cp.Variable(bag_weights.size)
    rows = [cp.norm(u) <= 1]
    rows += [x[offsets[r] : offsets[r + 1]] @ u <= values_of_best[r] for r in range(bag_weights.size)]
    return cp.Problem(cp.Maximize(c @ u - bag_weights @ values_of_best), rows).solve(solver=cp.CLARABEL)


def minimum_norm_by_clarabel(x, offsets, c, bag_weights):
    """Return the minimum norm of c - sum_r d_r conv(B_r), by Clarabel."""
    parts = [cp.Variable(offsets[r + 1] - offsets[r], nonneg=True) for r in range(bag_weights.size)]
    rows = [cp.sum(part) == 1 for part in parts]
    sums = sum(bag_weights[r] * (x[offsets[r] : offsets[r + 1]].T @ part) for r, part in enumerate(parts))
    return cp.Problem(cp.Minimize(cp.norm(c - sums)), rows).solve(solver=cp.CLARABEL)


@st.composite
def cases(draw):
    """Draw random bags, labels of one or both signs, weights with zeros, a kernel, and perhaps a dictionary."""
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    sizes = draw(st.lists(st.integers(1, 5), min_size=2, max_size=6))
    x = np.round(rng.normal(size=(sum(sizes), 2)), draw(st.sampled_from([1, 6])))
    bags = Bags(x, np.concatenate([[0], np.cumsum(sizes)]))
    y = np.where(rng.random(len(sizes)) < draw(st.sampled_from([0.5, 0.0, 1.0])), 1.0, -1.0)
    d = rng.dirichlet(np.ones(len(sizes))) * (rng.random(len(sizes)) < 0.8)
    kernel = draw(st.sampled_from([RBF(0.5), RBF(0.01), Linear()]))
    dictionary = rng.normal(size=(4, 2)) if draw(st.booleans()) else None
    return bags, y, d, kernel, dictionary


@settings(max_examples=20, deadline=None)
@given(cases())
def test_native_minimum_norm_equals_cone_program_and_distance(case):
    bags, y, d, kernel, dictionary = case
    function = Program("p").function("u", kernel, dictionary=dictionary)
    space = (GrowingCoordinates if dictionary is None else DictionaryCoordinates)(function, bags)
    witnesses = bags.offsets[:-1][y > 0]
    bag_weights = np.where(y < 0, d, 0.0)
    point = MinimumNormSolver(space, bags.offsets).solve(witnesses, d[y > 0], bag_weights)
    x = features(kernel, bags, dictionary)
    c = d[y > 0] @ x[witnesses]
    assert point.upper == pytest.approx(optimum_by_cone_program(x, bags.offsets, c, bag_weights), abs=1e-6)
    assert point.upper == pytest.approx(minimum_norm_by_clarabel(x, bags.offsets, c, bag_weights), abs=1e-6)
    assert point.gap <= max(1e-9 * point.upper, 1e-11)


@settings(max_examples=40, deadline=None)
@given(cases())
def test_priced_columns_match_their_functions_and_values(case):
    bags, y, d, kernel, dictionary = case
    pricing, price = native_pricing(bags, y, kernel=kernel, dictionary=dictionary, radius=2.5)
    result = price(d, 3)
    atoms = bags.instances if dictionary is None else dictionary
    lengths = np.sqrt(kernel.diagonal(atoms))
    one_hots = (y * d) @ bags.max(kernel(bags.instances, atoms)) / np.where(lengths > 0, lengths, 1.0)
    for priced in result.columns:
        u, norm = function_of(priced, kernel, dictionary)
        assert np.allclose(priced.column, bags.max(u(bags.instances)), atol=1e-6)
        assert priced.value == pytest.approx((y * d) @ priced.column, abs=1e-12)
        assert norm == pytest.approx(2.5, rel=1e-6) or priced.value == pytest.approx(0.0, abs=1e-9)
        assert priced.certificate.holds(1e-8)
    assert result.columns[0].value >= 2.5 * one_hots.max() - 1e-8
    assert [column.value for column in result.columns] == sorted(
        (column.value for column in result.columns), reverse=True
    )
    assert pricing.fallbacks == 0


@settings(max_examples=25, deadline=None)
@given(cases(), st.integers(0, 100))
def test_a_warm_started_search_agrees_with_a_new_one(case, seed):
    bags, y, _, kernel, dictionary = case
    rng = np.random.default_rng(seed)
    _, warm = native_pricing(bags, y, kernel=kernel, dictionary=dictionary)
    for _ in range(6):
        d = rng.dirichlet(np.ones(len(bags))) * (rng.random(len(bags)) < 0.7)
        _, cold = native_pricing(bags, y, kernel=kernel, dictionary=dictionary)
        assert warm(d).columns[0].value == pytest.approx(cold(d).columns[0].value, abs=1e-8)


@settings(max_examples=25, deadline=None, derandomize=True)
@given(cases(), st.integers(0, 100))
def test_coordinates_may_grow_and_be_discarded(case, seed):
    bags, y, _, kernel, _ = case
    rng = np.random.default_rng(seed)
    with pytest.MonkeyPatch.context() as patch:
        _, full = native_pricing(bags, y, kernel=kernel)
        patch.setattr(hilbert_coordinates, "MAX_FULL_BASIS_INSTANCES", 0)
        patch.setattr(
            hilbert_coordinates.GrowingCoordinates, "has_excess_coordinates", lambda space, needed: space.rank > 3
        )
        _, growing = native_pricing(bags, y, kernel=kernel)
        for _ in range(6):
            d = rng.dirichlet(np.ones(len(bags))) * (rng.random(len(bags)) < 0.7)
            column, expected = growing(d, 2).columns[0], full(d, 2).columns[0]
            assert column.value == pytest.approx(expected.value, abs=1e-8)
            # Two columns may have the same value, so each column is compared with its own value.
            assert (y * d) @ column.column == pytest.approx(column.value, abs=1e-8)


@settings(max_examples=25, deadline=None)
@given(cases())
def test_steps_never_decrease_the_edge(case):
    bags, y, d, kernel, dictionary = case
    pricing, _ = native_pricing(bags, y, kernel=kernel, dictionary=dictionary)
    weights = y * d
    run = pricing.run_convex_concave(weights, bags.offsets[:-1][weights > 0], Clock(None), set())
    assert (np.diff(run.trace) >= -1e-9).all()
    assert len(run.trace) <= 20


@settings(max_examples=25, deadline=None)
@given(st.integers(0, 2**32 - 1), st.sampled_from([1e-6, 0.1, 60.0]))
def test_bag_maxima_of_a_moving_direction_are_exact(seed, stride):
    rng = np.random.default_rng(seed)
    offsets = np.concatenate([[0], np.cumsum(rng.integers(1, 30, size=5))])
    x = np.round(rng.normal(size=(offsets[-1], 3)), 1)
    bags = Bags(x, offsets)
    bounds = InstanceBounds.empty(np.linalg.norm(x, axis=1), offsets, 3)
    w = rng.normal(size=3)
    for _ in range(20):
        some = np.flatnonzero(rng.random(5) < 0.7)
        best, values_of_best = bag_maxima(bounds, x, 3, offsets, some, w)
        values = (x * w).sum(axis=1)
        assert np.allclose(values_of_best, bags.max(values)[some], atol=1e-12)
        assert np.allclose(values[best], values_of_best, atol=1e-12)
        w = w + stride * rng.normal(size=3)


def test_ties_are_resolved_to_the_first_instance():
    x = np.array([[0.0], [1.0], [1.0], [0.5]])
    bounds = InstanceBounds.empty(x[:, 0].copy(), np.array([0, 4]), 1)
    bag = np.array([0])
    assert bag_maxima(bounds, x, 1, np.array([0, 4]), bag, np.array([-1.0]))[0] == 0
    assert bag_maxima(bounds, x, 1, np.array([0, 4]), bag, np.array([1.0]))[0] == 1


def test_edge_of_the_golden_bags(golden_bags):
    bags, y = golden_bags
    for dictionary in (None, bags.instances):
        _, price = native_pricing(bags, y, dictionary=dictionary)
        assert price(UNIFORM).columns[0].value == pytest.approx(0.48866, abs=1e-5)


@pytest.mark.parametrize(("nu", "gamma"), [(0.34, 0.452026), (0.5, 0.452026), (0.9, 0.468601)])
def test_soft_margins_of_the_golden_bags(nu, gamma, golden_bags):
    problem = soft_margin(*golden_bags, nu)
    result = milopt.solve(problem, "master=highs,oracle=native", ColumnGeneration(tolerance=1e-5))
    assert result.objective == pytest.approx(gamma, rel=1e-4)
    assert result.solver == "master=highs,oracle=native"


@pytest.mark.parametrize("d", [UNIFORM, SKEW], ids=["uniform", "skew"])
@pytest.mark.parametrize("with_dictionary", [False, True])
def test_same_edge_as_by_solving_the_program(d, with_dictionary, golden_bags):
    bags, y = golden_bags
    atoms = bags.instances[:5] if with_dictionary else None
    candidates = K(bags.instances, bags.instances if atoms is None else atoms)
    best = np.argsort(-((y * d) @ bags.max(candidates)))
    oracle, prices = weak_learning(bags, y, dictionary=atoms, starts=lambda _: [candidates[:, z] for z in best])
    native_column = hilbert_ball_pricing(oracle, bags, Options()).price(prices(d), 1, Clock(None)).columns[0]
    other = ProgramPricing(oracle, bags, milopt.get_solver("clarabel"), Options())
    program_column = other.price(prices(d), 1, Clock(None)).columns[0]
    other.close()
    assert native_column.value == pytest.approx(program_column.value, abs=1e-6)
    assert np.allclose(native_column.column, program_column.column, atol=1e-4)


def test_coefficients_have_the_structure_of_the_minimum_norm_point(golden_bags):
    bags, y = golden_bags
    _, price = native_pricing(bags, y, radius=3.0)
    priced = price(SKEW).columns[0]
    points, a = priced.functions["u"]
    # Instances 0 and 6 are the same point, in a positive and in a negative bag: the sign distinguishes them.
    best = [[p for p in range(12) if np.array_equal(bags.instances[p], point)] for point in points]
    rows = np.array(
        [next(p for p in where if (y[bags.bag_of[p]] > 0) == (c > 0)) for where, c in zip(best, a, strict=True)]
    )
    length = np.linalg.norm(3.0 * SKEW[y > 0]) / np.linalg.norm(a[a > 0])
    assert sorted(bags.bag_of[rows[a > 0]]) == [0, 2, 4]
    assert np.allclose(a[a > 0], 3.0 * SKEW[bags.bag_of[rows[a > 0]]] / length)
    assert (y[bags.bag_of[rows[a < 0]]] < 0).all()
    for bag in (1, 3, 5):
        assert a[(bags.bag_of[rows] == bag)].sum() == pytest.approx(-3.0 * SKEW[bag] / length)
    assert priced.value == pytest.approx(3.0 * length, abs=1e-9)
    assert bags.argmax(K(bags.instances, points) @ a)[y > 0].tolist() == sorted(rows[a > 0])


def test_equal_bags_in_both_classes_have_edge_zero():
    bags = Bags(np.array([[0.0, 0], [1, 1], [0, 0], [1, 1]]), [0, 2, 4])
    for dictionary in (None, bags.instances[:2]):
        _, price = native_pricing(bags, np.array([1.0, -1.0]), dictionary=dictionary)
        priced = price([0.5, 0.5]).columns[0]
        assert priced.value == pytest.approx(0.0, abs=1e-9)
        assert priced.certificate.holds(1e-9)


def test_labels_of_one_class_give_a_valid_column(golden_bags):
    bags, _ = golden_bags
    _, price = native_pricing(bags, np.ones(6))
    assert price(UNIFORM).columns[0].value > 0
    _, price = native_pricing(bags, -np.ones(6))
    result = price(UNIFORM)
    assert result.columns[0].value > 0
    assert (result.columns[0].functions["u"][1] <= 0).all()
    assert result.bound == pytest.approx(result.columns[0].value, abs=1e-9)


def test_zero_weights_give_a_zero_column(golden_bags):
    _, price = native_pricing(*golden_bags)
    priced = price(np.zeros(6)).columns[0]
    assert priced.value == 0.0
    assert not priced.column.any()


def test_clarabel_prices_if_the_bounds_do_not_meet_and_fallbacks_are_counted(golden_bags, monkeypatch):
    pricing, price = native_pricing(
        *golden_bags, starts=lambda _: [K(golden_bags[0].instances, np.array([[2.0, 2.0]]))[:, 0]]
    )
    monkeypatch.setattr(hilbert_ball, "MAX_RELATIVE_GAP", -1.0)
    assert price(UNIFORM).columns[0].value == pytest.approx(0.48866, abs=1e-5)
    assert pricing.fallbacks == 1
    monkeypatch.undo()
    assert price(UNIFORM).columns[0].value == pytest.approx(0.48866, abs=1e-5)
    assert pricing.fallbacks == 1
    pricing.close()


def test_many_instances_start_from_the_declared_starts(golden_bags, monkeypatch):
    bags, y = golden_bags
    calls = []

    def starts(prices):
        calls.append(prices)
        return [K(bags.instances, bags.instances[[1]])[:, 0]]

    monkeypatch.setattr(hilbert_ball, "MAX_EXHAUSTIVE_PATTERNS", 3)
    _, price = native_pricing(bags, y, starts=starts)
    assert price(UNIFORM).columns[0].value == pytest.approx(0.48866, abs=1e-5)
    assert len(calls) == 1


def indefinite_kernel(a, b):
    """Return ||x - z||^2, which is not a positive semidefinite kernel."""
    return ((a[:, None] - b) ** 2).sum(axis=2)


@pytest.mark.parametrize("max_full_basis", [1000, 0])
@pytest.mark.parametrize("with_dictionary", [False, True])
def test_an_indefinite_kernel_is_an_error_with_its_smallest_eigenvalue(
    max_full_basis, with_dictionary, golden_bags, monkeypatch
):
    bags, y = golden_bags
    monkeypatch.setattr(hilbert_coordinates, "MAX_FULL_BASIS_INSTANCES", max_full_basis)
    with pytest.raises(ConvexityError, match=r"kernel of 'u' is not positive semidefinite: smallest eigenvalue -\d"):
        native_pricing(bags, y, kernel=indefinite_kernel, dictionary=bags.instances if with_dictionary else None)[1](
            UNIFORM
        )


def test_other_programs_are_not_recognised(golden_bags):
    bags, y = golden_bags

    def is_unsupported(change, over=bags):
        program = Program("another")
        u = program.function("u", K, dictionary=bags.instances)
        p = program.parameter("d", len(bags), sign=+1)
        program.maximize((y * p) @ bag_max(u(bags)))
        column = change(program, u, p) or (lambda new: bag_max(u(new)))
        price = Program("master").variable("d", len(bags))
        return hilbert_ball_pricing(Oracle(program, {p: price}, column), over, Options()) is None

    assert not is_unsupported(lambda program, u, p: _add_constraints(program, u.norm() <= 1))
    assert is_unsupported(lambda program, u, p: _add_constraints(program, norm1(u.coefficients) <= 1))
    assert is_unsupported(lambda program, u, p: _add_constraints(program, u.norm() <= 1, u.coefficients >= 0))
    assert is_unsupported(lambda program, u, p: _add_constraints(program, u.norm_squared() <= 1))
    assert is_unsupported(
        lambda program, u, p: _add_constraints(program, u.norm() <= 1), over=Bags(bags.instances, bags.offsets)
    )
    assert is_unsupported(
        lambda program, u, p: _add_constraints(program, u.norm() <= 1) or (lambda new: u(new.instances)[:6])
    )


def _add_constraints(program, *constraints):
    for constraint in constraints:
        program.subject_to(constraint)


def test_a_minimised_objective_has_the_opposite_sign(golden_bags):
    bags, y = golden_bags
    program = Program("cost")
    u = program.function("u", K)
    p = program.parameter("d", len(bags), sign=+1)
    program.minimize((-y * p) @ bag_max(u(bags)))
    program.subject_to(2 * u.norm() <= 1, name="ball")
    oracle = Oracle(program, {p: Program("master").variable("d", 6)}, lambda new: -1 * bag_max(u(new)))
    priced = hilbert_ball_pricing(oracle, bags, Options()).price({p: UNIFORM}, 1, Clock(None)).columns[0]
    assert priced.value == pytest.approx(-0.48866 / 2, abs=1e-5)
    assert (y * UNIFORM) @ priced.column == pytest.approx(priced.value, abs=1e-9)
