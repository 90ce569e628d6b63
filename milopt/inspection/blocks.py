"""Tables of the declared parts of a program: variables, functions, parameters, constraints and atoms."""

from __future__ import annotations

import numpy as np

from milopt.arrays import Vector
from milopt.compilation.entry_sides import OBJECTIVE_PLACE, AtomSides
from milopt.compilation.evaluation_form import EvaluationForm
from milopt.compilation.lowering_attempt import count_evaluated_points
from milopt.compilation.sides import atom_sides
from milopt.cones import NONNEGATIVE, ZERO, Cone
from milopt.declaration.atoms.atom import Atom, SelectionAtom
from milopt.declaration.programs.expression import Constraint, Expression, Leaf
from milopt.declaration.programs.leaves import Variable
from milopt.declaration.programs.program import Program
from milopt.table import Table

_SIGN_TEXTS = {1: ">= 0", -1: "<= 0", 0: "any"}
"""Words for the sign that a parameter is declared to have."""
_CONE_RELATION_TEXTS = {ZERO: "= 0", NONNEGATIVE: ">= 0"}
"""Words for rows in the polyhedral cones."""


def variable_table(program: Program) -> Table:
    """Return the table of variables: name, size, bounds, integrality."""
    rows = tuple(
        (v.name, _format_shape(v), _format_bounds(v.lower, v.upper), _describe_integrality(v))
        for v in program.variables.values()
    )
    return Table("variables", ("name", "size", "bounds", ""), rows, frozenset({"size"}))


def _format_shape(leaf: Leaf) -> str:
    """Return the shape as text: "5" for a vector, "5 x 3" for a matrix, or "scalar"."""
    return " x ".join(map(str, leaf.shape)) if leaf.shape else "scalar"


def _describe_integrality(variable: Variable) -> str:
    """Return "integer" if all entries are integer, "3 integer" if three of them are, or "" if none is."""
    count = int(variable.integer_entries.sum())
    return "integer" if 0 < count == variable.size else f"{count} integer" if count else ""


def function_table(program: Program) -> Table:
    """Return the table of functions: name, kernel, number of evaluation points, size of the dictionary (if any)."""
    rows = tuple(
        (
            f.name,
            repr(f.kernel),
            str(count_evaluated_points(program, f)),
            "" if f.dictionary is None else str(f.dictionary.shape[0]),
        )
        for f in program.functions.values()
    )
    return Table("functions", ("name", "kernel", "points", "dictionary"), rows, frozenset({"points", "dictionary"}))


def parameter_table(program: Program) -> Table:
    """Return the table of parameters: name, size, sign, and whether a value is set."""
    rows = tuple(
        (p.name, _format_shape(p), _SIGN_TEXTS[p.sign], "not set" if p.value is None else "set")
        for p in program.parameters.values()
    )
    return Table("parameters", ("name", "size", "sign", "value"), rows, frozenset({"size"}))


def constraint_table(program: Program, form: EvaluationForm | None) -> Table:
    """Return the table of constraints, with their row counts in the declaration and in the evaluation form.

    Auxiliary rows (of epigraphs and absolute values), which do not belong to a declared constraint, come last. If
    `form` is None, the row counts in the evaluation form are empty, and there are no auxiliary rows.
    """
    rows = [
        (
            name,
            str(int(np.prod(constraint.shape))),
            "" if form is None else str(sum(block.count for block in form.blocks if block.origin == name)),
            _describe_sense(name, constraint, form),
            constraint.expression.describe() if constraint.layout is None else constraint.describe(),
        )
        for name, constraint in program.constraints.items()
    ]
    for block in () if form is None else form.blocks:
        if not block.origin:
            rows.append((block.name, "0", str(block.count), _describe_cone(block.cone), "auxiliary"))
    header = ("name", "declared rows", "lowered rows", "sense", "of")
    return Table("constraints", header, tuple(rows), frozenset(header[1:3]))


def atom_table(program: Program) -> Table:
    """Return the table of atoms with the side, convex or concave, on which the program uses each of them.

    A bag maximum may be used on both sides; its row states the number of bags per side.
    """
    selections = [side for side in atom_sides(program) if isinstance(side.atom, SelectionAtom)]
    rows = [(side.atom.describe(), _location_text(side.where), _describe_sides(side)) for side in selections]
    places = [(OBJECTIVE_PLACE, program.minimized_objective(), 1.0)]
    places += [(name, constraint.expression, -1.0) for name, constraint in program.constraints.items()]
    for where, expression, convex_sign in places:
        rows += [(text, _location_text(where), side) for text, side in _atoms_without_maxima(expression, convex_sign)]
    return Table("atoms", ("atom", "in", "side"), tuple(rows))


def _atoms_without_maxima(expression: Expression, convex_sign: float) -> list[tuple[str, str]]:
    """Return (description, side) of each atom of an expression, except for maxima (`SelectionAtom`).

    `convex_sign` is the sign of the coefficients on the convex side: 1 in the minimised objective, -1 in e >= 0. The
    side is "convex", "concave", "either" (both signs, or a product with a parameter), or "dropped" (only zeros).
    """
    atoms = []
    for leaf, coefficient in expression.terms:
        if isinstance(leaf, Atom) and not isinstance(leaf, SelectionAtom):
            signs = {0.0} if coefficient.products else set(np.sign(coefficient.matrix.data).tolist()) - {0.0}
            side = "convex" if signs <= {convex_sign} else "concave" if signs == {-convex_sign} else "either"
            atoms.append((leaf.describe(), side if signs else "dropped"))
    return atoms


def _describe_sides(side: AtomSides) -> str:
    """Describe how many bags of a maximum are on the convex side, need a witness, or are dropped (coefficient 0)."""
    rows = int(side.atom.segments.sizes[side.convex].sum())
    epigraph = f" (epigraph {rows} rows)" if side.convex.size else ""
    return (
        f"{side.convex.size} bags convex side{epigraph}, {side.witness.size} bags need a witness, "
        f"{side.dropped.size} dropped"
    )


def _location_text(where: str) -> str:
    """Return the name of a constraint in quotes, or "the objective"."""
    return "the objective" if where == OBJECTIVE_PLACE else repr(where)


def _describe_sense(name: str, constraint: Constraint, form: EvaluationForm | None) -> str:
    """Return the sense of a constraint: "= 0", ">= 0", the names of its cones, or "two sides" (l <= e <= u)."""
    if constraint.layout is not None and (constraint.layout.sign < 0).any():
        return "two sides"
    cones = [] if form is None else [block.cone for block in form.blocks if block.origin == name]
    return ", ".join(dict.fromkeys(_describe_cone(cone) for cone in cones)) or (
        "= 0" if constraint.equality else ">= 0"
    )


def _describe_cone(cone: Cone) -> str:
    """Return "= 0" or ">= 0" for a polyhedral cone, and the name of any other cone."""
    return _CONE_RELATION_TEXTS.get(cone, cone.display_name)


def _format_bounds(lower: Vector, upper: Vector) -> str:
    """Return the bounds of a variable as text: "lower .. upper", or "free" if all entries are unbounded."""
    if not lower.size or (np.isneginf(lower).all() and np.isposinf(upper).all()):
        return "free"
    return f"{_format_range(lower)} .. {_format_range(upper)}"


def _format_range(bound: Vector) -> str:
    """Return the common value of a bound as text, or its range "[min to max]" if the entries differ."""
    low, high = float(bound.min()), float(bound.max())
    return f"{low:.4g}" if low == high else f"[{low:.4g} to {high:.4g}]"
