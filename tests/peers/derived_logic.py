"""Optimal values of the programs with conditions, case by case."""

from __future__ import annotations


def sum_if_on() -> float:
    """Compare the cases of z.

    If z = 1, then x_0 + x_1 <= 1 is attained by x = (0, 1), where x_0 + 5 z <= 6. If z = 0, then x_0 + x_1 <= 4 is.
    """
    return max(1.0 + 10.0, 4.0)


def disjunction() -> float:
    """Compare the cases: x_0 <= 1 and x_1 <= 10, or x_0 <= 10 and x_1 <= 2."""
    return max(1.0 + 10.0, 10.0 + 2.0)
