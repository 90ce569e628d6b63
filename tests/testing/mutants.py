"""Atoms with deliberately wrong members."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace

import numpy as np

from milopt.declaration.atoms import Atom
from milopt.declaration.atoms.membership import Membership, NewVariables, non_negative
from milopt.declaration.atoms.segments import Segments
from milopt.declaration.programs.expression import Expression

Epigraph = Callable[..., list[Membership]]


def alter_atom(atom: Atom, **members: object) -> Atom:
    """Return the atom with other members, which are functions without `self`."""
    own = {name: staticmethod(member) if callable(member) else member for name, member in members.items()}
    result = atom.with_argument(atom.argument)
    result.__class__ = type(f"Altered{type(atom).__name__}", (type(atom),), own)
    return result


def mutants(atom: Atom, seed: int) -> Iterator[tuple[str, Atom]]:
    """Return 13 mutations of the epigraph of an atom by name; the seed selects rows and memberships."""
    epigraph: Epigraph = atom.epigraph
    random = np.random.default_rng(seed)
    where, number = random.random(), random.random()

    def substituted(t_factor: float, e_factor: float) -> Epigraph:
        return lambda t, e, at, new: epigraph(t_factor * t, e_factor * e, at, new)

    def one_row(factor: float, constant: float) -> Epigraph:
        def changed(t: Expression, e: Expression, at: Segments, new: NewVariables) -> list[Membership]:
            memberships = epigraph(t, e, at, new)
            chosen = memberships[int(number * len(memberships))]
            row = np.arange(chosen.rows.size) == int(where * chosen.rows.size)
            rows = np.where(row, factor, 1.0) * chosen.rows + np.where(row, constant, 0.0)
            return [
                replace(membership, rows=rows, lazy=False) if membership is chosen else membership
                for membership in memberships
            ]

        return changed

    def dropped(t: Expression, e: Expression, at: Segments, new: NewVariables) -> list[Membership]:
        memberships = epigraph(t, e, at, new)
        del memberships[int(number * len(memberships))]
        return memberships

    def extra(*rows: Callable[[Expression, Expression], Expression]) -> Epigraph:
        return lambda t, e, at, new: [*epigraph(t, e, at, new), *(non_negative("extra", row(t, e)) for row in rows)]

    changed = {
        "e times 2": substituted(1.0, 2.0),
        "t times 0.5": substituted(0.5, 1.0),
        "e times 0.5": substituted(1.0, 0.5),
        "t times 2": substituted(2.0, 1.0),
        "sign of e": substituted(1.0, -1.0),
        "one row times 2": one_row(2.0, 0.0),
        "one row times 0.5": one_row(0.5, 0.0),
        "a constant added": one_row(1.0, 0.2),
        "a constant subtracted": one_row(1.0, -0.2),
        "a membership dropped": dropped,
        "an extra row e >= -0.2": extra(lambda t, e: e + 0.2),
        "an extra row t >= 0.5": extra(lambda t, e: t - 0.5),
        "extra rows |e| <= 0.5": extra(lambda t, e: 0.5 - e, lambda t, e: 0.5 + e),
    }
    for name, broken in changed.items():
        yield name, alter_atom(atom, epigraph=broken, cones=atom.cones | {"nonnegative"})
