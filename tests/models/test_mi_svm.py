"""MI-SVM: all solvers end at one stationary point, the objective never increases, and exact equals enumeration."""

from __future__ import annotations

from functools import cache
from itertools import product

import cvxpy as cp
import numpy as np
import pytest
from sklearn.svm import SVC

from milopt import RBF, ConvexConcave, as_bags, solve
from milopt.compilation.features import Feature
from milopt.compilation.status import PointStatus, Termination
from milopt.errors import ParameterError
from milopt.models.mi_svm import MISVM
from tests.models.general_solvers import general_solvers

K = RBF(0.5)
SLOW = {
    "cvxpy:SCS": "a first-order method needs minutes for eight digits",
    "pyomo:highs": "a model in Python objects at every step",
}
SOLVERS = general_solvers(Feature.QUADRATIC, but=tuple(SLOW))


def random_bags(seed, m=6, size=3, shift=1.0):
    """Make bags of which the positive ones have one shifted instance."""
    rng = np.random.default_rng(seed)
    y = np.where(np.arange(m) % 2, -1.0, 1.0)
    bags = [rng.normal(size=(size, 2)) for _ in range(m)]
    for bag, sign in zip(bags, y, strict=True):
        bag[0] += shift * (sign > 0)
    return bags, y


def factor(gram):
    """Return L with LL' = K, without eigenvalues below 1e-10 of the largest."""
    values, vectors = np.linalg.eigh(gram)
    kept = values > 1e-10 * values[-1]
    return vectors[:, kept] * np.sqrt(values[kept])


def with_witnesses(bags, y, C, L, witnesses):
    """Compute the optimum for fixed witnesses of the positive bags with cvxpy, from the formulas alone."""
    beta, b, slack = cp.Variable(L.shape[1]), cp.Variable(), cp.Variable(len(bags))
    rows = [slack >= 0]
    for i in range(len(bags)):
        inside = range(bags.offsets[i], bags.offsets[i + 1])
        chosen = [witnesses[i]] if y[i] > 0 else list(inside)
        rows.append(y[i] * (L[chosen] @ beta + b) >= 1 - slack[i])
    problem = cp.Problem(cp.Minimize(0.5 * cp.sum_squares(beta) + C * cp.sum(slack)), rows)
    return problem.solve(solver=cp.CLARABEL)


def by_enumeration(bags, y, C):
    """Compute the smallest optimum over all choices of witnesses."""
    L = factor(K(bags.instances, bags.instances))
    choices = [range(bags.offsets[i], bags.offsets[i + 1]) if y[i] > 0 else (-1,) for i in range(len(bags))]
    return min(with_witnesses(bags, y, C, L, witnesses) for witnesses in product(*choices))


@pytest.mark.parametrize("name", ["highs", "clarabel", "ecos"])
def test_exact_equals_enumeration_on_the_golden_bags(name, golden_bags):
    bags, y = golden_bags
    result = solve(MISVM(C=1.0, kernel=K, scale="none").program(bags, y), name, "exact")
    assert (result.termination, result.point) == (Termination.OPTIMAL, PointStatus.CERTIFIED)
    assert result.objective == pytest.approx(by_enumeration(bags, y, 1.0), rel=1e-6)
    assert result.bound == pytest.approx(result.objective, rel=1e-6)


@pytest.mark.thorough(unless={"seed": [0, 1]})
@pytest.mark.parametrize("C", [1.0, 10.0])
@pytest.mark.parametrize("seed", range(4))
def test_exact_equals_enumeration_and_is_a_lower_bound_of_ccp(seed, C):
    bags, y = random_bags(seed)
    program = MISVM(C=C, kernel=K, scale="none").program(bags, y)
    exact, local = solve(program, "highs", "exact"), solve(program, "highs", "ccp")
    assert exact.termination is Termination.OPTIMAL
    assert exact.objective == pytest.approx(by_enumeration(as_bags(bags), y, C), rel=1e-6)
    assert local.termination is Termination.STATIONARY
    assert local.bound is None
    assert exact.bound <= local.objective + 1e-6 * (1 + local.objective)


def test_ccp_may_end_above_the_global_optimum_and_is_not_reported_as_optimal():
    gaps = []
    for seed in range(8):
        program = MISVM(C=10.0, kernel=K, scale="none").program(*random_bags(seed, shift=0.0))
        exact, local = solve(program, "highs", "exact"), solve(program, "highs", "ccp")
        assert local.termination is Termination.STATIONARY
        gaps.append(local.objective / exact.objective - 1)
    assert min(gaps) >= -1e-6
    assert max(gaps) > 1e-3


@cache
def _musk1_by_highs(C, folder_of):
    bags, y = folder_of("musk1")
    return solve(MISVM(C=C, kernel=RBF()).program(bags, y), "highs")


@pytest.mark.thorough(unless={"C": [10.0]})
@pytest.mark.thorough(unless={"name": ["highs", "clarabel"]})
@pytest.mark.parametrize("C", [1.0, 10.0, 100.0])
@pytest.mark.parametrize("name", SOLVERS)
def test_all_solvers_end_at_the_same_stationary_point_on_musk1(name, C, data_set):
    bags, y = data_set("musk1")
    result = solve(MISVM(C=C, kernel=RBF()).program(bags, y), name)
    assert (result.termination, result.point) == (Termination.STATIONARY, PointStatus.CERTIFIED)
    assert result.certificate.worst <= 1e-6
    assert result.objective == pytest.approx(_musk1_by_highs(C, data_set).objective, rel=1e-6)
    for step in result.history:
        assert step.certificate.worst <= 1e-6


@pytest.mark.parametrize("C", [1.0, 10.0, 100.0])
def test_the_objective_never_increases_on_musk1(C, data_set):
    result = _musk1_by_highs(C, data_set)
    objectives = np.array([step.objective for step in result.history])
    assert len(objectives) >= 3
    assert (np.diff(objectives) <= 1e-9 * np.abs(objectives[:-1])).all()
    assert objectives[0] > objectives[-1] * (1 + 1e-3)


def test_musk1_stationary_point_is_a_fixed_point_of_an_independent_step(data_set):
    arrays, y = data_set("musk1")
    bags, result = as_bags(arrays), _musk1_by_highs(10.0, data_set)
    (witnesses,) = result.witnesses.values()
    scores = result.instance_scores(bags.instances)
    np.testing.assert_array_equal(np.asarray(witnesses)[y > 0], bags.argmax(scores)[y > 0])
    kernel = RBF().fitted(bags.instances)
    L = factor(kernel(bags.instances, bags.instances))
    assert with_witnesses(bags, y, 10.0, L, witnesses) == pytest.approx(result.objective, rel=1e-6)


def test_bags_of_one_instance_give_the_plain_svm():
    rng = np.random.default_rng(3)
    x = rng.normal(size=(14, 2))
    y = np.where(x[:, 0] + 0.5 * rng.normal(size=14) > 0, 1.0, -1.0)
    result = solve(MISVM(C=2.0, kernel=K, scale="none").program(list(x[:, None]), y), "highs")
    svc = SVC(kernel="precomputed", C=2.0, tol=1e-10).fit(K(x, x), y)
    a = svc.dual_coef_[0]
    gram = K(x[svc.support_], x[svc.support_])
    assert result.objective == pytest.approx(np.abs(a).sum() - 0.5 * a @ gram @ a, rel=1e-6)


def test_scores_do_not_depend_on_order_and_copies_of_instances():
    bags, y = random_bags(5, m=10)
    new, _ = random_bags(6, m=10)
    order = np.random.default_rng(0).permutation(len(bags))
    # Reverse each bag and repeat its last instance; the former first instance is then the third.
    shuffled = [np.concatenate([bags[i][::-1], bags[i][2:]]) for i in order]
    first, third = np.arange(10) * 3, np.arange(10) * 4 + 2
    model = MISVM(kernel=K, scale="none", solver="clarabel", scheme=ConvexConcave(start=first)).fit(bags, y)
    other = MISVM(kernel=K, scale="none", solver="clarabel", scheme=ConvexConcave(start=third)).fit(shuffled, y[order])
    scores, others = model.decision_function(new), other.decision_function([bag[::-1] for bag in new])
    np.testing.assert_allclose(scores, others, atol=1e-5)


@pytest.mark.parametrize("C", [0.0, -3, float("inf"), "ten", None])
def test_a_parameter_out_of_range_raises_an_error_of_one_sentence(C, golden_bags):
    with pytest.raises(ParameterError) as caught:
        MISVM(C=C).fit(*golden_bags)
    assert str(caught.value) == f"C must be a positive number, not {C!r}."
