"""Real data sets by name, embedded or under MILOPT_DATA: features scaled to [0, 1], labels -1 and +1."""

from __future__ import annotations

import sys

import numpy as np
import numpy.typing as npt

from milopt import MiloptError, load_data

Array = npt.NDArray[np.float64]


def data_set(name: str) -> tuple[list[Array], Array]:
    """Return bags (one 2-D array per bag) and labels."""
    try:
        data = load_data(name)
    except MiloptError as error:
        sys.exit(f"{error} This benchmark looks for it in the folder that MILOPT_DATA names.")
    features = np.asarray(data.bags.instances)
    low, spread = features.min(axis=0), np.ptp(features, axis=0)
    scaled = (features - low) / np.where(spread > 0, spread, 1.0)
    return np.split(scaled, data.bags.offsets[1:-1]), np.where(data.labels > 0, 1.0, -1.0)
