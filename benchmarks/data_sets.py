"""Real data sets from the folder that MILOPT_DATA names: bags with features scaled to [0, 1], and labels -1/+1."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[np.float64]


def data_set(name: str) -> tuple[list[Array], Array]:
    """(a 2-D array a bag, labels)."""
    file = Path(os.environ.get("MILOPT_DATA", ".")) / f"{name}.csv.gz"
    if not file.exists():
        sys.exit(f"This benchmark needs {file.name} in the folder that MILOPT_DATA names.")
    table = np.loadtxt(file, delimiter=",", skiprows=1)
    bag, label, features = table[:, 0], table[:, 1], table[:, 2:]
    low, spread = features.min(axis=0), np.ptp(features, axis=0)
    scaled = (features - low) / np.where(spread > 0, spread, 1.0)
    first = np.concatenate([[0], np.flatnonzero(np.diff(bag)) + 1])
    return np.split(scaled, first[1:]), np.where(label[first] > 0, 1.0, -1.0)
