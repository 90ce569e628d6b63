"""Exact: a global optimum with a global bound.

If the solver supports integer variables in such a program, and the values inside the maxima are bounded, binary
variables choose the witness of each bag (`make_witness_milp`): a MILP for HiGHS, also a mixed-integer QP or SOCP for
SCIP. The bound is then that of the solver's search, which milopt cannot check. Otherwise milopt branches over the
witnesses itself, and the bound follows from certified solves.

In a program that is not linear, the rows seldom bound the values inside the maxima. The values are then bounded over
the points whose objective is no worse than the result of the convex-concave procedure; the optimum is one of them.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from milopt.compilation.kind import convex_step_kind
from milopt.compilation.minorant import one_hot_minorants
from milopt.compilation.sides import maxima_on_other_side
from milopt.compilation.status import PointStatus, Termination
from milopt.declaration.atoms.atom import SelectionAtom
from milopt.declaration.programs.program import Program
from milopt.outcome.assembly import assemble_result
from milopt.outcome.certificate import Certificate
from milopt.outcome.outcome import Outcome, violation_clause
from milopt.outcome.point_values import PointValues
from milopt.outcome.result import Result, Step
from milopt.schemes.branch_and_bound import BranchAndBound, SearchResult
from milopt.schemes.ceilings import (
    InstanceRanges,
    convex_part,
    instance_ranges,
    objective_ceilings,
    widened_ranges,
    with_objective_cutoff,
)
from milopt.schemes.completion import MIN_COMPLETION_SECONDS
from milopt.schemes.convex_concave import ConvexConcave
from milopt.schemes.direct import Direct
from milopt.schemes.scheme import Scheme, Steps, check_at_least_one
from milopt.schemes.step_solver import choose_continuous_solver, supports_binaries
from milopt.schemes.steps import select_largest_values, witnesses_by_name
from milopt.schemes.witness_milp import make_witness_milp
from milopt.solving.clock import Clock
from milopt.solving.options import Options
from milopt.solving.solver import Solver
from milopt.solving.step_session import StepSession


@dataclass(frozen=True)
class Exact(Scheme):
    """Global optimum of a DC program, for small data. At a limit, the best point and the bound so far are returned.

    Parameters
    ----------
    max_nodes : int, default=1_000_000
        Maximum number of nodes of the branch-and-bound search.

    Examples
    --------
    Maximise the largest of two variables, a convex function:

    >>> import milopt
    >>> program = milopt.Program("largest entry")
    >>> x = program.variable("x", 2, lower=0, upper=[1, 2])
    >>> program.maximize(milopt.maximum(x[0], x[1]))
    >>> result = milopt.solve(program, scheme=milopt.Exact())
    >>> print(result.termination, round(result.objective, 6))
    optimal 2.0
    """

    name = "exact"
    max_nodes: int = 1_000_000

    def __post_init__(self) -> None:
        check_at_least_one("max_nodes", self.max_nodes)

    def steps(self, problem: Program, solver: Solver, options: Options, clock: Clock) -> Steps[Result]:
        """Solve with binary variables for the witnesses if the solver supports it; otherwise branch over witnesses.

        Parameters
        ----------
        problem : Program
            Program to solve; only maxima may be on their non-convex side.
        solver : Solver
            Solver of the mixed-integer program or of the nodes.
        options : Options
            Options of the solver.
        clock : Clock
            Time that is left.

        Returns
        -------
        Result
            Result whose `bound` is a global bound on the objective.
        """
        program = problem
        atoms = maxima_on_other_side(program, "exact")
        if not atoms:
            return (yield from Direct().steps(program, solver, options, clock))
        if not supports_binaries(program, solver):
            return (yield from self._solve_by_branching(program, atoms, solver, options, clock))
        first: Result | None = None
        inner, inner_options = choose_continuous_solver(program, solver, options)
        if convex_step_kind(program) == "LP":
            relaxed = Direct().run(convex_part(program), solver, options, clock)
            if relaxed.termination is Termination.INFEASIBLE:
                message = f"The rows without a witness are infeasible. {relaxed.message}".strip()
                yield from relaxed.history
                return replace(relaxed, program=program, scheme=self.name, message=message)
            ranges = instance_ranges(program, atoms, inner, inner_options, clock)
        else:
            first = ConvexConcave().run(program, inner, inner_options, clock)
            if first.termination in (Termination.INFEASIBLE, Termination.UNBOUNDED):
                yield from first.history
                return replace(first, scheme=self.name)
            better = with_objective_cutoff(program, first)
            ranges = widened_ranges(
                better, atoms, *choose_continuous_solver(convex_part(better), solver, options), clock
            )
        if all(np.isfinite(low).all() and np.isfinite(high).all() for low, high in ranges.values()):
            milp_result = yield from self._solve_with_binaries(program, atoms, ranges, solver, options, clock, first)
            if milp_result is not None:
                return milp_result
        return (yield from self._solve_by_branching(program, atoms, inner, inner_options, clock, first))

    def _solve_with_binaries(
        self,
        program: Program,
        atoms: list[SelectionAtom],
        ranges: InstanceRanges,
        solver: Solver,
        options: Options,
        clock: Clock,
        first: Result | None,
    ) -> Steps[Result | None]:
        """Solve the mixed-integer program, then the program with the witnesses of its solution fixed.

        Return None if the search fails (it has no point, but is neither infeasible nor at a limit), or if the program
        with fixed witnesses has no point. `first`: result of the convex-concave procedure, if it was run. Its witnesses
        are used if the search reached a limit before it found better ones.
        """
        binary, choices = make_witness_milp(program, atoms, ranges)
        milp_result = Direct().run(binary, solver, replace(options, form="primal"), clock)
        if first is not None and first.witnesses and _is_worse_at_limit(program, milp_result, first):
            index = dict(zip(atoms, first.witnesses.values(), strict=True))
        elif milp_result.values:
            index = {atom: atom.segments.argmax(milp_result.values[name]) for atom, name in choices.items()}
        else:
            if milp_result.termination not in (Termination.INFEASIBLE, Termination.LIMIT):
                return None
            yield from milp_result.history
            return replace(milp_result, program=program, scheme=self.name)
        inner, inner_options = choose_continuous_solver(program, solver, options)
        with StepSession(program, inner, inner_options, witnesses=one_hot_minorants(index)) as session:
            # At a limit too, the step turns the best integer point into a point of the declared program.
            outcome = session.solve(clock.with_at_least(MIN_COMPLETION_SECONDS))
            if outcome.point is None:
                return None
            bound = milp_result.bound if milp_result.bound is None or not program.maximizes else -milp_result.bound
            yield Step(milp_result.objective, milp_result.bound, milp_result.certificate, clock.elapsed())
            search = SearchResult(outcome, index, bound if bound is not None else -np.inf, milp_result.termination)
            search.totals.add(outcome)
            search.totals.add_result(milp_result)
            result = self._make_result(session, search, solver, options, clock)
        if inner.name == solver.name:
            return result
        message = f"The program with these witnesses fixed was solved by {inner.name}."
        return replace(result, message=f"{result.message} {message}".strip())

    def _solve_by_branching(
        self,
        program: Program,
        atoms: list[SelectionAtom],
        solver: Solver,
        options: Options,
        clock: Clock,
        first: Result | None = None,
    ) -> Steps[Result]:
        """Branch over witnesses, starting from `first`, the result of the convex-concave procedure; None runs it."""
        first = first or ConvexConcave().run(program, solver, options, clock)
        if first.termination in (Termination.INFEASIBLE, Termination.UNBOUNDED):
            # The procedure returns these terminations only after they have been checked.
            yield from first.history
            return replace(first, scheme=self.name)
        try:
            tops = {} if clock.is_over() else objective_ceilings(program, atoms, solver, options, clock)
            with StepSession(program, solver, options) as session:
                session.lowering.other_side.ceilings.update(tops)
                tree = BranchAndBound(session, atoms, options.tolerance, self.max_nodes)
                start = dict(zip(atoms, first.witnesses.values(), strict=True)) if first.witnesses else None
                search = yield from tree.search(clock, start)
                search.totals.add_result(first)
                if search.best is not None or not first.values:
                    return self._make_result(session, search, solver, options, clock)
        except KeyboardInterrupt:
            clock.interrupted = True
        message = f"{clock.end_reason()} before a global bound; the point of the convex-concave procedure is kept"
        message += f"{violation_clause(first.point, first.certificate)}."
        point = PointStatus.NONE if first.point is PointStatus.NONE else PointStatus.FEASIBLE
        yield from first.history
        return replace(first, scheme=self.name, termination=Termination.LIMIT, point=point, bound=None, message=message)

    def _make_result(
        self, session: StepSession, search: SearchResult, solver: Solver, options: Options, clock: Clock
    ) -> Result:
        """Return the result of a search, with the global bound and the gap to it in its certificate."""
        outcome = search.best
        if outcome is None or outcome.point is None:
            ended, message = search.ended, f"{search.end_reason}."
            if ended is Termination.LIMIT:
                message = f"{search.end_reason} before any point."
            elif ended is Termination.OPTIMAL:
                ended, message = Termination.INFEASIBLE, "No selection of witnesses is feasible."
            nothing = Outcome.without_point(session.form, ended, "", message)
            return assemble_result(
                session.lowering,
                session.spaces,
                search.totals.apply_to(outcome or nothing),
                solver=solver.name,
                scheme=self.name,
                seconds=clock.elapsed(),
            )
        session.set_witnesses(one_hot_minorants(search.index))
        values = PointValues(session.lowering, outcome)
        sign = -1.0 if session.program.maximizes else 1.0
        objective = sign * values.objective()
        proof = _global_certificate(outcome.certificate, objective, search.bound)
        proved = proof.holds(options.tolerance)
        chosen = select_largest_values(values, list(search.index))
        point, message = PointStatus.CERTIFIED, ""
        if not proved:
            point = PointStatus.NONE if outcome.status is PointStatus.NONE else PointStatus.FEASIBLE
            message = f"{search.end_reason}; the global bound is {sign * search.bound:.6g}, not closed yet."
            if point is PointStatus.NONE:
                message += f" The best point is kept{violation_clause(point, outcome.certificate)}."
        return assemble_result(
            session.lowering,
            session.spaces,
            replace(search.totals.apply_to(outcome), certificate=proof),
            solver=solver.name,
            scheme=self.name,
            termination=Termination.OPTIMAL if proved else search.ended,
            point=point,
            message=message,
            bound=search.bound if np.isfinite(search.bound) else None,
            seconds=clock.elapsed(),
            witnesses=witnesses_by_name(chosen),
        )


def _is_worse_at_limit(program: Program, milp_result: Result, first: Result) -> bool:
    """Return True if a search ended at a limit without a point, or with a point that is worse than `first`."""
    if milp_result.termination is not Termination.LIMIT:
        return False
    sign = -1.0 if program.maximizes else 1.0
    return not milp_result.values or sign * first.objective < sign * milp_result.objective


def _global_certificate(certificate: Certificate | None, objective: float, bound: float) -> Certificate:
    """Return the certificate of a step with the gap to the global bound instead of its own gap.

    `objective` and `bound` have the sign of the minimisation. Without a certificate, the other residuals are infinite.
    """
    gap = max(0.0, objective - bound) / (1.0 + abs(objective))
    if certificate is None:
        return Certificate(np.inf, np.inf, gap, np.inf, bound)
    return replace(certificate, gap=gap, bound=bound)
