"""Pricing by solving the oracle's program in one session, whose parameters are set to the prices in each round."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import islice

import numpy as np

from milopt.arrays import Points, Vector
from milopt.compilation.kernel_space import KernelSpace
from milopt.compilation.lowering import Lowering
from milopt.compilation.minorant import StandIn
from milopt.compilation.sides import maxima_on_other_side
from milopt.compilation.status import PointStatus, Termination
from milopt.declaration.atoms.atom import Atom
from milopt.declaration.bags.bags import Bags
from milopt.declaration.programs.leaves import Parameter
from milopt.declaration.programs.program import Program
from milopt.declaration.programs.semi_infinite import Oracle
from milopt.errors import DeclarationError
from milopt.outcome.certificate import Certificate
from milopt.outcome.outcome import Outcome
from milopt.outcome.point_values import PointValues
from milopt.outcome.result import FittedFunction
from milopt.schemes.descent import descend
from milopt.schemes.exact import Exact
from milopt.schemes.scheme import run_steps
from milopt.schemes.start import starting_stand_in
from milopt.solving.clock import Clock
from milopt.solving.options import Options
from milopt.solving.pricing import MAX_DESCENT_STEPS, MIN_RELATIVE_DECREASE, PricedColumn, Pricing, PricingResult
from milopt.solving.solver import Solver
from milopt.solving.step_session import StepSession


class ProgramPricing(Pricing):
    """Pricing by the convex-concave procedure from several starts, or by one solve if the program is convex."""

    def __init__(self, oracle: Oracle, bags: Bags, solver: Solver, options: Options) -> None:
        self.solver = solver.name
        self._oracle = oracle
        self._solver, self._options = solver, options
        self._column = oracle.column(bags)
        self._atoms = maxima_on_other_side(oracle.program, "pricing")
        self._session: StepSession | None = None

    def price(self, prices: Mapping[Parameter, Vector], start_count: int, clock: Clock) -> PricingResult:
        """Return the column at the end of each descent, best first.

        Each feasible end is a column, whether it is certified or not. Its certificate is only needed to conclude that
        there is no better column.
        """
        columns: list[PricedColumn] = []
        bound: float | None = None
        failures: list[str] = []
        runs = 0
        for values in self._starting_values(prices, start_count):
            session = self._session_at(prices, values)
            if self._atoms:
                ended, _ = run_steps(descend(session, self._atoms, clock, MAX_DESCENT_STEPS, MIN_RELATIVE_DECREASE))
                outcome, steps = ended.last, len(ended.history)
            else:
                outcome, steps = session.solve(clock), 1
                bound = None if outcome.bound is None else self._minimisation_sign * outcome.bound
            runs += 1
            if outcome.status is not PointStatus.CERTIFIED:
                failures.append(_failure_message(outcome.termination, outcome.certificate, outcome.message))
            if outcome.point is not None and outcome.status is not PointStatus.NONE:
                columns.append(self._make_column(session, outcome, steps))
            if clock.is_over():
                break
        failure = failures[0] if len(failures) == runs else ""
        return PricingResult(
            tuple(sorted(columns, key=lambda column: self._minimisation_sign * column.value)), bound, failure
        )

    def close(self) -> None:
        """Close the session."""
        if self._session is not None:
            self._session.close()

    @property
    def _minimisation_sign(self) -> float:
        """1 if the oracle's program is minimised, -1 if it is maximised."""
        return -1.0 if self._oracle.program.maximizes else 1.0

    def _starting_values(self, prices: Mapping[Parameter, Vector], count: int) -> list[Vector | None]:
        """Return up to `count` starts of the descents: one value per instance, or None for the default start.

        There is one default start if the oracle declares no starts or its program is convex.
        """
        if self._oracle.starts is None or not self._atoms:
            return [None]
        given = list(islice(self._oracle.starts(prices), count))
        if not given:
            name = self._oracle.program.name
            raise DeclarationError(f"The oracle {name!r} has an empty list of starts: give at least one, or None.")
        return list(given)

    def _session_at(self, prices: Mapping[Parameter, Vector], values: Vector | None) -> StepSession:
        """Return the session at the prices, with the witnesses that maximise `values`; for None, with means of bags."""
        witnesses: dict[Atom, StandIn] = {atom: starting_stand_in(atom, values) for atom in self._atoms}
        if self._session is None:
            for parameter, value in prices.items():
                parameter.value = value
            self._session = StepSession(self._oracle.program, self._solver, self._options, witnesses=witnesses)
        else:
            self._session.set_parameters_and_minorants(prices, witnesses)
        return self._session

    def _make_column(self, session: StepSession, outcome: Outcome, steps: int) -> PricedColumn:
        """Return the column of an outcome, with the values of variables and functions."""
        assert outcome.point is not None
        at, program = PointValues(session.lowering, outcome), self._oracle.program
        values = {name: at.value(variable) for name, variable in program.variables.items()}
        functions: dict[str, tuple[Points, Vector]] = {}
        for space, every in zip(session.spaces, outcome.point.coefficients, strict=True):
            coefficients = space.to_points(every)
            support = np.flatnonzero(coefficients)
            functions[space.function.name] = space.points[support], coefficients[support]
        return PricedColumn(at.value(self._column), values, functions, at.objective(), outcome.certificate, steps)


class ExactPricing(Pricing):
    """Pricing by the global optimum of the oracle's program, with a bound on all columns; each call starts again."""

    def __init__(self, oracle: Oracle, bags: Bags, solver: Solver, options: Options) -> None:
        self.solver = solver.name
        self._oracle, self._bags = oracle, bags
        self._solver, self._options = solver, options

    def price(self, prices: Mapping[Parameter, Vector], start_count: int, clock: Clock) -> PricingResult:
        """Return the best column, or the best one found before a limit, and a bound on all columns.

        Without a feasible point there is neither a column nor a bound. `start_count` is not used.
        """
        for parameter, value in prices.items():
            parameter.value = value
        oracle = self._oracle
        result = Exact().run(oracle.program, self._solver, self._options, clock)
        failure = ""
        if result.point is not PointStatus.CERTIFIED:
            failure = _failure_message(result.termination, result.certificate, result.message)
        if result.point is PointStatus.NONE or not (result.values or result.functions):
            return PricingResult((), None, failure)
        values = {name: np.ravel(value) for name, value in result.values.items()}
        functions = {
            name: _kernel_expansion(oracle.program, name, function)
            for name, function in result.functions.items()
            if oracle.program.functions[name].dictionary is None
        }
        column = result.value(oracle.column(self._bags))
        return PricingResult(
            (PricedColumn(column, values, functions, result.objective, result.certificate),), result.bound, failure
        )


def _failure_message(ended: Termination, certificate: Certificate | None, message: str) -> str:
    """Return a message, without a final period, about a solve whose point is missing or not certified."""
    if certificate is not None:
        return f"The oracle's step is not certified: {certificate}"
    details = f": {message.rstrip('.')}" if message else ""
    return f"The oracle's step ended as {ended}, without a point{details}"


def _kernel_expansion(program: Program, name: str, function: FittedFunction) -> tuple[Points, Vector]:
    """Return points x_p and coefficients a_p of a function sum_p a_p K(x_p, .) of a solved program."""
    if function.weights is None:
        return function.points, function.coefficients
    space = next(space for space in Lowering(program).form().spaces if space.function.name == name)
    evaluated = KernelSpace(space)
    return evaluated.points, evaluated.to_points(function.weights)
