"""Each model states whether exchanging the two classes changes its classifier; fits confirm the statement."""

from __future__ import annotations

import numpy as np
import pytest

from milopt import RBF, Nystrom
from milopt.models import (
    LSSVM,
    MILES,
    MIORDM,
    MIRSVM,
    MISVM,
    ODM,
    SAFE,
    BoxCountingSVM,
    SetKernelSVM,
    ShapeletBoost,
    SoftKSC,
)
from milopt.solving import registry

SYMMETRIC = [
    MILES(),
    ODM(),
    ODM(theta=(0.2, 0.2), bias="free"),
    SAFE(),
    SAFE(aggregation="mean", loss="hinge"),
    SAFE(loss="huber"),
    SAFE(kernel=Nystrom(RBF("median"), 5)),
    LSSVM(),
    SetKernelSVM(),
    SetKernelSVM(normalise="feature"),
    BoxCountingSVM(gram="clipped"),
    SoftKSC(),
    ShapeletBoost(ball="one-hot", atoms=10, random_state=0),
    ShapeletBoost(ball="one-hot", atoms=10, random_state=0, bias=False),
]
NOT_SYMMETRIC = [
    MISVM(),
    MIRSVM(),
    MIORDM(),
    MILES(mu=0.3),
    ODM(theta=(0.2, 0.7)),
    ODM(lam=1000.0, theta=0.0, mu=[0.2, 0.7]),
    SAFE(aggregation="max"),
    ShapeletBoost(ball="one-hot", atoms=10, random_state=0, two_sided=False),
]


@pytest.fixture(scope="module")
def bags() -> tuple[list[np.ndarray], np.ndarray]:
    """Make overlapping bags of one to four instances that no model separates completely."""
    rng = np.random.default_rng(0)
    y = np.arange(24) % 2
    return [rng.normal(size=(int(rng.integers(1, 5)), 2)) + 0.8 * label for label in y], y


@pytest.mark.filterwarnings("ignore::milopt.errors.MiloptWarning")
@pytest.mark.parametrize("model", [*SYMMETRIC, *NOT_SYMMETRIC], ids=repr)
def test_exchanging_the_classes_negates_the_scores_of_models_with_symmetric_classes_only(bags, model) -> None:
    X, y = bags
    scores = model.fit(X, y).decision_function(X)
    exchanged = model.fit(X, 1 - y).decision_function(X)
    distance = np.abs(scores + exchanged).max() / np.abs(scores).max()
    if model.has_symmetric_classes:
        assert distance < 1e-4
    else:
        assert distance > 1e-2


def test_the_statement_of_every_registered_model_is_confirmed() -> None:
    assert all(model.has_symmetric_classes for model in SYMMETRIC)
    assert not any(model.has_symmetric_classes for model in NOT_SYMMETRIC)
    confirmed = {type(model) for model in (*SYMMETRIC, *NOT_SYMMETRIC)}
    assert confirmed == {registry.model_class(name) for name in registry.model_names()}
