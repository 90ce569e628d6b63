"""Solvers that are deliberately wrong, each in one way, based on a correct solver."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from time import perf_counter, sleep

import numpy as np

from milopt import Options, Termination
from milopt.compilation.answer import Answer
from milopt.compilation.features import Feature
from milopt.compilation.quadratic import Quadratic
from milopt.compilation.standard_form import StandardForm
from milopt.solving import registry
from milopt.solving.engine import Change, ChangeKind, Engine
from milopt.solving.profile import Profile
from milopt.solving.solver import Availability, Solver

LINEAR, QUADRATIC, INTEGER = Feature.LINEAR, Feature.QUADRATIC, Feature.INTEGER


class WrappedEngine(Engine):
    """Engine that wraps the engine of a correct solver; subclasses change forms, updates or answers."""

    honest = "clarabel"

    def __init__(self, form: StandardForm, options: Options) -> None:
        super().__init__(form, options)
        self.inner = registry.get_solver(self.honest).engine(self.seen(form), options)

    def seen(self, form: StandardForm) -> StandardForm:
        """Return the form that the wrapped engine gets."""
        return form

    def update(self, form: StandardForm, change: Change) -> None:
        self.form = form
        self.inner.update(self.seen(form), Change(ChangeKind.EVERYTHING))

    def solve(self, time_limit: float | None) -> Answer:
        return self.inner.solve(time_limit)

    def close(self) -> None:
        self.inner.close()


class WrongSolver(Solver):
    """Solver with a given engine."""

    name = "wrong"
    features = frozenset({LINEAR, QUADRATIC})
    cones = frozenset({"second-order", "exponential"})
    package = "clarabel"
    licence = "none"
    made: type[Engine] = WrappedEngine

    def engine(self, form: StandardForm, options: Options) -> Engine:
        return self.made(form, options)


def answering(change: Callable[[Answer], Answer], honest: str = "clarabel") -> type[Engine]:
    """Return an engine that changes the answers of a correct one."""

    class ChangedAnswerEngine(WrappedEngine):
        def solve(self, time_limit: float | None) -> Answer:
            return change(super().solve(time_limit))

    ChangedAnswerEngine.honest = honest
    return ChangedAnswerEngine


class Honest(WrongSolver):
    """Correct solver that wraps another one."""


class NegatedMultipliers(WrongSolver):
    """Solver that returns multipliers with opposite signs."""

    made = answering(lambda answer: answer if answer.z is None else replace(answer, z=-answer.z))


class OptimalAlways(WrongSolver):
    """Solver that calls every termination optimal."""

    made = answering(lambda answer: replace(answer, termination=Termination.OPTIMAL))


class InfeasibleIfUnsure(WrongSolver):
    """Solver that returns "infeasible" for unbounded programs."""

    made = answering(
        lambda answer: (
            replace(answer, termination=Termination.INFEASIBLE)
            if answer.termination is Termination.UNBOUNDED
            else answer
        )
    )


class Relaxing(WrongSolver):
    """Solver that ignores integrality, and returns the optimum of the relaxation as its bound."""

    features = frozenset({LINEAR, INTEGER})
    cones = frozenset()

    class RelaxedEngine(WrappedEngine):
        def seen(self, form: StandardForm) -> StandardForm:
            return replace(form, integer=np.zeros(form.n, dtype=bool))

        def solve(self, time_limit: float | None) -> Answer:
            answer = super().solve(time_limit)
            return answer if answer.x is None else replace(answer, z=None, bound=self.form.value(answer.x))

    made = RelaxedEngine


class EndingEarly(WrongSolver):
    """Solver that rounds the relaxation to a feasible point of a knapsack, and claims that it is optimal."""

    features = frozenset({LINEAR, INTEGER})
    cones = frozenset()
    package = "highspy"

    class RoundedEngine(Relaxing.RelaxedEngine):
        honest = "highs"

        def solve(self, time_limit: float | None) -> Answer:
            answer = super().solve(time_limit)
            if answer.x is None or not self.form.integer.any():
                return answer
            x = np.where(self.form.integer, np.floor(answer.x + 1e-9), answer.x)
            return replace(answer, x=x, bound=self.form.value(x))

    made = RoundedEngine


class IgnoringTimeLimit(WrongSolver):
    """Solver that ignores its time limit."""

    cones = frozenset()

    class SleepingEngine(WrappedEngine):
        def solve(self, time_limit: float | None) -> Answer:
            began = perf_counter()
            answer = super().solve(None)
            sleep(4.0 if self.form.n > 100 else 0.0)
            assert perf_counter() > began
            return answer

    made = SleepingEngine


class UnknownStatus(WrongSolver):
    """Solver that returns an error at a time limit."""

    cones = frozenset()

    class FailingEngine(IgnoringTimeLimit.SleepingEngine):
        def solve(self, time_limit: float | None) -> Answer:
            if time_limit is not None:
                return Answer(Termination.ERROR, "code 17")
            return super().solve(None)

    made = FailingEngine


class DroppingConeRow(WrongSolver):
    """Solver that drops the last row of every second-order cone."""

    class DroppedRowEngine(WrappedEngine):
        def seen(self, form: StandardForm) -> StandardForm:
            last = [block.stop - 1 for block in form.rows if block.cone.name == "second-order"]
            keep = np.ones(form.m)
            keep[last] = 0.0
            return replace(form, F=type(form.F)(form.F.multiply(keep[:, None])), g=form.g * keep)

    made = DroppedRowEngine


class WithoutBounds(WrongSolver):
    """Solver that ignores the upper bounds of columns."""

    class UnboundedEngine(WrappedEngine):
        def seen(self, form: StandardForm) -> StandardForm:
            return replace(form, upper=np.full(form.n, np.inf))

    made = UnboundedEngine


class WithoutCurvature(WrongSolver):
    """Solver that uses half of the quadratic objective, because it confuses x'Px with 1/2 x'Px."""

    class HalvedCurvatureEngine(WrappedEngine):
        def seen(self, form: StandardForm) -> StandardForm:
            pieces = tuple(replace(piece, weight=0.5 * piece.weight) for piece in form.P.pieces)
            return replace(form, P=Quadratic(form.n, pieces))

    made = HalvedCurvatureEngine


class Stale(WrongSolver):
    """Solver that ignores changed offsets."""

    class DeafEngine(WrappedEngine):
        def update(self, form: StandardForm, change: Change) -> None:
            if change.kind is not ChangeKind.OFFSET:
                super().update(form, change)

    made = DeafEngine


class Writing(WrongSolver):
    """Solver that scales the costs of its form in place."""

    class ScalingEngine(WrappedEngine):
        def solve(self, time_limit: float | None) -> Answer:
            self.form.q[:] *= 2.0
            return super().solve(time_limit)

    made = ScalingEngine


class Sharing(WrongSolver):
    """Solver that stores the last form in its class, so that engines interfere."""

    class SharedFormEngine(WrappedEngine):
        last: Engine

        def __init__(self, form: StandardForm, options: Options) -> None:
            super().__init__(form, options)
            type(self).last = self.inner

        def solve(self, time_limit: float | None) -> Answer:
            return self.last.solve(time_limit)

    made = SharedFormEngine


class Loud(WrongSolver):
    """Solver that prints messages."""

    class PrintingEngine(WrappedEngine):
        def solve(self, time_limit: float | None) -> Answer:
            print("iteration 1")  # noqa: T201
            return super().solve(time_limit)

    made = PrintingEngine


class IgnoringOptions(WrongSolver):
    """Solver that accepts and ignores any option."""

    class IgnoringEngine(WrappedEngine):
        def __init__(self, form: StandardForm, options: Options) -> None:
            super().__init__(form, replace(options, extra={}))

    made = IgnoringEngine


class RankedByText(WrongSolver):
    """Solver whose rank is a text."""

    def rank(self, profile: Profile) -> float | None:
        return "first"  # type: ignore[return-value]


class RefusingWithoutWords(WrongSolver):
    """Solver that rejects programs without a reason."""

    def unsupported_reason(self, form: StandardForm) -> str | None:
        return "" if form.n > 5 else None


class RefusingMuch(WrongSolver):
    """Solver that states that it supports quadratic objectives, but rejects them."""

    def unsupported_reason(self, form: StandardForm) -> str | None:
        return None if form.P.is_zero else "quadratics are hard"


class Importing(WrongSolver):
    """Solver that imports its package to find out whether it is installed."""

    def availability(self) -> Availability:
        import clarabel

        return Availability(True, clarabel.__version__)


class UnknownCone(WrongSolver):
    """Solver with the name of a cone that does not exist."""

    cones = frozenset({"second order"})


class WithoutBound(WrongSolver):
    """Solver of integer programs that returns no bound."""

    features = frozenset({LINEAR, INTEGER})
    cones = frozenset()
    package = "highspy"
    made = answering(lambda answer: replace(answer, bound=None), "highs")


class ReturningTuples(WrongSolver):
    """Solver that returns a pair in place of an answer."""

    class PairEngine(WrappedEngine):
        def solve(self, time_limit: float | None) -> Answer:
            answer = super().solve(time_limit)
            return (answer.x, answer.z)  # type: ignore[return-value]

    made = PairEngine
