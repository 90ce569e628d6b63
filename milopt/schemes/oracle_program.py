"""Oracles priced by their own programs: one live session, whose parameters take the prices round after round."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import islice

import numpy as np

from milopt.arrays import Points, Vector
from milopt.compilation.minorant import StandIn
from milopt.compilation.sides import witnessed_maxima
from milopt.compilation.status import PointStatus, Termination
from milopt.declaration.atoms.atom import Atom
from milopt.declaration.bags.bags import Bags
from milopt.declaration.programs.leaves import Parameter
from milopt.declaration.programs.semi_infinite import Oracle
from milopt.errors import DeclarationError
from milopt.outcome.certificate import Certificate
from milopt.outcome.outcome import Outcome
from milopt.outcome.point_values import PointValues
from milopt.schemes.descent import descend
from milopt.schemes.exact import Exact
from milopt.schemes.scheme import finished
from milopt.schemes.start import starting_witness
from milopt.solving.clock import Clock
from milopt.solving.options import Options
from milopt.solving.pricing import MAX_STEPS, RELATIVE_DECREASE, Found, Priced, Pricing
from milopt.solving.solver import Solver
from milopt.solving.step_session import StepSession


class ProgramPricing(Pricing):
    """By CCP from the oracle's starts, or by one solve, with its bound, where the oracle's program is convex."""

    def __init__(self, oracle: Oracle, bags: Bags, solver: Solver, options: Options) -> None:
        self.solver = solver.name
        self._oracle = oracle
        self._solver, self._options = solver, options
        self._column = oracle.column(bags)
        self._atoms = witnessed_maxima(oracle.program, "pricing")
        self._session: StepSession | None = None

    def price(self, prices: Mapping[Parameter, Vector], starts: int, clock: Clock) -> Found:
        """The end of each descent, best first.

        A feasible end is a column, certified or not: the certificate is of its optimality, on which nothing rests but
        that there is no better one.
        """
        found: list[Priced] = []
        bound: float | None = None
        failures: list[str] = []
        tried = 0
        for values in self._starts(prices, starts):
            session = self._at(prices, values)
            if self._atoms:
                ended, _ = finished(descend(session, self._atoms, clock, MAX_STEPS, RELATIVE_DECREASE))
                outcome, steps = ended.last, len(ended.history)
            else:
                outcome, steps = session.solve(clock), 1
                bound = None if outcome.bound is None else self._sign * outcome.bound
            tried += 1
            if outcome.status is not PointStatus.CERTIFIED:
                failures.append(_uncertified(outcome.termination, outcome.certificate, outcome.message))
            if outcome.point is not None and outcome.status is not PointStatus.NONE:
                found.append(self._priced(session, outcome, steps))
            if clock.is_over():
                break
        failure = failures[0] if len(failures) == tried else ""
        return Found(tuple(sorted(found, key=lambda one: self._sign * one.value)), bound, failure)

    def close(self) -> None:
        """Close the session."""
        if self._session is not None:
            self._session.close()

    @property
    def _sign(self) -> float:
        return -1.0 if self._oracle.program.maximizes else 1.0

    def _starts(self, prices: Mapping[Parameter, Vector], count: int) -> list[Vector | None]:
        if self._oracle.starts is None or not self._atoms:
            return [None]
        given = list(islice(self._oracle.starts(prices), count))
        if not given:
            name = self._oracle.program.name
            raise DeclarationError(f"The starts of {name!r} are none: give at least one, or no starts at all.")
        return list(given)

    def _at(self, prices: Mapping[Parameter, Vector], values: Vector | None) -> StepSession:
        """The session at these prices, its witnesses at the maxima of these values."""
        witnesses: dict[Atom, StandIn] = {atom: starting_witness(atom, values) for atom in self._atoms}
        if self._session is None:
            for parameter, value in prices.items():
                parameter.value = value
            self._session = StepSession(self._oracle.program, self._solver, self._options, witnesses=witnesses)
        else:
            self._session.set_inputs(prices, witnesses)
        return self._session

    def _priced(self, session: StepSession, outcome: Outcome, steps: int) -> Priced:
        assert outcome.point is not None
        at, program = PointValues(session.lowering, outcome), self._oracle.program
        values = {name: at.value(variable) for name, variable in program.variables.items()}
        functions: dict[str, tuple[Points, Vector]] = {}
        for space, every in zip(session.spaces, outcome.point.coefficients, strict=True):
            support = np.flatnonzero(every)
            functions[space.function.name] = space.points[support], every[support]
        return Priced(at.value(self._column), values, functions, at.objective(), outcome.certificate, steps)


class ExactPricing(Pricing):
    """By the global optimum of the oracle's program, anew each time, with its proved bound."""

    def __init__(self, oracle: Oracle, bags: Bags, solver: Solver, options: Options) -> None:
        self.solver = solver.name
        self._oracle, self._bags = oracle, bags
        self._solver, self._options = solver, options

    def price(self, prices: Mapping[Parameter, Vector], starts: int, clock: Clock) -> Found:
        """The best column of all, or the best so far at a limit; either way nothing exceeds the bound."""
        for parameter, value in prices.items():
            parameter.value = value
        oracle = self._oracle
        found = Exact().run(oracle.program, self._solver, self._options, clock)
        failure = ""
        if found.point is not PointStatus.CERTIFIED:
            failure = _uncertified(found.termination, found.certificate, found.message)
        if found.point is PointStatus.NONE or not (found.values or found.functions):
            return Found((), None, failure)
        values = {name: np.ravel(value) for name, value in found.values.items()}
        functions = {
            name: (one.points, one.coefficients)
            for name, one in found.functions.items()
            if oracle.program.functions[name].dictionary is None
        }
        column = found.value(oracle.column(self._bags))
        return Found((Priced(column, values, functions, found.objective, found.certificate),), found.bound, failure)


def _uncertified(ended: Termination, certificate: Certificate | None, message: str) -> str:
    """A solve without its certificate, as a sentence without its end."""
    if certificate is not None:
        return f"The oracle's step is not certified: {certificate}"
    said = f": {message.rstrip('.')}" if message else ""
    return f"The oracle's step ended as {ended}, without a point{said}"
