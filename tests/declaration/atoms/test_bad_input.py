"""Invalid input of the atom functions raises an error that names the function."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from milopt.declaration.atoms import (
    absolute,
    bag_log_sum_exp,
    bag_max,
    bag_sum_largest,
    entropy,
    group_norms,
    huber,
    log_sum_exp,
    logistic,
    maximum,
    minimum,
    norm_inf,
    relative_entropy,
    sum_largest,
)
from milopt.errors import DeclarationError

from .cases import BAGS, variable

x = variable(3)

INVALID_CALLS: list[tuple[Callable[[], object], str]] = [
    (lambda: sum_largest(x, 0), "sum_largest needs a positive integer k, not 0"),
    (lambda: sum_largest(x, 1.5), "sum_largest needs a positive integer k, not 1.5"),  # type: ignore[arg-type]
    (lambda: sum_largest(x, True), "sum_largest needs a positive integer k, not True"),
    (lambda: sum_largest(x[[]], 1), "sum_largest needs an expression with at least one entry"),
    (lambda: norm_inf(x[[]]), "norm_inf needs an expression with at least one entry"),
    (lambda: log_sum_exp(x[[]]), "log_sum_exp needs an expression with at least one entry"),
    (lambda: log_sum_exp(), "log_sum_exp needs at least one expression"),
    (
        lambda: log_sum_exp(x, variable(2)),
        r"log_sum_exp needs expressions whose shapes can be broadcast to one shape, not \(3,\), \(2,\)",
    ),
    (lambda: maximum(x, variable(2)), "maximum needs expressions whose shapes can be broadcast"),
    (lambda: maximum(x), "maximum needs at least two expressions; write e.max\\(\\)"),
    (lambda: minimum(x), "minimum needs at least two expressions"),
    (lambda: relative_entropy(x, variable(2)), "relative_entropy needs expressions whose shapes can be broadcast"),
    (lambda: bag_sum_largest(variable(10), BAGS), "bag_sum_largest needs a positive integer k, not None"),
    (lambda: bag_sum_largest(x, BAGS, 2), "bag_sum_largest: 3 entries for 10 instances"),
    (lambda: bag_sum_largest(x, k=2), "bag_sum_largest needs an expression over instances"),
    (lambda: bag_log_sum_exp(variable(10), BAGS, 0.0), "bag_log_sum_exp needs a positive number T, not 0.0"),
    (lambda: bag_log_sum_exp(variable(10), BAGS, np.inf), "bag_log_sum_exp needs a positive number T, not inf"),
    (lambda: bag_max(variable(10), [1, 2]), "bag_max needs Bags as its second argument, not list"),  # type: ignore[arg-type]
    (lambda: huber(x, -1.0), "huber needs a positive number M, not -1.0"),
    (lambda: huber(x, "1"), "huber needs a positive number M, not '1'"),  # type: ignore[arg-type]
    (lambda: huber(x, np.nan), "huber needs a positive number M, not nan"),
    (lambda: group_norms(x, [1, 1]), "group_norms needs positive sizes that add up to the 3 entries"),
    (lambda: group_norms(x, [1.5, 1.5]), "group_norms needs positive sizes that add up to the 3 entries"),
    (lambda: absolute("x"), "Expected numbers or an expression, got 'x'"),
    (lambda: entropy([np.nan]), "A number in an expression is NaN or infinite"),
    (lambda: logistic([x, x]), "Expected numbers or an expression, got list"),
]


@pytest.mark.parametrize(("call", "message"), INVALID_CALLS, ids=[message for _, message in INVALID_CALLS])
def test_invalid_input_raises_an_error_that_names_the_function(call: Callable[[], object], message: str) -> None:
    with pytest.raises(DeclarationError, match=message):
        call()


def test_numpy_numbers_are_accepted() -> None:
    assert sum_largest(x, np.int64(2)).shape == ()
    assert huber(x, np.float32(2.0)).shape == (3,)
