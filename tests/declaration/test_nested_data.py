"""Bags in the structures of Arrow, Hugging Face, awkward and torch, which are tested if these libraries are installed.

Stand-ins for their classes, with the same module and methods, are tested always.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from types import ModuleType
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest

import milopt
from milopt.errors import BagsError

NESTED = [[[1.0, 2.0], [3.0, 4.0]], [[5.0, 6.0]], [[7.0, 8.0], [9.0, 10.0], [11.0, 12.0]]]
BAGS = milopt.as_bags([np.array(bag) for bag in NESTED])


def check(given: object) -> None:
    """Check that an object is converted to the bags of NESTED."""
    bags = milopt.as_bags(given)
    assert np.array_equal(bags.instances, BAGS.instances)
    assert np.array_equal(bags.offsets, BAGS.offsets)


def stand_in(module: str, name: str, **members: Any) -> Any:
    """Return an object of a class with this module and name, and with these members."""
    return type(name, (), {"__module__": module, **members})()


@pytest.mark.parametrize(
    "given",
    [
        pd.Series(NESTED),
        pd.Series([np.array([np.array(row) for row in bag], dtype=object) for bag in NESTED]),
        pl.Series(NESTED),
        [pd.DataFrame(bag) for bag in NESTED],
        stand_in("pyarrow.lib", "ListArray", to_pylist=lambda self: NESTED),
        stand_in("datasets.arrow_dataset", "Column", __iter__=lambda self: iter(NESTED), features=None),
    ],
)
def test_columns_of_nested_lists_are_bags(given: object) -> None:
    check(given)


class FakeTensor:
    """Tensor with the methods that are used, which numpy cannot convert before it is detached."""

    def __init__(self, values: Any, is_nested: bool = False) -> None:
        self.values, self.is_nested = values, is_nested

    def unbind(self) -> list[FakeTensor]:
        """Return one tensor per bag."""
        return [FakeTensor(value) for value in self.values]

    def detach(self) -> FakeTensor:
        """Return the tensor."""
        return self

    cpu = detach

    def numpy(self) -> np.ndarray:
        """Return the values."""
        return np.array(self.values)

    def __array__(self, *arguments: object, **keywords: object) -> np.ndarray:
        raise RuntimeError("Can't call numpy() on Tensor that requires grad.")


FakeTensor.__module__ = "torch"


def test_nested_tensors_and_lists_of_tensors_are_bags() -> None:
    check(FakeTensor(NESTED, is_nested=True))
    check([FakeTensor(bag) for bag in NESTED])


@pytest.mark.parametrize(("library", "name"), [("pyarrow", "Table"), ("datasets", "Dataset")])
def test_a_table_is_an_error_that_asks_for_a_column(library: str, name: str) -> None:
    with pytest.raises(BagsError, match=rf"A {name} of {library} is not bags: give its column"):
        milopt.as_bags(stand_in(library, name))


def test_other_libraries_are_not_imported(monkeypatch: pytest.MonkeyPatch) -> None:
    import subprocess
    import sys

    code = (
        "import sys, milopt; milopt.as_bags([[[1.0]], [[2.0]]]);"
        "others = ('torch', 'pyarrow', 'awkward', 'datasets', 'pandas', 'polars');"
        "print([name for name in others if name in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def real_structures() -> Iterator[tuple[str, Callable[[ModuleType], object]]]:
    """Yield the name of a library with a function that builds the bags of NESTED with it."""
    yield "pyarrow", lambda library: library.array(NESTED)
    yield "pyarrow", lambda library: library.chunked_array([library.array(NESTED[:1]), library.array(NESTED[1:])])
    yield "pyarrow", lambda library: library.array(NESTED, type=library.list_(library.list_(library.float64(), 2)))
    yield "awkward", lambda library: library.Array(NESTED)
    yield "awkward", lambda library: library.to_regular(library.Array(NESTED), axis=2)
    yield "datasets", lambda library: library.Dataset.from_dict({"x": NESTED})["x"]
    yield "datasets", lambda library: library.Dataset.from_dict({"x": NESTED}).with_format("numpy")["x"]
    yield "torch", lambda library: library.nested.nested_tensor([library.tensor(bag) for bag in NESTED])
    yield "torch", lambda library: [library.tensor(bag, requires_grad=True) for bag in NESTED]


@pytest.mark.filterwarnings("ignore:The PyTorch API")
@pytest.mark.parametrize(("library", "build"), real_structures())
def test_structures_of_installed_libraries_are_bags(library: str, build: Callable[[ModuleType], object]) -> None:
    check(build(pytest.importorskip(library)))
