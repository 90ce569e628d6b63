"""Programs over atoms as trees, in numpy and nothing else; `kinds` gives the atoms their values.

An expression is constant + sum of matrix @ leaf + sum of matrix @ atom, and the parts of an atom are expressions.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[np.float64]
Point = Mapping[str, Array]
"""Values of variables, and for a function f the coordinates w with f(points) = L w and ||f|| = ||w||, by name."""


@dataclass(frozen=True)
class Variable:
    """A variable in a box."""

    name: str
    lower: Array
    upper: Array


@dataclass(frozen=True)
class Function:
    """A function of the space of exp(-s ||x - z||^2), evaluated at the instances of its bags."""

    name: str
    s: float
    instances: Array
    sizes: tuple[int, ...]

    @property
    def root(self) -> Array:
        """L with L L' = the kernel of the instances."""
        apart = self.instances[:, None, :] - self.instances[None, :, :]
        gram = np.exp(-self.s * np.sum(apart**2, axis=2))
        return np.asarray(np.linalg.cholesky(gram), dtype=np.float64)


@dataclass(frozen=True, eq=False)
class Node:
    """An atom with its parts; two occurrences of one object are one atom."""

    kind: str
    parts: tuple[Sum, ...]
    number: float = 1.0
    """M of huber, T of bag_log_sum_exp, k of sum_largest."""
    sizes: tuple[int, ...] = ()
    """Of bags or groups."""
    root: Array | None = None
    """R of the quadratic ||R e||^2; a vector for a diagonal weight."""
    function: str = ""


@dataclass(frozen=True, eq=False)
class Sum:
    """A vector expression."""

    constant: Array
    linear: tuple[tuple[str, Array], ...] = ()
    atoms: tuple[tuple[Array, Node], ...] = ()

    @property
    def size(self) -> int:
        """Number of entries."""
        return self.constant.size

    def times(self, factor: float) -> Sum:
        """Return the expression times a number."""
        return Sum(
            factor * self.constant,
            tuple((name, factor * matrix) for name, matrix in self.linear),
            tuple((factor * matrix, node) for matrix, node in self.atoms),
        )

    def plus(self, other: Sum) -> Sum:
        """Return the sum with another expression of the same size."""
        return Sum(self.constant + other.constant, self.linear + other.linear, self.atoms + other.atoms)

    def nodes(self) -> Iterator[Node]:
        """Yield all atoms, outer ones first."""
        for _, node in self.atoms:
            yield node
            for part in node.parts:
                yield from part.nodes()


@dataclass(frozen=True)
class Row:
    """Rows expression <= 0, or == 0."""

    name: str
    expression: Sum
    equality: bool = False
    turned: bool = False
    """Declare -expression >= 0 instead of expression <= 0."""


@dataclass(frozen=True)
class Description:
    """A program: minimise an objective over rows and boxes."""

    seed: int
    focus: str
    """The kind of atom for which the program was drawn."""
    variables: tuple[Variable, ...]
    functions: tuple[Function, ...]
    objective: Sum
    rows: tuple[Row, ...]
    near: Point
    """A point at which all rows hold strictly."""
    turned: bool = False
    """Declare the maximisation of -objective instead."""
    is_strict: bool = False
    """True if the objective contains ||x - a||^2 / 2 over all variables and functions: the optimum is unique."""

    @property
    def expressions(self) -> list[Sum]:
        """The objective, then the rows."""
        return [self.objective, *(row.expression for row in self.rows)]

    @property
    def kinds(self) -> set[str]:
        """The kinds of atoms in it."""
        return {node.kind for one in self.expressions for node in one.nodes()}

    def without_row(self, k: int) -> Description:
        """Return the program without one block of rows."""
        return replace(self, rows=self.rows[:k] + self.rows[k + 1 :])


def written(expression: Sum) -> str:
    """Return an expression as text, for messages."""
    parts = []
    if expression.constant.any() or not (expression.linear or expression.atoms):
        parts.append(str(expression.constant.tolist()))
    parts += [f"{matrix.tolist()} @ {name}" for name, matrix in expression.linear]
    for matrix, node in expression.atoms:
        more = f"; {node.number:g}" if node.number != 1.0 else ""
        more += f"; sizes {list(node.sizes)}" if node.sizes else ""
        more += f"; root {node.root.tolist()}" if node.root is not None else ""
        inside = node.function or ", ".join(map(written, node.parts))
        parts.append(f"{matrix.tolist()} @ {node.kind}({inside}{more})")
    return "(" + " + ".join(parts) + ")"


def shown(description: Description) -> str:
    """Return a program as text."""
    lines = [f"# seed {description.seed}, drawn for {description.focus}"]
    lines += [f"{v.name} in [{v.lower.tolist()}, {v.upper.tolist()}]" for v in description.variables]
    lines += [f"{f.name}: s = {f.s}, sizes {f.sizes}, instances {f.instances.tolist()}" for f in description.functions]
    lines.append(f"{'maximise -' if description.turned else 'minimise '}{written(description.objective)}")
    for row in description.rows:
        lines.append(f"{row.name}: {written(row.expression)} {'==' if row.equality else '<='} 0")
    return "\n".join(lines)
