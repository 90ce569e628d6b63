"""Find a feasible point of a DC program whose first convex step is infeasible.

A step restricts the program to chosen witnesses, so an infeasible step does not prove that the program is infeasible.
The search tries, in this order:

1. the convex part (all rows without a witness): if it is infeasible, so is the program, which is a proof;
2. the witnesses at a point of the convex part;
3. the convex-concave procedure on the elastic program

       min  sum_k s_k   s.t.  row_k + s_k >= 0 for every row with a witness, all other rows,   s >= 0,

   from the witnesses of 2, and from witnesses drawn at random;
4. after the first run of 3, one violated row at a time: if a row with one witness cannot hold over the convex part for
   any instance of its bag, the program is infeasible, which is a proof.

If no point is found and infeasibility is not proved, the question remains open.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np
import scipy.sparse as sp

from milopt.compilation.minorant import Selections, one_hot_minorants
from milopt.compilation.status import PointStatus, Termination
from milopt.declaration.atoms.atom import SelectionAtom
from milopt.declaration.programs.coefficient import Coefficient
from milopt.declaration.programs.expression import Constraint, Expression, Leaf, as_expression
from milopt.declaration.programs.program import Program
from milopt.declaration.programs.sparse import selection_matrix
from milopt.errors import UnsupportedError
from milopt.outcome.outcome import Outcome
from milopt.outcome.point_values import PointValues
from milopt.schemes.automatic import automatic_solver
from milopt.schemes.ceilings import convex_part, needs_witness_by_row
from milopt.schemes.descent import descend
from milopt.schemes.scheme import run_steps
from milopt.schemes.steps import StepTotals, select_largest_values
from milopt.solving.clock import Clock
from milopt.solving.explain import SupportChecker
from milopt.solving.options import Options
from milopt.solving.solver import Solver
from milopt.solving.step_session import StepSession

MAX_RANDOM_SELECTIONS = 10
"""Number of random choices of witnesses that are tried before the search ends."""
MAX_ELASTIC_STEPS = 30
"""Maximum number of steps of the convex-concave procedure on the elastic program."""
MAX_TESTED_ROWS = 20
"""Maximum number of rows that are tested one by one for a proof of infeasibility, the most violated first."""
NO_FEASIBLE_POINT_MESSAGE = (
    "No feasible point was found, but infeasibility is not proved either: use scheme='exact' to decide."
)
"""Message if neither a feasible point nor a proof was found."""


@dataclass(frozen=True)
class FeasibilityResult:
    """Witnesses with which the program has a feasible point, or a proof that it is infeasible, or neither."""

    witnesses: Selections | None = None
    """For each maximum, one instance index per bag; None if no feasible point was found."""
    infeasible: str = ""
    """Why the program is infeasible, as a sentence; empty if that is not proved."""


def find_feasible_witnesses(
    session: StepSession, atoms: list[SelectionAtom], clock: Clock, totals: StepTotals
) -> FeasibilityResult:
    """Search for witnesses with which the program of a session is feasible.

    `atoms`: the maxima on their non-convex side; no other atom may be on its non-convex side. The session keeps the
    last witnesses that were tried. `totals` is changed in place.
    """
    program, options = session.program, replace(session.options, form="auto", lazy=False)
    relaxed = convex_part(program)
    # A zero objective over the maxima registers their points, so that the maxima have values at the solution.
    relaxed.minimize(sum((0.0 * atom.argument.sum() for atom in atoms), as_expression(0.0)))
    try:
        solver, elastic = choose_supporting_solver(relaxed, session.solver), elastic_program(program)
        elastic_solver = choose_supporting_solver(elastic, session.solver)
    except UnsupportedError:
        return FeasibilityResult()
    with StepSession(relaxed, solver, options) as inner:
        outcome = inner.solve(clock)
        totals.add(outcome)
        if outcome.termination is Termination.INFEASIBLE:
            return FeasibilityResult(infeasible=f"The rows without a witness are infeasible. {outcome.message}".strip())
        first = None
        if outcome.point is not None:
            values = PointValues(inner.lowering, outcome)
            first = select_largest_values(values, atoms)
    if first is not None and _is_feasible_with(session, first, clock, totals):
        return FeasibilityResult(first)
    with StepSession(elastic, elastic_solver, options) as inner:
        for number, start in enumerate(_starting_selections(atoms, first)):
            if clock.is_over():
                break
            inner.set_witnesses(one_hot_minorants(start))
            descent, _ = run_steps(descend(inner, atoms, clock, MAX_ELASTIC_STEPS, 1e-9))
            totals.add(descent.totals.apply_to(descent.last))
            if not descent.chosen:
                continue
            if _is_feasible_with(session, descent.chosen, clock, totals):
                return FeasibilityResult(descent.chosen)
            if number == 0:
                violated = _violated_rows(program, PointValues(inner.lowering, descent.last))
                proof = _impossible_row_message(program, violated, solver, options, clock, totals)
                if proof:
                    return FeasibilityResult(infeasible=proof)
    return FeasibilityResult()


def choose_supporting_solver(program: Program, solver: Solver) -> Solver:
    """Return the solver if it supports the program, otherwise the one that `auto` chooses."""
    return solver if SupportChecker(program).is_supported_by(solver) else automatic_solver(program)


def elastic_program(program: Program) -> Program:
    """Return the program with a slack in every row with a witness, and with the sum of the slacks as objective."""
    elastic = Program(f"{program.name} (elastic)")
    elastic.variables, elastic.functions = dict(program.variables), dict(program.functions)
    elastic.parameters = dict(program.parameters)
    total: Expression | float = 0.0
    for name, constraint in program.constraints.items():
        rows = np.flatnonzero(needs_witness_by_row(constraint))
        expression = constraint.expression
        if rows.size:
            own = f"{name}.slack"
            while own in elastic.variables or own in program.constraints or own in program.functions:
                own += "_"
            slack = elastic.variable(own, rows.size, lower=0)
            spread = sp.csr_array(selection_matrix(rows, expression.size).T)
            added = spread @ slack
            expression = expression + (added if expression.shape else added.sum())
            total = slack.sum() + total
        elastic.constraints[name] = Constraint(expression, constraint.equality)
    elastic.minimize(total)
    return elastic


def _is_feasible_with(session: StepSession, chosen: Selections, clock: Clock, totals: StepTotals) -> bool:
    """Return True if a solve with these witnesses finds a feasible point or proves that the program is unbounded.

    Return False if the time is over.
    """
    if clock.is_over():
        return False
    session.set_witnesses(one_hot_minorants(chosen))
    outcome = session.solve(clock)
    totals.add(outcome)
    return outcome.termination is Termination.UNBOUNDED or (
        outcome.point is not None and outcome.status is not PointStatus.NONE
    )


def _starting_selections(atoms: list[SelectionAtom], first: Selections | None) -> Iterator[Selections]:
    """Yield the witnesses `first`, if given, and then `MAX_RANDOM_SELECTIONS` random choices of witnesses."""
    if first is not None:
        yield first
    rng = np.random.default_rng(0)
    for _ in range(MAX_RANDOM_SELECTIONS):
        yield {atom: atom.segments.offsets[:-1] + rng.integers(atom.segments.sizes) for atom in atoms}


def _violated_rows(program: Program, values: PointValues) -> list[tuple[Expression, float]]:
    """Return the rows with a witness that are negative at a point, with their values, the most violated first."""
    violated: list[tuple[Expression, float]] = []
    for constraint in program.constraints.values():
        at = values.value(constraint.expression)
        for row in np.flatnonzero(needs_witness_by_row(constraint) & (at < 0)):
            row_expression = constraint.expression[int(row)] if constraint.expression.shape else constraint.expression
            violated.append((row_expression, float(at[row])))
    return sorted(violated, key=lambda pair: pair[1])


def _impossible_row_message(
    program: Program,
    violated: list[tuple[Expression, float]],
    solver: Solver,
    options: Options,
    clock: Clock,
    totals: StepTotals,
) -> str:
    """Return a sentence about a row that no witness can make hold over the convex part; empty if none is found.

    `violated`: candidate rows with their values. Only the first `MAX_TESTED_ROWS` are tested, and of these only rows in
    which exactly one bag needs a witness.
    """
    for row, _ in violated[:MAX_TESTED_ROWS]:
        candidates = _rows_by_witness(row)
        if candidates is None:
            continue
        relaxed = convex_part(program)
        relaxed.maximize(candidates[0])
        try:
            chosen = choose_supporting_solver(relaxed, solver)
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
    """Return the upper bound that a certified maximisation proves; infinity if the outcome is not certified."""
    if outcome.status is PointStatus.CERTIFIED and outcome.certificate is not None:
        return -outcome.certificate.bound
    return np.inf


def _rows_by_witness(row: Expression) -> list[Expression] | None:
    """Return one row per instance of the only bag that needs a witness; the instance's value replaces the maximum.

    Return None if several bags of the row need a witness, or if no bag does.
    """
    terms: list[tuple[Leaf, Coefficient]] = []
    witnessed: list[tuple[SelectionAtom, int, float]] = []
    for leaf, coefficient in row.terms:
        if not isinstance(leaf, SelectionAtom):
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
