"""Values of expressions in numpy, from the numbers of a description alone."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from tests.fuzz.descriptions import Affine, Array, Atom, Description, Expression, Function, Kernel, Parameters, Term


def gram(kernel: Kernel, A: Array, B: Array) -> Array:
    """K(A, B)."""
    if kernel.kind == "rbf":
        return np.exp(-kernel.s * _squared_distances(A, B))
    products = A @ B.T
    return products if kernel.kind == "linear" else (products + kernel.s) ** 2


def _squared_distances(A: Array, B: Array) -> Array:
    return np.asarray(((A[:, None, :] - B[None, :, :]) ** 2).sum(axis=2))


def norm_squared(kernel: Kernel, points: Array, coefficients: Array) -> float:
    """||sum_i a_i K(x_i, .)||^2, without cancellation between near points of a Gaussian kernel.

    a'Ka = (sum a)^2 - a'(1 - K)a, and 1 - K = -expm1(-s d^2) is exact for near points.
    """
    if not coefficients.size:
        return 0.0
    a = coefficients.astype(np.longdouble)
    if kernel.kind == "rbf":
        apart = -np.expm1(-np.longdouble(kernel.s) * _squared_distances(points, points).astype(np.longdouble))
        return float(max(a.sum() ** 2 - a @ apart @ a, 0.0))
    if kernel.kind == "linear":
        return float(np.sum((points.T.astype(np.longdouble) @ a) ** 2))
    return float(a @ gram(kernel, points, points).astype(np.longdouble) @ a)


@dataclass(frozen=True)
class Expansion:
    """sum_i a_i K(x_i, .)."""

    kernel: Kernel
    points: Array
    coefficients: Array

    def __call__(self, at: Array) -> Array:
        if not self.coefficients.size:
            return np.zeros(len(at))
        return gram(self.kernel, at, self.points) @ self.coefficients

    def norm_squared(self) -> float:
        """The square of the norm, less what rounding of the kernel values to doubles may add to it."""
        rounding = 8 * np.finfo(float).eps * float(np.abs(self.coefficients).sum()) ** 2
        return max(norm_squared(self.kernel, self.points, self.coefficients) - rounding, 0.0)


def zero(function: Function) -> Expansion:
    """The zero function of the same space."""
    points = np.zeros((0, 1)) if function.dictionary is None else function.dictionary
    return Expansion(function.kernel, points, np.zeros(len(points)))


@dataclass(frozen=True)
class Point:
    """Values of the variables, and the functions."""

    variables: Mapping[str, Array]
    functions: Mapping[str, Expansion]


@dataclass(frozen=True)
class Value:
    """Entries of an expression, and the sums of the absolute values of the numbers that are added up in them."""

    entries: Array
    sizes: Array


class Evaluator:
    """Evaluates the expressions of one description at one point."""

    def __init__(self, description: Description, parameters: Parameters, point: Point) -> None:
        self.description = description
        self.parameters = parameters
        self.point = point

    def objective(self) -> Value:
        return self.expression(self.description.objective)

    def expression(self, expression: Expression) -> Value:
        value = self.affine(expression.affine)
        entries, sizes = value.entries, value.sizes
        for atom in expression.atoms:
            inner = self.atom(atom)
            scale = self.parameters[atom.times] if atom.times else np.ones(1)
            entries = entries + atom.multiplier @ (scale * inner.entries)
            sizes = sizes + np.abs(atom.multiplier) @ np.abs(scale * inner.sizes)
        return Value(entries, sizes)

    def affine(self, affine: Affine) -> Value:
        entries, sizes = affine.constant.copy(), np.abs(affine.constant)
        for term in affine.terms:
            inner = self._inner(term)
            entries = entries + term.matrix @ inner.entries
            sizes = sizes + np.abs(term.matrix) @ inner.sizes
        return Value(entries, sizes)

    def atom(self, atom: Atom) -> Value:
        """The entries of an atom: one, or one per bag."""
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

    def _inner(self, term: Term) -> Value:
        """aggregate(inner @ (times * leaf))."""
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

    def _leaf(self, term: Term) -> Array:
        if term.at is not None:
            return self.point.functions[term.leaf](points_of(self.description, term))
        if term.leaf in self.parameters:
            return np.asarray(self.parameters[term.leaf])
        return np.atleast_1d(self.point.variables[term.leaf])


def points_of(description: Description, term: Term) -> Array:
    """The points at which a term evaluates its function."""
    return description.bags[term.at].instances if isinstance(term.at, int) else np.asarray(term.at)


def aggregation(description: Description, term: Term) -> Array:
    """The matrix of bag_sum or bag_mean: one row per bag."""
    over = description.bags[term.bags]
    matrix = np.zeros((len(over.spans), len(over.instances)))
    for i, (first, last) in enumerate(over.spans):
        matrix[i, first:last] = 1.0 if term.aggregate == "bag_sum" else 1.0 / (last - first)
    return matrix


def violations(description: Description, parameters: Parameters, point: Point) -> dict[str, tuple[Array, Array]]:
    """By block: the violation of each row, and the sizes of the numbers that cancel in it; bounds are blocks too."""
    evaluator, found = Evaluator(description, parameters, point), {}
    for row in description.rows:
        value = evaluator.expression(row.expression)
        wrong = {
            ">=": np.maximum(-value.entries, 0.0),
            "<=": np.maximum(value.entries, 0.0),
            "==": np.abs(value.entries),
        }[row.sense]
        found[row.name] = (wrong, value.sizes)
    for variable in description.variables:
        x = np.atleast_1d(point.variables[variable.name])
        outside = np.maximum(np.maximum(variable.lower - x, x - variable.upper), 0.0)
        if variable.integer:
            outside = np.maximum(outside, np.abs(x - np.round(x)))
        found[f"bounds of {variable.name}"] = (outside, np.abs(x))
    return found
