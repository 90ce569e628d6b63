"""Concatenated expressions and binary variables."""

from __future__ import annotations

import numpy as np
import pytest

import milopt
from milopt import Program, concatenate, norm
from milopt.errors import DeclarationError


@pytest.mark.parametrize("join", [concatenate, np.concatenate, np.hstack])
def test_joined_expressions_have_the_entries_of_their_parts(join) -> None:
    program = Program("joined")
    x, t = program.variable("x", 2), program.variable("t")
    program.minimize(norm(join([x, t - 1, np.array([3.0, 4.0]), 2 * x[::-1]])))
    program.subject_to(x == [1, 2])
    program.subject_to(t == 3)
    result = milopt.solve(program, "clarabel")
    joined = join([x, t - 1, np.array([3.0, 4.0]), 2 * x[::-1]])
    assert result.value(joined) == pytest.approx([1, 2, 2, 3, 4, 4, 2], abs=1e-6)
    assert result.objective == pytest.approx(np.linalg.norm([1, 2, 2, 3, 4, 4, 2]), abs=1e-6)


def test_expressions_that_cannot_be_joined_raise_an_error() -> None:
    x = Program("joined").variable("x", 2)
    with pytest.raises(DeclarationError, match="a list of expressions"):
        concatenate(x)
    with pytest.raises(DeclarationError, match="at least one"):
        concatenate([])
    with pytest.raises(DeclarationError, match=r"vstack cannot join expressions of shapes \(2,\), \(3,\)"):
        np.vstack([x, np.ones(3)])


def test_binary_variables_are_zero_or_one() -> None:
    program = Program("knapsack")
    x = program.variable("x", 4, binary=True)
    program.maximize(np.array([10.0, 13, 7, 8]) @ x)
    program.subject_to(np.array([3.0, 4, 2, 3]) @ x <= 7)
    result = milopt.solve(program, "highs")
    assert result.values[x] == pytest.approx([1, 1, 0, 0])
    assert result.objective == pytest.approx(23.0)


def test_bounds_of_a_binary_variable_raise_an_error() -> None:
    with pytest.raises(DeclarationError, match="binary: do not give lower"):
        Program("bounds").variable("x", binary=True, lower=0)
