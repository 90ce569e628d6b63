"""A step session is opened with a solver or with its name."""

from __future__ import annotations

import pytest

from milopt import Program
from milopt.compilation.status import Termination
from milopt.errors import UnknownNameError
from milopt.solving import registry
from milopt.solving.step_session import StepSession


def _program() -> Program:
    program = Program("lp")
    x = program.variable("x", 2, lower=0)
    program.minimize(x.sum())
    program.subject_to(x[0] >= 1, name="first")
    return program


def test_a_session_accepts_the_name_of_a_solver() -> None:
    with StepSession(_program(), "highs") as session:
        assert session.solver.name == "highs"
        assert session.solve().termination is Termination.OPTIMAL
    with StepSession(_program(), registry.get_solver("highs")) as session:
        assert session.solve().objective == pytest.approx(1.0)


def test_a_session_with_an_unknown_solver_raises_an_error() -> None:
    with pytest.raises(UnknownNameError, match="hihgs"):
        StepSession(_program(), "hihgs")
