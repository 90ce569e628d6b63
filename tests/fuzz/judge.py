"""Check the answers of milopt against values in numpy and against the reference."""

from __future__ import annotations

import traceback
import warnings
from collections.abc import Iterator
from dataclasses import dataclass
from enum import Enum

import numpy as np

import milopt
from milopt.compilation.status import PointStatus, Termination
from milopt.errors import ConvexityError, UnsupportedError
from milopt.outcome.result import Result
from milopt.solving.options import Options
from tests.fuzz.as_milopt import declare
from tests.fuzz.descriptions import Array, Parameters, ProgramDescription, apply_scaling, features
from tests.fuzz.evaluate import DescriptionEvaluator, FunctionExpansion, Point, violations, zero
from tests.fuzz.reference import ReferenceVerdict, second_opinion, solve_reference

ROW_TOLERANCE = 1e-5
"""Largest violation of a row in the unscaled program, relative to 1 + the sum of its absolute summands."""
DECLARED_ROW_TOLERANCE = 2e-6
"""Largest violation of a row in the declared program, for which the certificate guarantees 1e-6."""
OBJECTIVE_TOLERANCE = 1e-5
"""Largest error of a certified objective, relative to 1 + its size; the certificate guarantees 1e-6."""

SEMIDEFINITE_ROUNDING = 1e-13
"""Ratio of eigenvalues below which the sign of the smaller one is lost in rounding errors."""


class FuzzVerdict(Enum):
    """Verdict on an answer; the last four are failures."""

    OPTIMAL = "ok-optimal"
    STATIONARY = "ok-stationary"
    INFEASIBLE = "ok-infeasible"
    UNBOUNDED = "ok-unbounded"
    REFUSED = "ok-refused"
    UNCERTIFIED = "uncertified"
    UNDECIDED = "undecided"
    WRONG_CERTIFIED = "wrong-and-certified"
    WRONG_STATUS = "wrong-status"
    CRASH = "crash"
    HANG = "hang"

    @property
    def is_settled(self) -> bool:
        """Whether the answer has been confirmed."""
        return self.value.startswith("ok-")

    @property
    def is_failure(self) -> bool:
        """Whether the answer is wrong, or there is none."""
        return self in (FuzzVerdict.WRONG_CERTIFIED, FuzzVerdict.WRONG_STATUS, FuzzVerdict.CRASH, FuzzVerdict.HANG)


@dataclass(frozen=True)
class FuzzJudgement:
    """Verdict on one solve of one program by one solver."""

    seed: int
    theme: str
    solver: str
    verdict: FuzzVerdict
    detail: str = ""
    solve: int = 0
    """Number of the solve in its session."""


REQUIRED_FEATURES: dict[str, frozenset[str]] = {
    "highs": frozenset({"linear", "quadratic"}),
    "clarabel": frozenset({"linear", "quadratic", "cone"}),
    "ecos": frozenset({"linear", "quadratic", "cone"}),
    "piqp": frozenset({"linear", "quadratic"}),
    "scip": frozenset({"linear"}),
    "auto": frozenset({"linear", "quadratic", "cone"}),
    "cvxpy:CLARABEL": frozenset({"linear", "quadratic", "cone"}),
    "cvxpy:HIGHS": frozenset({"linear", "quadratic"}),
}
"""Features that a solver must support in a convex program; other solvers, and schemes, may reject any program."""


def judge_solver(description: ProgramDescription, solver: str) -> Iterator[FuzzJudgement]:
    """Solve a program by one solver and yield a judgement of every answer."""
    for k, answer in enumerate(_solve_all(description, solver)):
        if isinstance(answer, Result):
            verdict, detail = judge(description, k, answer)
        else:
            verdict, detail = _judge_error(description, answer, solver)
        yield FuzzJudgement(description.seed, description.theme, solver, verdict, detail, k)


def _solve_all(description: ProgramDescription, solver: str) -> Iterator[Result | Exception]:
    """Yield the result of every solve, and the exception if one is raised."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            translation = declare(apply_scaling(description))
            options = Options(lazy=description.lazy, form=description.form)
            if not description.parameters:
                yield milopt.solve(translation.program, solver, description.scheme, options)
                return
            with milopt.Session(translation.program, solver, options) as session:
                for k, parameters in enumerate(description.settings):
                    for name, value in parameters.items() if k else ():
                        session.set_parameter(translation.leaves[name], value)
                    yield session.solve()
    except Exception as error:
        # Every exception is judged: an unsupported program is an answer, and everything else is a crash.
        yield error


def _judge_error(description: ProgramDescription, error: Exception, solver: str) -> tuple[FuzzVerdict, str]:
    """Return the verdict on an exception."""
    if not isinstance(error, (UnsupportedError, ConvexityError)):
        last = traceback.extract_tb(error.__traceback__)[-1]
        place = f"{last.filename.rpartition('/')[2]}:{last.lineno}"
        return FuzzVerdict.CRASH, f"{type(error).__name__} at {place}: {str(error)[:200]}"
    reason = f"{type(error).__name__}: {str(error)[:200]}"
    if description.convex and description.scheme is None:
        if isinstance(error, ConvexityError):
            if _is_nearly_singular(description):
                return FuzzVerdict.REFUSED, f"a weight is semidefinite within rounding only: {reason}"
            return FuzzVerdict.WRONG_STATUS, f"a convex program is rejected: {reason}"
        if (
            solver in REQUIRED_FEATURES
            and description.form != "dual"
            and features(description) <= REQUIRED_FEATURES[solver]
        ):
            return FuzzVerdict.WRONG_STATUS, f"a program that it must support is rejected: {reason}"
    return FuzzVerdict.REFUSED, reason


def _is_nearly_singular(description: ProgramDescription) -> bool:
    """Return True if rounding decides whether a declared weight matrix is positive semidefinite."""
    for expression in apply_scaling(description).expressions:
        for atom in expression.atoms:
            if atom.root is not None and atom.weight is not None and atom.weight.ndim == 2:
                values = np.linalg.svd(atom.root, compute_uv=False) ** 2
                if 0 < values.min() < SEMIDEFINITE_ROUNDING * values.max():
                    return True
    return False


def judge(description: ProgramDescription, k: int, result: Result) -> tuple[FuzzVerdict, str]:
    """Return the verdict on the result of solve number k of the session, with a detail for messages."""
    reference = solve_reference(description, k)
    answer = f"{result.termination}, {result.point}, {result.objective:.8g}"
    expected = f"{reference.verdict}, {reference.value * description.scaling.objective:.8g}"
    versus = f"answer: {answer}; reference: {expected}"
    if result.termination in (Termination.INFEASIBLE, Termination.UNBOUNDED):
        verdict, detail = _without_point(result, reference, versus)
    elif result.point is PointStatus.NONE:
        return FuzzVerdict.UNCERTIFIED, f"{versus}; {result.message[:120]}"
    else:
        rows = _row_violations(description, description.settings[k], result)
        contradiction = _contradiction(description, result, rows)
        if contradiction:
            certified = result.point is PointStatus.CERTIFIED
            return (
                FuzzVerdict.WRONG_CERTIFIED if certified else FuzzVerdict.WRONG_STATUS
            ), f"{contradiction}; {versus}"
        if result.point is not PointStatus.CERTIFIED:
            return FuzzVerdict.UNCERTIFIED, f"{versus}; {result.message[:120]}"
        verdict, detail = _certified(description, result, rows, reference, versus)
    if verdict.is_failure:
        confirmed = second_opinion(description, k, reference)
        if confirmed.verdict == "undecided":
            return FuzzVerdict.UNDECIDED, confirmed.reason
    return verdict, detail


def _without_point(result: Result, reference: ReferenceVerdict, versus: str) -> tuple[FuzzVerdict, str]:
    """Return the verdict on a result that claims that the program is infeasible or unbounded."""
    if reference.verdict == "undecided":
        return FuzzVerdict.UNDECIDED, reference.reason
    if reference.verdict != str(result.termination):
        return FuzzVerdict.WRONG_STATUS, versus
    return (FuzzVerdict.INFEASIBLE if reference.verdict == "infeasible" else FuzzVerdict.UNBOUNDED), ""


def _contradiction(description: ProgramDescription, result: Result, rows: _RowViolations) -> str:
    """Return a message if rows or the objective disagree with the values of a result, otherwise an empty text."""
    if rows.beyond_declared:
        return f"rows are violated: {rows.worst}"
    value = rows.objective * description.scaling.objective
    if abs(value - result.objective) > OBJECTIVE_TOLERANCE * (1 + abs(value)):
        return f"the objective at its values is {value:.8g}"
    return ""


def _certified(
    description: ProgramDescription, result: Result, rows: _RowViolations, reference: ReferenceVerdict, versus: str
) -> tuple[FuzzVerdict, str]:
    """Return the verdict on a certified point, by comparison with the optimum."""
    value, optimum = (number * description.scaling.objective for number in (rows.objective, reference.value))
    if reference.verdict == "undecided":
        return FuzzVerdict.UNDECIDED, reference.reason
    if reference.verdict == "infeasible":
        if rows.beyond_natural:
            return FuzzVerdict.UNDECIDED, f"infeasible, and within the absolute tolerance of the rows: {rows.worst}"
        return FuzzVerdict.WRONG_CERTIFIED, versus
    if result.termination in (Termination.STATIONARY, Termination.CYCLE):
        return _stationary(description, value, reference, versus)
    if reference.verdict == "unbounded" or abs(value - optimum) > OBJECTIVE_TOLERANCE * (1 + abs(optimum)):
        return FuzzVerdict.WRONG_CERTIFIED, versus
    if rows.beyond_natural:
        return FuzzVerdict.UNDECIDED, f"right within the absolute tolerance of the rows only: {rows.worst}"
    return FuzzVerdict.OPTIMAL, ""


def _stationary(
    description: ProgramDescription, value: float, reference: ReferenceVerdict, versus: str
) -> tuple[FuzzVerdict, str]:
    """Return the verdict on a stationary point; for a convex program, the status must be optimal."""
    if description.convex and description.scheme is None:
        return FuzzVerdict.WRONG_STATUS, f"a convex program has optima only; {versus}"
    sign = -1.0 if description.maximize else 1.0
    optimum = sign * reference.value * description.scaling.objective
    if reference.verdict == "optimal" and sign * value < optimum - OBJECTIVE_TOLERANCE * (1 + abs(optimum)):
        return FuzzVerdict.WRONG_CERTIFIED, f"better than the optimum; {versus}"
    return FuzzVerdict.STATIONARY, ""


@dataclass(frozen=True)
class _RowViolations:
    """Violations of the rows, and the objective, at the values of a result."""

    beyond_natural: bool
    """Whether a row of the unscaled program is violated."""
    beyond_declared: bool
    """Whether a row is violated both in the unscaled and in the declared program."""
    worst: str
    """Description of the largest violation."""
    objective: float


def _row_violations(description: ProgramDescription, parameters: Parameters, result: Result) -> _RowViolations:
    """Evaluate the rows in the unscaled and in the declared program."""
    program = apply_scaling(description)
    raw = _point(description, result)
    columns = description.scaling.columns
    natural = Point({name: columns.get(name, 1.0) * x for name, x in raw.variables.items()}, raw.functions)
    in_units = violations(description, parameters, natural)
    as_declared = violations(program, parameters, raw)
    constants = {row.name: np.abs(row.expression.affine.constant) for row in program.rows}
    beyond, both, worst, largest = False, False, "", 0.0
    for name, (violation, sizes) in in_units.items():
        relative = violation / (1 + sizes)
        if relative.max(initial=0.0) > largest:
            largest = float(relative.max())
            worst = f"{name} by {violation.max():.2e}"
        outside = relative > ROW_TOLERANCE
        beyond |= bool(outside.any())
        limit = DECLARED_ROW_TOLERANCE * (1 + constants.get(name, np.zeros(1)))
        both |= bool((outside & (as_declared[name][0] > limit)).any())
    value = float(DescriptionEvaluator(description, parameters, natural).objective().entries[0])
    return _RowViolations(beyond, both, worst, value)


def _point(description: ProgramDescription, result: Result) -> Point:
    """Return the variables and functions of a result."""
    variables: dict[str, Array] = {name: np.atleast_1d(value) for name, value in result.values.items()}
    functions = {}
    for function in description.functions:
        name = function.name
        fitted = result.functions.get(name)
        if function.dictionary is not None:
            functions[name] = FunctionExpansion(function.kernel, function.dictionary, variables[f"{name}.coefficients"])
        elif fitted is None:
            functions[name] = zero(function)
        elif fitted.weights is not None:
            # The kernel is linear, so that <w, x> = K(w, x).
            functions[name] = FunctionExpansion(function.kernel, fitted.weights[None, :], np.ones(1))
        else:
            points, coefficients = np.asarray(fitted.points), np.asarray(fitted.coefficients)
            functions[name] = FunctionExpansion(function.kernel, points, coefficients)
    return Point(variables, functions)
