"""Neutral descriptions of programs: plain numbers, which one translator writes for milopt and another for cvxpy.

    minimise or maximise  e_0   subject to   e_i >= 0,  e_i <= 0  or  e_i == 0

Every expression e is a vector: an affine part plus matrices times atoms. A leaf of an affine part is a variable, a
parameter, the coefficients of a function over a dictionary ("f.coefficients"), or the values of a function at points.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import TypeAlias

import numpy as np
import numpy.typing as npt

Array: TypeAlias = npt.NDArray[np.float64]
Parameters: TypeAlias = Mapping[str, Array]

SCALAR_ATOMS = ("norm", "norm1", "sum_squares", "quad_form")
FUNCTION_ATOMS = ("function_norm", "function_norm_squared")


@dataclass(frozen=True, eq=False)
class Variable:
    """A block of variables; `scalar` declares a block of size 1 without a shape."""

    name: str
    lower: Array
    upper: Array
    integer: bool = False
    scalar: bool = False

    @property
    def size(self) -> int:
        return int(self.lower.size)


@dataclass(frozen=True)
class Kernel:
    """exp(-s |x - z|^2), <x, z>, or (<x, z> + s)^2."""

    kind: str
    s: float = 1.0


@dataclass(frozen=True, eq=False)
class Function:
    """A function of a kernel's space, over a dictionary if there is one."""

    name: str
    kernel: Kernel
    dictionary: Array | None = None


@dataclass(frozen=True, eq=False)
class BagSet:
    """Instances, one per row, and the first row of each bag, with the number of rows at the end."""

    instances: Array
    offsets: tuple[int, ...]

    @property
    def spans(self) -> list[tuple[int, int]]:
        return list(zip(self.offsets[:-1], self.offsets[1:], strict=True))


@dataclass(frozen=True, eq=False)
class Parameter:
    """A parameter of a session."""

    name: str
    size: int
    sign: int = 0


@dataclass(frozen=True, eq=False)
class Term:
    """matrix @ aggregate(inner @ (times * leaf)).

    `at` holds the points of a function, as an array or as the number of a bag set. `aggregate` is "", "bag_sum" or
    "bag_mean" over the bag set number `bags`. `times` names a parameter of the size of the leaf, or "".
    """

    leaf: str
    matrix: Array
    at: Array | int | None = None
    inner: Array | None = None
    aggregate: str = ""
    bags: int = 0
    times: str = ""


@dataclass(frozen=True, eq=False)
class Affine:
    """constant + sum of terms."""

    constant: Array
    terms: tuple[Term, ...] = ()

    @property
    def size(self) -> int:
        return int(self.constant.size)


@dataclass(frozen=True, eq=False)
class Atom:
    """multiplier @ (times * atom), where the atom is scalar, or has one entry per bag if it is a bag_max.

    `weight` is that of quad_form: a diagonal or a matrix; `root` is R with R'R = weight, exact, if it is semidefinite.
    `folds` says that the argument is one variable and that scales of its columns go into the weight.
    """

    kind: str
    multiplier: Array
    argument: Affine | None = None
    weight: Array | None = None
    root: Array | None = None
    folds: bool = False
    function: str = ""
    bags: int = 0
    times: str = ""


@dataclass(frozen=True, eq=False)
class Expression:
    """An affine vector plus atoms."""

    affine: Affine
    atoms: tuple[Atom, ...] = ()

    @property
    def size(self) -> int:
        return self.affine.size


@dataclass(frozen=True, eq=False)
class Row:
    """A block of rows: expression >= 0, <= 0 or == 0."""

    name: str
    expression: Expression
    sense: str


@dataclass(frozen=True, eq=False)
class Scaling:
    """Powers of two: per entry of each variable, per row of each block, and of the objective.

    The declared variable is x / columns, so that the optimum is that of the unscaled description times `objective`.
    """

    columns: Mapping[str, Array] = field(default_factory=dict)
    rows: Mapping[str, Array] = field(default_factory=dict)
    objective: float = 1.0


@dataclass(frozen=True, eq=False)
class Description:
    """A program in units in which its numbers are of order one, and how it is declared and solved."""

    seed: int
    theme: str
    variables: tuple[Variable, ...]
    objective: Expression
    rows: tuple[Row, ...] = ()
    maximize: bool = False
    functions: tuple[Function, ...] = ()
    bags: tuple[BagSet, ...] = ()
    parameters: tuple[Parameter, ...] = ()
    settings: tuple[Parameters, ...] = ({},)
    """The values of the parameters, one mapping per solve; a session if there are parameters."""
    scaling: Scaling = field(default_factory=Scaling)
    scheme: str | None = None
    lazy: bool | None = None
    form: str = "auto"
    convex: bool = True
    """False if a quadratic is concave in some direction; maxima that need witnesses do not count."""
    solvers: tuple[str, ...] = ()
    """The solvers that this program is given to."""
    note: str = ""
    """What the drawing intends."""

    def variable(self, name: str) -> Variable:
        return next(one for one in self.variables if one.name == name)

    def function(self, name: str) -> Function:
        return next(one for one in self.functions if one.name == name)

    @property
    def expressions(self) -> list[Expression]:
        return [self.objective, *(row.expression for row in self.rows)]


def features(description: Description) -> set[str]:
    """What a program contains: linear, quadratic (in the objective), cone, integer."""
    found = {"linear"}
    for number, expression in enumerate(description.expressions):
        for atom in expression.atoms:
            if atom.kind in ("norm", "function_norm"):
                found.add("cone")
            if atom.kind in ("sum_squares", "quad_form", "function_norm_squared"):
                found.add("quadratic" if number == 0 else "cone")
    if any(one.integer for one in description.variables):
        found.add("integer")
    return found


def scaled(description: Description) -> Description:
    """Apply the scaling: the program as it is declared to milopt."""
    scaling = description.scaling
    variables = tuple(
        replace(one, lower=one.lower / scaling.columns[one.name], upper=one.upper / scaling.columns[one.name])
        if one.name in scaling.columns
        else one
        for one in description.variables
    )
    rows = tuple(
        replace(row, expression=_scaled(row.expression, scaling, scaling.rows.get(row.name, np.ones(1))))
        for row in description.rows
    )
    objective = _scaled(description.objective, scaling, np.array([scaling.objective]))
    return replace(description, variables=variables, rows=rows, objective=objective, scaling=Scaling())


def _scaled(expression: Expression, scaling: Scaling, rows: Array) -> Expression:
    atoms = tuple(
        replace(_scaled_atom(atom, scaling), multiplier=rows[:, None] * atom.multiplier) for atom in expression.atoms
    )
    return Expression(_scaled_affine(expression.affine, scaling, rows), atoms)


def _scaled_atom(atom: Atom, scaling: Scaling) -> Atom:
    if atom.argument is None:
        return atom
    if not atom.folds:
        return replace(atom, argument=_scaled_affine(atom.argument, scaling, np.ones(1)))
    assert atom.weight is not None
    columns = scaling.columns.get(atom.argument.terms[0].leaf, np.ones(1))
    weight = atom.weight * columns**2 if atom.weight.ndim == 1 else columns[:, None] * atom.weight * columns
    return replace(atom, weight=weight, root=None if atom.root is None else atom.root * columns)


def _scaled_affine(affine: Affine, scaling: Scaling, rows: Array) -> Affine:
    terms = []
    for term in affine.terms:
        columns = scaling.columns.get(term.leaf, np.ones(1))
        inner = None if term.inner is None else term.inner * columns
        matrix = rows[:, None] * (term.matrix * columns if inner is None else term.matrix)
        terms.append(replace(term, matrix=matrix, inner=inner))
    return Affine(rows * affine.constant, tuple(terms))
