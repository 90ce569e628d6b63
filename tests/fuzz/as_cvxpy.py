"""Write a description as a convex cvxpy problem, with witnesses and integers fixed; milopt takes no part in it.

A function without a dictionary is f = sum_j w_j phi_j over features of the points where it is evaluated, with
||f|| = ||w||: explicit features for polynomial kernels, the Cholesky factor of the Gram matrix of the distinct points
for Gaussian ones. Over a dictionary, f = sum_z a_z K(z, .), and duplicate atoms share a feature.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, TypeAlias

import cvxpy as cp
import numpy as np

from tests.fuzz.descriptions import Affine, Array, Atom, Description, Expression, Function, Kernel, Parameters, Term
from tests.fuzz.evaluate import Expansion, Point, aggregation, gram, points_of

Place: TypeAlias = tuple[int, int, int]
"""An entry of a maximum: number of the expression (0 is the objective), of the atom in it, and of the bag."""
Selection: TypeAlias = Mapping[Place, int]
Fixed: TypeAlias = Mapping[str, Array]

WORST_CONDITION = 1e9
"""Largest condition number of a Gram matrix with which the model is trusted."""


class IllConditionedError(Exception):
    """A Gram matrix is too ill-conditioned for the reference."""


def is_convex_entry(description: Description, number: int, coefficient: float) -> bool:
    """Whether a bag_max with this coefficient stands on its convex side in an expression."""
    if number == 0:
        return (coefficient < 0) == description.maximize
    return (coefficient > 0) == (description.rows[number - 1].sense == "<=")


def places(description: Description) -> list[Place]:
    """The entries of maxima that need a witness."""
    found = []
    for number, expression in enumerate(description.expressions):
        for k, atom in enumerate(expression.atoms):
            if atom.kind == "bag_max":
                for bag, column in enumerate(atom.multiplier.T):
                    if any(c and not is_convex_entry(description, number, c) for c in column):
                        found.append((number, k, bag))
    return found


@dataclass
class _Model:
    """A function as cvxpy sees it: values at points, its norm's vector, and the way back to an expansion."""

    kernel: Kernel
    points: Array
    features: Array
    w: Any
    expansion: Array
    """Coefficients over `points` are expansion @ w."""
    tail: Array | None = None
    """B with ||f|| = ||B w||; None for the identity."""

    def values(self, at: Array) -> Any:
        if self.tail is None:
            places = [int(np.flatnonzero((self.points == row).all(axis=1))[0]) for row in at]
            return self.features[places] @ self.w
        return (gram(self.kernel, at, self.points) @ self.expansion) @ self.w

    def norm_vector(self) -> Any:
        return self.w if self.tail is None else self.tail @ self.w

    def found(self) -> Expansion:
        return Expansion(self.kernel, self.points, self.expansion @ _solved(self.w))


@dataclass
class Problem:
    """Rows e <= 0 and e == 0 with an objective to be minimised."""

    objective: Any
    rows: list[Any] = field(default_factory=list)
    equations: list[Any] = field(default_factory=list)
    unknowns: list[Any] = field(default_factory=list)

    def constraints(self) -> list[Any]:
        return [*(e <= 0 for e in self.rows), *(e == 0 for e in self.equations)]


class Translator:
    """Builds the problem of one description with given parameters, witnesses and integers."""

    def __init__(
        self,
        description: Description,
        parameters: Parameters,
        selection: Selection | None = None,
        fixed: Fixed | None = None,
    ) -> None:
        self.description = description
        self.parameters = parameters
        self.selection = selection or {}
        self.fixed = fixed or {}
        self.variables: dict[str, Any] = {}
        self.models: dict[str, _Model] = {}
        self.problem = Problem(0.0)
        self._build()

    def point(self) -> Point:
        """The solution, as named values and functions."""
        variables = {}
        for one in self.description.variables:
            if one.name in self.fixed:
                variables[one.name] = self.fixed[one.name]
            elif one.name.endswith(".coefficients"):
                variables[one.name] = self.models[one.name.removesuffix(".coefficients")].found().coefficients
            else:
                variables[one.name] = _solved(self.variables[one.name])
        return Point(variables, {name: model.found() for name, model in self.models.items()})

    def _build(self) -> None:
        description, problem = self.description, self.problem
        for function in description.functions:
            self.models[function.name] = self._model(function)
        for one in description.variables:
            if one.name.endswith(".coefficients"):
                model = self.models[one.name.removesuffix(".coefficients")]
                self.variables[one.name] = model.expansion @ model.w
            elif one.name in self.fixed:
                self.variables[one.name] = cp.Constant(self.fixed[one.name])
                continue
            else:
                self.variables[one.name] = cp.Variable(one.size)
                problem.unknowns.append(self.variables[one.name])
            x = self.variables[one.name]
            low, high = np.flatnonzero(np.isfinite(one.lower)), np.flatnonzero(np.isfinite(one.upper))
            if low.size:
                problem.rows.append(one.lower[low] - x[low])
            if high.size:
                problem.rows.append(x[high] - one.upper[high])
        problem.unknowns += [model.w for model in self.models.values()]
        objective = self._expression(0, description.objective)[0]
        problem.objective = -objective if description.maximize else objective
        for number, row in enumerate(description.rows, start=1):
            e = self._expression(number, row.expression)
            (problem.equations if row.sense == "==" else problem.rows).append(-e if row.sense == ">=" else e)

    def _model(self, function: Function) -> _Model:
        touched = [points_of(self.description, t) for t in terms(self.description) if t.leaf == function.name]
        if function.dictionary is None:
            rows = np.unique(np.vstack(touched), axis=0) if touched else np.zeros((1, 1))
            features = _features(function.kernel, rows)
            back = np.asarray(np.linalg.pinv(features).T, dtype=np.float64)
            return _Model(function.kernel, rows, features, cp.Variable(features.shape[1]), back)
        atoms = function.dictionary
        # Columns of the kernel at the touched points may be tiny; the unknowns are scaled so that they are not.
        reach = gram(function.kernel, np.vstack([*touched, atoms]) if touched else atoms, atoms)
        size = np.ones(len(atoms))
        if touched and not _coefficients_matter(self.description, function.name):
            seen = np.abs(reach[: -len(atoms)]).max(axis=0)
            size = np.where(seen > 0, 1.0 / np.maximum(seen, 1e-300), 1.0)
        distinct, which = np.unique(atoms, axis=0, return_inverse=True)
        share = np.zeros((len(distinct), len(atoms)))
        share[np.ravel(which), np.arange(len(atoms))] = 1.0
        tail = _features(function.kernel, distinct).T @ share if _has_norm(self.description, function.name) else None
        expansion = np.diag(size)
        tail = np.zeros((1, len(atoms))) if tail is None else tail @ expansion
        return _Model(function.kernel, atoms, reach, cp.Variable(len(atoms)), expansion, tail)

    def _expression(self, number: int, expression: Expression) -> Any:
        total = self._affine(expression.affine)
        for k, atom in enumerate(expression.atoms):
            if atom.kind == "bag_max":
                total = total + self._maxima(number, k, atom)
            elif atom.multiplier.any():
                total = total + atom.multiplier[:, 0] * self._scalar_atom(atom)
        return total if isinstance(total, cp.Expression) else cp.Constant(total)

    def _affine(self, affine: Affine) -> Any:
        total: Any = affine.constant
        for term in affine.terms:
            leaf = self._leaf(term)
            if term.times:
                leaf = cp.multiply(self.parameters[term.times], leaf)
            if term.inner is not None:
                leaf = term.inner @ leaf
            if term.aggregate:
                leaf = aggregation(self.description, term) @ leaf
            total = total + term.matrix @ leaf
        return total

    def _leaf(self, term: Term) -> Any:
        if term.at is not None:
            return self.models[term.leaf].values(points_of(self.description, term))
        return self.parameters[term.leaf] if term.leaf in self.parameters else self.variables[term.leaf]

    def _scalar_atom(self, atom: Atom) -> Any:
        if atom.kind in ("function_norm", "function_norm_squared"):
            vector = self.models[atom.function].norm_vector()
            return cp.norm(vector) if atom.kind == "function_norm" else cp.sum_squares(vector)
        assert atom.argument is not None
        e = self._affine(atom.argument)
        if atom.kind == "quad_form":
            assert atom.root is not None
            return cp.sum_squares(atom.root @ e)
        return {"norm": cp.norm, "norm1": cp.norm1, "sum_squares": cp.sum_squares}[atom.kind](e)

    def _maxima(self, number: int, k: int, atom: Atom) -> Any:
        assert atom.argument is not None
        e, total = self._affine(atom.argument), 0.0
        scale = self.parameters[atom.times] if atom.times else np.ones(atom.multiplier.shape[1])
        for bag, (first, last) in enumerate(self.description.bags[atom.bags].spans):
            column = atom.multiplier[:, bag] * scale[bag]
            convex = np.array([is_convex_entry(self.description, number, c) for c in atom.multiplier[:, bag]])
            if (column * convex).any():
                total = total + (column * convex) * cp.max(e[first:last])
            if (column * ~convex).any():
                total = total + (column * ~convex) * e[self.selection[number, k, bag]]
        return total


def _solved(unknown: Any) -> Array:
    """The value that a solver left; zero for an unknown that occurs nowhere."""
    return np.zeros(unknown.size) if unknown.value is None else np.atleast_1d(np.asarray(unknown.value))


def terms(description: Description) -> list[Term]:
    """Every term of every expression, those inside atoms too."""
    found: list[Term] = []
    for expression in description.expressions:
        found += expression.affine.terms
        for atom in expression.atoms:
            found += atom.argument.terms if atom.argument is not None else ()
    return found


def _has_norm(description: Description, function: str) -> bool:
    return any(atom.function == function for e in description.expressions for atom in e.atoms)


def _coefficients_matter(description: Description, function: str) -> bool:
    named = any(term.leaf == f"{function}.coefficients" for term in terms(description))
    return named or _has_norm(description, function)


def _features(kernel: Kernel, points: Array) -> Array:
    """L with L L' = K of the points, exact or by Cholesky."""
    if kernel.kind == "linear":
        return points
    if kernel.kind == "polynomial":
        longer = np.hstack([points, np.full((len(points), 1), np.sqrt(kernel.s))])
        pairs = [(i, j) for i in range(longer.shape[1]) for j in range(i, longer.shape[1])]
        weight = [1.0 if i == j else np.sqrt(2.0) for i, j in pairs]
        return np.stack([w * longer[:, i] * longer[:, j] for w, (i, j) in zip(weight, pairs, strict=True)], axis=1)
    matrix = gram(kernel, points, points)
    if np.linalg.cond(matrix) > WORST_CONDITION:
        raise IllConditionedError(f"the Gram matrix of {len(points)} points is too ill-conditioned for the reference")
    return np.asarray(np.linalg.cholesky(matrix), dtype=np.float64)
