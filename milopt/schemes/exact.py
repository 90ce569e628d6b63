"""Exact: a global optimum with a global bound, by a MILP where all else is linear and bounded, else by branching."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from milopt.compilation.analysis import form_kind
from milopt.compilation.lowering import Lowering
from milopt.compilation.minorant import one_hot
from milopt.compilation.sides import witnessed_maxima
from milopt.declaration.atoms.atom import Selecting
from milopt.declaration.program import Program
from milopt.outcome.assembly import assemble
from milopt.outcome.certificate import Certificate
from milopt.outcome.outcome import Outcome, unless_feasible
from milopt.outcome.point_values import PointValues
from milopt.outcome.result import Result, Step
from milopt.outcome.status import PointStatus, Termination
from milopt.schemes.branch_and_bound import BranchAndBound, Search
from milopt.schemes.ceilings import Ranges, ceilings, convex_part, ranges_of
from milopt.schemes.completion import LEAST_SECONDS
from milopt.schemes.convex_concave import ConvexConcave
from milopt.schemes.direct import Direct
from milopt.schemes.scheme import Scheme, at_least_one
from milopt.schemes.steps import named, selections
from milopt.schemes.witness_milp import witness_milp
from milopt.solving.clock import Clock
from milopt.solving.options import Options
from milopt.solving.solver import Feature, Solver
from milopt.solving.step_session import StepSession


@dataclass(frozen=True)
class Exact(Scheme):
    """The global optimum of a DC program on small data; at a limit, the best point and the proved bound."""

    name = "exact"
    max_nodes: int = 1_000_000

    def __post_init__(self) -> None:
        at_least_one("max_nodes", self.max_nodes)

    def run(self, program: Program, solver: Solver, options: Options, clock: Clock | None = None) -> Result:
        """MILP if linear, bounded, and the solver takes integers; branch and bound over witnesses otherwise."""
        atoms = witnessed_maxima(program, "exact")
        if not atoms:
            return Direct().run(program, solver, options, clock)
        clock = clock or Clock(options.time_limit)
        linear = form_kind(Lowering(program).form()) == "LP" and not any(
            f.dictionary is None for f in program.functions.values()
        )
        if linear and Feature.INTEGER in solver.features:
            relaxed = Direct().run(convex_part(program), solver, options, clock)
            if relaxed.termination is Termination.INFEASIBLE:
                message = f"The rows without a witness are infeasible. {relaxed.message}".strip()
                return replace(relaxed, program=program, scheme=self.name, message=message)
            ranges = ranges_of(program, atoms, solver, options, clock)
            if all(np.isfinite(low).all() and np.isfinite(high).all() for low, high in ranges.values()):
                found = self._by_milp(program, atoms, ranges, solver, options, clock)
                if found is not None:
                    return found
        return self._by_branching(program, atoms, solver, options, clock)

    def _by_milp(
        self,
        program: Program,
        atoms: list[Selecting],
        ranges: Ranges,
        solver: Solver,
        options: Options,
        clock: Clock,
    ) -> Result | None:
        """Solve the MILP; None if it ends without a point and without a proof of infeasibility."""
        milp, choices = witness_milp(program, atoms, ranges)
        found = Direct().run(milp, solver, options, clock)
        if not found.values:
            settled = found.termination in (Termination.INFEASIBLE, Termination.LIMIT)
            return replace(found, program=program, scheme=self.name) if settled else None
        index = {atom: atom.segments.argmax(found.values[name]) for atom, name in choices.items()}
        with StepSession(program, solver, options, witnesses=one_hot(index)) as session:
            # Also of the best integer point at a limit: the step makes it one of the program.
            outcome = session.solve(clock.extended(LEAST_SECONDS))
            if outcome.point is None:
                return None
            bound = found.bound if found.bound is None or not program.maximizes else -found.bound
            step = Step(found.objective, found.bound, found.certificate, clock.elapsed())
            search = Search(outcome, index, bound if bound is not None else -np.inf, (step,), found.termination)
            search.totals.add(outcome)
            search.totals.add_result(found)
            return self._result(session, search, solver, options, clock)

    def _by_branching(
        self, program: Program, atoms: list[Selecting], solver: Solver, options: Options, clock: Clock
    ) -> Result:
        first = ConvexConcave().run(program, solver, options, clock)
        if first.termination in (Termination.INFEASIBLE, Termination.UNBOUNDED):
            # The procedure claims either only with a proof: a relaxation, or a restriction.
            return replace(first, scheme=self.name)
        try:
            tops = {} if clock.is_over() else ceilings(program, atoms, solver, options, clock)
            with StepSession(program, solver, options) as session:
                session.lowering.other_side.ceilings.update(tops)
                tree = BranchAndBound(session, atoms, options.tolerance, self.max_nodes)
                start = dict(zip(atoms, first.witnesses.values(), strict=True)) if first.witnesses else None
                search = tree.search(clock, start)
                search.totals.add_result(first)
                if search.best is not None or not first.values:
                    return self._result(session, search, solver, options, clock)
        except KeyboardInterrupt:
            clock.interrupted = True
        message = f"{clock.why()} before a global bound; the point of the convex-concave procedure is kept"
        message += f"{unless_feasible(first.point, first.certificate)}."
        point = PointStatus.NONE if first.point is PointStatus.NONE else PointStatus.FEASIBLE
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
                history=search.history,
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
            history=search.history,
            witnesses=named(chosen),
        )


def _global(certificate: Certificate | None, objective: float, bound: float) -> Certificate:
    """The step's residuals with the gap to the global bound."""
    gap = max(0.0, objective - bound) / (1.0 + abs(objective))
    if certificate is None:
        return Certificate(np.inf, np.inf, gap, np.inf, bound)
    return replace(certificate, gap=gap, bound=bound)
