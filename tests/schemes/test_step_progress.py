"""Steps are reported as soon as they are made: to callbacks, and as one line per step."""

from __future__ import annotations

import io

import numpy as np
import pytest

import milopt
from milopt.errors import ParameterError
from milopt.models import LSSVM, MISVM, ShapeletBoost
from milopt.outcome.result import Step
from milopt.schemes.step_progress import relative_gap

RNG = np.random.default_rng(0)
BAGS = RNG.normal(size=(18, 3, 2))
Y = np.repeat([-1, 1], 9)
BAGS[Y == 1, 0] += 3


@pytest.mark.parametrize("model", [MISVM(), MISVM(scheme="representatives"), ShapeletBoost(atoms=5), LSSVM()])
def test_the_callback_gets_the_steps_of_the_history(model: milopt.BagClassifier) -> None:
    steps: list[Step] = []
    model.fit(BAGS, Y, on_step=steps.append)
    assert steps == list(model.result_.history)


def test_a_step_is_reported_before_the_next_one_is_made() -> None:
    class EnoughError(Exception):
        """Error of the callback."""

    steps: list[Step] = []

    def stop_after_first(step: Step) -> None:
        steps.append(step)
        raise EnoughError

    with pytest.raises(EnoughError):
        MISVM().fit(BAGS, Y, on_step=stop_after_first)
    assert len(steps) == 1
    assert len(MISVM().fit(BAGS, Y).result_.history) > 1


@pytest.mark.parametrize("model", [LSSVM(), MISVM()])
def test_steps_of_all_classes_are_reported(model: milopt.BagClassifier) -> None:
    steps: list[Step] = []
    model.fit(BAGS, np.arange(18) % 3, on_step=steps.append)
    assert steps == [step for result in model.results_ for step in result.history]


def test_steps_of_every_solver_that_is_tried_are_reported() -> None:
    program = MISVM().program(BAGS, Y)
    steps: list[Step] = []
    result = milopt.solve(program, ("libsvm", "clarabel"), on_step=steps.append)
    assert steps == list(result.history)


def test_verbose_prints_a_title_a_header_and_one_line_per_step(capsys: pytest.CaptureFixture[str]) -> None:
    model = MISVM(verbose=True).fit(BAGS, Y)
    out, err = capsys.readouterr()
    lines = err.splitlines()
    assert out == ""
    assert lines[0] == "MI-SVM"
    assert lines[1].split() == ["step", "objective", "bound", "gap", "residual", "changed", "seconds"]
    assert [int(line.split()[0]) for line in lines[2:]] == list(range(1, len(model.result_.history) + 1))
    assert float(lines[-1].split()[1]) == pytest.approx(model.result_.objective, rel=1e-6)


def test_every_class_has_a_table_of_its_own(capsys: pytest.CaptureFixture[str]) -> None:
    labels = np.array(["a", "b", "c"])[np.arange(18) % 3]
    MISVM(verbose=True).fit(BAGS, labels)
    titles = [line for line in capsys.readouterr().err.splitlines() if "MI-SVM" in line]
    assert titles == ["MI-SVM, class a", "MI-SVM, class b", "MI-SVM, class c"]


def test_nothing_is_printed_without_verbose(capsys: pytest.CaptureFixture[str]) -> None:
    MISVM().fit(BAGS, Y)
    assert capsys.readouterr() == ("", "")


def test_the_gap_is_relative_to_the_objective() -> None:
    assert relative_gap(Step(3.0, 1.0, None, 0.0)) == 0.5
    assert relative_gap(Step(3.0, None, None, 0.0)) is None
    assert relative_gap(Step(3.0, -np.inf, None, 0.0)) is None


def test_the_printer_numbers_the_steps_of_each_run() -> None:
    stream = io.StringIO()
    printer = milopt.StepPrinter(["first", "second"], stream)
    for seconds in (0.1, 0.2, 0.1):
        printer(Step(1.0, None, None, seconds))
    lines = stream.getvalue().splitlines()
    assert [line.split()[0] for line in lines] == ["first", "step", "1", "2", "second", "step", "1"]


def test_verbose_must_be_a_boolean() -> None:
    with pytest.raises(ParameterError, match="verbose"):
        MISVM(verbose="loud").fit(BAGS, Y)
