"""Write a program description as a convex cvxpy problem with fixed witnesses and integers, without any code of milopt.

A function without a dictionary is f = sum_j w_j phi_j over features phi_j of the points at which it is evaluated, with
||f|| = ||w||. The features are explicit for polynomial kernels, and the Cholesky factor of the Gram matrix of the
distinct points for Gaussian kernels. Over a dictionary, f = sum_z a_z K(z, .), and duplicate points share a feature.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, TypeAlias

import cvxpy as cp
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
from tests.fuzz.evaluate import FunctionExpansion, Point, aggregation, evaluation_points, gram

MaximumEntry: TypeAlias = tuple[int, int, int]
"""Entry of a bag_max: number of the expression (0 is the objective), number of the atom in it, number of the bag."""
Selection: TypeAlias = Mapping[MaximumEntry, int]
"""Instance that is the witness of each entry of a maximum."""
FixedValues: TypeAlias = Mapping[str, Array]
"""Values of the integer variables by name."""

MAX_CONDITION = 1e9
"""Largest condition number of a Gram matrix for which the reference is considered accurate."""


class IllConditionedError(Exception):
    """A Gram matrix is too ill-conditioned for the reference."""


def is_convex_entry(description: ProgramDescription, number: int, coefficient: float) -> bool:
    """Return True if a bag_max with this coefficient is on its convex side in the expression with this number."""
    if number == 0:
        return (coefficient < 0) == description.maximize
    return (coefficient > 0) == (description.rows[number - 1].sense == "<=")


def witness_entries(description: ProgramDescription) -> list[MaximumEntry]:
    """Return the entries of maxima that need a witness."""
    entries = []
    for number, expression in enumerate(description.expressions):
        for k, atom in enumerate(expression.atoms):
            if atom.kind == "bag_max":
                for bag, column in enumerate(atom.multiplier.T):
                    if any(c and not is_convex_entry(description, number, c) for c in column):
                        entries.append((number, k, bag))
    return entries


@dataclass
class _FunctionModel:
    """cvxpy model of a function: its values at points, its norm, and its kernel expansion."""

    kernel: KernelSpec
    points: Array
    features: Array
    w: Any
    expansion: Array
    """Matrix with coefficients over `points` = expansion @ w."""
    tail: Array | None = None
    """Matrix B with ||f|| = ||B w||; None for the identity."""

    def values(self, at: Array) -> Any:
        """Return the values of the function at points."""
        if self.tail is None:
            places = [int(np.flatnonzero((self.points == row).all(axis=1))[0]) for row in at]
            return self.features[places] @ self.w
        return (gram(self.kernel, at, self.points) @ self.expansion) @ self.w

    def norm_vector(self) -> Any:
        """Return a vector whose Euclidean norm is the norm of the function."""
        return self.w if self.tail is None else self.tail @ self.w

    def solution(self) -> FunctionExpansion:
        """Return the function that the solver found."""
        return FunctionExpansion(self.kernel, self.points, self.expansion @ _solution_value(self.w))


@dataclass
class CvxpyProblem:
    """Objective to be minimised, rows e <= 0 and equations e == 0, as cvxpy expressions."""

    objective: Any
    rows: list[Any] = field(default_factory=list)
    equations: list[Any] = field(default_factory=list)
    unknowns: list[Any] = field(default_factory=list)

    def constraints(self) -> list[Any]:
        """Return the cvxpy constraints."""
        return [*(e <= 0 for e in self.rows), *(e == 0 for e in self.equations)]


class CvxpyTranslator:
    """Translator of a program description to cvxpy, for given parameters, witnesses and integers."""

    def __init__(
        self,
        description: ProgramDescription,
        parameters: Parameters,
        selection: Selection | None = None,
        fixed: FixedValues | None = None,
    ) -> None:
        self.description = description
        self.parameters = parameters
        self.selection = selection or {}
        self.fixed = fixed or {}
        self.variables: dict[str, Any] = {}
        self.models: dict[str, _FunctionModel] = {}
        self.problem = CvxpyProblem(0.0)
        self._build()

    def point(self) -> Point:
        """Return the solution as values of the variables and functions."""
        variables = {}
        for variable in self.description.variables:
            name = variable.name
            if name in self.fixed:
                variables[name] = self.fixed[name]
            elif name.endswith(".coefficients"):
                variables[name] = self.models[name.removesuffix(".coefficients")].solution().coefficients
            else:
                variables[name] = _solution_value(self.variables[name])
        return Point(variables, {name: model.solution() for name, model in self.models.items()})

    def _build(self) -> None:
        """Add the models of functions, the variables with their bounds, the objective and the rows."""
        description, problem = self.description, self.problem
        for function in description.functions:
            self.models[function.name] = self._model(function)
        for variable in description.variables:
            name, lower, upper = variable.name, variable.lower, variable.upper
            if name.endswith(".coefficients"):
                model = self.models[name.removesuffix(".coefficients")]
                self.variables[name] = model.expansion @ model.w
            elif name in self.fixed:
                self.variables[name] = cp.Constant(self.fixed[name])
                continue
            else:
                self.variables[name] = cp.Variable(variable.size)
                problem.unknowns.append(self.variables[name])
            x = self.variables[name]
            low, high = np.flatnonzero(np.isfinite(lower)), np.flatnonzero(np.isfinite(upper))
            if low.size:
                problem.rows.append(lower[low] - x[low])
            if high.size:
                problem.rows.append(x[high] - upper[high])
        problem.unknowns += [model.w for model in self.models.values()]
        objective = self._expression(0, description.objective)[0]
        problem.objective = -objective if description.maximize else objective
        for number, row in enumerate(description.rows, start=1):
            e = self._expression(number, row.expression)
            (problem.equations if row.sense == "==" else problem.rows).append(-e if row.sense == ">=" else e)

    def _model(self, function: FunctionSpec) -> _FunctionModel:
        """Return the cvxpy model of a function."""
        evaluated = [evaluation_points(self.description, t) for t in terms(self.description) if t.leaf == function.name]
        if function.dictionary is None:
            rows = np.unique(np.vstack(evaluated), axis=0) if evaluated else np.zeros((1, 1))
            features = _features(function.kernel, rows)
            back = np.asarray(np.linalg.pinv(features).T, dtype=np.float64)
            return _FunctionModel(function.kernel, rows, features, cp.Variable(features.shape[1]), back)
        atoms = function.dictionary
        # Kernel columns at the evaluation points may be tiny, so the unknowns are scaled to give columns of size 1.
        kernel_values = gram(function.kernel, np.vstack([*evaluated, atoms]) if evaluated else atoms, atoms)
        size = np.ones(len(atoms))
        if evaluated and not _coefficients_matter(self.description, function.name):
            largest = np.abs(kernel_values[: -len(atoms)]).max(axis=0)
            size = np.where(largest > 0, 1.0 / np.maximum(largest, 1e-300), 1.0)
        distinct, which = np.unique(atoms, axis=0, return_inverse=True)
        merge_duplicates = np.zeros((len(distinct), len(atoms)))
        merge_duplicates[np.ravel(which), np.arange(len(atoms))] = 1.0
        tail = (
            _features(function.kernel, distinct).T @ merge_duplicates
            if _has_norm(self.description, function.name)
            else None
        )
        expansion = np.diag(size)
        tail = np.zeros((1, len(atoms))) if tail is None else tail @ expansion
        return _FunctionModel(function.kernel, atoms, kernel_values, cp.Variable(len(atoms)), expansion, tail)

    def _expression(self, number: int, expression: ExpressionSpec) -> Any:
        """Return the cvxpy expression with this number."""
        total = self._affine(expression.affine)
        for k, atom in enumerate(expression.atoms):
            if atom.kind == "bag_max":
                total = total + self._maxima(number, k, atom)
            elif atom.multiplier.any():
                total = total + atom.multiplier[:, 0] * self._scalar_atom(atom)
        return total if isinstance(total, cp.Expression) else cp.Constant(total)

    def _affine(self, affine: Affine) -> Any:
        """Return an affine cvxpy expression."""
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

    def _leaf(self, term: TermSpec) -> Any:
        """Return the variable, the parameter or the function values of a term."""
        if term.at is not None:
            return self.models[term.leaf].values(evaluation_points(self.description, term))
        return self.parameters[term.leaf] if term.leaf in self.parameters else self.variables[term.leaf]

    def _scalar_atom(self, atom: AtomSpec) -> Any:
        """Return a scalar atom as a cvxpy expression."""
        if atom.kind in ("function_norm", "function_norm_squared"):
            vector = self.models[atom.function].norm_vector()
            return cp.norm(vector) if atom.kind == "function_norm" else cp.sum_squares(vector)
        assert atom.argument is not None
        e = self._affine(atom.argument)
        if atom.kind == "quad_form":
            assert atom.root is not None
            return cp.sum_squares(atom.root @ e)
        return {"norm": cp.norm, "norm1": cp.norm1, "sum_squares": cp.sum_squares}[atom.kind](e)

    def _maxima(self, number: int, k: int, atom: AtomSpec) -> Any:
        """Return a weighted sum of bag maxima; a maximum that is not on its convex side is fixed at its witness."""
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


def _solution_value(unknown: Any) -> Array:
    """Return the value of an unknown after a solve; zero if the unknown occurs nowhere."""
    return np.zeros(unknown.size) if unknown.value is None else np.atleast_1d(np.asarray(unknown.value))


def terms(description: ProgramDescription) -> list[TermSpec]:
    """Return all terms of all expressions, including those inside atoms."""
    all_terms: list[TermSpec] = []
    for expression in description.expressions:
        all_terms += expression.affine.terms
        for atom in expression.atoms:
            all_terms += atom.argument.terms if atom.argument is not None else ()
    return all_terms


def _has_norm(description: ProgramDescription, function: str) -> bool:
    """Return True if the norm of the function occurs in the program."""
    return any(atom.function == function for e in description.expressions for atom in e.atoms)


def _coefficients_matter(description: ProgramDescription, function: str) -> bool:
    """Return True if the coefficients of the function or its norm occur in the program."""
    occurs = any(term.leaf == f"{function}.coefficients" for term in terms(description))
    return occurs or _has_norm(description, function)


def _features(kernel: KernelSpec, points: Array) -> Array:
    """Return L with L L' = K(points, points), exact for polynomial kernels, otherwise by Cholesky factorisation."""
    if kernel.kind == "linear":
        return points
    if kernel.kind == "polynomial":
        extended = np.hstack([points, np.full((len(points), 1), np.sqrt(kernel.s))])
        pairs = [(i, j) for i in range(extended.shape[1]) for j in range(i, extended.shape[1])]
        weight = [1.0 if i == j else np.sqrt(2.0) for i, j in pairs]
        return np.stack([w * extended[:, i] * extended[:, j] for w, (i, j) in zip(weight, pairs, strict=True)], axis=1)
    matrix = gram(kernel, points, points)
    if np.linalg.cond(matrix) > MAX_CONDITION:
        raise IllConditionedError(f"the Gram matrix of {len(points)} points is too ill-conditioned for the reference")
    return np.asarray(np.linalg.cholesky(matrix), dtype=np.float64)
