"""Fixtures of the estimator tests: small ragged bags, and the registered models."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pytest

from milopt.solving import registry

MODELS = registry.model_names()


@dataclass(frozen=True)
class RaggedData:
    """Ragged bags as a list of arrays, with labels of two and of three classes."""

    bags: list[np.ndarray]
    y: np.ndarray
    y3: np.ndarray


def make_data(count: int = 36, seed: int = 0) -> RaggedData:
    """Make bags of 1 to 4 instances, shifted by their class, with features of very different scales."""
    rng = np.random.default_rng(seed)
    y3 = np.array(["ant", "bee", "cat"])[np.arange(count) % 3]
    centres = {"ant": [0, 0, 0], "bee": [3, 0, 0], "cat": [0, 3, 0]}
    bags = [
        (rng.normal(size=(int(rng.integers(1, 5)), 3)) + centres[label]) * [1.0, 100.0, 0.01] + [5.0, 0.0, 0.0]
        for label in y3
    ]
    return RaggedData(bags, np.where(y3 == "bee", "yes", "no"), y3)


@pytest.fixture(scope="session")
def data() -> RaggedData:
    return make_data()


@pytest.fixture(params=MODELS)
def model(request: pytest.FixtureRequest):
    """Return an unfitted model of each registered class."""
    return registry.model_class(request.param)()
