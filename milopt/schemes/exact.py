"""Exact: a global optimum with a global bound.

If the solver takes integers beside the rest of the program, and the values inside the maxima are bounded, a binary per
instance says which one is the witness of its bag (`witness_milp`): a MILP for HiGHS, also a mixed-integer QP or SOCP
for SCIP. The bound is then that of the solver's search, which milopt cannot check. Otherwise milopt branches over the
witnesses itself, and the bound follows from certified solves.

In a program that is not linear the values inside the maxima are seldom bounded by the rows. They are bounded over the
points whose objective is no worse than that of the convex-concave procedure, and the optimum is among those.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from milopt.compilation.kind import step_kind
from milopt.compilation.minorant import one_hot
from milopt.compilation.sides import witnessed_maxima
from milopt.compilation.status import PointStatus, Termination
from milopt.declaration.atoms.atom import Selecting
from milopt.declaration.programs.program import Program
from milopt.outcome.assembly import assemble
from milopt.outcome.certificate import Certificate
from milopt.outcome.outcome import Outcome, unless_feasible
from milopt.outcome.point_values import PointValues
from milopt.outcome.result import Result, Step
from milopt.schemes.branch_and_bound import BranchAndBound, Search
from milopt.schemes.ceilings import Ranges, ceilings, convex_part, no_worse_than, ranges_of, wide_ranges
from milopt.schemes.completion import LEAST_SECONDS
from milopt.schemes.convex_concave import ConvexConcave
from milopt.schemes.direct import Direct
from milopt.schemes.scheme import Scheme, Steps, at_least_one
from milopt.schemes.step_solver import continuous_solver, takes_binaries
from milopt.schemes.steps import named, selections
from milopt.schemes.witness_milp import witness_milp
from milopt.solving.clock import Clock
from milopt.solving.options import Options
from milopt.solving.solver import Solver
from milopt.solving.step_session import StepSession


@dataclass(frozen=True)
class Exact(Scheme):
    """The global optimum of a DC program on small data; at a limit, the best point and the proved bound."""

    name = "exact"
    max_nodes: int = 1_000_000

    def __post_init__(self) -> None:
        at_least_one("max_nodes", self.max_nodes)

    def steps(self, problem: Program, solver: Solver, options: Options, clock: Clock) -> Steps[Result]:
        """Solve with binaries for the witnesses if the solver takes such a program; otherwise branch over witnesses."""
        program = problem
        atoms = witnessed_maxima(program, "exact")
        if not atoms:
            return (yield from Direct().steps(program, solver, options, clock))
        if not takes_binaries(program, solver):
            return (yield from self._by_branching(program, atoms, solver, options, clock))
        first: Result | None = None
        inner, inner_options = continuous_solver(program, solver, options)
        if step_kind(program) == "LP":
            relaxed = Direct().run(convex_part(program), solver, options, clock)
            if relaxed.termination is Termination.INFEASIBLE:
                message = f"The rows without a witness are infeasible. {relaxed.message}".strip()
                yield from relaxed.history
                return replace(relaxed, program=program, scheme=self.name, message=message)
            ranges = ranges_of(program, atoms, inner, inner_options, clock)
        else:
            first = ConvexConcave().run(program, inner, inner_options, clock)
            if first.termination in (Termination.INFEASIBLE, Termination.UNBOUNDED):
                yield from first.history
                return replace(first, scheme=self.name)
            better = no_worse_than(program, first)
            ranges = wide_ranges(better, atoms, *continuous_solver(convex_part(better), solver, options), clock)
        if all(np.isfinite(low).all() and np.isfinite(high).all() for low, high in ranges.values()):
            found = yield from self._by_binaries(program, atoms, ranges, solver, options, clock, first)
            if found is not None:
                return found
        return (yield from self._by_branching(program, atoms, inner, inner_options, clock, first))

    def _by_binaries(
        self,
        program: Program,
        atoms: list[Selecting],
        ranges: Ranges,
        solver: Solver,
        options: Options,
        clock: Clock,
        first: Result | None,
    ) -> Steps[Result | None]:
        """Solve the mixed-integer program; None if it ends without a point and without a proof of infeasibility.

        The witnesses of `first` are kept if the search was cut off before it found better ones.
        """
        binary, choices = witness_milp(program, atoms, ranges)
        found = Direct().run(binary, solver, replace(options, form="coordinates"), clock)
        if first is not None and first.witnesses and _is_cut_off_before(program, found, first):
            index = dict(zip(atoms, first.witnesses.values(), strict=True))
        elif found.values:
            index = {atom: atom.segments.argmax(found.values[name]) for atom, name in choices.items()}
        else:
            if found.termination not in (Termination.INFEASIBLE, Termination.LIMIT):
                return None
            yield from found.history
            return replace(found, program=program, scheme=self.name)
        inner, inner_options = continuous_solver(program, solver, options)
        with StepSession(program, inner, inner_options, witnesses=one_hot(index)) as session:
            # Also of the best integer point at a limit: the step makes it one of the program.
            outcome = session.solve(clock.extended(LEAST_SECONDS))
            if outcome.point is None:
                return None
            bound = found.bound if found.bound is None or not program.maximizes else -found.bound
            yield Step(found.objective, found.bound, found.certificate, clock.elapsed())
            search = Search(outcome, index, bound if bound is not None else -np.inf, found.termination)
            search.totals.add(outcome)
            search.totals.add_result(found)
            result = self._result(session, search, solver, options, clock)
        if inner.name == solver.name:
            return result
        message = f"The program with these witnesses fixed was solved by {inner.name}."
        return replace(result, message=f"{result.message} {message}".strip())

    def _by_branching(
        self,
        program: Program,
        atoms: list[Selecting],
        solver: Solver,
        options: Options,
        clock: Clock,
        first: Result | None = None,
    ) -> Steps[Result]:
        """Branch over witnesses, from the point `first` of the convex-concave procedure if it was run already."""
        first = first or ConvexConcave().run(program, solver, options, clock)
        if first.termination in (Termination.INFEASIBLE, Termination.UNBOUNDED):
            # The procedure claims either only with a proof: a relaxation, or a restriction.
            yield from first.history
            return replace(first, scheme=self.name)
        try:
            tops = {} if clock.is_over() else ceilings(program, atoms, solver, options, clock)
            with StepSession(program, solver, options) as session:
                session.lowering.other_side.ceilings.update(tops)
                tree = BranchAndBound(session, atoms, options.tolerance, self.max_nodes)
                start = dict(zip(atoms, first.witnesses.values(), strict=True)) if first.witnesses else None
                search = yield from tree.search(clock, start)
                search.totals.add_result(first)
                if search.best is not None or not first.values:
                    return self._result(session, search, solver, options, clock)
        except KeyboardInterrupt:
            clock.interrupted = True
        message = f"{clock.why()} before a global bound; the point of the convex-concave procedure is kept"
        message += f"{unless_feasible(first.point, first.certificate)}."
        point = PointStatus.NONE if first.point is PointStatus.NONE else PointStatus.FEASIBLE
        yield from first.history
        return replace(first, scheme=self.name, termination=Termination.LIMIT, point=point, bound=None, message=message)

    def _result(self, session: StepSession, search: Search, solver: Solver, options: Options, clock: Clock) -> Result:
        outcome = search.best
        if outcome is None or outcome.point is None:
            ended, message = search.ended, f"{search.why}."
            if ended is Termination.LIMIT:
                message = f"{search.why} before any point."
            elif ended is Termination.OPTIMAL:
                ended, message = Termination.INFEASIBLE, "No selection of witnesses is feasible."
            nothing = Outcome.without_point(session.form, ended, "", message)
            return assemble(
                session.lowering,
                session.spaces,
                search.totals.into(outcome or nothing),
                solver=solver.name,
                scheme=self.name,
                seconds=clock.elapsed(),
            )
        session.set_witnesses(one_hot(search.index))
        values = PointValues(session.lowering, outcome)
        sign = -1.0 if session.program.maximizes else 1.0
        objective = sign * values.objective()
        proof = _global(outcome.certificate, objective, search.bound)
        proved = proof.holds(options.tolerance)
        chosen = selections(values, list(search.index))
        point, message = PointStatus.CERTIFIED, ""
        if not proved:
            point = PointStatus.NONE if outcome.status is PointStatus.NONE else PointStatus.FEASIBLE
            message = f"{search.why}; the global bound is {sign * search.bound:.6g}, not closed yet."
            if point is PointStatus.NONE:
                message += f" The best point is kept{unless_feasible(point, outcome.certificate)}."
        return assemble(
            session.lowering,
            session.spaces,
            replace(search.totals.into(outcome), certificate=proof),
            solver=solver.name,
            scheme=self.name,
            termination=Termination.OPTIMAL if proved else search.ended,
            point=point,
            message=message,
            bound=search.bound if np.isfinite(search.bound) else None,
            seconds=clock.elapsed(),
            witnesses=named(chosen),
        )


def _is_cut_off_before(program: Program, found: Result, first: Result) -> bool:
    """Return True if a search ended at a limit with a point that is worse than another one, or with none."""
    if found.termination is not Termination.LIMIT:
        return False
    sign = -1.0 if program.maximizes else 1.0
    return not found.values or sign * first.objective < sign * found.objective


def _global(certificate: Certificate | None, objective: float, bound: float) -> Certificate:
    """The step's residuals with the gap to the global bound."""
    gap = max(0.0, objective - bound) / (1.0 + abs(objective))
    if certificate is None:
        return Certificate(np.inf, np.inf, gap, np.inf, bound)
    return replace(certificate, gap=gap, bound=bound)
