"""Values of a result, and the error if it has no point."""

from __future__ import annotations

import numpy as np
import pytest

import milopt
from milopt import RBF, Program, as_bags, bag_max
from milopt.errors import UncertifiedError


def test_value_without_a_point_raises_an_error_with_the_reason() -> None:
    program = Program("ray")
    x = program.variable("x", 2, lower=0)
    program.minimize(-x.sum())
    result = milopt.solve(program, "highs")
    with pytest.raises(UncertifiedError, match=r"'ray' ended as unbounded by highs, without a point .* along 'x'"):
        result.value(x + 1)


def test_score_without_a_point_raises_an_error_with_the_reason() -> None:
    bags = as_bags([np.eye(2), np.ones((1, 2))])
    program = Program("empty")
    f, b = program.function("f", RBF(1.0)), program.variable("b", lower=0)
    program.minimize(f.norm_squared() + b)
    program.subject_to(b <= -1, name="below")
    program.score(lambda new: bag_max(f(new)) + b)
    with pytest.raises(UncertifiedError, match="infeasible"):
        milopt.solve(program, "highs").score(bags)


def test_value_evaluates_the_expression_at_the_point() -> None:
    program = Program("box")
    x = program.variable("x", 2, lower=1)
    program.minimize(x.sum())
    assert milopt.solve(program, "highs").value(2 * x) == pytest.approx([2.0, 2.0])
