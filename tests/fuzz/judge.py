"""Judge what milopt says of a program by values computed in numpy and by the reference."""

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
from tests.fuzz.as_milopt import declared
from tests.fuzz.descriptions import Array, Description, Parameters, features, scaled
from tests.fuzz.evaluate import Evaluator, Expansion, Point, violations, zero
from tests.fuzz.reference import Reference, refer, second_opinion

ROW_TOLERANCE = 1e-5
"""Largest violation of a row, relative to 1 + the numbers that cancel in it, in units of order one."""
DECLARED_ROW_TOLERANCE = 2e-6
"""The same in the units of the declared program, where the certificate promises 1e-6."""
OBJECTIVE_TOLERANCE = 1e-5
"""Largest error of a certified objective, relative to 1 + its size; the certificate promises 1e-6."""

SEMIDEFINITE_ROUNDING = 1e-13
"""Ratio of eigenvalues below which rounding hides the sign of the smaller one."""


class Verdict(Enum):
    """What an answer is worth; the last four are failures."""

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
        return self.value.startswith("ok-")

    @property
    def is_failure(self) -> bool:
        return self in (Verdict.WRONG_CERTIFIED, Verdict.WRONG_STATUS, Verdict.CRASH, Verdict.HANG)


@dataclass(frozen=True)
class Judgement:
    """One solve of one program by one solver."""

    seed: int
    theme: str
    solver: str
    verdict: Verdict
    detail: str = ""
    solve: int = 0
    """Which solve of a session it is."""


TAKES: dict[str, frozenset[str]] = {
    "highs": frozenset({"linear", "quadratic"}),
    "clarabel": frozenset({"linear", "quadratic", "cone"}),
    "ecos": frozenset({"linear", "quadratic", "cone"}),
    "piqp": frozenset({"linear", "quadratic"}),
    "scip": frozenset({"linear"}),
    "auto": frozenset({"linear", "quadratic", "cone"}),
    "cvxpy:CLARABEL": frozenset({"linear", "quadratic", "cone"}),
    "cvxpy:HIGHS": frozenset({"linear", "quadratic"}),
}
"""What a solver must not refuse in a convex program; the pattern solvers, and schemes, may refuse anything."""


def judged(description: Description, solver: str) -> Iterator[Judgement]:
    """Solve a program by one solver and judge every answer."""
    for k, found in enumerate(_solved(description, solver)):
        if isinstance(found, Result):
            verdict, detail = judge(description, k, found)
        else:
            verdict, detail = _judge_error(description, found, solver)
        yield Judgement(description.seed, description.theme, solver, verdict, detail, k)


def _solved(description: Description, solver: str) -> Iterator[Result | Exception]:
    """The result of every solve, or the exception that ended them."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            translation = declared(scaled(description))
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
        # Anything that is raised is judged: refusals are answers, and everything else is a crash.
        yield error


def _judge_error(description: Description, error: Exception, solver: str) -> tuple[Verdict, str]:
    if not isinstance(error, (UnsupportedError, ConvexityError)):
        last = traceback.extract_tb(error.__traceback__)[-1]
        where = f"{last.filename.rpartition('/')[2]}:{last.lineno}"
        return Verdict.CRASH, f"{type(error).__name__} at {where}: {str(error)[:200]}"
    reason = f"{type(error).__name__}: {str(error)[:200]}"
    if description.convex and description.scheme is None:
        if isinstance(error, ConvexityError):
            if _is_nearly_singular(description):
                return Verdict.REFUSED, f"a weight is semidefinite within rounding only: {reason}"
            return Verdict.WRONG_STATUS, f"a convex program is refused: {reason}"
        if solver in TAKES and description.form != "dual" and features(description) <= TAKES[solver]:
            return Verdict.WRONG_STATUS, f"a program of its kind is refused: {reason}"
    return Verdict.REFUSED, reason


def _is_nearly_singular(description: Description) -> bool:
    """Whether rounding decides if some declared weight that is not diagonal is semidefinite."""
    for expression in scaled(description).expressions:
        for atom in expression.atoms:
            if atom.root is not None and atom.weight is not None and atom.weight.ndim == 2:
                values = np.linalg.svd(atom.root, compute_uv=False) ** 2
                if 0 < values.min() < SEMIDEFINITE_ROUNDING * values.max():
                    return True
    return False


def judge(description: Description, k: int, result: Result) -> tuple[Verdict, str]:
    """Judge one result, of the solve with setting number k of the parameters."""
    reference = refer(description, k)
    said = f"{result.termination}, {result.point}, {result.objective:.8g}"
    truth = f"{reference.verdict}, {reference.value * description.scaling.objective:.8g}"
    versus = f"says {said}; reference: {truth}"
    if result.termination in (Termination.INFEASIBLE, Termination.UNBOUNDED):
        verdict, detail = _without_point(result, reference, versus)
    elif result.point is PointStatus.NONE:
        return Verdict.UNCERTIFIED, f"{versus}; {result.message[:120]}"
    else:
        rows = _rows(description, description.settings[k], result)
        wrong = _contradiction(description, result, rows)
        if wrong:
            certified = result.point is PointStatus.CERTIFIED
            return (Verdict.WRONG_CERTIFIED if certified else Verdict.WRONG_STATUS), f"{wrong}; {versus}"
        if result.point is not PointStatus.CERTIFIED:
            return Verdict.UNCERTIFIED, f"{versus}; {result.message[:120]}"
        verdict, detail = _certified(description, result, rows, reference, versus)
    if verdict.is_failure:
        again = second_opinion(description, k, reference)
        if again.verdict == "undecided":
            return Verdict.UNDECIDED, again.reason
    return verdict, detail


def _without_point(result: Result, reference: Reference, versus: str) -> tuple[Verdict, str]:
    """Judge a program that is called infeasible or unbounded."""
    if reference.verdict == "undecided":
        return Verdict.UNDECIDED, reference.reason
    if reference.verdict != str(result.termination):
        return Verdict.WRONG_STATUS, versus
    return (Verdict.INFEASIBLE if reference.verdict == "infeasible" else Verdict.UNBOUNDED), ""


def _contradiction(description: Description, result: Result, rows: _Rows) -> str:
    """What is wrong with a feasible point by its own values, whatever the optimum is; empty if nothing."""
    if rows.beyond_declared:
        return f"rows are violated: {rows.worst}"
    value = rows.objective * description.scaling.objective
    if abs(value - result.objective) > OBJECTIVE_TOLERANCE * (1 + abs(value)):
        return f"the objective at its values is {value:.8g}"
    return ""


def _certified(
    description: Description, result: Result, rows: _Rows, reference: Reference, versus: str
) -> tuple[Verdict, str]:
    """Judge a certified point by the optimum."""
    value, optimum = (one * description.scaling.objective for one in (rows.objective, reference.value))
    if reference.verdict == "undecided":
        return Verdict.UNDECIDED, reference.reason
    if reference.verdict == "infeasible":
        if rows.beyond_natural:
            return Verdict.UNDECIDED, f"infeasible, and within the absolute tolerance of the rows: {rows.worst}"
        return Verdict.WRONG_CERTIFIED, versus
    if result.termination in (Termination.STATIONARY, Termination.CYCLE):
        return _stationary(description, value, reference, versus)
    if reference.verdict == "unbounded" or abs(value - optimum) > OBJECTIVE_TOLERANCE * (1 + abs(optimum)):
        return Verdict.WRONG_CERTIFIED, versus
    if rows.beyond_natural:
        return Verdict.UNDECIDED, f"right within the absolute tolerance of the rows only: {rows.worst}"
    return Verdict.OPTIMAL, ""


def _stationary(description: Description, value: float, reference: Reference, versus: str) -> tuple[Verdict, str]:
    """Judge a stationary point: only programs that are not convex have any that may be called so."""
    if description.convex and description.scheme is None:
        return Verdict.WRONG_STATUS, f"a convex program has optima only; {versus}"
    sign = -1.0 if description.maximize else 1.0
    optimum = sign * reference.value * description.scaling.objective
    if reference.verdict == "optimal" and sign * value < optimum - OBJECTIVE_TOLERANCE * (1 + abs(optimum)):
        return Verdict.WRONG_CERTIFIED, f"better than the optimum; {versus}"
    return Verdict.STATIONARY, ""


@dataclass(frozen=True)
class _Rows:
    """How well the rows hold at the values of a result."""

    beyond_natural: bool
    """Some row is violated in units of order one."""
    beyond_declared: bool
    """Some row is violated in units of order one and in those of the declared program."""
    worst: str
    objective: float


def _rows(description: Description, parameters: Parameters, result: Result) -> _Rows:
    program = scaled(description)
    raw = _point(description, result)
    columns = description.scaling.columns
    natural = Point({name: columns.get(name, 1.0) * x for name, x in raw.variables.items()}, raw.functions)
    in_units = violations(description, parameters, natural)
    as_declared = violations(program, parameters, raw)
    constants = {row.name: np.abs(row.expression.affine.constant) for row in program.rows}
    beyond, both, worst, largest = False, False, "", 0.0
    for name, (wrong, sizes) in in_units.items():
        relative = wrong / (1 + sizes)
        if relative.max(initial=0.0) > largest:
            largest = float(relative.max())
            worst = f"{name} by {wrong.max():.2e}"
        outside = relative > ROW_TOLERANCE
        beyond |= bool(outside.any())
        limit = DECLARED_ROW_TOLERANCE * (1 + constants.get(name, np.zeros(1)))
        both |= bool((outside & (as_declared[name][0] > limit)).any())
    value = float(Evaluator(description, parameters, natural).objective().entries[0])
    return _Rows(beyond, both, worst, value)


def _point(description: Description, result: Result) -> Point:
    variables: dict[str, Array] = {name: np.atleast_1d(value) for name, value in result.values.items()}
    functions = {}
    for one in description.functions:
        fitted = result.functions.get(one.name)
        if one.dictionary is not None:
            functions[one.name] = Expansion(one.kernel, one.dictionary, variables[f"{one.name}.coefficients"])
        elif fitted is None:
            functions[one.name] = zero(one)
        else:
            functions[one.name] = Expansion(one.kernel, np.asarray(fitted.points), np.asarray(fitted.coefficients))
    return Point(variables, functions)
