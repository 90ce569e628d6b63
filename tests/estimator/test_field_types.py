"""Fields of records read from files have the types that their classes declare."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal, TypeVar

import numpy as np
import numpy.typing as npt
import pytest

from milopt.arrays import Floats, Index
from milopt.estimator.encoding import _CHECKED_RECORDS
from milopt.estimator.field_types import check_fields, declared_types, matches_type
from milopt.outcome.result import Result


@pytest.mark.parametrize(
    ("hint", "right", "wrong"),
    [
        (float, [1, 0.5, float("nan")], [True, "1", None, [1.0], np.ones(1)]),
        (int, [1, 10**400], [True, 1.0, "1"]),
        (bool, [True], [1, None]),
        (str | None, ["", None], [0, []]),
        (Literal["a", "b"], ["a"], ["c", 1]),
        (tuple[int, str], [(1, "a")], [(1,), ("a", 1), [1, "a"]]),
        (tuple[float, ...], [(), (1.0, 2)], [[1.0], ("a",)]),
        (Mapping[str, Floats], [{}, {"a": np.ones(2)}], [[], {1: np.ones(2)}, {"a": np.ones(2, dtype=int)}]),
        (Floats, [np.ones((2, 3))], [np.ones(2, dtype=np.float32), np.ones(2, dtype=">f8"), np.array(["a"]), 1.0]),
        (Index, [np.arange(3), np.arange(3, dtype=np.uint8)], [np.ones(2), np.array([True])]),
        (npt.NDArray[Any], [np.array(["a"]), np.ones(1)], [[1]]),
        (Any, [1, None], []),
    ],
)
def test_values_match_their_types_and_no_other_types(hint: Any, right: list[object], wrong: list[object]) -> None:
    assert all(matches_type(value, hint) for value in right)
    assert not any(matches_type(value, hint) for value in wrong)


def test_aliases_of_types_stand_for_their_types() -> None:
    """`NDArray` is such an alias since numpy 2.5."""
    make_alias = pytest.importorskip("typing_extensions", reason="makes aliases before Python 3.12").TypeAliasType
    scalar = TypeVar("scalar", bound=np.generic)
    arrays = make_alias("arrays", np.ndarray[Any, np.dtype[scalar]], type_params=(scalar,))  # type: ignore[valid-type]
    numbers = make_alias("numbers", int | None)
    assert matches_type(np.ones(2), arrays[np.float64])
    assert not matches_type(np.arange(2), arrays[np.float64])
    assert matches_type((np.ones(2), None), tuple[arrays[np.float64], numbers])
    assert not matches_type("1", numbers)


def test_the_error_names_the_wrong_field() -> None:
    @dataclass
    class NumberRecord:
        number: float

    check_fields(NumberRecord(1.0))
    with pytest.raises(ValueError, match="the number of a NumberRecord is of another type"):
        check_fields(NumberRecord("1"))  # type: ignore[arg-type]  # on purpose


@pytest.mark.parametrize("record", [*_CHECKED_RECORDS, Result])
def test_every_type_that_results_declare_can_be_checked(record: type) -> None:
    """A type without a check would raise TypeError for every file."""
    for hint in declared_types(record).values():
        assert matches_type(object(), hint) in (True, False)


@pytest.mark.parametrize(("value", "fitting"), [(1.5, True), (3, True), (10**400, False), (True, False), ("1", False)])
def test_an_integer_is_accepted_as_a_float_unless_it_is_too_large(value: object, fitting: bool) -> None:
    assert matches_type(value, float) is fitting
