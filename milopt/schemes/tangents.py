"""Tangents with which atoms other than maxima start: at the optimum of the convex part, unless slopes vanish there."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from milopt.compilation.affine_lowering import AffineLowering
from milopt.compilation.arguments import (
    argument_directions,
    atoms_of,
    expression_sides,
    has_affine_argument,
    stays_quadratic,
)
from milopt.compilation.entry_sides import ABOVE, signs_of
from milopt.compilation.minorant import Minorant, StandIn, tangent
from milopt.declaration.atoms.atom import Atom, RadialAtom, SelectionAtom
from milopt.declaration.programs.coefficient import Coefficient
from milopt.declaration.programs.expression import Expression, Leaf, as_expression
from milopt.declaration.programs.program import Program
from milopt.declaration.programs.ranges import epigraph_range
from milopt.declaration.programs.sparse import row_vector, zeros
from milopt.errors import ConvexityError, UnsupportedError
from milopt.outcome.point_values import PointValues
from milopt.schemes.ceilings import contains_atom_on_nonconvex_side, convex_part
from milopt.solving.clock import Clock
from milopt.solving.step_session import StepSession

MAX_RANDOM_TANGENTS = 10
"""Number of random points whose tangents are tried if there is no feasible point with the first tangents."""

MAX_FLAT_SLOPE_RATIO = 1e-6
"""Slopes at a start that are smaller than this fraction of those at a random point count as 0 (rounding)."""


def check_slopes(atoms: Sequence[Atom]) -> None:
    """Raise `ConvexityError` if tangents of an atom on its non-convex side are not minorants or may be infinite."""
    for atom in atoms:
        if not atom.is_convex:
            raise ConvexityError(
                f"{atom.describe()} is neither convex nor concave, so its tangents are not bounds. Write it as the "
                "difference of two quadratic forms with positive semidefinite matrices."
            )
        if atom.function is None and not atom.has_finite_slopes(*epigraph_range(atom.argument), atom.segments):
            raise ConvexityError(
                f"{atom.describe()} is on its non-convex side, where it is replaced by tangents, but its slopes are "
                f"infinite at the boundary of its domain: bound the argument of {atom.word} away from the boundary."
            )


def zero_placeholders(program: Program, atoms: Sequence[Atom]) -> dict[Atom, StandIn]:
    """Return placeholders with slopes and constants 0, with which a session can be opened before tangents are known.

    They have the form of minorants, but need not lie below their atoms.
    """
    linear = AffineLowering(program)
    minorants: dict[Atom, StandIn] = {}
    for atom in atoms:
        size = atom.segments.entry_count
        if atom.function is not None and linear.free_function_index(atom.function) is None:
            size = linear.dictionary_rows(atom.function).count
        minorants[atom] = Minorant(zeros(atom.size, size), np.zeros(atom.size))
    return minorants


def starting_tangents(session: StepSession, atoms: Sequence[Atom], clock: Clock) -> Iterator[dict[Atom, StandIn]]:
    """Yield starting tangents of all given atoms: first at the optimum of the convex part, then at random points."""
    if not atoms:
        return
    first = _tangents_at_convex_part(session, atoms, clock)
    if first is not None:
        yield first
    rng = np.random.default_rng(0)
    for _ in range(MAX_RANDOM_TANGENTS):
        yield {atom: _random_tangent(session, atom, rng) for atom in atoms}


def _tangents_at_convex_part(session: StepSession, atoms: Sequence[Atom], clock: Clock) -> dict[Atom, StandIn] | None:
    """Return the tangents at the optimum of the convex part of the program; None if there is no such point.

    The convex part omits all terms with an atom on its non-convex side. An atom whose tangent there is flat, and the
    norm of a function, get the tangent at a random point instead. Return None also if no solver supports the convex
    part, or if its optimum would not be a useful start (see the comment below).
    """
    from milopt.schemes.feasibility import choose_supporting_solver

    program = session.program
    if any(_contains_atom_that_needs_tangents(atom) for atom in atoms_of(program.minimized_objective())):
        # The convex part lacks this term. Without it, as in noisy-or, arguments may move to a region in which all
        # tangents are flat.
        return None
    relaxed = convex_part(program)
    # A zero objective over the arguments registers their points, so that they have values at the solution.
    extra: Expression = as_expression(0.0)
    for atom in atoms:
        if atom.function is None:
            extra = extra + 0.0 * atom.argument.sum()
    relaxed.minimize(_convex_part_of_objective(program.minimized_objective()) + extra)
    try:
        solver = choose_supporting_solver(relaxed, session.solver)
    except UnsupportedError:
        return None
    with StepSession(relaxed, solver, session.options) as inner:
        outcome = inner.solve(clock)
        if outcome.point is None:
            return None
        values = PointValues(inner.lowering, outcome)
        rng = np.random.default_rng(0)
        minorants: dict[Atom, StandIn] = {}
        for atom in atoms:
            drawn = _random_tangent(session, atom, rng)
            minorant = values.tangent(atom) if atom.function is None else None
            is_flat = minorant is None or _largest_slope(minorant) <= MAX_FLAT_SLOPE_RATIO * _largest_slope(drawn)
            minorants[atom] = drawn if minorant is None or is_flat else minorant
        return minorants


def _convex_part_of_objective(objective: Expression) -> Expression:
    """Return a minimised objective without entries that are, or contain, atoms on their non-convex side."""
    terms: list[tuple[Leaf, Coefficient]] = []
    for leaf, coefficient in objective.terms:
        if isinstance(leaf, Atom) and contains_atom_on_nonconvex_side(leaf):
            continue
        if isinstance(leaf, Atom) and not stays_quadratic(leaf, coefficient):
            signs = signs_of(leaf, coefficient)
            values = np.where(signs.data * ABOVE > 0, coefficient.value().toarray().ravel()[signs.indices], 0.0)
            dense = np.zeros(leaf.size)
            dense[signs.indices] = values
            terms.append((leaf, Coefficient(row_vector(dense))))
        else:
            terms.append((leaf, coefficient))
    return Expression((), objective.constant, terms)


def _contains_atom_that_needs_tangents(atom: Atom) -> bool:
    """Return True if an atom on its convex side has an argument with an atom, not a maximum, on its non-convex side."""
    if has_affine_argument(atom):
        return False
    inside = expression_sides("", atom.argument, argument_directions(atom, ABOVE))
    return any(side.witness.size and not isinstance(side.atom, SelectionAtom) for side in inside)


def _largest_slope(minorant: Minorant) -> float:
    """Return the largest absolute slope of a minorant."""
    return float(np.abs(minorant.slopes.data).max(initial=0.0))


def _random_tangent(session: StepSession, atom: Atom, rng: np.random.Generator) -> Minorant:
    """Return the tangent at a random argument within its range; for the norm of a function, at a random f of norm 1."""
    function = atom.function
    if function is None:
        low, high = epigraph_range(atom.argument)
        e = np.clip(rng.normal(size=atom.segments.entry_count), low, high)
        return tangent(atom, e)
    assert isinstance(atom, RadialAtom)
    place = session.lowering.affine.free_function_index(function)
    if place is None:
        size = session.lowering.affine.dictionary_rows(function).count
        direction = rng.normal(size=size)
        length = float(np.linalg.norm(direction))
    else:
        space = session.spaces[place]
        direction = rng.normal(size=session.form.point_counts[place])
        length = space.norm(direction)
    slope = float(atom.profile_slope(np.ones(1))[0])
    value = float(atom.profile(np.ones(1))[0])
    return Minorant(row_vector(slope * direction / (length or 1.0)), np.array([value - slope]))
