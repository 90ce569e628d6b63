"""Coefficient of a leaf in an expression: a matrix that is affine in the parameters.

    M(p) = A + sum_k L_k diag(e_k(p)) R_k

with sparse matrices A, L_k and R_k, and expressions e_k that are affine in the parameters. All operations on
expressions multiply M from the left, so the parameters stay symbolic: they can change between solves, and the
expression need not be rebuilt.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np
import scipy.sparse as sp

from milopt.arrays import Vector
from milopt.declaration.programs.sparse import add, as_csr, scale_rows, selection_matrix
from milopt.errors import DeclarationError

if TYPE_CHECKING:
    from milopt.declaration.programs.expression import Expression, Leaf


@dataclass(frozen=True)
class Product:
    """Term L diag(e(p)) R of a coefficient, with an expression e in parameters only."""

    left: sp.csr_array
    scale: Expression
    right: sp.csr_array


@dataclass(frozen=True)
class Coefficient:
    """Coefficient M(p) of a leaf; `matrix` is its constant part A."""

    matrix: sp.csr_array
    products: tuple[Product, ...] = ()

    is_identity: bool = False
    """Whether M is the identity."""
    is_negated: bool = False
    """Whether the term was subtracted, so that the user wrote -M(p); only printed formulas depend on it."""

    @classmethod
    def identity(cls, size: int) -> Coefficient:
        """Return the coefficient of a leaf in itself, the identity."""
        return cls(identity_matrix(size), is_identity=True)

    def premultiply(self, matrix: sp.csr_array) -> Coefficient:
        """Return matrix @ M(p)."""
        if self.is_identity:
            return Coefficient(matrix, is_negated=self.is_negated)
        products = tuple(Product(as_csr(matrix @ p.left), p.scale, p.right) for p in self.products)
        return Coefficient(as_csr(matrix @ self.matrix), products, is_negated=self.is_negated)

    def scale_rows(self, factors: Vector, negated: bool = False) -> Coefficient:
        """Return diag(factors) @ M(p); `negated` states that all factors are the same negative number."""
        products = tuple(Product(scale_rows(p.left, factors), p.scale, p.right) for p in self.products)
        return Coefficient(scale_rows(self.matrix, factors), products, is_negated=self.is_negated != negated)

    def add(self, other: Coefficient) -> Coefficient:
        """Return M(p) + N(p), with N the coefficient `other`."""
        is_negated = self.is_negated and other.is_negated
        return Coefficient(add(self.matrix, other.matrix), self.products + other.products, is_negated=is_negated)

    def scale_by_parameters(self, scale: Expression) -> Coefficient:
        """Return diag(e(p)) M, with `scale` the expression e in parameters only.

        M must be constant, so that the product is affine in the parameters; otherwise `DeclarationError` is raised.
        """
        if self.products:
            raise DeclarationError("A product of two parameters is not affine; declare their product as one parameter.")
        rows, columns = self.matrix.shape
        products = (Product(identity_matrix(rows), scale, self.matrix),)
        return Coefficient(sp.csr_array((rows, columns)), products, is_negated=self.is_negated)

    def value(self, leaf_value: Callable[[Leaf], Vector] | None = None) -> sp.csr_array:
        """Return the matrix M(p) at the parameter values `leaf_value(parameter)`, by default at the current values."""
        total = self.matrix
        for product in self.products:
            scale = product.scale.parameter_value() if leaf_value is None else product.scale.evaluate(leaf_value)
            total = add(total, as_csr(product.left @ scale_rows(product.right, scale)))
        return total

    @cached_property
    def signs(self) -> sp.csr_array:
        """Signs of all entries that can be non-zero, as a sparse matrix.

        `DeclarationError` is raised if a sign depends on a parameter of unknown sign, or on terms of both signs.
        """
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
                    f"Convexity depends on the sign of {product.scale.describe()}; "
                    "declare the parameter with sign=+1 or sign=-1."
                )
            left, right = product.left.sign(), product.right.sign()
            signed = signed + left @ scale_rows(right, sign)
            size = size + abs(left) @ scale_rows(abs(right), abs(sign))
        if (abs(abs(signed) - size) > 0).nnz:
            raise DeclarationError(
                "Convexity is not determined: the coefficient of an atom adds parameters of both signs."
            )
        signed = as_csr(signed)
        signed.eliminate_zeros()
        signed.data = np.sign(signed.data)
        return signed


def identity_matrix(size: int) -> sp.csr_array:
    """Return the sparse identity matrix."""
    return selection_matrix(np.arange(size), size)
