"""Solvers that are wrong on purpose, each in one way; an honest solver does the work behind them."""

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
from milopt.solving.engine import Change, Engine, What
from milopt.solving.profile import Profile
from milopt.solving.solver import Availability, Solver

LINEAR, QUADRATIC, INTEGER = Feature.LINEAR, Feature.QUADRATIC, Feature.INTEGER


class Behind(Engine):
    """An engine of another solver, whose answers and updates may be changed."""

    honest = "clarabel"

    def __init__(self, form: StandardForm, options: Options) -> None:
        super().__init__(form, options)
        self.inner = registry.get(self.honest).engine(self.seen(form), options)

    def seen(self, form: StandardForm) -> StandardForm:
        """Return the form that the solver behind gets."""
        return form

    def update(self, form: StandardForm, change: Change) -> None:
        self.form = form
        self.inner.update(self.seen(form), Change(What.EVERYTHING))

    def solve(self, time_limit: float | None) -> Answer:
        return self.inner.solve(time_limit)

    def close(self) -> None:
        self.inner.close()


class Wrong(Solver):
    """A solver with a given engine."""

    name = "wrong"
    features = frozenset({LINEAR, QUADRATIC})
    cones = frozenset({"second-order", "exponential"})
    package = "clarabel"
    licence = "none"
    made: type[Engine] = Behind

    def engine(self, form: StandardForm, options: Options) -> Engine:
        return self.made(form, options)


def answering(change: Callable[[Answer], Answer], honest: str = "clarabel") -> type[Engine]:
    """Return an engine that changes the answers of an honest one."""

    class Changed(Behind):
        def solve(self, time_limit: float | None) -> Answer:
            return change(super().solve(time_limit))

    Changed.honest = honest
    return Changed


class Honest(Wrong):
    """A solver behind which another one does everything right."""


class NegatedMultipliers(Wrong):
    """Returns multipliers with the signs of another convention."""

    made = answering(lambda answer: answer if answer.z is None else replace(answer, z=-answer.z))


class OptimalAlways(Wrong):
    """Calls every end optimal."""

    made = answering(lambda answer: replace(answer, termination=Termination.OPTIMAL))


class InfeasibleIfUnsure(Wrong):
    """Returns "unbounded" as infeasible."""

    made = answering(
        lambda answer: (
            replace(answer, termination=Termination.INFEASIBLE)
            if answer.termination is Termination.UNBOUNDED
            else answer
        )
    )


class Relaxing(Wrong):
    """Ignores that columns are integer, and calls the optimum of the relaxation its bound."""

    features = frozenset({LINEAR, INTEGER})
    cones = frozenset()

    class Relaxed(Behind):
        def seen(self, form: StandardForm) -> StandardForm:
            return replace(form, integer=np.zeros(form.n, dtype=bool))

        def solve(self, time_limit: float | None) -> Answer:
            answer = super().solve(time_limit)
            return answer if answer.x is None else replace(answer, z=None, bound=self.form.value(answer.x))

    made = Relaxed


class EndingEarly(Wrong):
    """Rounds the relaxation to a feasible point of a knapsack, and claims that no point is better."""

    features = frozenset({LINEAR, INTEGER})
    cones = frozenset()
    package = "highspy"

    class Rounded(Relaxing.Relaxed):
        honest = "highs"

        def solve(self, time_limit: float | None) -> Answer:
            answer = super().solve(time_limit)
            if answer.x is None or not self.form.integer.any():
                return answer
            x = np.where(self.form.integer, np.floor(answer.x + 1e-9), answer.x)
            return replace(answer, x=x, bound=self.form.value(x))

    made = Rounded


class Late(Wrong):
    """Ignores its time limit."""

    cones = frozenset()

    class Sleeping(Behind):
        def solve(self, time_limit: float | None) -> Answer:
            began = perf_counter()
            answer = super().solve(None)
            sleep(4.0 if self.form.n > 100 else 0.0)
            assert perf_counter() > began
            return answer

    made = Sleeping


class UnknownStatus(Wrong):
    """Returns an error at a time limit."""

    cones = frozenset()

    class Failing(Late.Sleeping):
        def solve(self, time_limit: float | None) -> Answer:
            if time_limit is not None:
                return Answer(Termination.ERROR, "code 17")
            return super().solve(None)

    made = Failing


class DroppingConeRow(Wrong):
    """Leaves out the last row of every second-order cone."""

    class Dropped(Behind):
        def seen(self, form: StandardForm) -> StandardForm:
            last = [block.stop - 1 for block in form.rows if block.cone.name == "second-order"]
            keep = np.ones(form.m)
            keep[last] = 0.0
            return replace(form, F=type(form.F)(form.F.multiply(keep[:, None])), g=form.g * keep)

    made = Dropped


class WithoutBounds(Wrong):
    """Forgets the upper bounds of columns."""

    class Unbounded(Behind):
        def seen(self, form: StandardForm) -> StandardForm:
            return replace(form, upper=np.full(form.n, np.inf))

    made = Unbounded


class WithoutCurvature(Wrong):
    """Takes half of the quadratic objective: x'Px for 1/2 x'Px, turned round."""

    class Halved(Behind):
        def seen(self, form: StandardForm) -> StandardForm:
            pieces = tuple(replace(piece, weight=0.5 * piece.weight) for piece in form.P.pieces)
            return replace(form, P=Quadratic(form.n, pieces))

    made = Halved


class Stale(Wrong):
    """Does not hear of changed offsets."""

    class Deaf(Behind):
        def update(self, form: StandardForm, change: Change) -> None:
            if change.what is not What.OFFSET:
                super().update(form, change)

    made = Deaf


class Writing(Wrong):
    """Scales the costs of its form in place."""

    class Scaling(Behind):
        def solve(self, time_limit: float | None) -> Answer:
            self.form.q[:] *= 2.0
            return super().solve(time_limit)

    made = Scaling


class Sharing(Wrong):
    """Keeps the last form in the class, so that engines disturb each other."""

    class Shared(Behind):
        last: Engine

        def __init__(self, form: StandardForm, options: Options) -> None:
            super().__init__(form, options)
            type(self).last = self.inner

        def solve(self, time_limit: float | None) -> Answer:
            return self.last.solve(time_limit)

    made = Shared


class Loud(Wrong):
    """Prints what it does."""

    class Printing(Behind):
        def solve(self, time_limit: float | None) -> Answer:
            print("iteration 1")  # noqa: T201
            return super().solve(time_limit)

    made = Printing


class IgnoringOptions(Wrong):
    """Takes any option and ignores it."""

    class Ignoring(Behind):
        def __init__(self, form: StandardForm, options: Options) -> None:
            super().__init__(form, replace(options, extra={}))

    made = Ignoring


class RankedByText(Wrong):
    """Ranks itself by a word."""

    def rank(self, profile: Profile) -> float | None:
        return "first"  # type: ignore[return-value]


class RefusingWithoutWords(Wrong):
    """Refuses programs without a reason."""

    def refusal(self, form: StandardForm) -> str | None:
        return "" if form.n > 5 else None


class RefusingMuch(Wrong):
    """States that it takes quadratics, and refuses them."""

    def refusal(self, form: StandardForm) -> str | None:
        return None if form.P.is_zero else "quadratics are hard"


class Importing(Wrong):
    """Imports its package to find out whether it is installed."""

    def availability(self) -> Availability:
        import clarabel

        return Availability(True, clarabel.__version__)


class UnknownCone(Wrong):
    """Names a cone that does not exist."""

    cones = frozenset({"second order"})


class WithoutBound(Wrong):
    """Solves integer programs and returns no bound."""

    features = frozenset({LINEAR, INTEGER})
    cones = frozenset()
    package = "highspy"
    made = answering(lambda answer: replace(answer, bound=None), "highs")


class ReturningTuples(Wrong):
    """Returns a pair in place of an answer."""

    class Pair(Behind):
        def solve(self, time_limit: float | None) -> Answer:
            answer = super().solve(time_limit)
            return (answer.x, answer.z)  # type: ignore[return-value]

    made = Pair
