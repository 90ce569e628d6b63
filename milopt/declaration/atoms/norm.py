"""Atom of Euclidean norms: of an expression, of groups of its entries, or of a function of a kernel's space."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from milopt.arrays import Vector
from milopt.declaration.atoms.absolute import norm_inf
from milopt.declaration.atoms.along_axis import runs_along_axis
from milopt.declaration.atoms.atom import Notation, RadialAtom
from milopt.declaration.atoms.membership import Membership, NewVariables, second_order
from milopt.declaration.atoms.norm1 import norm1
from milopt.declaration.atoms.segments import Segments
from milopt.declaration.programs.expression import Expression, Leaf, Operand, as_expression
from milopt.declaration.programs.leaves import Function
from milopt.declaration.programs.number_text import format_numbers
from milopt.errors import DeclarationError


class Norm(RadialAtom):
    """Euclidean norm ||e|| of each run.

    Epigraph: (t, e) in the second-order cone.
    """

    word = "norm"
    cones = frozenset({"second-order"})

    def profile(self, r: Vector) -> Vector:
        """Return r: the profile of the norm is the identity."""
        return r

    def profile_slope(self, r: Vector) -> Vector:
        """Return 1, the derivative of the identity."""
        return np.ones(r.size)

    def profile_conjugate(self, s: Vector) -> tuple[Vector, Vector]:
        """Return min(s, 1), and the conjugate 0."""
        return np.minimum(s, 1.0), np.zeros(s.size)

    def epigraph(self, t: Leaf, e: Leaf, runs: Segments, new: NewVariables) -> list[Membership]:
        """Return the constraint t >= ||e|| for each run."""
        return [second_order("cone", [t], None if self.function else e, runs)]

    def latex(self, index: str, write: Notation) -> str:
        """Return the LaTeX text of the root of a sum of squares."""
        if self.function:
            return rf"\|{write.argument('')}\|"
        row = write.next_index(index)
        inner = write.argument(row)
        if not row:
            return rf"\left|{inner}\right|"
        return rf"\sqrt{{\sum_{{{self.latex_run(index, row)}}} \left({inner}\right)^2}}"


class GroupNorms(Norm):
    """Euclidean norms of groups of consecutive entries."""

    word = "group_norms"

    def argument_texts(self) -> list[str]:
        """Return the texts of the expression and of the sizes of the groups."""
        return [self.argument.describe(), format_numbers(self.segments.sizes)]


def norm(expression: Operand, ord: float | str | None = None, axis: int | None = None) -> Expression:
    """Return the norm of all entries, or one norm per slice along an axis.

    The atom is convex. For a matrix, the norm of all entries is the Frobenius norm, not the spectral norm.

    Parameters
    ----------
    expression : Expression
        The argument e.
    ord : {2, 1, numpy.inf, "fro"}, default=None
        Order of the norm. 2 and None give the Euclidean norm, 1 the sum and ``numpy.inf`` the largest of the absolute
        values. For a matrix without `axis`, only None and "fro" are allowed, because in numpy the other values are
        operator norms.
    axis : int, default=None
        Axis along which the norm is taken; 1 gives one norm per row of a matrix. None uses all entries.

    Returns
    -------
    Expression
        Scalar expression, or an expression with the shape of e without `axis`.

    Raises
    ------
    DeclarationError
        If `ord` is not supported for an expression of this shape.

    Examples
    --------
    >>> import milopt
    >>> program = milopt.Program("projection")
    >>> x = program.variable("x", 2)
    >>> program.minimize(milopt.norm(x - [3.0, 4.0]))
    >>> program.subject_to(x <= 0)
    x <= 0  (2 rows)
    >>> result = milopt.solve(program)
    >>> print(f"{result.objective:.3f}")
    5.000
    """
    argument = as_expression(expression)
    is_operator_norm = axis is None and argument.ndim > 1 and ord not in (None, "fro")
    kind = {None: 2, "fro": 2, 2: 2, 1: 1, np.inf: np.inf}.get(ord)
    if kind is None or is_operator_norm or (ord == "fro" and axis is not None):
        raise DeclarationError(
            f"norm does not support ord={ord!r} for the shape {argument.shape}: give 1, 2 or numpy.inf for "
            "a vector or along an axis; write norm1(e) and norm_inf(e) for all entries of a matrix."
        )
    if kind == 1:
        return norm1(argument, axis)
    if kind == np.inf:
        return norm_inf(argument, axis)
    return Norm(*runs_along_axis(argument, axis, "norm"))


def function_norm(function: Function) -> Norm:
    """Return the norm ||f|| of a function in its kernel's space, a scalar."""
    return Norm(function, Segments([0]), ())


def group_norms(expression: Operand, sizes: npt.ArrayLike) -> Expression:
    """Return the Euclidean norm of each group of consecutive entries.

    Parameters
    ----------
    expression : Expression
        Entries of the first group, then those of the second group, and so on.
    sizes : array-like of int
        Number of entries of each group. The sizes must be positive and add up to the number of entries.

    Returns
    -------
    Expression
        Vector with one norm per group.

    Raises
    ------
    DeclarationError
        If the sizes are not positive integers that add up to the number of entries.

    Examples
    --------
    >>> import milopt
    >>> program = milopt.Program("group lasso")
    >>> x = program.variable("x", 3, lower=[3.0, 4.0, 1.0])
    >>> program.minimize(milopt.group_norms(x, [2, 1]).sum())
    >>> result = milopt.solve(program)
    >>> print(result.value(milopt.group_norms(x, [2, 1])).round(3))
    [5. 1.]
    """
    argument, group_sizes = as_expression(expression), np.asarray(sizes)
    if (
        group_sizes.ndim != 1
        or group_sizes.dtype.kind not in "iu"
        or (group_sizes < 1).any()
        or group_sizes.sum() != argument.size
    ):
        raise DeclarationError(
            f"group_norms needs positive sizes that add up to the {argument.size} entries of the expression, "
            f"not {sizes!r}."
        )
    return GroupNorms(argument, Segments(group_sizes), (group_sizes.size,))
