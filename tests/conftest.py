"""What many tests share: the golden bags of the specification, and real data sets where they lie at hand."""

from __future__ import annotations

import os
from collections.abc import Callable
from functools import cache
from pathlib import Path

import numpy as np
import pytest

from milopt import Bags

DataSet = tuple[list[np.ndarray], np.ndarray]


@cache
def _read(folder: str, name: str) -> DataSet:
    table = np.loadtxt(Path(folder) / f"{name}.csv.gz", delimiter=",", skiprows=1)
    bag, label, features = table[:, 0], table[:, 1], table[:, 2:]
    low, spread = features.min(axis=0), np.ptp(features, axis=0)
    scaled = (features - low) / np.where(spread > 0, spread, 1.0)
    first = np.concatenate([[0], np.flatnonzero(np.diff(bag)) + 1])
    return np.split(scaled, first[1:]), np.where(label[first] > 0, 1.0, -1.0)


@pytest.fixture(scope="session")
def data_set() -> Callable[[str], DataSet]:
    """`data_set("musk1")` is (a 2-D array a bag with features scaled to [0, 1], labels -1/+1), or skips the test."""

    def read(name: str) -> DataSet:
        folder = os.environ.get("MILOPT_DATA", "")
        if not folder or not (Path(folder) / f"{name}.csv.gz").exists():
            pytest.skip(f"needs {name}.csv.gz in the folder that MILOPT_DATA names")
        return _read(folder, name)

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
