"""The declared blocks of a program, a table for each sort: variables, functions, parameters, constraints, atoms."""

from __future__ import annotations

import numpy as np

from milopt.arrays import Vector
from milopt.compilation.entry_sides import OBJECTIVE, Side
from milopt.compilation.evaluation_form import EvaluationForm
from milopt.compilation.lowered import evaluated_points
from milopt.compilation.sides import sides
from milopt.cones import NONNEGATIVE, ZERO, Cone
from milopt.declaration.atoms.atom import Atom, Selecting
from milopt.declaration.programs.expression import Constraint, Expression, Leaf
from milopt.declaration.programs.leaves import Variable
from milopt.declaration.programs.program import Program
from milopt.table import Table

_SIGNS = {1: ">= 0", -1: "<= 0", 0: "any"}
_SENSES = {ZERO: "= 0", NONNEGATIVE: ">= 0"}


def variable_table(program: Program) -> Table:
    """Name, size, bounds, integrality."""
    rows = tuple((v.name, _size(v), _bounds(v.lower, v.upper), _integrality(v)) for v in program.variables.values())
    return Table("variables", ("name", "size", "bounds", ""), rows, frozenset({"size"}))


def _size(leaf: Leaf) -> str:
    """Return the number of entries, or the shape of a matrix."""
    return " x ".join(map(str, leaf.shape)) if leaf.shape else "scalar"


def _integrality(variable: Variable) -> str:
    """Return which entries are integer: all, a number of them, or none."""
    count = int(variable.integer_entries.sum())
    return "integer" if 0 < count == variable.size else f"{count} integer" if count else ""


def function_table(program: Program) -> Table:
    """Name, kernel, and at how many points each function is evaluated."""
    rows = tuple(
        (
            f.name,
            repr(f.kernel),
            str(evaluated_points(program, f)),
            "" if f.dictionary is None else str(f.dictionary.shape[0]),
        )
        for f in program.functions.values()
    )
    return Table("functions", ("name", "kernel", "points", "dictionary"), rows, frozenset({"points", "dictionary"}))


def parameter_table(program: Program) -> Table:
    """Name, size, sign, whether there is a value."""
    rows = tuple(
        (p.name, _size(p), _SIGNS[p.sign], "not set" if p.value is None else "set") for p in program.parameters.values()
    )
    return Table("parameters", ("name", "size", "sign", "value"), rows, frozenset({"size"}))


def constraint_table(program: Program, form: EvaluationForm | None) -> Table:
    """Declared rows and what they became; rows that no one declared (epigraphs, absolute values) last."""
    rows = [
        (
            name,
            str(int(np.prod(constraint.shape))),
            "" if form is None else str(sum(block.count for block in form.blocks if block.origin == name)),
            _sense(name, constraint, form),
            constraint.expression.describe(),
        )
        for name, constraint in program.constraints.items()
    ]
    for block in () if form is None else form.blocks:
        if not block.origin:
            rows.append((block.name, "0", str(block.count), _cone_words(block.cone), "auxiliary"))
    header = ("name", "declared rows", "lowered rows", "sense", "of")
    return Table("constraints", header, tuple(rows), frozenset(header[1:3]))


def atom_table(program: Program) -> Table:
    """Every atom and the side on which it stands; the bags of a bag_max side by side."""
    found = [side for side in sides(program) if isinstance(side.atom, Selecting)]
    rows = [(side.atom.describe(), _place(side.where), _side_words(side)) for side in found]
    places = [(OBJECTIVE, program.minimized(), 1.0)]
    places += [(name, constraint.expression, -1.0) for name, constraint in program.constraints.items()]
    for where, expression, convex_sign in places:
        rows += [(what, _place(where), side) for what, side in _scalar_atoms(expression, convex_sign)]
    return Table("atoms", ("atom", "in", "side"), tuple(rows))


def _scalar_atoms(expression: Expression, convex_sign: float) -> list[tuple[str, str]]:
    found = []
    for leaf, coefficient in expression.terms:
        if isinstance(leaf, Atom) and not isinstance(leaf, Selecting):
            signs = {0.0} if coefficient.products else set(np.sign(coefficient.matrix.data).tolist()) - {0.0}
            side = "convex" if signs <= {convex_sign} else "concave" if signs == {-convex_sign} else "either"
            found.append((leaf.describe(), side if signs else "dropped"))
    return found


def _side_words(side: Side) -> str:
    rows = int(side.atom.segments.sizes[side.convex].sum())
    epigraph = f" (epigraph {rows} rows)" if side.convex.size else ""
    return (
        f"{side.convex.size} bags convex side{epigraph}, {side.witness.size} bags need a witness, "
        f"{side.dropped.size} dropped"
    )


def _place(where: str) -> str:
    return "the objective" if where == OBJECTIVE else repr(where)


def _sense(name: str, constraint: Constraint, form: EvaluationForm | None) -> str:
    if constraint.layout is not None and (constraint.layout.sign < 0).any():
        return "two sides"
    cones = [] if form is None else [block.cone for block in form.blocks if block.origin == name]
    return ", ".join(dict.fromkeys(_cone_words(cone) for cone in cones)) or ("= 0" if constraint.equality else ">= 0")


def _cone_words(cone: Cone) -> str:
    return _SENSES.get(cone, cone.words)


def _bounds(lower: Vector, upper: Vector) -> str:
    if not lower.size or (np.isneginf(lower).all() and np.isposinf(upper).all()):
        return "free"
    return f"{_ends(lower)} .. {_ends(upper)}"


def _ends(bound: Vector) -> str:
    low, high = float(bound.min()), float(bound.max())
    return f"{low:.4g}" if low == high else f"[{low:.4g} to {high:.4g}]"
