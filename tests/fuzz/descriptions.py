"""Specs of programs as plain numbers, which one translator declares in milopt and another one in cvxpy.

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
class VariableSpec:
    """Block of variables; if `scalar`, a block of size 1 is declared without a shape."""

    name: str
    lower: Array
    upper: Array
    integer: bool = False
    scalar: bool = False

    @property
    def size(self) -> int:
        """Number of entries."""
        return int(self.lower.size)


@dataclass(frozen=True)
class KernelSpec:
    """Kernel: exp(-s |x - z|^2) ("rbf"), <x, z> ("linear"), or (<x, z> + s)^2 ("polynomial")."""

    kind: str
    s: float = 1.0


@dataclass(frozen=True, eq=False)
class FunctionSpec:
    """Function of a kernel's space, or over a dictionary if one is given."""

    name: str
    kernel: KernelSpec
    dictionary: Array | None = None


@dataclass(frozen=True, eq=False)
class BagSet:
    """Set of bags: instances, one per row, and the first row of each bag, followed by the number of rows."""

    instances: Array
    offsets: tuple[int, ...]

    @property
    def spans(self) -> list[tuple[int, int]]:
        """First row and end of each bag."""
        return list(zip(self.offsets[:-1], self.offsets[1:], strict=True))


@dataclass(frozen=True, eq=False)
class ParameterSpec:
    """Parameter of a session."""

    name: str
    size: int
    sign: int = 0


@dataclass(frozen=True, eq=False)
class TermSpec:
    """Term matrix @ aggregate(inner @ (times * leaf)) of an affine expression.

    `at` contains the points at which a function is evaluated: an array, or the number of a set of bags. `aggregate` is
    "", "bag_sum" or "bag_mean" over the set of bags with number `bags`. `times` is the name of a parameter of the size
    of the leaf, or "".
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
    """Affine vector expression: a constant plus a sum of terms."""

    constant: Array
    terms: tuple[TermSpec, ...] = ()

    @property
    def size(self) -> int:
        """Number of entries."""
        return int(self.constant.size)


@dataclass(frozen=True, eq=False)
class AtomSpec:
    """Weighted atom multiplier @ (times * atom). The atom is scalar, except a bag_max, which has one entry per bag.

    `weight` is the weight of a quad_form, a diagonal or a matrix. `root` is R with R'R = weight exactly, if the weight
    is positive semidefinite. If `folds`, the argument is a single variable; column scales are applied to the weight.
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
class ExpressionSpec:
    """Vector expression: an affine part plus weighted atoms."""

    affine: Affine
    atoms: tuple[AtomSpec, ...] = ()

    @property
    def size(self) -> int:
        """Number of entries."""
        return self.affine.size


@dataclass(frozen=True, eq=False)
class RowSpec:
    """Block of rows: expression >= 0, <= 0 or == 0."""

    name: str
    expression: ExpressionSpec
    sense: str


@dataclass(frozen=True, eq=False)
class ScalingSpec:
    """UnitScales, which are powers of two: per entry of each variable, per row of each block, and of the objective.

    The declared variable is x / columns. The optimal value is `objective` times that of the unscaled program.
    """

    columns: Mapping[str, Array] = field(default_factory=dict)
    rows: Mapping[str, Array] = field(default_factory=dict)
    objective: float = 1.0


@dataclass(frozen=True, eq=False)
class ProgramDescription:
    """Program whose numbers are of order one, with the scaling, the solvers and the options for milopt."""

    seed: int
    theme: str
    variables: tuple[VariableSpec, ...]
    objective: ExpressionSpec
    rows: tuple[RowSpec, ...] = ()
    maximize: bool = False
    functions: tuple[FunctionSpec, ...] = ()
    bags: tuple[BagSet, ...] = ()
    parameters: tuple[ParameterSpec, ...] = ()
    settings: tuple[Parameters, ...] = ({},)
    """Values of the parameters, one mapping per solve. A program with parameters is solved by a session."""
    scaling: ScalingSpec = field(default_factory=ScalingSpec)
    scheme: str | None = None
    lazy: bool | None = None
    form: str = "auto"
    convex: bool = True
    """Whether all quadratic terms are convex; maxima that need witnesses are not considered."""
    solvers: tuple[str, ...] = ()
    """Solvers that solve this program."""
    note: str = ""
    """Plan of the program, such as "infeasible"."""

    def variable(self, name: str) -> VariableSpec:
        """Return the variable with this name."""
        return next(variable for variable in self.variables if variable.name == name)

    def function(self, name: str) -> FunctionSpec:
        """Return the function with this name."""
        return next(function for function in self.functions if function.name == name)

    @property
    def expressions(self) -> list[ExpressionSpec]:
        """Objective, followed by the expressions of the rows."""
        return [self.objective, *(row.expression for row in self.rows)]


def features(description: ProgramDescription) -> set[str]:
    """Return the features of a program: "linear", "quadratic" (in the objective), "cone" and "integer"."""
    contained = {"linear"}
    for number, expression in enumerate(description.expressions):
        for atom in expression.atoms:
            if atom.kind in ("norm", "function_norm"):
                contained.add("cone")
            if atom.kind in ("sum_squares", "quad_form", "function_norm_squared"):
                contained.add("quadratic" if number == 0 else "cone")
    if any(variable.integer for variable in description.variables):
        contained.add("integer")
    return contained


def apply_scaling(description: ProgramDescription) -> ProgramDescription:
    """Return the program with its scaling applied, as it is declared in milopt."""
    scaling = description.scaling
    variables = tuple(
        replace(x, lower=x.lower / scaling.columns[x.name], upper=x.upper / scaling.columns[x.name])
        if x.name in scaling.columns
        else x
        for x in description.variables
    )
    rows = tuple(
        replace(row, expression=_scale_expression(row.expression, scaling, scaling.rows.get(row.name, np.ones(1))))
        for row in description.rows
    )
    objective = _scale_expression(description.objective, scaling, np.array([scaling.objective]))
    return replace(description, variables=variables, rows=rows, objective=objective, scaling=ScalingSpec())


def _scale_expression(expression: ExpressionSpec, scaling: ScalingSpec, rows: Array) -> ExpressionSpec:
    """Return an expression with scaled columns and rows."""
    atoms = tuple(
        replace(_scale_atom(atom, scaling), multiplier=rows[:, None] * atom.multiplier) for atom in expression.atoms
    )
    return ExpressionSpec(_scale_affine(expression.affine, scaling, rows), atoms)


def _scale_atom(atom: AtomSpec, scaling: ScalingSpec) -> AtomSpec:
    """Return an atom with scaled columns."""
    if atom.argument is None:
        return atom
    if not atom.folds:
        return replace(atom, argument=_scale_affine(atom.argument, scaling, np.ones(1)))
    assert atom.weight is not None
    columns = scaling.columns.get(atom.argument.terms[0].leaf, np.ones(1))
    weight = atom.weight * columns**2 if atom.weight.ndim == 1 else columns[:, None] * atom.weight * columns
    return replace(atom, weight=weight, root=None if atom.root is None else atom.root * columns)


def _scale_affine(affine: Affine, scaling: ScalingSpec, rows: Array) -> Affine:
    """Return an affine expression with scaled columns and rows."""
    terms = []
    for term in affine.terms:
        columns = scaling.columns.get(term.leaf, np.ones(1))
        inner = None if term.inner is None else term.inner * columns
        matrix = rows[:, None] * (term.matrix * columns if inner is None else term.matrix)
        terms.append(replace(term, matrix=matrix, inner=inner))
    return Affine(rows * affine.constant, tuple(terms))
