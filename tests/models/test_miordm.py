"""MIORDM: the algorithm of the paper cycles on twelve points, CCP never increases, and exact equals enumeration."""

from __future__ import annotations

from itertools import product

import cvxpy as cp
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from milopt import (
    RBF,
    Bags,
    ConvexConcave,
    Exact,
    Options,
    Precomputed,
    Program,
    Representatives,
    as_bags,
    get_solver,
    load_data,
    quad_form,
    solve,
)
from milopt.compilation.minorant import one_hot_minorants
from milopt.compilation.status import PointStatus, Termination
from milopt.errors import MiloptWarning, ParameterError
from milopt.models import MIORDM, ODM
from milopt.outcome.point_values import PointValues
from milopt.schemes.separable import separable_optimum
from milopt.schemes.start import starting_stand_in
from milopt.solving.step_session import StepSession

K = RBF(0.5)
LAMBDA, THETA, MU = 16.0, 0.5, 0.5
CYCLE = ((1, 3, 4, 8, 9, 10), (1, 2, 4, 7, 9, 11))
pytestmark = pytest.mark.filterwarnings("ignore::milopt.errors.MiloptWarning")


def miordm(**more) -> MIORDM:
    return MIORDM(**{"lam": LAMBDA, "theta": THETA, "mu": MU, "kernel": K, "scale": "none"} | more)


def true_objective(result, bags, y, lam=LAMBDA, theta=THETA, mu=MU):
    """Return the objective Jtrue at the function of the result, from the definition."""
    t = y * bags.max(result.functions["f"](bags.instances))
    loss = np.maximum(1 - theta - t, 0) ** 2 + mu * np.maximum(t - 1 - theta, 0) ** 2
    return 0.5 * result.functions["f"].norm_squared + lam / (len(bags) * (1 - theta) ** 2) * loss.sum()


def means(bags) -> Bags:
    return Bags(bags.mean(bags.instances), np.arange(len(bags) + 1))


def random_bags(seed, m=6, size=3, shift=1.0):
    rng = np.random.default_rng(seed)
    y = np.where(np.arange(m) % 2, -1.0, 1.0)
    bags = [rng.normal(size=(size, 2)) for _ in range(m)]
    for bag, sign in zip(bags, y, strict=True):
        bag[0] += shift * (sign > 0)
    return as_bags(bags), y


def reselect(bags, y, start, name):
    """Return the representatives that one solve with `start` leads to."""
    result = solve(miordm().program(bags, y), name, Representatives(start=start, max_steps=1))
    return tuple(bags.argmax(result.functions["f"](bags.instances)).tolist())


@pytest.mark.parametrize("form", ["dual", "primal"])
@pytest.mark.parametrize("name", ["native", "highs", "clarabel", "ecos"])
def test_golden_inner_solve_on_bag_means(name, form, golden_bags):
    if (name, form) == ("native", "primal"):
        pytest.skip("native solves box-constrained duals; the primal has rows")
    bags, y = golden_bags
    result = miordm(solver=name, form=form, scheme="representatives").fit(means(bags), y).result_
    assert result.certificate.worst <= 1e-6
    assert result.objective == pytest.approx(5.770615, abs=1e-5)
    alpha = [0.803559, 10.848897, 10.484436, 0.256361, 0.419725, 0.269484]
    np.testing.assert_allclose(result.duals["lower"], alpha, atol=1e-4)
    np.testing.assert_allclose(result.duals["upper"], np.zeros(6), atol=1e-6)


@pytest.mark.parametrize("name", ["native", "highs", "clarabel"])
def test_alternation_from_bag_means_enters_the_golden_cycle_of_period_two(name, golden_bags):
    bags, y = golden_bags
    assert reselect(bags, y, bags.mean(bags.instances), name) == CYCLE[0]
    assert reselect(bags, y, np.array(CYCLE[0]), name) == CYCLE[1]
    assert reselect(bags, y, np.array(CYCLE[1]), name) == CYCLE[0]
    with pytest.warns(MiloptWarning, match="ended as cycle"):
        result = miordm(solver=name, scheme="representatives").fit(bags, y).result_
    assert result.termination is Termination.CYCLE
    # Feasible but not a fixed point: this is a success of the alternation, so commands exit with code 0.
    assert (result.point, result.exit_code) == (PointStatus.FEASIBLE, 0)
    assert [step.changed for step in result.history] == [6, 3, 3]
    np.testing.assert_array_equal(
        result.history[0].objective, solve(miordm().program(bags, y), name, Representatives(max_steps=1)).objective
    )


@pytest.mark.parametrize("start", CYCLE)
def test_alternation_keeps_the_best_iterate_of_the_cycle(start, golden_bags):
    bags, y = golden_bags
    result = solve(miordm().program(bags, y), "highs", Representatives(start=np.array(start)))
    assert result.termination is Termination.CYCLE
    assert result.objective == pytest.approx(true_objective(result, bags, y), rel=1e-6)
    assert result.objective == pytest.approx(min(step.objective for step in result.history))


@settings(max_examples=12, deadline=None, derandomize=True)
@given(st.integers(0, 10_000), st.sampled_from([16.0, 512.0]), st.sampled_from([0.1, 0.7]))
def test_the_alternation_always_terminates_with_a_status(seed, lam, theta):
    bags, y = random_bags(seed, m=8, size=4)
    result = miordm(lam=lam, theta=theta, solver="native", scheme="representatives").fit(bags, y).result_
    assert result.termination in (Termination.STATIONARY, Termination.CYCLE, Termination.LIMIT)
    assert (result.termination is Termination.STATIONARY) == (result.history[-1].changed == 0)
    assert result.objective == pytest.approx(true_objective(result, bags, y, lam, theta), rel=1e-6)


@pytest.mark.parametrize("name", ["native", "highs", "clarabel", "ecos"])
def test_the_convex_concave_procedure_never_increases_and_ends_below_the_alternation(name, golden_bags):
    bags, y = golden_bags
    result = miordm(solver=name).fit(bags, y).result_
    assert (result.scheme, result.termination, result.point) == ("ccp", Termination.STATIONARY, PointStatus.CERTIFIED)
    objectives = np.array([step.objective for step in result.history])
    assert (np.diff(objectives) <= 1e-9 * objectives[:-1] + 1e-8).all()
    assert result.objective == pytest.approx(true_objective(result, bags, y), rel=1e-6)
    alternation = miordm(solver=name, scheme="representatives").fit(bags, y).result_
    assert result.objective < alternation.objective


@settings(max_examples=8, deadline=None, derandomize=True)
@given(st.integers(0, 10_000), st.sampled_from([16.0, 512.0]), st.sampled_from([0.1, 0.7]))
def test_steps_of_the_procedure_decrease_and_are_certified(seed, lam, theta):
    bags, y = random_bags(seed, m=8, size=4)
    result = miordm(lam=lam, theta=theta, solver="native").fit(bags, y).result_
    assert (result.termination, result.point) == (Termination.STATIONARY, PointStatus.CERTIFIED)
    objectives = np.array([step.objective for step in result.history])
    assert (np.diff(objectives) <= 1e-9 * (1 + objectives[:-1])).all()
    assert all(step.certificate.worst <= 1e-6 for step in result.history)
    assert result.objective == pytest.approx(true_objective(result, bags, y, lam, theta), rel=1e-6)


def with_witnesses(bags, y, witnesses):
    """Compute the convex step of the specification at fixed witnesses with cvxpy, from the formulas alone."""
    gram = K(bags.instances, bags.instances)
    values, vectors = np.linalg.eigh(gram)
    kept = values > 1e-10 * values[-1]
    L = vectors[:, kept] * np.sqrt(values[kept])
    beta, xi, eps = cp.Variable(L.shape[1]), cp.Variable(len(bags), nonneg=True), cp.Variable(len(bags), nonneg=True)
    rows = []
    for i in range(len(bags)):
        inside = list(range(bags.offsets[i], bags.offsets[i + 1]))
        if y[i] > 0:
            rows += [L[witnesses[i]] @ beta >= 1 - THETA - xi[i], L[inside] @ beta <= 1 + THETA + eps[i]]
        else:
            rows += [L[inside] @ beta <= xi[i] - (1 - THETA), L[witnesses[i]] @ beta >= -(1 + THETA) - eps[i]]
    c0 = LAMBDA / (len(bags) * (1 - THETA) ** 2)
    cost = 0.5 * cp.sum_squares(beta) + c0 * (cp.sum_squares(xi) + MU * cp.sum_squares(eps))
    return cp.Problem(cp.Minimize(cost), rows).solve(solver=cp.CLARABEL)


@pytest.mark.parametrize("name", ["native", "highs", "clarabel"])
def test_a_step_of_the_procedure_is_the_program_of_the_specification(name):
    bags, y = random_bags(3)
    first = bags.offsets[:-1].copy()
    program = miordm().program(bags, y)
    chosen = one_hot_minorants({program.maxima()[0]: first})
    for form in ("dual", "primal") if name != "native" else ("dual",):
        with StepSession(program, get_solver(name), Options(form=form), witnesses=chosen) as session:
            assert session.solve().objective == pytest.approx(with_witnesses(bags, y, first), rel=1e-6)


def from_means_and_inside(seed):
    """Return the objective at the bag means, and the procedure from there and from the witnesses found there."""
    bags, y = random_bags(seed, m=8, size=4)
    program, start = miordm(theta=0.1).program(bags, y), bags.mean(bags.instances)
    (atom,) = program.maxima()
    with StepSession(program, get_solver("native"), witnesses={atom: starting_stand_in(atom, start)}) as session:
        outside = session.solve()
        values = PointValues(session.lowering, outside)
        inside = bags.argmax(values.argument_values(atom))
    from_means, from_witnesses = (solve(program, "native", ConvexConcave(start=chosen)) for chosen in (start, inside))
    return outside.objective, *([step.objective for step in run.history] for run in (from_means, from_witnesses))


def test_from_points_that_are_not_instances_the_first_step_moves_to_instances():
    """At a mean, the function may be larger than at every instance of the bag: no descent can start from this value."""
    outside, from_means, from_witnesses = from_means_and_inside(0)
    assert from_means == pytest.approx(from_witnesses)
    assert outside < from_means[0]


@pytest.mark.parametrize("seed", [1, 6, 10, 11, 19])
def test_ties_between_witnesses_do_not_depend_on_rounding(seed):
    """For these seeds, some core types have instances that are tied up to rounding."""
    _, from_means, from_witnesses = from_means_and_inside(seed)
    assert from_means == pytest.approx(from_witnesses)


@pytest.mark.thorough(unless={"seed": [0]})
@pytest.mark.parametrize("name", ["native", "highs"])
@pytest.mark.parametrize("seed", range(2))
def test_exact_equals_enumeration_and_is_a_lower_bound_of_the_procedure(seed, name):
    bags, y = random_bags(seed, m=4, size=3, shift=0.3)
    best = min(with_witnesses(bags, y, witnesses) for witnesses in product(*np.split(np.arange(12), 4)))
    result = miordm(solver=name, scheme="exact").fit(bags, y).result_
    assert (result.termination, result.point) == (Termination.OPTIMAL, PointStatus.CERTIFIED)
    assert result.objective == pytest.approx(best, rel=1e-6)
    assert result.bound == pytest.approx(best, rel=1e-6)
    assert miordm(solver=name).fit(bags, y).result_.objective >= best * (1 - 1e-6)


def test_exact_keeps_the_best_point_at_a_limit(golden_bags):
    bags, y = golden_bags
    result = miordm(scheme=Exact(max_nodes=1)).fit(bags, y).result_
    assert result.termination in (Termination.LIMIT, Termination.OPTIMAL)
    assert result.objective >= result.bound - 1e-6


@pytest.mark.parametrize("scheme", ["ccp", "exact", "representatives"])
def test_a_point_at_a_limit_is_feasible_only_with_completed_slacks(scheme):
    data = load_data("musk1")
    result = MIORDM(scheme=scheme, options=Options(time_limit=1e-3)).fit(data.bags, data.labels).result_
    assert result.termination is Termination.LIMIT
    assert result.point is (PointStatus.FEASIBLE if scheme == "representatives" else PointStatus.NONE)


@pytest.mark.parametrize("model", [MIORDM, ODM])
def test_auto_finds_a_solver_for_the_primal_form(model, golden_bags):
    primal, dual = (model(form=form).fit(*golden_bags).result_ for form in ("primal", "dual"))
    assert (primal.solver, dual.solver) == ("clarabel", "native")
    assert primal.objective == pytest.approx(dual.objective, rel=1e-6)


def test_bags_of_one_instance_give_odm_in_one_step(golden_bags):
    bags, y = golden_bags
    for scheme in ("representatives", "ccp"):
        model = miordm(solver="native", scheme=scheme).fit(means(bags), y)
        assert model.result_.termination is Termination.STATIONARY
        assert model.result_.objective == pytest.approx(5.770615, abs=1e-5)
        plain = ODM(lam=LAMBDA, theta=THETA, mu=MU, kernel=K, scale="none").fit(means(bags), y)
        np.testing.assert_allclose(model.decision_function(bags), _largest(plain, bags), atol=1e-9)


def _largest(model, bags):
    return np.array([scores.max() for scores in model.instance_scores(bags)])


def test_both_sides_of_one_maximum_need_one_witness_per_bag(golden_bags):
    bags, y = golden_bags
    program = miordm().program(bags, y)
    assert program.kind == "DC"
    assert len(program.maxima()) == 1
    sides = {side.where: (side.convex.tolist(), side.witness.tolist()) for side in program.atom_sides()}
    assert sides == {"lower": ([1, 3, 5], [0, 2, 4]), "upper": ([0, 2, 4], [1, 3, 5])}


def test_scores_do_not_depend_on_order_and_copies_of_instances():
    bags, y = random_bags(5, m=10)
    new, _ = random_bags(6, m=10)
    order = np.random.default_rng(0).permutation(len(bags))
    shuffled = [np.concatenate([bags[i][::-1], bags[i][2:]]) for i in order]
    first, third = np.arange(10) * 3, np.arange(10) * 4 + 2
    model = miordm(scheme=ConvexConcave(start=first)).fit(bags, y)
    other = miordm(scheme=ConvexConcave(start=third)).fit(shuffled, y[order])
    np.testing.assert_allclose(model.decision_function(new), other.decision_function(new), atol=1e-6)


@pytest.mark.parametrize("scheme", ["ccp", "representatives", "exact"])
def test_bags_of_identical_instances_equal_bags_of_one_instance(scheme):
    bags, y = random_bags(2, m=6, size=1)
    copies = [np.repeat(bag, 3, axis=0) for bag in bags]
    model = miordm(scheme=scheme).fit(bags, y)
    other = miordm(scheme=scheme).fit(copies, y)
    assert other.result_.objective == pytest.approx(model.result_.objective, rel=1e-8)
    np.testing.assert_allclose(other.decision_function(bags), model.decision_function(bags), atol=1e-6)


def test_identical_bags_of_both_classes_have_equal_scores():
    bag = np.array([[0.0, 1.0], [2.0, 0.5]])
    model = miordm().fit([bag] * 4, [0, 1, 0, 1])
    assert model.result_.point is PointStatus.CERTIFIED
    np.testing.assert_allclose(model.decision_function([bag]), 0.0, atol=1e-6)


def test_the_start_is_the_mean_of_each_bag_unless_the_kernel_has_no_such_points(golden_bags):
    bags, y = golden_bags
    np.testing.assert_array_equal(miordm().program(bags, y).start, bags.mean(bags.instances))
    gram = K(bags.instances, bags.instances)
    rows = Bags(np.arange(12.0)[:, None], bags.offsets)
    assert miordm(kernel=Precomputed(gram)).program(rows, y).start is None
    assert miordm(kernel=Precomputed(gram)).fit(rows, y).result_.termination is Termination.STATIONARY
    with pytest.raises(ParameterError, match='start must be one of "mean", "random"'):
        miordm(start="median").fit(bags, y)


def test_class_dependent_margins_move_the_margins_of_their_class(golden_bags):
    bags, y = golden_bags
    wide = miordm(theta=(0.1, 0.8)).fit(bags, y)
    t = y * wide.decision_function(bags)
    assert t[y > 0].mean() < t[y < 0].mean()


def test_native_continues_from_the_last_step_when_witnesses_change_and_rows_are_added(data_set):
    arrays, y = data_set("musk1")
    bags = as_bags(arrays)
    program = miordm(kernel=RBF()).program(bags, y)
    (atom,) = program.maxima()
    for lazy in (False, True):
        with StepSession(
            program, get_solver("native"), Options(lazy=lazy), witnesses=one_hot_minorants({atom: bags.offsets[:-1]})
        ) as session:
            first = session.solve()
            session.set_witnesses(one_hot_minorants({atom: bags.offsets[:-1]}))
            assert session.solve().iterations == 0
            session.set_witnesses(one_hot_minorants({atom: bags.offsets[1:] - 1}))
            warm = session.solve()
        chosen = one_hot_minorants({atom: bags.offsets[1:] - 1})
        with StepSession(program, get_solver("native"), Options(lazy=lazy), witnesses=chosen) as session:
            cold = session.solve()
        assert warm.objective == pytest.approx(cold.objective, rel=1e-9)
        assert warm.iterations < cold.iterations
        assert first.certificate.worst <= 1e-10
        assert warm.certificate.worst <= 1e-10


def test_slacks_are_completed_in_closed_form_as_a_solver_would(golden_bags):
    _, y = golden_bags
    program = Program("rest")
    xi = program.variable("xi", 6)
    hinge = program.variable("hinge", 6, lower=0)
    program.minimize(quad_form(xi, np.arange(1.0, 7.0)) - 2 * xi.sum() + 3 * hinge.sum() + 1)
    program.subject_to(xi >= y / 2, name="above")
    program.subject_to(2 * xi <= 1.5, name="below")
    program.subject_to(hinge >= 1 - y, name="loss")
    value, values = separable_optimum(program, 1e-9)
    result = solve(program, "clarabel")
    assert value == pytest.approx(result.objective, rel=1e-7)
    for name, numbers in values.items():
        np.testing.assert_allclose(numbers, result.values[name], atol=1e-6)
    program.subject_to(xi[0] + xi[1] >= 0, name="together")
    assert separable_optimum(program, 1e-9) is None


@pytest.mark.parametrize("solver", ["clarabel", "highs", "ecos", "cvxpy:OSQP"])
def test_the_primal_form_is_certified_on_nearly_dependent_points(solver):
    """Points within 3e-7 of the span of others have no coordinate but large multipliers, which f must contain."""
    rng = np.random.default_rng(0)
    bags = [rng.normal(size=(2, 2)) + 0.5 * (i % 2) for i in range(30)]
    y = np.array([-1, 1] * 15)
    dual = MIORDM(kernel=RBF(0.5)).fit(bags, y).result_
    primal = MIORDM(kernel=RBF(0.5), form="primal", solver=solver).fit(bags, y).result_
    assert primal.point is PointStatus.CERTIFIED
    assert primal.termination is dual.termination is Termination.STATIONARY
    assert primal.objective == pytest.approx(dual.objective, rel=1e-6)
