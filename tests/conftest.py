"""What many tests share: the golden bags of the specification, and real data sets where they lie at hand."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache

import numpy as np
import pytest

from milopt import Bags, load_data
from milopt.data import known

DataSet = tuple[list[np.ndarray], np.ndarray]


@cache
def _read(name: str) -> DataSet:
    data = load_data(name)
    features = np.asarray(data.bags.instances)
    low, spread = features.min(axis=0), np.ptp(features, axis=0)
    scaled = (features - low) / np.where(spread > 0, spread, 1.0)
    return np.split(scaled, data.bags.offsets[1:-1]), np.where(data.labels > 0, 1.0, -1.0)


@pytest.fixture(scope="session")
def data_set() -> Callable[[str], DataSet]:
    """`data_set("musk1")` is (a 2-D array a bag with features scaled to [0, 1], labels -1/+1); or the test is skipped.

    Only sets that do not ship are ever missing.
    """

    def read(name: str) -> DataSet:
        if name not in {one.name for one in known()}:
            pytest.skip(f"needs {name}.csv.gz in the folder that MILOPT_DATA names")
        return _read(name)

    return read


@pytest.fixture(scope="session")
def golden_bags() -> tuple[Bags, np.ndarray]:
    """Six hand-made bags with known optima (Gaussian kernel with s = 0.5), labels +,-,+,-,+,-."""
    instances = [
        *[(0, 0), (2, 2)],
        *[(0, 1), (1, 0)],
        *[(2, 1), (-1, 0)],
        *[(0, 0), (-1, -1), (1, -1)],
        *[(3, 2)],
        *[(-1, 1), (0, -1)],
    ]
    return Bags(np.array(instances, dtype=float), [0, 2, 4, 6, 9, 10, 12]), np.array([1.0, -1, 1, -1, 1, -1])
