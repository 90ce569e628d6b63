"""Conformance cases of a solver's engine: raw answers with milopt's signs, claims of infeasibility, unchanged inputs.

milopt corrects small errors of an answer (`Options.polish`) and proves the result itself, so a faulty engine may still
solve small programs. These cases test the raw answer. Every case has a parameter `is_excepted` (see
`ConformanceCase`), which these cases do not use.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import numpy as np

from milopt import Options, Termination
from milopt.compilation.answer import Answer
from milopt.compilation.standard_form import StandardForm
from milopt.solving.solver import Solver
from milopt.solving.solver_support import unsupported_reason
from milopt.testing.conformance import ConformanceCase, NotApplicableError, WrongAnswerError, require
from milopt.testing.known_programs import KNOWN_PROGRAMS
from milopt.testing.optimality import describe_dual_violation, describe_primal_violation

ANSWER_CASES = {
    "linear": "lp",
    "maximised": "lp, maximised",
    "equations": "lp, equations only",
    "quadratic": "qp",
    "second-order cone": "socp, ball",
    "second-order cones and rows": "socp, distance",
    "exponential cones": "exponential, entropy",
    "integers": "milp, knapsack",
    "mixed integers": "milp, empty blocks",
}
"""Name of the known program with an optimum whose standard form is solved, by the words that name the case."""
CLAIM_CASES = {
    "infeasible linear": "lp, infeasible",
    "unbounded linear": "lp, unbounded",
    "infeasible quadratic": "qp, infeasible",
    "unbounded quadratic": "qp, unbounded",
    "infeasible second-order cone": "socp, infeasible",
    "unbounded second-order cone": "socp, unbounded",
    "infeasible integers": "milp, infeasible",
}
"""Name of the known program without an optimum, by the words that name the case."""
BOUND_TOLERANCE = 1e-6
"""Relative excess of the bound of an integer search over the optimum above which the bound is wrong."""


def answer_cases(solver: Solver) -> list[ConformanceCase]:
    """Return the cases about the answers of engines."""
    cases = [
        ConformanceCase(f"answer, {words}", partial(_check_answer, solver, name))
        for words, name in ANSWER_CASES.items()
    ]
    cases += [
        ConformanceCase(f"claim, {words}", partial(_check_claim, solver, name)) for words, name in CLAIM_CASES.items()
    ]
    cases.append(ConformanceCase("engine, the form stays as it is", partial(_check_form_is_unchanged, solver)))
    cases.append(ConformanceCase("engine, two at the same time", partial(_check_two_engines, solver)))
    return cases


def known_standard_form(name: str) -> tuple[StandardForm, float]:
    """Return (standard form, optimum) of a known program; both are negated if the program is a maximisation."""
    known = next(entry for entry in KNOWN_PROGRAMS if entry.name == name)
    expected = known.make()
    form = expected.program.to_standard_form()
    return form, -expected.objective if form.maximize else expected.objective


def require_supported(solver: Solver, form: StandardForm) -> StandardForm:
    """Return the form; raise NotApplicableError if the solver does not support it."""
    if (reason := unsupported_reason(solver, form)) is not None:
        raise NotApplicableError(reason)
    return form


def solve_form(solver: Solver, form: StandardForm) -> Answer:
    """Return the answer of a new engine of the solver for the form, without a time limit."""
    engine = solver.engine(form, Options())
    try:
        return engine.solve(None)
    finally:
        engine.close()


def check_optimal(form: StandardForm, answer: object, optimum: float | None = None) -> Answer:
    """Return the answer, or raise an error if it does not satisfy the optimality conditions of the form.

    For an integer program, the bound of the answer is checked instead of multipliers; if `optimum` is given, the bound
    must not be above it.
    """
    require(isinstance(answer, Answer), f"solve must return an Answer, not {type(answer).__name__}")
    assert isinstance(answer, Answer)
    _check_types(answer)
    ended = f"it ended as {answer.termination} ({answer.raw_status!r})"
    require(answer.termination is Termination.OPTIMAL, f"the program has an optimum, and {ended}")
    require(answer.x is not None, "it calls the program optimal and returns no point")
    assert answer.x is not None
    fault = describe_primal_violation(form, answer.x)
    require(not fault, f"it calls the program optimal, but {fault}")
    if form.integer.any():
        _check_bound(form, answer, optimum)
        return answer
    require(answer.z is not None, "it returns no multipliers, which only integer programs may lack")
    assert answer.z is not None
    fault = describe_dual_violation(form, answer.x, answer.z)
    require(not fault, f"it calls the program optimal, but {fault}")
    return answer


def _check_types(answer: Answer) -> None:
    """Raise an error if the termination, the raw status, x or z of an answer has a wrong type."""
    kind = type(answer.termination).__name__
    require(isinstance(answer.termination, Termination), f"the termination must be a Termination, not a {kind}")
    status = answer.raw_status
    require(isinstance(status, str) and status, f"raw_status must be the words of the solver, not {status!r}")
    for name in ("x", "z"):
        values = getattr(answer, name)
        is_array = values is None or (isinstance(values, np.ndarray) and values.dtype.kind == "f")
        require(is_array, f"{name} must be an array of floats or None, not {type(values).__name__}")


def _check_bound(form: StandardForm, answer: Answer, optimum: float | None) -> None:
    """Raise an error unless the answer for an integer program has a bound that is not above the optimum.

    The objective at its point must not be above the optimum either. milopt cannot recompute the bound, so a wrong bound
    would make milopt state a wrong optimum. If `optimum` is None, only the existence of the bound is checked.
    """
    require(answer.bound is not None, "it returns no bound for an integer program, so no gap can be stated")
    assert answer.x is not None
    assert answer.bound is not None
    value = form.value(answer.x)
    if optimum is not None and answer.bound > optimum + BOUND_TOLERANCE * (1.0 + abs(optimum)):
        raise WrongAnswerError(f"its bound {answer.bound:.9g} is above the optimum {optimum:.9g} of the minimisation")
    near = optimum is None or value <= optimum + 1e-5 * (1.0 + abs(optimum))
    require(near, f"it calls a point with the objective {value:.9g} optimal, and the optimum is {optimum:.9g}")


def _check_answer(solver: Solver, name: str, is_excepted: bool) -> None:
    """Check the answer for the standard form of a known program."""
    form, optimum = known_standard_form(name)
    check_optimal(form, solve_form(solver, require_supported(solver, form)), optimum)


def _check_claim(solver: Solver, name: str, is_excepted: bool) -> None:
    """Check that a program without an optimum is not called optimal, and an unbounded one not infeasible.

    An engine may return "unbounded" for an infeasible program: many solvers report "infeasible or unbounded", and
    milopt then determines which of the two it is.
    """
    form, _ = known_standard_form(name)
    termination = next(entry for entry in KNOWN_PROGRAMS if entry.name == name).termination
    answer = solve_form(solver, require_supported(solver, form))
    problem = f"the program is {termination}, and its raw status is {answer.raw_status!r}"
    require(answer.termination is not Termination.OPTIMAL, f"{problem}, which its engine returns as optimal")
    if termination is Termination.UNBOUNDED:
        message = f"{problem}, which its engine returns as infeasible; return UNBOUNDED if both are possible"
        require(answer.termination is not Termination.INFEASIBLE, message)


def _check_form_is_unchanged(solver: Solver, is_excepted: bool) -> None:
    """Check that an engine does not write into the arrays of its form, which milopt still needs."""
    form = first_supported_form(solver)
    before = {name: get(form).copy() for name, get in _FORM_ARRAYS.items()}
    solve_form(solver, form)
    for name, get in _FORM_ARRAYS.items():
        same = np.array_equal(get(form), before[name], equal_nan=True)
        require(same, f"its engine changes {name} of the form, which milopt needs for the certificate: copy it first")


_FORM_ARRAYS: dict[str, Callable[[StandardForm], np.ndarray[tuple[int, ...], np.dtype[np.float64]]]] = {
    "q": lambda form: form.q,
    "F": lambda form: form.F.data,
    "g": lambda form: form.g,
    "lower": lambda form: form.lower,
    "upper": lambda form: form.upper,
    "P": lambda form: form.P.dense,
}
"""Functions that read the arrays of a form which an engine must not change."""


def _check_two_engines(solver: Solver, is_excepted: bool) -> None:
    """Check that engines share no state: each is correct for its own form after the other has solved."""
    forms = [
        known_standard_form(name)[0]
        for name in ("lp", "lp, maximised", "qp", "qp, maximised", "box qp", "box qp, singular P")
    ]
    supported = [form for form in forms if unsupported_reason(solver, form) is None][:2]
    if len(supported) < 2:
        raise NotApplicableError("it supports fewer than two of the programs of this case")
    engines = [solver.engine(form, Options()) for form in supported]
    try:
        for form, engine in [*zip(supported, engines, strict=True), (supported[0], engines[0])]:
            answer = engine.solve(None)
            message = "after another engine of the solver has solved another program"
            fault = "no point" if answer.x is None else describe_primal_violation(form, answer.x)
            if not fault and answer.x is not None and answer.z is not None:
                fault = describe_dual_violation(form, answer.x, answer.z)
            require(not fault, f"{message}, its answer is wrong: {fault}")
    finally:
        for engine in engines:
            engine.close()


def first_supported_form(solver: Solver) -> StandardForm:
    """Return the form of a small program that the solver supports; raise NotApplicableError if there is none."""
    svm = next(entry for entry in KNOWN_PROGRAMS if entry.name == "qp, separable svm").make().program
    small = [known_standard_form(name)[0] for name in ("qp", "lp", "socp, ball", "box qp", "qp, equations only")]
    for form in [*small, svm.to_standard_form("dual")]:
        if unsupported_reason(solver, form) is None:
            return form
    raise NotApplicableError("it supports none of the programs of this case")
