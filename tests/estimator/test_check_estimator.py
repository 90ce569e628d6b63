"""All checks of scikit-learn on every registered model; each row of a 2-D array is a bag of one instance."""

from __future__ import annotations

import json
import os
import subprocess
import sys

import numpy as np
import pytest
from scipy import sparse
from sklearn.base import clone
from sklearn.utils import shuffle

from milopt import RBF
from milopt.models import MILES
from milopt.solving import registry
from milopt.testing import check_model, model_case_names

# Checks that cannot pass, each with the reason and the test that replaces it.
INHERENT = {
    "miles": {
        "scikit-learn, check_sample_weight_equivalence_on_sparse_data": (
            "Its linear program has two optima there: with one positive point x+, whose nearest negative one is x-, "
            "the atoms K(x+, .) and -K(x-, .) are worth exactly the same, and the order of rows decides. See "
            "test_weighted_and_repeated_bags_have_the_same_optimal_solutions."
        )
    }
}
CASES = [
    (name, case)
    for name in registry.model_names()
    for case in model_case_names(registry.model_class(name))
    if case.startswith("scikit-learn")
]


@pytest.mark.thorough(unless={"name": ["mi-svm", "miles", "safe", "set-kernel-svm", "shapelet-boost"]})
@pytest.mark.parametrize(("name", "case"), CASES, ids=lambda value: value)
def test_models_pass_the_checks_of_scikit_learn(name: str, case: str) -> None:
    check_model(registry.model_class(name), except_for=INHERENT.get(name), only=[case])


@pytest.mark.filterwarnings("ignore::milopt.errors.MiloptWarning")
@pytest.mark.parametrize("container", [np.asarray, sparse.csr_array])
def test_weighted_and_repeated_bags_have_the_same_optimal_solutions(container) -> None:
    """Check on the data of scikit-learn that the solution of either fit is also optimal for the other program."""
    rng = np.random.RandomState(42)
    X, y, weight = rng.rand(15, 30), rng.randint(0, 3, size=15), rng.randint(0, 5, size=15)
    model = MILES(lam=0.02, kernel=RBF())
    repeated = clone(model).fit(container(X.repeat(weight, axis=0)), y.repeat(weight))
    X, y, weight = shuffle(X, y, weight, random_state=0)
    weighted = clone(model).fit(container(X), y, sample_weight=weight)
    kept = X[weight > 0]
    for k, (of_repeated, of_weighted) in enumerate(zip(repeated.results_, weighted.results_, strict=True)):
        assert of_repeated.objective == pytest.approx(of_weighted.objective, rel=1e-9)
        signs = np.where(y[weight > 0] == k, 1.0, -1.0)
        for result, fitted in ((of_repeated, repeated), (of_weighted, weighted)):
            margins = signs * fitted.decision_function(container(kept))[:, k]
            size = sum(result.values[name].sum() for name in "uv")
            loss = 0.5 * weight[weight > 0] @ np.maximum(0, 1 - margins)
            assert 0.02 * size + loss == pytest.approx(of_repeated.objective, rel=1e-8)


SWITCHED_ON = """
import json, warnings
from functools import partial
from sklearn.utils.estimator_checks import estimator_checks_generator
from milopt.solving import registry

warnings.simplefilter("ignore")
ran = []
for name in registry.model_names():
    for estimator, check in estimator_checks_generator(registry.model_class(name)()):
        if "array_api" in (check.func if isinstance(check, partial) else check).__name__:
            check(estimator)
            ran.append(name)
print(json.dumps(ran))
"""


def test_array_api_check_passes_if_scipy_enables_it() -> None:
    """Run `check_array_api_input`, which is skipped unless a variable is set before scipy is imported."""
    environment = os.environ | {"SCIPY_ARRAY_API": "1"}
    done = subprocess.run(
        [sys.executable, "-c", SWITCHED_ON], env=environment, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout) in ([], registry.model_names())
