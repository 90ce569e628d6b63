"""A linear program with a row for every member of an infinite family, of which an oracle finds the violated ones.

    min  c'd   s.t.  d in a polytope (the master),   row(h): a constraint on d, for every column h of the family

A column h has an entry a bag. An oracle is a program whose parameters take the master's values (its prices) and whose
optimum is the most violated column. The multipliers w of the rows weigh the columns into an ensemble: a new bag's score
is  sum_t w_t h_t(bag) + offset.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeAlias

import numpy as np
import numpy.typing as npt

from milopt.arrays import Points, Vector
from milopt.declaration.bags.bags import Bags
from milopt.declaration.programs.ball import Ball
from milopt.declaration.programs.expression import Constraint, Expression
from milopt.declaration.programs.leaves import Function, Parameter, Variable
from milopt.declaration.programs.maximum import Maximum
from milopt.declaration.programs.problem import Problem
from milopt.declaration.programs.program import Program
from milopt.errors import DeclarationError

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from milopt.declaration.programs.views import Path
    from milopt.outcome.result import Result

Row: TypeAlias = Callable[[Vector], Constraint]
Starts: TypeAlias = Callable[[Mapping[Parameter, Vector]], Iterable[Vector]]


@dataclass(frozen=True, eq=False)
class Family:
    """Rows of a master, one for every column: none yet, until an oracle finds them."""

    master: Program
    name: str
    row: Row

    def __call__(self, column: Vector) -> Constraint:
        """The row of one column, a scalar constraint."""
        constraint = self.row(column)
        if not isinstance(constraint, Constraint) or constraint.expression.shape:
            raise DeclarationError(f"The family {self.name!r} must give one comparison of scalars a column.")
        return constraint


@dataclass(frozen=True, eq=False)
class Oracle:
    """A program that finds the most violated column at given prices."""

    program: Program
    prices: Mapping[Parameter, Variable]
    """Which parameter takes the value of which of the master's variables."""
    column: Callable[[Bags], Expression]
    """The column at the oracle's solution, an entry for each of some bags."""
    instances: Callable[[Points], Expression] | None = None
    """What the column says of single instances, an entry each."""
    starts: Starts | None = None
    """Function values, one an instance, from whose maxima to start at some prices, best first; means without."""
    scheme: str = "ccp"
    """`ccp`, or `exact` for the global optimum with its bound, at each price."""
    ball: Ball | None = None
    """The class of functions whose bag maxima, or their negatives, are the columns, where such a class is searched."""
    maximum: Maximum | None = None
    """The column as a maximum over each bag, where it is one: what tables and pictures of the ensemble read."""

    def __post_init__(self) -> None:
        if self.scheme not in ("ccp", "exact"):
            raise DeclarationError(f"The scheme of an oracle is ccp or exact, not {self.scheme!r}.")
        known = self.program.parameters.values()
        for parameter, variable in self.prices.items():
            if not any(parameter is mine for mine in known):
                raise DeclarationError(f"{parameter.describe()} is no parameter of {self.program.name!r}.")
            if parameter.shape != variable.shape:
                raise DeclarationError(
                    f"{parameter.describe()} has shape {parameter.shape} and its price {variable.describe()} "
                    f"{variable.shape}."
                )


class SemiInfinite(Problem):
    """A master, a family of rows, and the oracles that price them; bags are those of the training columns."""

    bags: Bags

    def __init__(
        self,
        master: Program,
        family: Family,
        oracles: Oracle | Sequence[Oracle],
        bags: Bags,
        start: Mapping[Variable, npt.ArrayLike],
        offset: Callable[[Vector], float] | None = None,
        nu: float | None = None,
    ) -> None:
        """`start`: prices before there is any row; `offset`: what shifts every score, from the scores of these bags
        without it; `nu`: for a soft margin, the share of bags that may fall short of it.
        """
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
                    raise DeclarationError(f"The price {variable.describe()} is no variable of {master.name!r}.")
                if variable not in self.start or self.start[variable].shape != variable.shape:
                    raise DeclarationError(f"The price {variable.describe()} needs a start of shape {variable.shape}.")
            for parameter, variable in oracle.prices.items():
                parameter.value = self.start[variable]

    @property
    def name(self) -> str:
        """The master's."""
        return self.master.name

    @property
    def variables(self) -> dict[str, Variable]:
        """The master's."""
        return self.master.variables

    @property
    def functions(self) -> dict[str, Function]:
        """None: each column has functions of its own."""
        return {}

    @property
    def default_scheme(self) -> str:
        """Column generation."""
        return "column-generation"

    @property
    def core(self) -> Program:
        """The master."""
        return self.master

    @property
    def scores_bags(self) -> bool:
        """Always True: the ensemble of columns scores bags."""
        return True

    def bag_scores(self, result: Result, bags: Bags) -> Vector:
        """Return the score of each bag by the ensemble of a result."""
        return result.known_ensemble().score(self, bags)

    def instance_scores(self, result: Result, points: Points) -> Vector:
        """Return the score of each instance by the ensemble of a result."""
        return result.known_ensemble().instance_scores(self, points)

    @property
    def scores_instances(self) -> bool:
        """Whether single instances have a score of their own."""
        return all(oracle.instances is not None for oracle in self.oracles)

    @property
    def kind(self) -> str:
        """Always "semi-infinite"."""
        return "semi-infinite"

    def forget(self) -> None:
        """Take the family's rows out of the master again."""
        for name in [name for name in self.master.constraints if name.startswith(f"{self.family.name}[")]:
            del self.master.constraints[name]

    @property
    def parts(self) -> dict[str, Program]:
        """What can be looked at: the master as far as it has rows, and the oracles at their current prices."""
        several = len(self.oracles) > 1
        names = [f"oracle{k}" if several and k else "oracle" for k in range(len(self.oracles))]
        return {"master": self.master, **{n: o.program for n, o in zip(names, self.oracles, strict=True)}}

    # -- looking: both kinds of parts as text, the master as a file; `parts` has each of them ------------------------

    def summary(self) -> str:
        """The summaries of all parts."""
        return "\n\n".join(f"[{name}]\n{part.summary()}" for name, part in self.parts.items())

    def to_latex(self) -> str:
        """The mathematics of all parts."""
        return "\n".join(part.to_latex() for part in self.parts.values())

    def to_lp(self, path: Path | None = None) -> str:
        """The master with the rows that it has, as LP text, also written to `path` where one is given."""
        return self.master.to_lp(path)

    def to_mps(self, path: Path | None = None) -> str:
        """The master with the rows that it has, as free MPS text, also written to `path` where one is given."""
        return self.master.to_mps(path)

    def to_cbf(self, path: Path | None = None) -> str:
        """The master with the rows that it has, in Conic Benchmark Format, also written to `path` where given."""
        return self.master.to_cbf(path)

    def spy(self, target: Path | Axes) -> Axes:
        """Draw where the master has its numbers, into a file or into a matplotlib Axes."""
        return self.master.spy(target)

    def __str__(self) -> str:
        return self.summary()

    def __repr__(self) -> str:
        return f"SemiInfinite({self.master!r}, {self.family.name!r}, {len(self.oracles)} oracle(s))"
