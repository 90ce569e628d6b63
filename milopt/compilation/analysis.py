"""The side of every entry of every bag_max, and the kind of a form."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from milopt.compilation.evaluation_form import EvaluationForm
from milopt.declaration.leaves import BagMax
from milopt.declaration.program import Program
from milopt.solving.refusal import kind_name
from milopt.solving.solver import Feature

OBJECTIVE = "objective"


@dataclass(frozen=True)
class Side:
    """Where a bag_max stands in one place of a program, entry by entry."""

    where: str
    """The constraint block, or "objective"."""
    atom: BagMax
    convex: npt.NDArray[np.intp]
    """Bags whose maximum is on its convex side: epigraph rows."""
    witness: npt.NDArray[np.intp]
    """Bags whose maximum is on its other side: each needs a witness."""
    dropped: npt.NDArray[np.intp]
    """Bags that do not occur (coefficient zero)."""


def sides(program: Program) -> tuple[Side, ...]:
    """The side of every entry of every bag_max."""
    found: list[Side] = []
    places = [(OBJECTIVE, program.minimized(), +1)]
    places += [(name, constraint.expression, -1) for name, constraint in program.constraints.items()]
    for where, expression, convex_sign in places:
        for leaf, coefficient in expression.terms:
            if isinstance(leaf, BagMax):
                signs = coefficient.signs
                convex = np.unique(signs.indices[signs.data == convex_sign])
                witness = np.unique(signs.indices[signs.data == -convex_sign])
                dropped = np.setdiff1d(np.arange(leaf.size), signs.indices)
                found.append(Side(where, leaf, convex, witness, dropped))
    return tuple(found)


def witnessed(program: Program) -> list[BagMax]:
    """The maxima that need witnesses somewhere."""
    found: dict[int, BagMax] = {}
    for side in sides(program):
        if side.witness.size:
            found[id(side.atom)] = side.atom
    return list(found.values())


def form_kind(form: EvaluationForm) -> str:
    """Return the kind of a form, as `kind_name` gives it."""
    o = form.objective
    features = {Feature.LINEAR}
    if o.squares or any(o.ridge):
        features.add(Feature.QUADRATIC)
    if form.integer.any():
        features.add(Feature.INTEGER)
    return kind_name(features, {block.cone.name for block in form.blocks})
