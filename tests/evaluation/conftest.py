"""Small data sets, and models in a file of a user that are slow, fail or inspect their process."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from milopt import Bags
from milopt.data.data_set import DataSet

OWN = '''
import time
from pathlib import Path

import numpy as np

from milopt import BagClassifier, Program, bag_mean, Linear, ParameterError
from milopt.models import SetKernelSVM


def create_file(path):
    """Create a file, and return True if it did not exist."""
    try:
        path.touch(exist_ok=False)
    except FileExistsError:
        return False
    return True


class SlowModel(SetKernelSVM):
    """Model that needs some time; on Ctrl-C it stops with a worse result, like a solver.

    While a file `hold` exists beside this one, two fits finish and the others wait.
    """

    pause: float = 0.25

    def declare(self, bags, y, weight):
        hold, *passes = (Path(__file__).with_name(name) for name in ("hold", "first pass", "second pass"))
        try:
            time.sleep(self.pause)
            while hold.exists() and not any(create_file(path) for path in passes):
                time.sleep(0.02)
        except KeyboardInterrupt:
            self.C = 1e-9
        return super().declare(bags, y, weight)


class FailingModel(SetKernelSVM):
    """Model that fails if the number of instances whose first feature is above 0.5 is odd."""

    def declare(self, bags, y, weight):
        if int(np.sum(bags.instances[:, 0] > 0.5)) % 2:
            raise ParameterError("these bags are odd.")
        return super().declare(bags, y, weight)


class BrokenModel(SetKernelSVM):
    """Model with a programming error."""

    def declare(self, bags, y, weight):
        return self.absent
'''.replace(", ParameterError\n", "\nfrom milopt.errors import ParameterError\n")


def toy_data(count: int = 24, seed: int = 0, classes: int = 2, test: int = 0) -> DataSet:
    """Make bags of 1 to 3 instances with 3 features; the first feature is shifted by the class."""
    random = np.random.default_rng(seed)
    sizes = random.integers(1, 4, count + test)
    labels = np.arange(count + test) % classes
    rows = random.normal(size=(sizes.sum(), 3)) * [1, 10, 0.1]
    rows[:, 0] += 1.5 * np.repeat(labels, sizes)
    offsets = np.concatenate([[0], np.cumsum(sizes)])
    every = Bags(rows, offsets)
    ids = tuple(map(str, range(count + test)))
    held = DataSet("toy", every[count:], labels[count:], ids[count:]) if test else None
    return DataSet("toy", every[:count], labels[:count], ids[:count], held)


@pytest.fixture
def toy() -> DataSet:
    return toy_data()


@pytest.fixture
def own_file(tmp_path: Path) -> Path:
    path = tmp_path / "own_models.py"
    path.write_text(OWN)
    return path
