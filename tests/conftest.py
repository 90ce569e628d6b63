"""Fixtures that many tests share (hand-made bags and data sets), and the option `--thorough`."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np
import pytest
from hypothesis import settings

from milopt import Bags, load_data
from milopt.data import known_data_sets

DataSet = tuple[list[np.ndarray], np.ndarray]

LEFT_OUT = pytest.StashKey[int]()
"""Number of tests marked `thorough` that were left out."""


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add the option `--thorough`."""
    parser.addoption("--thorough", action="store_true", help="also run the tests that are marked as thorough")


def pytest_configure(config: pytest.Config) -> None:
    """Configure hypothesis: no deadlines, and the same examples in every run, except with `--thorough`."""
    settings.register_profile("milopt", deadline=None, derandomize=not config.getoption("--thorough"))
    settings.load_profile("milopt")


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Deselect the tests marked `thorough`, unless `--thorough` is given."""
    left_out = [] if config.getoption("--thorough") else [item for item in items if _is_thorough(item)]
    if left_out:
        items[:] = [item for item in items if item not in set(left_out)]
        config.hook.pytest_deselected(items=left_out)
    _count(config, len(left_out))


def _is_thorough(item: pytest.Item) -> bool:
    """Return True if a test is marked, and no mark exempts its parameters by `unless` (values by parameter)."""
    marks = list(item.iter_markers("thorough"))
    callspec = getattr(item, "callspec", None)
    parameters = {} if callspec is None else callspec.params

    def always_runs(unless: dict[str, list[object]]) -> bool:
        """Return True if all parameters named in `unless` have one of the listed values."""
        return bool(unless) and all(parameters[name] in values for name, values in unless.items())

    return bool(marks) and not any(always_runs(mark.kwargs.get("unless", {})) for mark in marks)


def _count(config: pytest.Config, left_out: int) -> None:
    """Store the number of deselected tests; a worker of pytest-xdist also sends it to the main process."""
    config.stash[LEFT_OUT] = left_out
    if hasattr(config, "workeroutput"):
        config.workeroutput["left_out"] = left_out


@pytest.hookimpl(optionalhook=True)
def pytest_testnodedown(node: Any) -> None:
    """Store the number of tests that a worker deselected; it is the same for all workers."""
    node.config.stash[LEFT_OUT] = getattr(node, "workeroutput", {}).get("left_out", 0)


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter, config: pytest.Config) -> None:
    """Print the number of deselected tests, and how to run them."""
    left_out = config.stash.get(LEFT_OUT, 0)
    if left_out:
        how = "`python tests/all.py --thorough` or `pytest --thorough` runs them too."
        terminalreporter.write_line(f"{left_out} thorough tests were left out; {how}")


@cache
def _read(name: str) -> DataSet:
    """Return a data set as arrays with features scaled to [0, 1], and labels -1 and +1."""
    data = load_data(name)
    features = np.asarray(data.bags.instances)
    low, spread = features.min(axis=0), np.ptp(features, axis=0)
    scaled = (features - low) / np.where(spread > 0, spread, 1.0)
    return np.split(scaled, data.bags.offsets[1:-1]), np.where(data.labels > 0, 1.0, -1.0)


@pytest.fixture(scope="session")
def data_set() -> Callable[[str], DataSet]:
    """Return a function that loads a data set by name, or skips the test if the data set is missing.

    `data_set("musk1")` returns a list with one 2-D array per bag, with features scaled to [0, 1], and the labels -1 and
    +1. Only data sets that are not part of the package can be missing.
    """

    def read(name: str) -> DataSet:
        if name not in {data.name for data in known_data_sets()}:
            pytest.skip(f"needs {name}.csv.gz in the folder that MILOPT_DATA names")
        return _read(name)

    return read


@pytest.fixture(scope="session")
def golden_bags() -> tuple[Bags, np.ndarray]:
    """Return six hand-made bags with known optima (Gaussian kernel with s = 0.5) and the labels +,-,+,-,+,-."""
    instances = [
        *[(0, 0), (2, 2)],
        *[(0, 1), (1, 0)],
        *[(2, 1), (-1, 0)],
        *[(0, 0), (-1, -1), (1, -1)],
        *[(3, 2)],
        *[(-1, 1), (0, -1)],
    ]
    return Bags(np.array(instances, dtype=float), [0, 2, 4, 6, 9, 10, 12]), np.array([1.0, -1, 1, -1, 1, -1])
