"""MILES: the golden optimum, its dual linear program, and one optimum for all solvers."""

from __future__ import annotations

import numpy as np
import pytest

from milopt import RBF, Program, as_bags, solve
from milopt.compilation.status import PointStatus, Termination
from milopt.errors import ParameterError
from milopt.models.miles import MILES, similarity
from tests.models.general_solvers import FIRST_ORDER, general_solvers

K = RBF(0.5)
SOLVERS = general_solvers(but=tuple(FIRST_ORDER))


def dual(M, y, lam, cost) -> Program:
    """Solve max 1'd  s.t.  |sum_i y_i d_i M[i, z]| <= lambda,  y'd = 0,  0 <= d <= C."""
    program = Program("MILES, dual")
    d = program.variable("d", len(y), lower=0, upper=cost)
    pull = (y[:, None] * M).T
    program.maximize(d.sum())
    program.subject_to(pull @ d <= lam, name="above")
    program.subject_to(pull @ d >= -lam, name="below")
    program.subject_to(y @ d == 0, name="bias")
    return program


def random_bags(seed, m=9, D=3):
    rng = np.random.default_rng(seed)
    y = np.where(np.arange(m) % 2, -1.0, 1.0)
    bags = [rng.normal(size=(rng.integers(1, 5), D)) for _ in range(m)]
    for bag, sign in zip(bags, y, strict=True):
        bag[0] += sign
    return bags, y


@pytest.mark.parametrize("name", SOLVERS)
def test_miles_reaches_the_golden_optimum(name, golden_bags):
    bags, y = golden_bags
    result = solve(MILES(lam=0.3, mu=0.5, kernel=K, scale="none").program(bags, y), name)
    assert result.termination is Termination.OPTIMAL
    assert result.certificate.holds(1e-6)
    assert result.objective == pytest.approx(1.056492, abs=1e-5)


@pytest.mark.parametrize("seed", range(5))
def test_optimum_is_that_of_the_dual_program_with_weights_and_costs_by_class(seed):
    bags, y = random_bags(seed)
    weight = np.linspace(0.5, 1.5, len(y))
    primal = solve(MILES(lam=0.2, mu=0.7, kernel=K, scale="none").program(bags, y, weight), "highs")
    stacked = as_bags(bags)
    M = similarity(K, stacked, stacked.instances)
    other = solve(dual(M, y, 0.2, np.where(y > 0, 0.7, 0.3) * weight), "highs")
    assert other.termination is Termination.OPTIMAL
    assert primal.objective > 0.1
    assert primal.objective == pytest.approx(other.objective, abs=1e-9)
    # The multipliers of the primal are feasible for the dual, with the same value.
    d = primal.duals["margin"]
    assert d.sum() == pytest.approx(other.objective, abs=1e-8)
    assert np.abs(M.T @ (y * d)).max() <= 0.2 + 1e-8


def test_similarity_is_the_largest_kernel_value_in_the_bag(golden_bags):
    bags, _ = golden_bags
    expected = [[max(K(x[None], z[None])[0, 0] for x in bag) for z in bags.instances] for bag in bags]
    np.testing.assert_allclose(similarity(K, bags, bags.instances), expected, atol=1e-12)


def test_scores_of_training_bags_meet_the_margins_and_a_lone_instance_is_a_bag_of_one():
    bags, y = random_bags(1)
    model = MILES(lam=0.2, kernel=K, scale="none").fit(bags, y)
    slack = model.result_.values["slack"]
    assert (y * model.decision_function(bags) >= 1 - slack - 1e-8).all()
    alone = [bag[:1] for bag in bags]
    np.testing.assert_allclose(np.concatenate(model.instance_scores(alone)), model.decision_function(alone), atol=1e-10)


def test_scores_do_not_depend_on_the_order_of_bags_and_instances():
    bags, y = random_bags(2)
    rng = np.random.default_rng(0)
    order = rng.permutation(len(bags))
    shuffled = [bags[i][rng.permutation(len(bags[i]))] for i in order]
    model, model_of_shuffled = (
        MILES(lam=0.2, kernel=K, scale="none").fit(bags, y),
        MILES(lam=0.2, kernel=K, scale="none").fit(shuffled, y[order]),
    )
    assert model.result_.objective == pytest.approx(model_of_shuffled.result_.objective, abs=1e-9)
    new, _ = random_bags(3)
    # The optimal vertex may not be unique, so labels are only compared away from the boundary.
    scores, others = model.decision_function(new), model_of_shuffled.decision_function(new)
    clear = np.abs(scores) > 1e-3
    assert clear.sum() >= 5
    assert (np.sign(scores) == np.sign(others))[clear].all()


@pytest.mark.parametrize("name", SOLVERS)
def test_all_solvers_find_the_same_certified_optimum_on_musk1(name, data_set):
    bags, y = data_set("musk1")
    model = MILES(lam=0.5, kernel=RBF())
    result = solve(model.program(bags, y), name)
    assert result.point is PointStatus.CERTIFIED
    assert result.certificate.worst <= 1e-6
    assert result.objective == pytest.approx(40.469047285, rel=1e-6)


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"lam": 0.0}, "lam must be a positive number, not 0.0."),
        ({"lam": float("nan")}, "lam must be a positive number, not nan."),
        ({"mu": 1.0}, "mu must lie strictly between 0 and 1, not 1.0."),
        ({"mu": "half"}, "mu must lie strictly between 0 and 1, not 'half'."),
    ],
)
def test_a_parameter_out_of_range_raises_an_error_of_one_sentence(wrong, message, golden_bags):
    with pytest.raises(ParameterError) as caught:
        MILES(**wrong).fit(*golden_bags)
    assert str(caught.value) == message
