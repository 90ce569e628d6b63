"""MIRSVM: the C-SVM at given representatives, the plain SVM on bags of one instance, the program of MI-SVM."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.svm import SVC

from milopt import RBF, ConvexConcave, Representatives, as_bags, solve
from milopt.compilation.status import PointStatus, Termination
from milopt.errors import ParameterError
from milopt.models import MIRSVM, MISVM

K = RBF(0.5)
pytestmark = pytest.mark.filterwarnings("ignore::milopt.errors.MiloptWarning")


def mirsvm(**more) -> MIRSVM:
    return MIRSVM(C=2.0, kernel=K, scale="none", **more)


def cases(seed, m=10, size=4):
    rng = np.random.default_rng(seed)
    y = np.where(np.arange(m) % 2, -1.0, 1.0)
    bags = [rng.normal(size=(size, 2)) for _ in range(m)]
    for bag, sign in zip(bags, y, strict=True):
        bag[0] += 1.5 * (sign > 0)
    return bags, y


def test_bags_of_one_instance_give_the_plain_svm_in_one_step():
    rng = np.random.default_rng(3)
    x = rng.normal(size=(14, 2))
    y = np.where(x[:, 0] + 0.5 * rng.normal(size=14) > 0, 1.0, -1.0)
    result = mirsvm().fit(list(x[:, None]), y).result_
    assert (result.termination, result.point) == (Termination.STATIONARY, PointStatus.CERTIFIED)
    svc = SVC(kernel="precomputed", C=2.0, tol=1e-10).fit(K(x, x), y)
    np.testing.assert_allclose(result.score(as_bags(list(x[:, None]))), svc.decision_function(K(x, x)), atol=1e-5)


@pytest.mark.parametrize("seed", range(4))
def test_a_step_is_the_svm_on_the_representatives(seed):
    bags, y = cases(seed)
    chosen = as_bags(bags).offsets[:-1] + 1
    result = solve(mirsvm().program(bags, y), "clarabel", Representatives(start=chosen, max_steps=1))
    x = np.vstack([bag[1] for bag in bags])
    svc = SVC(kernel="precomputed", C=2.0, tol=1e-10).fit(K(x, x), y)
    np.testing.assert_allclose(result.functions["f"](x) + result.values["b"], svc.decision_function(K(x, x)), atol=1e-5)
    np.testing.assert_allclose(y @ result.duals["margin"], 0, atol=1e-7)


@pytest.mark.parametrize("seed", range(4))
def test_the_best_iterate_is_returned_and_another_scheme_gives_mi_svm(seed):
    bags, y = cases(seed)
    result = mirsvm(solver="highs").fit(bags, y).result_
    assert result.objective == pytest.approx(min(step.objective for step in result.history))
    assert result.termination in (Termination.STATIONARY, Termination.CYCLE)
    settled = solve(mirsvm().program(bags, y), "highs", "ccp")
    start = as_bags(bags).mean(np.vstack(bags))
    same = solve(MISVM(C=2.0, kernel=K, scale="none").program(bags, y), "highs", ConvexConcave(start=start))
    assert settled.objective == pytest.approx(same.objective)


def test_random_starts_depend_only_on_the_seed():
    bags, y = cases(1, m=16)
    starts = [mirsvm(start="random", random_state=seed).program(bags, y).start.tolist() for seed in (0, 0, 1)]
    assert starts[0] == starts[1] != starts[2]
    assert all(4 * i <= instance < 4 * i + 4 for i, instance in enumerate(starts[0]))
    with pytest.raises(ParameterError, match='start must be one of "mean", "random"'):
        mirsvm(start="best").fit(bags, y)
