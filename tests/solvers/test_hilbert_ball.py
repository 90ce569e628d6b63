"""Weak learning over the Hilbert ball, natively: minimum-norm points, the steps over them, and what comes out."""

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
from milopt.solvers.native.hilbert_ball.bag_ceilings import Ceilings, maxima
from milopt.solvers.native.hilbert_ball.coordinates import DictionaryCoordinates, GrowingCoordinates
from milopt.solvers.native.hilbert_ball.hilbert_ball import hilbert_ball_pricing
from milopt.solvers.native.hilbert_ball.minimum_norm import MinimumNorm
from milopt.solving.clock import Clock
from milopt.solving.options import Options

K = RBF(0.5)
UNIFORM = np.full(6, 1 / 6)
SKEW = np.array([0.3, 0.1, 0.05, 0.25, 0.1, 0.2])


def weak_learning(bags, y, kernel=K, dictionary=None, radius=1.0, starts=None):
    """(oracle, prices -> their mapping):  max sum_i y_i d_i max_{x in B_i} u(x)  over ||u|| <= radius."""
    program = Program("weak learning")
    u = program.function("u", kernel, dictionary=dictionary)
    p = program.parameter("d", len(bags), sign=+1)
    program.maximize((y * p) @ bag_max(u(bags)))
    program.subject_to(u.norm() <= radius, name="ball")
    price = Program("master").variable("d", len(bags))
    return Oracle(program, {p: price}, lambda new: bag_max(u(new)), None, starts), lambda d: {p: d}


def native(bags, y, **manner):
    oracle, prices = weak_learning(bags, y, **manner)
    pricing = hilbert_ball_pricing(oracle, bags, Options())
    return pricing, lambda d, starts=1: pricing.price(prices(np.asarray(d)), starts, Clock(None))


def soft_margin(bags, y, nu):
    """The boosting problem with hypotheses from the Hilbert ball."""
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
    """(u as a function of points, ||u||) of what was priced."""
    points, a = priced.functions["u"] if dictionary is None else (dictionary, priced.values["u.coefficients"])
    if not a.size:
        return (lambda x: np.zeros(len(x))), 0.0
    return (lambda x: kernel(x, points) @ a), np.sqrt(max(0.0, a @ kernel(points, points) @ a))


def features(kernel, bags, dictionary=None):
    """Coordinates of all instances, by the eigenvalues of a Gram matrix."""
    atoms = bags.instances if dictionary is None else dictionary
    values, vectors = np.linalg.eigh(kernel(atoms, atoms))
    kept = values > 1e-10 * values[-1]
    return kernel(bags.instances, atoms) @ (vectors[:, kept] / np.sqrt(values[kept]))


def by_cone(x, offsets, c, demand):
    """max c'u - sum_r d_r max_{x in B_r} x'u  over ||u|| <= 1, by Clarabel."""
    u, top = cp.Variable(x.shape[1]), cp.Variable(demand.size)
    rows = [cp.norm(u) <= 1]
    rows += [x[offsets[r] : offsets[r + 1]] @ u <= top[r] for r in range(demand.size)]
    return cp.Problem(cp.Maximize(c @ u - demand @ top), rows).solve(solver=cp.CLARABEL)


def by_distance(x, offsets, c, demand):
    """The norm of the point of c - sum_r d_r conv(B_r) that is nearest to 0, by Clarabel."""
    parts = [cp.Variable(offsets[r + 1] - offsets[r], nonneg=True) for r in range(demand.size)]
    rows = [cp.sum(part) == 1 for part in parts]
    sums = sum(demand[r] * (x[offsets[r] : offsets[r + 1]].T @ part) for r, part in enumerate(parts))
    return cp.Problem(cp.Minimize(cp.norm(c - sums)), rows).solve(solver=cp.CLARABEL)


@st.composite
def cases(draw):
    """Random bags, labels of both or of one sign, weights with zeros, a kernel, and perhaps a dictionary."""
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
def test_cone_program_is_minimum_norm_point_is_native(case):
    bags, y, d, kernel, dictionary = case
    function = Program("p").function("u", kernel, dictionary=dictionary)
    space = (GrowingCoordinates if dictionary is None else DictionaryCoordinates)(function, bags)
    witnesses = bags.offsets[:-1][y > 0]
    demand = np.where(y < 0, d, 0.0)
    found = MinimumNorm(space, bags.offsets).solve(witnesses, d[y > 0], demand)
    x = features(kernel, bags, dictionary)
    c = d[y > 0] @ x[witnesses]
    assert found.upper == pytest.approx(by_cone(x, bags.offsets, c, demand), abs=1e-6)
    assert found.upper == pytest.approx(by_distance(x, bags.offsets, c, demand), abs=1e-6)
    assert found.gap <= max(1e-9 * found.upper, 1e-11)


@settings(max_examples=40, deadline=None)
@given(cases())
def test_what_is_priced_is_what_it_says(case):
    bags, y, d, kernel, dictionary = case
    pricing, price = native(bags, y, kernel=kernel, dictionary=dictionary, radius=2.5)
    found = price(d, 3)
    atoms = bags.instances if dictionary is None else dictionary
    lengths = np.sqrt(kernel.diagonal(atoms))
    one_hots = (y * d) @ bags.max(kernel(bags.instances, atoms)) / np.where(lengths > 0, lengths, 1.0)
    for priced in found.columns:
        u, norm = function_of(priced, kernel, dictionary)
        assert np.allclose(priced.column, bags.max(u(bags.instances)), atol=1e-6)
        assert priced.value == pytest.approx((y * d) @ priced.column, abs=1e-12)
        assert norm == pytest.approx(2.5, rel=1e-6) or priced.value == pytest.approx(0.0, abs=1e-9)
        assert priced.certificate.holds(1e-8)
    assert found.columns[0].value >= 2.5 * one_hots.max() - 1e-8
    assert [one.value for one in found.columns] == sorted((one.value for one in found.columns), reverse=True)
    assert pricing.fallbacks == 0


@settings(max_examples=25, deadline=None)
@given(cases(), st.integers(0, 100))
def test_a_warm_search_finds_what_a_new_one_finds(case, seed):
    bags, y, _, kernel, dictionary = case
    rng = np.random.default_rng(seed)
    _, warm = native(bags, y, kernel=kernel, dictionary=dictionary)
    for _ in range(6):
        d = rng.dirichlet(np.ones(len(bags))) * (rng.random(len(bags)) < 0.7)
        _, cold = native(bags, y, kernel=kernel, dictionary=dictionary)
        assert warm(d).columns[0].value == pytest.approx(cold(d).columns[0].value, abs=1e-8)


@settings(max_examples=25, deadline=None, derandomize=True)
@given(cases(), st.integers(0, 100))
def test_coordinates_may_grow_and_be_forgotten(case, seed):
    bags, y, _, kernel, _ = case
    rng = np.random.default_rng(seed)
    with pytest.MonkeyPatch.context() as patch:
        _, whole = native(bags, y, kernel=kernel)
        patch.setattr(hilbert_coordinates, "FEW", 0)
        patch.setattr(hilbert_coordinates.GrowingCoordinates, "is_crowded", lambda space, needed: space.rank > 3)
        _, growing = native(bags, y, kernel=kernel)
        for _ in range(6):
            d = rng.dirichlet(np.ones(len(bags))) * (rng.random(len(bags)) < 0.7)
            found, expected = growing(d, 2).columns[0], whole(d, 2).columns[0]
            assert found.value == pytest.approx(expected.value, abs=1e-8)
            # Two columns may be worth the same, so each is held to its own.
            assert (y * d) @ found.column == pytest.approx(found.value, abs=1e-8)


@settings(max_examples=25, deadline=None)
@given(cases())
def test_steps_never_lose_what_they_had(case):
    bags, y, d, kernel, dictionary = case
    pricing, _ = native(bags, y, kernel=kernel, dictionary=dictionary)
    weights = y * d
    ended = pricing.climb(weights, bags.offsets[:-1][weights > 0], Clock(None), set())
    assert (np.diff(ended.trace) >= -1e-9).all()
    assert len(ended.trace) <= 20


@settings(max_examples=25, deadline=None)
@given(st.integers(0, 2**32 - 1), st.sampled_from([1e-6, 0.1, 60.0]))
def test_largest_instances_of_a_moving_direction(seed, stride):
    rng = np.random.default_rng(seed)
    offsets = np.concatenate([[0], np.cumsum(rng.integers(1, 30, size=5))])
    x = np.round(rng.normal(size=(offsets[-1], 3)), 1)
    bags = Bags(x, offsets)
    ceilings = Ceilings.unknown(np.linalg.norm(x, axis=1), offsets, 3)
    w = rng.normal(size=3)
    for _ in range(20):
        some = np.flatnonzero(rng.random(5) < 0.7)
        place, top = maxima(ceilings, x, 3, offsets, some, w)
        values = (x * w).sum(axis=1)
        assert np.allclose(top, bags.max(values)[some], atol=1e-12)
        assert np.allclose(values[place], top, atol=1e-12)
        w = w + stride * rng.normal(size=3)


def test_of_instances_that_tie_the_first_is_the_largest():
    x = np.array([[0.0], [1.0], [1.0], [0.5]])
    ceilings = Ceilings.unknown(x[:, 0].copy(), np.array([0, 4]), 1)
    bag = np.array([0])
    assert maxima(ceilings, x, 1, np.array([0, 4]), bag, np.array([-1.0]))[0] == 0
    assert maxima(ceilings, x, 1, np.array([0, 4]), bag, np.array([1.0]))[0] == 1


def test_golden_edge(golden_bags):
    bags, y = golden_bags
    for dictionary in (None, bags.instances):
        _, price = native(bags, y, dictionary=dictionary)
        assert price(UNIFORM).columns[0].value == pytest.approx(0.48866, abs=1e-5)


@pytest.mark.parametrize(("nu", "gamma"), [(0.34, 0.452026), (0.5, 0.452026), (0.9, 0.468601)])
def test_golden_soft_margins(nu, gamma, golden_bags):
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
    ours = hilbert_ball_pricing(oracle, bags, Options()).price(prices(d), 1, Clock(None)).columns[0]
    other = ProgramPricing(oracle, bags, milopt.get("clarabel"), Options())
    theirs = other.price(prices(d), 1, Clock(None)).columns[0]
    other.close()
    assert ours.value == pytest.approx(theirs.value, abs=1e-6)
    assert np.allclose(ours.column, theirs.column, atol=1e-4)


def test_coefficients_have_the_structure_of_the_minimum_norm_point(golden_bags):
    bags, y = golden_bags
    _, price = native(bags, y, radius=3.0)
    priced = price(SKEW).columns[0]
    points, a = priced.functions["u"]
    # Instances 0 and 6 are the same point, in a positive and in a negative bag: the sign tells them apart.
    place = [[p for p in range(12) if np.array_equal(bags.instances[p], point)] for point in points]
    rows = np.array(
        [next(p for p in where if (y[bags.bag_of[p]] > 0) == (c > 0)) for where, c in zip(place, a, strict=True)]
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
        _, price = native(bags, np.array([1.0, -1.0]), dictionary=dictionary)
        priced = price([0.5, 0.5]).columns[0]
        assert priced.value == pytest.approx(0.0, abs=1e-9)
        assert priced.certificate.holds(1e-9)


def test_one_class_only(golden_bags):
    bags, _ = golden_bags
    _, price = native(bags, np.ones(6))
    assert price(UNIFORM).columns[0].value > 0
    _, price = native(bags, -np.ones(6))
    found = price(UNIFORM)
    assert found.columns[0].value > 0
    assert (found.columns[0].functions["u"][1] <= 0).all()
    assert found.bound == pytest.approx(found.columns[0].value, abs=1e-9)


def test_no_weight_at_all(golden_bags):
    _, price = native(*golden_bags)
    priced = price(np.zeros(6)).columns[0]
    assert priced.value == 0.0
    assert not priced.column.any()


def test_bounds_that_do_not_meet_leave_the_price_to_clarabel_and_are_counted(golden_bags, monkeypatch):
    pricing, price = native(*golden_bags, starts=lambda _: [K(golden_bags[0].instances, np.array([[2.0, 2.0]]))[:, 0]])
    monkeypatch.setattr(hilbert_ball, "OPEN", -1.0)
    assert price(UNIFORM).columns[0].value == pytest.approx(0.48866, abs=1e-5)
    assert pricing.fallbacks == 1
    monkeypatch.undo()
    assert price(UNIFORM).columns[0].value == pytest.approx(0.48866, abs=1e-5)
    assert pricing.fallbacks == 1
    pricing.close()


def test_many_instances_start_where_the_oracle_says(golden_bags, monkeypatch):
    bags, y = golden_bags
    asked = []

    def starts(prices):
        asked.append(prices)
        return [K(bags.instances, bags.instances[[1]])[:, 0]]

    monkeypatch.setattr(hilbert_ball, "ALL_PATTERNS", 3)
    _, price = native(bags, y, starts=starts)
    assert price(UNIFORM).columns[0].value == pytest.approx(0.48866, abs=1e-5)
    assert len(asked) == 1


def indefinite(a, b):
    """||x - z||^2 is no positive semidefinite kernel."""
    return ((a[:, None] - b) ** 2).sum(axis=2)


@pytest.mark.parametrize("few", [1000, 0])
@pytest.mark.parametrize("with_dictionary", [False, True])
def test_an_indefinite_kernel_is_refused_with_its_smallest_eigenvalue(few, with_dictionary, golden_bags, monkeypatch):
    bags, y = golden_bags
    monkeypatch.setattr(hilbert_coordinates, "FEW", few)
    with pytest.raises(ConvexityError, match=r"kernel of 'u' is not positive semidefinite: smallest eigenvalue -\d"):
        native(bags, y, kernel=indefinite, dictionary=bags.instances if with_dictionary else None)[1](UNIFORM)


def test_other_programs_are_left_to_others(golden_bags):
    bags, y = golden_bags

    def refused(change, over=bags):
        program = Program("another")
        u = program.function("u", K, dictionary=bags.instances)
        p = program.parameter("d", len(bags), sign=+1)
        program.maximize((y * p) @ bag_max(u(bags)))
        column = change(program, u, p) or (lambda new: bag_max(u(new)))
        price = Program("master").variable("d", len(bags))
        return hilbert_ball_pricing(Oracle(program, {p: price}, column), over, Options()) is None

    assert not refused(lambda program, u, p: _add(program, u.norm() <= 1))
    assert refused(lambda program, u, p: _add(program, norm1(u.coefficients) <= 1))
    assert refused(lambda program, u, p: _add(program, u.norm() <= 1, u.coefficients >= 0))
    assert refused(lambda program, u, p: _add(program, u.norm_squared() <= 1))
    assert refused(lambda program, u, p: _add(program, u.norm() <= 1), over=Bags(bags.instances, bags.offsets))
    assert refused(lambda program, u, p: _add(program, u.norm() <= 1) or (lambda new: u(new.instances)[:6]))


def _add(program, *constraints):
    for constraint in constraints:
        program.subject_to(constraint)


def test_a_minimisation_prices_with_its_own_sign(golden_bags):
    bags, y = golden_bags
    program = Program("cost")
    u = program.function("u", K)
    p = program.parameter("d", len(bags), sign=+1)
    program.minimize((-y * p) @ bag_max(u(bags)))
    program.subject_to(2 * u.norm() <= 1, name="ball")
    oracle = Oracle(program, {p: Program("master").variable("d", 6)}, lambda new: -1 * bag_max(u(new)))
    found = hilbert_ball_pricing(oracle, bags, Options()).price({p: UNIFORM}, 1, Clock(None)).columns[0]
    assert found.value == pytest.approx(-0.48866 / 2, abs=1e-5)
    assert (y * UNIFORM) @ found.column == pytest.approx(found.value, abs=1e-9)
