"""Euclidean norms: ||e|| of a whole expression, of runs of its entries, or of a function of a kernel's space."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from milopt.arrays import Vector
from milopt.declaration.atoms.absolute import norm_inf
from milopt.declaration.atoms.along_axis import runs_of
from milopt.declaration.atoms.atom import Notation, Radial
from milopt.declaration.atoms.membership import Membership, NewVariables, second_order
from milopt.declaration.atoms.norm1 import norm1
from milopt.declaration.atoms.segments import Segments
from milopt.declaration.programs.expression import Expression, Leaf, Operand, as_expression
from milopt.declaration.programs.leaves import Function
from milopt.errors import DeclarationError


class Norm(Radial):
    """||e|| of each run.

    Epigraph: (t, e) in the second-order cone.
    """

    word = "norm"
    cones = frozenset({"second-order"})

    def profile(self, r: Vector) -> Vector:
        """Return r."""
        return r

    def profile_slope(self, r: Vector) -> Vector:
        """Return 1."""
        return np.ones(r.size)

    def profile_conjugate(self, s: Vector) -> tuple[Vector, Vector]:
        """Return slopes of at most 1, where the conjugate is 0."""
        return np.minimum(s, 1.0), np.zeros(s.size)

    def epigraph(self, t: Leaf, e: Leaf, at: Segments, new: NewVariables) -> list[Membership]:
        """Return t >= ||e|| of each run."""
        return [second_order("cone", [t], None if self.function else e, at)]

    def latex(self, index: str, write: Notation) -> str:
        """Return the root of a sum of squares."""
        if self.function:
            return rf"\|{write.argument('')}\|"
        row = write.after(index)
        inner = write.argument(row)
        if not row:
            return rf"\left|{inner}\right|"
        return rf"\sqrt{{\sum_{{{self.latex_run(index, row)}}} \left({inner}\right)^2}}"


def norm(expression: Operand, ord: float | str | None = None, axis: int | None = None) -> Expression:
    """Return the norm of all entries, a scalar, or one norm per run of entries along an axis.

    Of a matrix, the norm of all entries is the Frobenius norm, not the spectral norm.

    Parameters
    ----------
    expression : Expression
        The argument e.
    ord : {2, 1, numpy.inf, "fro"}, optional
        2 for the Euclidean norm, the default; 1 for the sum and inf for the largest of the absolute values. For a
        matrix without an axis only "fro", as the others stand for norms of the linear map in numpy.
    axis : int, optional
        The axis along which norms are taken: 1 for the norm of each row of a matrix. All entries by default.
    """
    argument = as_expression(expression)
    is_map = axis is None and argument.ndim > 1 and ord not in (None, "fro")
    kind = {None: 2, "fro": 2, 2: 2, 1: 1, np.inf: np.inf}.get(ord)
    if kind is None or is_map or (ord == "fro" and axis is not None):
        raise DeclarationError(
            f"norm does not take ord={ord!r} for an expression of shape {argument.shape}: give 1, 2 or numpy.inf for a "
            "vector or along an axis; write norm1(e) and norm_inf(e) for all entries of a matrix."
        )
    if kind == 1:
        return norm1(argument, axis)
    if kind == np.inf:
        return norm_inf(argument, axis)
    return Norm(*runs_of(argument, axis, "norm"))


def function_norm(function: Function) -> Norm:
    """Return ||f|| in the kernel's space, a scalar."""
    return Norm(function, Segments([0]), ())


def group_norms(expression: Operand, sizes: npt.ArrayLike) -> Expression:
    """Return the Euclidean norms of consecutive groups of entries, one norm per group.

    Parameters
    ----------
    expression : Expression
        The entries, group after group.
    sizes : array of int
        Number of entries of each group; they add up to the number of entries.
    """
    argument, given = as_expression(expression), np.asarray(sizes)
    if given.ndim != 1 or given.dtype.kind not in "iu" or (given < 1).any() or given.sum() != argument.size:
        raise DeclarationError(
            f"group_norms needs positive sizes that add up to the {argument.size} entries of the expression, "
            f"not {sizes!r}."
        )
    return Norm(argument, Segments(given), (given.size,))
