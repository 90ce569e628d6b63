"""Schemes that search over witnesses reject programs that they cannot bound, before they compute anything."""

from __future__ import annotations

import numpy as np
import pytest

import milopt
from milopt import Program, as_bags, bag_max, logistic, maximum, norm
from milopt.errors import UnsupportedError

BAGS = as_bags([np.array([[1.0], [-1.0]]), np.array([[2.0], [0.5]])])
Y = np.array([1.0, -1.0])


def logistic_loss() -> Program:
    program = Program("logistic loss")
    w = program.variable("w", 1, lower=-2, upper=2)
    program.minimize(logistic(-Y * bag_max(BAGS.instances @ w, BAGS)).sum())
    return program


def maximum_of_norms() -> Program:
    program = Program("maximum of norms")
    w = program.variable("w", 2, lower=-2, upper=2)
    program.minimize(w.sum())
    program.subject_to(maximum(norm(w), w[0]) >= 1)
    return program


@pytest.mark.parametrize("scheme", ["exact", "representatives"])
@pytest.mark.parametrize("program", [logistic_loss(), maximum_of_norms()], ids=lambda program: program.name)
def test_maxima_inside_atoms_and_atoms_inside_maxima_are_not_supported(program: Program, scheme: str) -> None:
    with pytest.raises(UnsupportedError, match="scheme='ccp'"):
        milopt.solve(program, "clarabel", scheme)
    assert milopt.solve(program, "clarabel", "ccp").point.value == "certified"


def test_exact_does_not_support_a_norm_on_its_other_side() -> None:
    program = Program("outside")
    x = program.variable("x", 2, lower=-2, upper=2)
    program.minimize(x.sum())
    program.subject_to(norm(x) >= 1)
    with pytest.raises(UnsupportedError, match=r"norm\(x\) on its other side, where exact supports only maxima"):
        milopt.solve(program, "clarabel", "exact")


def test_an_entry_in_many_rows_has_one_column() -> None:
    """All pairs of bags occur: there are as many epigraph rows as instances, not as many as instances times pairs."""
    rng = np.random.default_rng(0)
    bags = as_bags([rng.normal(size=(4, 2)) for _ in range(6)])
    program = Program("pairs")
    w = program.variable("w", 2, lower=-1, upper=1)
    slack = program.variable("slack", 9, lower=0)
    tops = bag_max(bags.instances @ w, bags)
    first, second = np.repeat([0, 1, 2], 3), np.tile([3, 4, 5], 3)
    program.minimize(slack.sum())
    program.subject_to(w[0] - tops[first] - tops[second] >= 1 - slack)
    assert program.to_standard_form().m == 9 + 6 * 4
