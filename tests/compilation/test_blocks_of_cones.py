"""Blocks of an evaluation form with several cones: compilation, certificates and messages."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
import scipy.sparse as sp

from milopt import Program
from milopt.compilation.dual_form import dual_unsupported_reason
from milopt.compilation.evaluation_form import EvaluationForm, LoweredBlock
from milopt.compilation.form_kind import form_kind
from milopt.compilation.primal_form import PrimalForm
from milopt.compilation.rows import Rows
from milopt.cones import EXPONENTIAL, SECOND_ORDER, Cone
from milopt.errors import UnsupportedError
from milopt.inspection.summary import size_table
from milopt.outcome.certificate import certify, evaluate
from milopt.solving import registry
from milopt.solving.options import Options
from milopt.solving.step_session import StepSession


def block(name: str, cone: Cone, A: list[list[float]], g: list[float], sizes: list[int] | None = None) -> LoweredBlock:
    count = len(g)
    none = np.full(count, -1, dtype=np.intp)
    rows = Rows(sp.csr_array(np.array(A)), (), np.array(g))
    given = None if sizes is None else np.array(sizes)
    return LoweredBlock(name, cone, rows, origin="", declared=np.arange(count), instance=none, group=none, sizes=given)


def two_kinds() -> EvaluationForm:
    """Return min z + w - p - q  s.t.  exp(x) <= z, exp(y) <= w, x >= 1, y >= 1,  |p| <= 2, ||(q, q)|| <= 2 sqrt(2)."""
    program = Program("two kinds")
    exponents = program.variable("exponents", 2, lower=1.0)
    values = program.variable("values", 2)
    others = program.variable("others", 2)
    program.minimize(values.sum() - others.sum())
    with StepSession(program, registry.get_solver("clarabel")) as session:
        form = session.form
    unit = np.eye(6)
    zero = np.zeros(6)
    exponential = [unit[0], zero, unit[2], unit[1], zero, unit[3]]
    balls = [zero, unit[4], zero, unit[5], unit[5]]
    assert exponents.size == 2
    return replace(
        form,
        blocks=(
            block("powers", EXPONENTIAL, exponential, [0, 1, 0, 0, 1, 0]),
            block("balls", SECOND_ORDER, balls, [2, 0, 2 * np.sqrt(2), 0, 0], [2, 3]),
        ),
    )


@pytest.mark.parametrize("solver", ["clarabel", "ecos", "cvxpy:SCS"])
def test_the_optimum_is_certified(solver: str) -> None:
    form = two_kinds()
    compiled = PrimalForm(form, [], np.arange(form.rows.count))
    assert [block.cone_sizes.tolist() for block in compiled.form.rows] == [[3, 3], [2, 3]]
    answer = registry.get_solver(solver).engine(compiled.form, Options()).solve(None)
    assert answer.x is not None
    point = compiled.recover(answer.x, answer.z)
    evaluation = evaluate(form, [], point)
    assert evaluation.objective == pytest.approx(2 * np.e - 4.0, abs=1e-5)
    assert certify(form, [], point, evaluation).holds(1e-6)


def test_points_and_multipliers_outside_their_cones_are_not_certified() -> None:
    form = two_kinds()
    x = np.array([1.0, 1.0, np.e, np.e, 2.0, 2.0])
    balls = np.array([1.0, -1.0, 1 / np.sqrt(2), -0.5, -0.5])
    z = np.concatenate([np.tile([-np.e, 0.0, 1.0], 2), balls])
    compiled = PrimalForm(form, [], np.arange(form.rows.count))

    def certificate(x: np.ndarray, z: np.ndarray):
        point = compiled.recover(x, z)
        return certify(form, [], point, evaluate(form, [], point))

    assert certificate(x, z).holds(1e-9)
    below = x.copy()
    below[3] -= 0.1
    outside = certificate(below, z)
    assert outside.violation == pytest.approx(-np.log1p(-0.1 / np.e), rel=1e-6)  # the shift of the exponent
    assert outside.primal > 0.01
    wrong_exponential = z.copy()
    wrong_exponential[4] -= 0.1
    assert certificate(x, wrong_exponential).dual > 0.01
    assert certificate(x, wrong_exponential).gap > 0.01
    wrong_ball = z.copy()
    wrong_ball[8] -= 0.1
    assert certificate(x, wrong_ball).dual > 0.01


def test_reports_describe_the_cones() -> None:
    form = two_kinds()
    assert form_kind(form) == "exponential cone program"
    table = str(size_table(form))
    assert "powers 2 x 3" in table
    assert "balls 2 x 2 to 3" in table
    assert (
        dual_unsupported_reason(form)
        == "The dual of a program with exponential cones is not formed; use the primal form."
    )


def test_rows_that_end_in_a_function_must_be_one_cone() -> None:
    with pytest.raises(UnsupportedError, match="'balls' end in a function"):
        replace(two_kinds().blocks[1], space=0)
    with pytest.raises(UnsupportedError, match="'balls' lie in exponential cones of 3 rows each"):
        replace(two_kinds().blocks[1], cone=EXPONENTIAL, sizes=None)
