"""Find a feasible point of a DC program whose first convex step is infeasible.

A step restricts the program to chosen witnesses, so that an infeasible step says nothing about the program. The search
tries, in this order:

1. the convex part (all rows without a witness): if it is infeasible, so is the program, which is a proof;
2. the witnesses at a point of the convex part;
3. the convex-concave procedure on the elastic program

       min  sum_k s_k   s.t.  row_k + s_k >= 0 for every row with a witness, all other rows,   s >= 0,

   from there, and from witnesses drawn at random;
4. one row at a time: if a row with one witness cannot hold over the convex part for any instance of its bag, the
   program is infeasible, which is a proof.

If nothing is found and nothing is proved, the verdict is open.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np
import scipy.sparse as sp

from milopt.compilation.minorant import Selections, one_hot
from milopt.compilation.status import PointStatus, Termination
from milopt.declaration.atoms.atom import Selecting
from milopt.declaration.programs.coefficient import Coefficient
from milopt.declaration.programs.expression import Constraint, Expression, Leaf, as_expression
from milopt.declaration.programs.program import Program
from milopt.declaration.programs.sparse import picked
from milopt.errors import UnsupportedError
from milopt.outcome.outcome import Outcome
from milopt.outcome.point_values import PointValues
from milopt.schemes.automatic import automatic
from milopt.schemes.ceilings import convex_part, witness_rows
from milopt.schemes.descent import descend
from milopt.schemes.scheme import finished
from milopt.schemes.steps import Totals, selections
from milopt.solving.clock import Clock
from milopt.solving.explain import Case
from milopt.solving.options import Options
from milopt.solving.solver import Solver
from milopt.solving.step_session import StepSession

RANDOM_STARTS = 10
"""How many selections are drawn at random before the search gives up."""
ELASTIC_STEPS = 30
"""How many steps the convex-concave procedure makes on the elastic program."""
REFUTED_ROWS = 20
"""How many rows are tested one by one for a proof of infeasibility, the most violated first."""
NOT_FOUND = "No feasible point was found, which is no proof that there is none: scheme='exact' decides it."


@dataclass(frozen=True)
class Feasibility:
    """Witnesses whose restricted program has a feasible point, or a proof that the program has none, or neither."""

    witnesses: Selections | None = None
    infeasible: str = ""
    """Why the program is infeasible, as a sentence; empty if that is not proved."""


def find_feasible(session: StepSession, atoms: list[Selecting], clock: Clock, totals: Totals) -> Feasibility:
    """Search for witnesses with which a session's program is feasible; the session is left with the last ones tried."""
    program, options = session.program, replace(session.options, form="auto", lazy=False)
    relaxed = convex_part(program)
    # A zero objective over the maxima makes their points known, so that they have values at the point found.
    relaxed.minimize(sum((0.0 * atom.argument.sum() for atom in atoms), as_expression(0.0)))
    try:
        solver, elastic = able_solver(relaxed, session.solver), elastic_program(program)
        elastic_solver = able_solver(elastic, session.solver)
    except UnsupportedError:
        return Feasibility()
    with StepSession(relaxed, solver, options) as inner:
        outcome = inner.solve(clock)
        totals.add(outcome)
        if outcome.termination is Termination.INFEASIBLE:
            return Feasibility(infeasible=f"The rows without a witness are infeasible. {outcome.message}".strip())
        first = None
        if outcome.point is not None:
            values = PointValues(inner.lowering, outcome)
            first = selections(values, atoms)
    if first is not None and _holds(session, first, clock, totals):
        return Feasibility(first)
    with StepSession(elastic, elastic_solver, options) as inner:
        for number, start in enumerate(_starts(atoms, first)):
            if clock.is_over():
                break
            inner.set_witnesses(one_hot(start))
            found, _ = finished(descend(inner, atoms, clock, ELASTIC_STEPS, 1e-9))
            totals.add(found.totals.into(found.last))
            if not found.chosen:
                continue
            if _holds(session, found.chosen, clock, totals):
                return Feasibility(found.chosen)
            if number == 0:
                violated = _violated(program, PointValues(inner.lowering, found.last))
                proof = _refutation(program, violated, solver, options, clock, totals)
                if proof:
                    return Feasibility(infeasible=proof)
    return Feasibility()


def able_solver(program: Program, solver: Solver) -> Solver:
    """Return the solver if it takes the program, otherwise the one that `auto` means."""
    return solver if Case(program).takes(solver) else automatic(program)


def elastic_program(program: Program) -> Program:
    """Give every row with a witness a slack, and minimise the sum of the slacks."""
    elastic = Program(f"{program.name} (elastic)")
    elastic.variables, elastic.functions = dict(program.variables), dict(program.functions)
    elastic.parameters = dict(program.parameters)
    total: Expression | float = 0.0
    for name, constraint in program.constraints.items():
        rows = np.flatnonzero(witness_rows(constraint))
        expression = constraint.expression
        if rows.size:
            own = f"{name}.slack"
            while own in elastic.variables or own in program.constraints or own in program.functions:
                own += "_"
            slack = elastic.variable(own, rows.size, lower=0)
            spread = sp.csr_array(picked(rows, expression.size).T)
            added = spread @ slack
            expression = expression + (added if expression.shape else added.sum())
            total = slack.sum() + total
        elastic.constraints[name] = Constraint(expression, constraint.equality)
    elastic.minimize(total)
    return elastic


def _holds(session: StepSession, chosen: Selections, clock: Clock, totals: Totals) -> bool:
    """Whether the program restricted to these witnesses has a feasible point (or is unbounded)."""
    if clock.is_over():
        return False
    session.set_witnesses(one_hot(chosen))
    outcome = session.solve(clock)
    totals.add(outcome)
    return outcome.termination is Termination.UNBOUNDED or (
        outcome.point is not None and outcome.status is not PointStatus.NONE
    )


def _starts(atoms: list[Selecting], first: Selections | None) -> Iterator[Selections]:
    if first is not None:
        yield first
    rng = np.random.default_rng(0)
    for _ in range(RANDOM_STARTS):
        yield {atom: atom.segments.offsets[:-1] + rng.integers(atom.segments.sizes) for atom in atoms}


def _violated(program: Program, values: PointValues) -> list[tuple[Expression, float]]:
    """The rows with a witness that fail at a point, the most violated first."""
    found: list[tuple[Expression, float]] = []
    for constraint in program.constraints.values():
        at = values.value(constraint.expression)
        for row in np.flatnonzero(witness_rows(constraint) & (at < 0)):
            one = constraint.expression[int(row)] if constraint.expression.shape else constraint.expression
            found.append((one, float(at[row])))
    return sorted(found, key=lambda pair: pair[1])


def _refutation(
    program: Program,
    violated: list[tuple[Expression, float]],
    solver: Solver,
    options: Options,
    clock: Clock,
    totals: Totals,
) -> str:
    """Find a row that cannot hold over the convex part, whichever instance is its witness; empty if there is none."""
    for row, _ in violated[:REFUTED_ROWS]:
        candidates = _candidates(row)
        if candidates is None:
            continue
        relaxed = convex_part(program)
        relaxed.maximize(candidates[0])
        try:
            chosen = able_solver(relaxed, solver)
        except UnsupportedError:
            continue
        best = -np.inf
        with StepSession(relaxed, chosen, options) as session:
            for candidate in candidates:
                if clock.is_over():
                    return ""
                session.set_objective(candidate, maximize=True)
                outcome = session.solve(clock)
                totals.add(outcome)
                best = max(best, _upper_bound(outcome))
                if best >= -options.tolerance * (1.0 + float(np.abs(row.constant).max())):
                    break
            else:
                return f"A row of {row.describe()} is at most {best:.3g} with every witness, and must be at least 0."
    return ""


def _upper_bound(outcome: Outcome) -> float:
    """Return a proved upper bound of a maximum; infinite if the outcome proves none."""
    if outcome.status is PointStatus.CERTIFIED and outcome.certificate is not None:
        return -outcome.certificate.bound
    return np.inf


def _candidates(row: Expression) -> list[Expression] | None:
    """Write a row once per instance of its one witnessed bag; None if it has several such bags."""
    terms: list[tuple[Leaf, Coefficient]] = []
    witnessed: list[tuple[Selecting, int, float]] = []
    for leaf, coefficient in row.terms:
        if not isinstance(leaf, Selecting):
            terms.append((leaf, coefficient))
            continue
        entries = coefficient.value().tocoo()
        bags = entries.coords[1]
        witnessed += [(leaf, int(bags[k]), float(entries.data[k])) for k in np.flatnonzero(entries.data > 0)]
        rest = np.where(entries.data < 0, entries.data, 0.0)
        if rest.any():
            terms.append((leaf, Coefficient(sp.csr_array((rest, entries.coords), shape=entries.shape))))
    if len(witnessed) != 1:
        return None
    atom, bag, weight = witnessed[0]
    fixed = Expression((), row.constant, terms)
    places = range(int(atom.segments.offsets[bag]), int(atom.segments.offsets[bag + 1]))
    return [fixed + weight * atom.argument[place] for place in places]
