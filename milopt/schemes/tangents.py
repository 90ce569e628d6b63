"""Where atoms other than maxima are first linearised: at the optimum of the convex part, never where slopes vanish."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from milopt.compilation.arguments import (
    argument_directions,
    atoms_of,
    has_affine_argument,
    inner_sides,
    keeps_quadratic,
)
from milopt.compilation.entry_sides import ABOVE, signs_of
from milopt.compilation.linear import Linear
from milopt.compilation.minorant import Minorant, StandIn, tangent
from milopt.declaration.atoms.atom import Atom, Radial, Selecting
from milopt.declaration.programs.coefficient import Coefficient
from milopt.declaration.programs.expression import Expression, Leaf, as_expression
from milopt.declaration.programs.program import Program
from milopt.declaration.programs.ranges import range_of
from milopt.declaration.programs.sparse import row_vector, zeros
from milopt.errors import ConvexityError, UnsupportedError
from milopt.outcome.point_values import PointValues
from milopt.schemes.ceilings import convex_part, has_other_side_inside
from milopt.solving.clock import Clock
from milopt.solving.step_session import StepSession

RANDOM_STARTS = 10
"""How many tangents at random points are tried if the first ones leave no feasible point."""

FLAT = 1e-6
"""Slopes at a start that are smaller than this fraction of those at a random point count as 0, which is rounding."""


def check_slopes(atoms: Sequence[Atom]) -> None:
    """Raise an error if an atom on its other side has infinite slopes within the range of its argument."""
    for atom in atoms:
        if atom.function is None and not atom.has_finite_slopes(*range_of(atom.argument), atom.segments):
            raise ConvexityError(
                f"{atom.describe()} stands on its other side, where it is replaced by tangents, and its slopes are "
                f"infinite at the edge of its domain: bound the argument of {atom.word} away from it."
            )


def flat_minorants(program: Program, atoms: Sequence[Atom]) -> dict[Atom, StandIn]:
    """Return stand-ins with slopes 0, with which a session can be opened before tangents are known."""
    linear = Linear(program)
    found: dict[Atom, StandIn] = {}
    for atom in atoms:
        size = atom.segments.total
        if atom.function is not None and linear.place_of(atom.function) is None:
            size = linear.dictionary_rows(atom.function).count
        found[atom] = Minorant(zeros(atom.size, size), np.zeros(atom.size))
    return found


def starting_tangents(session: StepSession, atoms: Sequence[Atom], clock: Clock) -> Iterator[dict[Atom, StandIn]]:
    """Yield tangents to start from: at the optimum of the convex part, then at random points."""
    if not atoms:
        return
    first = _at_convex_part(session, atoms, clock)
    if first is not None:
        yield first
    rng = np.random.default_rng(0)
    for _ in range(RANDOM_STARTS):
        yield {atom: _random(session, atom, rng) for atom in atoms}


def _at_convex_part(session: StepSession, atoms: Sequence[Atom], clock: Clock) -> dict[Atom, StandIn] | None:
    """Return the tangents at the optimum of the program without what stands on its other side; None without one."""
    from milopt.schemes.feasibility import able_solver

    program = session.program
    if any(_needs_tangents_inside(atom) for atom in atoms_of(program.minimized())):
        # Without such a term, as in noisy-or, nothing may keep the arguments from where all tangents are flat.
        return None
    relaxed = convex_part(program)
    # A zero objective over the arguments makes their points known, so that they have values at the point found.
    extra: Expression = as_expression(0.0)
    for atom in atoms:
        if atom.function is None:
            extra = extra + 0.0 * atom.argument.sum()
    relaxed.minimize(_convex_objective(program.minimized()) + extra)
    try:
        solver = able_solver(relaxed, session.solver)
    except UnsupportedError:
        return None
    with StepSession(relaxed, solver, session.options) as inner:
        outcome = inner.solve(clock)
        if outcome.point is None:
            return None
        values = PointValues(inner.lowering, outcome)
        rng = np.random.default_rng(0)
        found: dict[Atom, StandIn] = {}
        for atom in atoms:
            drawn = _random(session, atom, rng)
            minorant = values.tangent(atom) if atom.function is None else None
            is_flat = minorant is None or _steepness(minorant) <= FLAT * _steepness(drawn)
            found[atom] = drawn if minorant is None or is_flat else minorant
        return found


def _convex_objective(objective: Expression) -> Expression:
    """Return a minimised objective without the entries of atoms on their other side, and without atoms around them."""
    terms: list[tuple[Leaf, Coefficient]] = []
    for leaf, coefficient in objective.terms:
        if isinstance(leaf, Atom) and has_other_side_inside(leaf):
            continue
        if isinstance(leaf, Atom) and not keeps_quadratic(leaf, coefficient):
            signs = signs_of(leaf, coefficient)
            values = np.where(signs.data * ABOVE > 0, coefficient.value().toarray().ravel()[signs.indices], 0.0)
            dense = np.zeros(leaf.size)
            dense[signs.indices] = values
            terms.append((leaf, Coefficient(row_vector(dense))))
        else:
            terms.append((leaf, coefficient))
    return Expression((), objective.constant, terms)


def _needs_tangents_inside(atom: Atom) -> bool:
    """Return True if an atom other than a maximum is on its other side inside an atom that is needed from above."""
    if has_affine_argument(atom):
        return False
    inside = inner_sides("", atom.argument, argument_directions(atom, ABOVE))
    return any(side.witness.size and not isinstance(side.atom, Selecting) for side in inside)


def _steepness(minorant: Minorant) -> float:
    """Return the largest slope of a minorant."""
    return float(np.abs(minorant.slopes.data).max(initial=0.0))


def _random(session: StepSession, atom: Atom, rng: np.random.Generator) -> Minorant:
    """Return the tangent at a random point of the argument, within its range."""
    function = atom.function
    if function is None:
        low, high = range_of(atom.argument)
        e = np.clip(rng.normal(size=atom.segments.total), low, high)
        return tangent(atom, e)
    assert isinstance(atom, Radial)
    place = session.lowering.linear.place_of(function)
    if place is None:
        size = session.lowering.linear.dictionary_rows(function).count
        direction = rng.normal(size=size)
        length = float(np.linalg.norm(direction))
    else:
        space = session.spaces[place]
        direction = rng.normal(size=session.form.point_counts[place])
        length = space.norm(direction)
    slope = float(atom.profile_slope(np.ones(1))[0])
    value = float(atom.profile(np.ones(1))[0])
    return Minorant(row_vector(slope * direction / (length or 1.0)), np.array([value - slope]))
