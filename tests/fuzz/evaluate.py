"""Evaluate the expressions of a program description in numpy."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from tests.fuzz.descriptions import (
    Affine,
    Array,
    AtomSpec,
    ExpressionSpec,
    FunctionSpec,
    KernelSpec,
    Parameters,
    ProgramDescription,
    TermSpec,
)


def gram(kernel: KernelSpec, A: Array, B: Array) -> Array:
    """Return the Gram matrix K(A, B)."""
    if kernel.kind == "rbf":
        return np.exp(-kernel.s * _squared_distances(A, B))
    products = A @ B.T
    return products if kernel.kind == "linear" else (products + kernel.s) ** 2


def _squared_distances(A: Array, B: Array) -> Array:
    """Return the squared distances between the rows of A and the rows of B."""
    return np.asarray(((A[:, None, :] - B[None, :, :]) ** 2).sum(axis=2))


def norm_squared(kernel: KernelSpec, points: Array, coefficients: Array) -> float:
    """Return ||sum_i a_i K(x_i, .)||^2, without cancellation between close points of a Gaussian kernel.

    a'Ka = (sum a)^2 - a'(1 - K)a, and 1 - K = -expm1(-s d^2) is accurate for close points.
    """
    if not coefficients.size:
        return 0.0
    a = coefficients.astype(np.longdouble)
    if kernel.kind == "rbf":
        one_minus_kernel = -np.expm1(
            -np.longdouble(kernel.s) * _squared_distances(points, points).astype(np.longdouble)
        )
        return float(max(a.sum() ** 2 - a @ one_minus_kernel @ a, 0.0))
    if kernel.kind == "linear":
        return float(np.sum((points.T.astype(np.longdouble) @ a) ** 2))
    return float(a @ gram(kernel, points, points).astype(np.longdouble) @ a)


@dataclass(frozen=True)
class FunctionExpansion:
    """Function sum_i a_i K(x_i, .)."""

    kernel: KernelSpec
    points: Array
    coefficients: Array

    def __call__(self, at: Array) -> Array:
        if not self.coefficients.size:
            return np.zeros(len(at))
        return gram(self.kernel, at, self.points) @ self.coefficients

    def norm_squared(self) -> float:
        """Return the squared norm, reduced by the largest possible rounding error of the kernel values."""
        rounding = 8 * np.finfo(float).eps * float(np.abs(self.coefficients).sum()) ** 2
        return max(norm_squared(self.kernel, self.points, self.coefficients) - rounding, 0.0)


def zero(function: FunctionSpec) -> FunctionExpansion:
    """Return the zero function of the same space."""
    points = np.zeros((0, 1)) if function.dictionary is None else function.dictionary
    return FunctionExpansion(function.kernel, points, np.zeros(len(points)))


@dataclass(frozen=True)
class Point:
    """Values of the variables and functions of a program."""

    variables: Mapping[str, Array]
    functions: Mapping[str, FunctionExpansion]


@dataclass(frozen=True)
class Value:
    """Entries of an expression, and for each entry the sum of the absolute values of its summands."""

    entries: Array
    sizes: Array


class DescriptionEvaluator:
    """Evaluator of the expressions of one program at one point."""

    def __init__(self, description: ProgramDescription, parameters: Parameters, point: Point) -> None:
        self.description = description
        self.parameters = parameters
        self.point = point

    def objective(self) -> Value:
        """Return the value of the objective."""
        return self.expression(self.description.objective)

    def expression(self, expression: ExpressionSpec) -> Value:
        """Return the value of an expression."""
        value = self.affine(expression.affine)
        entries, sizes = value.entries, value.sizes
        for atom in expression.atoms:
            inner = self.atom(atom)
            scale = self.parameters[atom.times] if atom.times else np.ones(1)
            entries = entries + atom.multiplier @ (scale * inner.entries)
            sizes = sizes + np.abs(atom.multiplier) @ np.abs(scale * inner.sizes)
        return Value(entries, sizes)

    def affine(self, affine: Affine) -> Value:
        """Return the value of an affine expression."""
        entries, sizes = affine.constant.copy(), np.abs(affine.constant)
        for term in affine.terms:
            inner = self._inner(term)
            entries = entries + term.matrix @ inner.entries
            sizes = sizes + np.abs(term.matrix) @ inner.sizes
        return Value(entries, sizes)

    def atom(self, atom: AtomSpec) -> Value:
        """Return the value of an atom without its multiplier: one entry, or one entry per bag."""
        if atom.kind in ("function_norm", "function_norm_squared"):
            square = self.point.functions[atom.function].norm_squared()
            value = np.array([np.sqrt(square) if atom.kind == "function_norm" else square])
            return Value(value, value)
        assert atom.argument is not None
        inner = self.affine(atom.argument)
        e, sizes = inner.entries, inner.sizes
        if atom.kind == "bag_max":
            spans = self.description.bags[atom.bags].spans
            return Value(np.array([e[a:b].max() for a, b in spans]), np.array([sizes[a:b].max() for a, b in spans]))
        if atom.kind == "norm":
            return Value(np.array([np.linalg.norm(e)]), np.array([np.linalg.norm(sizes)]))
        if atom.kind == "norm1":
            return Value(np.array([np.abs(e).sum()]), np.array([sizes.sum()]))
        if atom.kind == "sum_squares":
            return Value(np.array([e @ e]), np.array([sizes @ sizes]))
        assert atom.kind == "quad_form"
        assert atom.weight is not None
        if atom.root is not None:
            value = np.array([np.sum((atom.root @ e) ** 2)])
        else:
            value = np.array([e @ (atom.weight * e if atom.weight.ndim == 1 else atom.weight @ e)])
        weight = np.abs(np.diag(atom.weight) if atom.weight.ndim == 1 else atom.weight)
        return Value(value, np.array([sizes @ weight @ sizes]))

    def _inner(self, term: TermSpec) -> Value:
        """Return the value of aggregate(inner @ (times * leaf))."""
        entries = self._leaf(term)
        if term.times:
            entries = self.parameters[term.times] * entries
        sizes = np.abs(entries)
        if term.inner is not None:
            entries, sizes = term.inner @ entries, np.abs(term.inner) @ sizes
        if term.aggregate:
            matrix = aggregation(self.description, term)
            entries, sizes = matrix @ entries, matrix @ sizes
        return Value(entries, sizes)

    def _leaf(self, term: TermSpec) -> Array:
        """Return the value of the leaf of a term."""
        if term.at is not None:
            return self.point.functions[term.leaf](evaluation_points(self.description, term))
        if term.leaf in self.parameters:
            return np.asarray(self.parameters[term.leaf])
        return np.atleast_1d(self.point.variables[term.leaf])


def evaluation_points(description: ProgramDescription, term: TermSpec) -> Array:
    """Return the points at which a term evaluates its function."""
    return description.bags[term.at].instances if isinstance(term.at, int) else np.asarray(term.at)


def aggregation(description: ProgramDescription, term: TermSpec) -> Array:
    """Return the matrix of bag_sum or bag_mean, with one row per bag."""
    bag_set = description.bags[term.bags]
    matrix = np.zeros((len(bag_set.spans), len(bag_set.instances)))
    for i, (first, last) in enumerate(bag_set.spans):
        matrix[i, first:last] = 1.0 if term.aggregate == "bag_sum" else 1.0 / (last - first)
    return matrix


def violations(description: ProgramDescription, parameters: Parameters, point: Point) -> dict[str, tuple[Array, Array]]:
    """Return, for each block of rows or bounds, the violation of each row and the sum of the absolute summands."""
    evaluator, result = DescriptionEvaluator(description, parameters, point), {}
    for row in description.rows:
        value = evaluator.expression(row.expression)
        violation = {
            ">=": np.maximum(-value.entries, 0.0),
            "<=": np.maximum(value.entries, 0.0),
            "==": np.abs(value.entries),
        }[row.sense]
        result[row.name] = (violation, value.sizes)
    for variable in description.variables:
        x = np.atleast_1d(point.variables[variable.name])
        outside = np.maximum(np.maximum(variable.lower - x, x - variable.upper), 0.0)
        if variable.integer:
            outside = np.maximum(outside, np.abs(x - np.round(x)))
        result[f"bounds of {variable.name}"] = (outside, np.abs(x))
    return result
