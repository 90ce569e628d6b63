"""Models have the same optimum with the features of a kernel as with its Gram matrix, by every solver.

Models with a scheme make one convex step from the same witnesses, because whole runs may end in other stationary
points.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from milopt import (
    RBF,
    BagClassifier,
    Bags,
    ConvexConcave,
    KernelProduct,
    KernelSum,
    Linear,
    Nystrom,
    RandomFourier,
    Representatives,
)
from milopt.declaration.kernels.kernel import CallableKernel, Kernel
from milopt.errors import UnsupportedError
from milopt.models import LSSVM, MILES, MIORDM, MIRSVM, MISVM, ODM, SAFE, SetKernelSVM
from milopt.outcome.result import Result
from tests.conformance.solvers_under_test import solver_names
from tests.models.general_solvers import FIRST_ORDER, WITHOUT_MULTIPLIERS

SOLVERS = [name for name in solver_names() if name not in (*FIRST_ORDER, *WITHOUT_MULTIPLIERS)]
KERNELS: tuple[Kernel, ...] = (
    Linear(),
    Nystrom(RBF(0.3), 6),
    RandomFourier(RBF(0.3), 12),
    KernelSum((Linear(), Nystrom(RBF(0.3), 5))),
    KernelProduct((Linear(), Nystrom(RBF(0.3), 4))),
)
MODELS: tuple[BagClassifier, ...] = (
    MISVM(),
    MISVM(C=0.3),
    MIRSVM(C=2.0),
    MIORDM(),
    MIORDM(lam=0.3),
    SetKernelSVM(),
    ODM(),
    ODM(bias="free"),
    LSSVM(),
    SAFE(core="kpca", gamma=0.01),
    SAFE(core="kpca", gamma=0.0, loss="hinge"),
    MILES(lam=0.2),
)
SCHEMES: dict[type[BagClassifier], Callable[[np.ndarray], object]] = {
    MISVM: lambda start: ConvexConcave(start, max_steps=1),
    MIORDM: lambda start: ConvexConcave(start, max_steps=1),
    MIRSVM: lambda start: Representatives(start, max_steps=1),
}
"""One step from witnesses, given by values at all instances, for models with a scheme."""
DIFFERENCE = 1e-6
"""Largest relative difference of the objectives."""


def random_bags(seed: int, count: int, features: int) -> tuple[Bags, np.ndarray]:
    """Return bags of one to three instances, and labels."""
    rng = np.random.default_rng(seed)
    offsets = np.concatenate([[0], np.cumsum(rng.integers(1, 4, size=count))])
    y = np.where(np.arange(count) % 2, 1, -1)
    instances = rng.normal(size=(int(offsets[-1]), features))
    instances[offsets[:-1][y > 0]] += 1.0
    return Bags(instances, offsets), y


def gram_only(kernel: Kernel) -> CallableKernel:
    """Return a kernel with the same values and without features."""
    return CallableKernel(lambda A, B: np.asarray(kernel(A, B)))


def fit(model: BagClassifier, kernel: Kernel, solver: str, bags: Bags, y: np.ndarray) -> Result:
    """Fit a model to instances without scaling, with one step if it has a scheme; return the result."""
    given = {"kernel": kernel, "solver": solver, "scale": "none"}
    if type(model) in SCHEMES:
        given["scheme"] = SCHEMES[type(model)](bags.instances @ np.linspace(1.0, -0.5, bags.instances.shape[1]))
    return type(model)(**model.get_params(deep=False) | given).fit(bags, y).result_


def assert_same(ours: Result, expected: Result) -> None:
    """Check that the last steps of the two results are certified and have the same objective."""
    one, other = ours.history[-1], expected.history[-1]
    assert one.certificate is not None
    assert other.certificate is not None
    assert max(one.certificate.worst, other.certificate.worst) <= 1e-6, (one.certificate, other.certificate)
    assert one.objective == pytest.approx(other.objective, rel=DIFFERENCE, abs=DIFFERENCE)


@pytest.mark.filterwarnings("ignore::milopt.errors.MiloptWarning")
@pytest.mark.parametrize("kernel", KERNELS, ids=lambda kernel: type(kernel).__name__)
@pytest.mark.parametrize("model", MODELS, ids=repr)
def test_every_solver_has_the_optimum_of_the_gram_matrix(model: BagClassifier, kernel: Kernel) -> None:
    bags, y = random_bags(3, 14, 3)
    fitted = kernel.fitted(bags.instances)
    expected = fit(model, gram_only(fitted), "clarabel", bags, y)
    solved = []
    for solver in SOLVERS:
        try:
            ours = fit(model, fitted, solver, bags, y)
        except UnsupportedError:
            continue
        assert_same(ours, expected)
        solved.append(solver)
    assert "clarabel" in solved
    assert "native" in solved or isinstance(model, MILES | SAFE)


@pytest.mark.filterwarnings("ignore::milopt.errors.MiloptWarning")
@settings(max_examples=25, deadline=None)
@given(
    seed=st.integers(0, 10_000),
    count=st.integers(4, 16),
    features=st.integers(1, 6),
    kernel=st.sampled_from(KERNELS),
    model=st.sampled_from(MODELS),
    solver=st.sampled_from(("native", "clarabel", "highs")),
)
def test_random_bags_have_the_optimum_of_the_gram_matrix(
    seed: int, count: int, features: int, kernel: Kernel, model: BagClassifier, solver: str
) -> None:
    bags, y = random_bags(seed, count, features)
    fitted = kernel.fitted(bags.instances)
    try:
        ours = fit(model, fitted, solver, bags, y)
    except UnsupportedError:
        return
    assert_same(ours, fit(model, gram_only(fitted), "clarabel", bags, y))
