"""Programs over atoms as trees, independent of milopt and cvxpy; `kinds` defines the atoms.

An expression is constant + sum of matrix @ leaf + sum of matrix @ atom. The arguments (`parts`) of an atom are
expressions again.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[np.float64]
Point = Mapping[str, Array]
"""Values of variables by name; for a function f, the coordinates w with f(instances) = L w and ||f|| = ||w||."""


@dataclass(frozen=True)
class BoxVariable:
    """Variable with lower and upper bounds."""

    name: str
    lower: Array
    upper: Array


@dataclass(frozen=True)
class KernelFunction:
    """Function in the space of the kernel exp(-s ||x - z||^2), evaluated at the instances of bags of these sizes."""

    name: str
    s: float
    instances: Array
    sizes: tuple[int, ...]

    @property
    def root(self) -> Array:
        """Cholesky factor L of the Gram matrix of the instances."""
        differences = self.instances[:, None, :] - self.instances[None, :, :]
        gram = np.exp(-self.s * np.sum(differences**2, axis=2))
        return np.asarray(np.linalg.cholesky(gram), dtype=np.float64)


@dataclass(frozen=True, eq=False)
class TreeNode:
    """Atom with its arguments; if the same object occurs twice, it is one atom."""

    kind: str
    parts: tuple[Sum, ...]
    number: float = 1.0
    """M of huber, T of bag_log_sum_exp, k of sum_largest."""
    sizes: tuple[int, ...] = ()
    """Sizes of the bags or groups."""
    root: Array | None = None
    """Matrix R of the quadratic ||R e||^2; a vector stands for a diagonal matrix."""
    function: str = ""
    """Name of the function that is the argument; empty if the arguments are expressions."""


@dataclass(frozen=True, eq=False)
class Sum:
    """Vector expression constant + sum of matrix @ leaf + sum of matrix @ atom."""

    constant: Array
    linear: tuple[tuple[str, Array], ...] = ()
    atoms: tuple[tuple[Array, TreeNode], ...] = ()

    @property
    def size(self) -> int:
        """Number of entries."""
        return self.constant.size

    def times(self, factor: float) -> Sum:
        """Return the expression, multiplied by a number."""
        return Sum(
            factor * self.constant,
            tuple((name, factor * matrix) for name, matrix in self.linear),
            tuple((factor * matrix, node) for matrix, node in self.atoms),
        )

    def plus(self, other: Sum) -> Sum:
        """Return the sum with another expression of the same size."""
        return Sum(self.constant + other.constant, self.linear + other.linear, self.atoms + other.atoms)

    def nodes(self) -> Iterator[TreeNode]:
        """Yield all atoms, outer ones first."""
        for _, node in self.atoms:
            yield node
            for part in node.parts:
                yield from part.nodes()


@dataclass(frozen=True)
class TreeRow:
    """Block of rows expression <= 0, or expression == 0."""

    name: str
    expression: Sum
    equality: bool = False
    declare_negated: bool = False
    """Whether -expression >= 0 is declared in milopt instead of expression <= 0."""


@dataclass(frozen=True)
class TreeProgram:
    """Program that minimises an objective subject to rows and bounds."""

    seed: int
    focus: str
    """Kind of atom for which the program was drawn."""
    variables: tuple[BoxVariable, ...]
    functions: tuple[KernelFunction, ...]
    objective: Sum
    rows: tuple[TreeRow, ...]
    interior_point: Point
    """Point at which all inequality rows hold strictly."""
    declare_negated: bool = False
    """Whether the maximisation of -objective is declared in milopt instead."""
    is_strict: bool = False
    """Whether the objective contains ||x - a||^2 / 2 over all variables and functions. The optimum is then unique."""

    @property
    def expressions(self) -> list[Sum]:
        """Expressions of the objective and of the rows."""
        return [self.objective, *(row.expression for row in self.rows)]

    @property
    def kinds(self) -> set[str]:
        """Kinds of the atoms in the program."""
        return {node.kind for expression in self.expressions for node in expression.nodes()}

    def without_row(self, k: int) -> TreeProgram:
        """Return the program without one block of rows."""
        return replace(self, rows=self.rows[:k] + self.rows[k + 1 :])


def format_expression(expression: Sum) -> str:
    """Return an expression as text."""
    parts = []
    if expression.constant.any() or not (expression.linear or expression.atoms):
        parts.append(str(expression.constant.tolist()))
    parts += [f"{matrix.tolist()} @ {name}" for name, matrix in expression.linear]
    for matrix, node in expression.atoms:
        parameters = f"; {node.number:g}" if node.number != 1.0 else ""
        parameters += f"; sizes {list(node.sizes)}" if node.sizes else ""
        parameters += f"; root {node.root.tolist()}" if node.root is not None else ""
        arguments = node.function or ", ".join(map(format_expression, node.parts))
        parts.append(f"{matrix.tolist()} @ {node.kind}({arguments}{parameters})")
    return "(" + " + ".join(parts) + ")"


def format_program(description: TreeProgram) -> str:
    """Return a program as text."""
    lines = [f"# seed {description.seed}, drawn for {description.focus}"]
    lines += [f"{v.name} in [{v.lower.tolist()}, {v.upper.tolist()}]" for v in description.variables]
    lines += [f"{f.name}: s = {f.s}, sizes {f.sizes}, instances {f.instances.tolist()}" for f in description.functions]
    lines.append(
        f"{'maximise -' if description.declare_negated else 'minimise '}{format_expression(description.objective)}"
    )
    for row in description.rows:
        lines.append(f"{row.name}: {format_expression(row.expression)} {'==' if row.equality else '<='} 0")
    return "\n".join(lines)
