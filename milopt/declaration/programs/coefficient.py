"""The matrix that multiplies a leaf in an expression: constant, plus products with parameters.

    M(p) = A + sum_k L_k diag(e_k(p)) R_k

with sparse A, L, R and e affine in parameters. Every operation of the algebra is a multiplication from the left, so a
parameter can change its value between solves without the expression being written again.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np
import scipy.sparse as sp

from milopt.arrays import Vector
from milopt.declaration.programs.sparse import added, csr, picked, scaled_rows
from milopt.errors import DeclarationError

if TYPE_CHECKING:
    from milopt.declaration.programs.expression import Expression, Leaf


@dataclass(frozen=True)
class Product:
    """L diag(e(p)) R, with e an expression in parameters only."""

    left: sp.csr_array
    scale: Expression
    right: sp.csr_array


@dataclass(frozen=True)
class Coefficient:
    """M(p); `matrix` is its constant part."""

    matrix: sp.csr_array
    products: tuple[Product, ...] = ()

    is_identity: bool = False
    is_negated: bool = False
    """Whether the term was subtracted, so that -M(p) is what the user wrote; only printed formulas depend on it."""

    @classmethod
    def identity(cls, size: int) -> Coefficient:
        """The coefficient of a leaf in itself."""
        return cls(identity_matrix(size), is_identity=True)

    def left(self, matrix: sp.csr_array) -> Coefficient:
        """matrix @ M(p)."""
        if self.is_identity:
            return Coefficient(matrix, is_negated=self.is_negated)
        products = tuple(Product(csr(matrix @ p.left), p.scale, p.right) for p in self.products)
        return Coefficient(csr(matrix @ self.matrix), products, is_negated=self.is_negated)

    def scaled(self, factors: Vector, negated: bool = False) -> Coefficient:
        """diag(factors) @ M(p); `negated` if the factors are one negative number, as in a subtraction."""
        products = tuple(Product(scaled_rows(p.left, factors), p.scale, p.right) for p in self.products)
        return Coefficient(scaled_rows(self.matrix, factors), products, is_negated=self.is_negated != negated)

    def plus(self, other: Coefficient) -> Coefficient:
        """M(p) + N(p)."""
        is_negated = self.is_negated and other.is_negated
        return Coefficient(added(self.matrix, other.matrix), self.products + other.products, is_negated=is_negated)

    def scaled_by(self, scale: Expression) -> Coefficient:
        """diag(e(p)) M: only a constant M may be scaled, so that M stays affine in the parameters."""
        if self.products:
            raise DeclarationError("A product of two parameters is not affine in them; declare their product as one.")
        rows, columns = self.matrix.shape
        products = (Product(identity_matrix(rows), scale, self.matrix),)
        return Coefficient(sp.csr_array((rows, columns)), products, is_negated=self.is_negated)

    def value(self, leaf_value: Callable[[Leaf], Vector] | None = None) -> sp.csr_array:
        """Return M at these values of parameters; at their current ones if None."""
        total = self.matrix
        for product in self.products:
            scale = product.scale.parameter_value() if leaf_value is None else product.scale.evaluated(leaf_value)
            total = added(total, csr(product.left @ scaled_rows(product.right, scale)))
        return total

    @cached_property
    def signs(self) -> sp.csr_array:
        """The sign of every entry that can be non-zero; an error where it depends on a parameter of unknown sign."""
        signed = self.matrix.copy()
        signed.eliminate_zeros()
        signed.data = np.sign(signed.data)
        if not self.products:
            return signed
        size = abs(signed)
        for product in self.products:
            sign = product.scale.parameter_sign()
            if np.isnan(sign).any():
                raise DeclarationError(
                    f"The side of an atom depends on the sign of {product.scale.describe()}; "
                    "declare the parameter with sign=+1 or sign=-1."
                )
            left, right = product.left.sign(), product.right.sign()
            signed = signed + left @ scaled_rows(right, sign)
            size = size + abs(left) @ scaled_rows(abs(right), abs(sign))
        if (abs(abs(signed) - size) > 0).nnz:
            raise DeclarationError("The side of an atom is not fixed: its coefficient adds parameters of both signs.")
        signed = csr(signed)
        signed.eliminate_zeros()
        signed.data = np.sign(signed.data)
        return signed


def identity_matrix(size: int) -> sp.csr_array:
    """The sparse identity."""
    return picked(np.arange(size), size)
