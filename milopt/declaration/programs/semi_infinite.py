"""Semi-infinite linear program: it has one row for every column of an infinite family; oracles find violated rows.

    min  c'd   s.t.  d in a polytope,   row(h) for every column h of the family

d are the variables, c is a constant vector, and row(h) is a linear constraint on d. The master is this program with the
rows found so far. A column h has one entry per bag. An oracle is a program whose parameters are the values of the
master's variables (the prices) and whose optimum is the most violated column. The multipliers w of the rows are the
weights of the columns in an ensemble: the score of a new bag is sum_t w_t h_t(bag) + offset.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeAlias

import numpy as np
import numpy.typing as npt

from milopt.arrays import Points, Vector
from milopt.declaration.bags.bags import Bags
from milopt.declaration.programs.ball import FunctionBall
from milopt.declaration.programs.column_maximum import BagMaximumColumn
from milopt.declaration.programs.expression import Constraint, Expression
from milopt.declaration.programs.leaves import Function, Parameter, Variable
from milopt.declaration.programs.problem import Problem
from milopt.declaration.programs.program import Program
from milopt.declaration.programs.views import semi_infinite_latex
from milopt.errors import DeclarationError
from milopt.html import Html, element, join

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from milopt.declaration.programs.views import Path
    from milopt.outcome.result import Result

RowFunction: TypeAlias = Callable[[Vector], Constraint]
"""Function from a column, a vector with one entry per bag, to its constraint."""
StartFunction: TypeAlias = Callable[[Mapping[Parameter, Vector]], Iterable[Vector]]
"""Function from prices (numbers by parameter of the oracle) to starting points, vectors of function values."""


@dataclass(frozen=True, eq=False)
class RowFamily:
    """Family of rows of a master, one for every column; oracles find the rows to add (see the module docstring)."""

    master: Program
    name: str
    row: RowFunction

    def __call__(self, column: Vector) -> Constraint:
        """Return the row of one column, a scalar constraint."""
        constraint = self.row(column)
        if not isinstance(constraint, Constraint) or constraint.expression.shape:
            raise DeclarationError(f"The family {self.name!r} must return one comparison of scalars per column.")
        return constraint


@dataclass(frozen=True, eq=False)
class Oracle:
    """Program that finds the most violated column at given prices (see the module docstring)."""

    program: Program
    prices: Mapping[Parameter, Variable]
    """For each parameter of the oracle, the variable of the master whose value it gets."""
    column: Callable[[Bags], Expression]
    """Function from bags to the column at the oracle's solution, one entry per bag."""
    instances: Callable[[Points], Expression] | None = None
    """Function from instances to the value of the column at each single instance; None if there are no such values."""
    starts: StartFunction | None = None
    """Function from prices to starting points, best first; each is a vector of function values, one per instance.

    None starts from the means of the bags.
    """
    scheme: str = "ccp"
    """Scheme that solves the oracle: "ccp" for a local optimum, or "exact" for the global optimum with its bound."""
    ball: FunctionBall | None = None
    """Class of functions whose bag maxima (or their negatives) are the columns; None if the class is not a ball."""
    maximum: BagMaximumColumn | None = None
    """The column as a maximum over each bag, for tables and plots of the ensemble; None if it has another form."""

    def __post_init__(self) -> None:
        if self.scheme not in ("ccp", "exact"):
            raise DeclarationError(f"The scheme of an oracle must be ccp or exact, not {self.scheme!r}.")
        known = self.program.parameters.values()
        for parameter, variable in self.prices.items():
            if not any(parameter is other for other in known):
                raise DeclarationError(f"{parameter.describe()} is not a parameter of {self.program.name!r}.")
            if parameter.shape != variable.shape:
                raise DeclarationError(
                    f"{parameter.describe()} has shape {parameter.shape} and its price {variable.describe()} "
                    f"{variable.shape}."
                )


class SemiInfinite(Problem):
    """Semi-infinite program: a master, a family of rows, and the oracles that find violated rows.

    Parameters
    ----------
    master : Program
        Program over the prices; rows of the family are added to it during the solve.
    family : RowFamily
        Family of rows, declared by `master.family`.
    oracles : Oracle or sequence of Oracle
        Oracles that find violated rows.
    bags : Bags
        Training bags of the columns.
    start : mapping of Variable to array-like
        Prices before the master has a row of the family.
    offset : callable, optional
        Function from the scores of the training bags, without an offset, to the constant that is added to every score.
    nu : float, optional
        For a soft margin: fraction of bags that may violate the margin.
    """

    bags: Bags

    def __init__(
        self,
        master: Program,
        family: RowFamily,
        oracles: Oracle | Sequence[Oracle],
        bags: Bags,
        start: Mapping[Variable, npt.ArrayLike],
        offset: Callable[[Vector], float] | None = None,
        nu: float | None = None,
    ) -> None:
        self.master = master
        self.family = family
        self.oracles = (oracles,) if isinstance(oracles, Oracle) else tuple(oracles)
        self.bags = bags
        self.start = {variable: np.asarray(values, dtype=float) for variable, values in start.items()}
        self.offset = offset
        self.nu = nu
        if family.master is not master:
            raise DeclarationError(f"The family {family.name!r} belongs to another master.")
        if not self.oracles:
            raise DeclarationError("A semi-infinite program needs at least one oracle.")
        for oracle in self.oracles:
            for variable in oracle.prices.values():
                if master.variables.get(variable.name) is not variable:
                    raise DeclarationError(f"The price {variable.describe()} is not a variable of {master.name!r}.")
                if variable not in self.start or self.start[variable].shape != variable.shape:
                    raise DeclarationError(f"The price {variable.describe()} needs a start of shape {variable.shape}.")
            for parameter, variable in oracle.prices.items():
                parameter.value = self.start[variable]

    @property
    def name(self) -> str:
        """Name of the master."""
        return self.master.name

    @property
    def variables(self) -> dict[str, Variable]:
        """Variables of the master."""
        return self.master.variables

    @property
    def functions(self) -> dict[str, Function]:
        """Functions of the master: none, because each column has its own functions."""
        return {}

    @property
    def default_scheme(self) -> str:
        """Name of the default scheme: column generation."""
        return "column-generation"

    @property
    def core(self) -> Program:
        """The master."""
        return self.master

    @property
    def scores_bags(self) -> bool:
        """Whether the problem scores bags: always True, by the ensemble of columns."""
        return True

    def bag_scores(self, result: Result, bags: Bags) -> Vector:
        """Return the score of each bag by the ensemble of a result."""
        return result.require_ensemble().score(self, bags)

    def instance_scores(self, result: Result, points: Points) -> Vector:
        """Return the score of each instance by the ensemble of a result."""
        return result.require_ensemble().instance_scores(self, points)

    @property
    def scores_instances(self) -> bool:
        """Whether the ensemble scores single instances: every oracle has `instances`."""
        return all(oracle.instances is not None for oracle in self.oracles)

    @property
    def kind(self) -> str:
        """Kind of the problem, always "semi-infinite"."""
        return "semi-infinite"

    def remove_rows(self) -> None:
        """Remove all rows of the family from the master."""
        for name in [name for name in self.master.constraints if name.startswith(f"{self.family.name}[")]:
            del self.master.constraints[name]

    @property
    def parts(self) -> dict[str, Program]:
        """The master with its current rows, and the programs of the oracles at their current prices, by name."""
        several = len(self.oracles) > 1
        names = [f"oracle{k}" if several and k else "oracle" for k in range(len(self.oracles))]
        return {"master": self.master, **{n: o.program for n, o in zip(names, self.oracles, strict=True)}}

    # -- display: all parts as text, the master as a file ------------------------------------------------------------

    def summary(self) -> str:
        """Return the summaries of all parts."""
        return "\n\n".join(f"[{name}]\n{part.summary()}" for name, part in self.parts.items())

    def to_latex(self) -> str:
        """Return the problem as LaTeX: the master with its family of rows, and the set of columns."""
        return semi_infinite_latex(self)

    def to_lp(self, path: Path | None = None) -> str:
        """Return the master with its current rows as LP text; also write it to `path` if given."""
        return self.master.to_lp(path)

    def to_mps(self, path: Path | None = None) -> str:
        """Return the master with its current rows as free MPS text; also write it to `path` if given."""
        return self.master.to_mps(path)

    def to_cbf(self, path: Path | None = None) -> str:
        """Return the master with its current rows in Conic Benchmark Format; also write it to `path` if given."""
        return self.master.to_cbf(path)

    def spy(self, target: Path | Axes | None = None) -> Figure:
        """Plot the sparsity pattern of the master: return the figure, and write it to a file or draw into axes."""
        return self.master.spy(target)

    def _repr_html_(self) -> str:
        """Return the formulas and summaries of all parts as the HTML text that Jupyter displays."""
        return join(join([element("h4", name), Html(part._repr_html_())]) for name, part in self.parts.items())

    def __str__(self) -> str:
        return self.summary()

    def __repr__(self) -> str:
        return f"SemiInfinite({self.master!r}, {self.family.name!r}, {len(self.oracles)} oracle(s))"
