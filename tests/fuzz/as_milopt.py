"""Write a description in milopt's own language.

The translator is written against a `Language`: that of milopt itself, or one that records the same calls as the text of
a script (`as_script`).
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np

import milopt
from tests.fuzz.descriptions import Affine, Array, Atom, BagSet, Description, Expression, Function, Kernel, Term


class Language:
    """The calls of milopt that a translation makes."""

    def program(self) -> Any:
        return milopt.Program("fuzz")

    def as_bags(self, bags: BagSet) -> Any:
        return milopt.Bags(bags.instances, list(bags.offsets))

    def kernel(self, kernel: Kernel) -> Any:
        if kernel.kind == "rbf":
            return milopt.RBF(kernel.s)
        return milopt.Linear() if kernel.kind == "linear" else milopt.Polynomial(2, 1.0, kernel.s)

    def call(self, name: str, *arguments: Any) -> Any:
        return getattr(milopt, name)(*arguments)


@dataclass
class Translation:
    """A declared program and the objects in it, by name."""

    program: Any
    leaves: dict[str, Any] = field(default_factory=dict)
    bags: list[Any] = field(default_factory=list)


def declared(description: Description, language: Language | None = None) -> Translation:
    """Declare a description; its scaling must have been applied already (`descriptions.scaled`)."""
    return _Translator(description, language or Language()).declared()


class _Translator:
    def __init__(self, description: Description, language: Language) -> None:
        self.description = description
        self.language = language
        self.translation = Translation(language.program())

    def declared(self) -> Translation:
        description, program, leaves = self.description, self.translation.program, self.translation.leaves
        self.translation.bags = [self.language.as_bags(bags) for bags in description.bags]
        for one in description.variables:
            if one.name.endswith(".coefficients"):
                continue
            shape = () if one.scalar else one.size
            bounds: dict[str, Any] = {}
            if np.isfinite(one.lower).any():
                bounds["lower"] = _short(one.lower)
            if np.isfinite(one.upper).any():
                bounds["upper"] = _short(one.upper)
            if one.integer:
                bounds["integer"] = True
            leaves[one.name] = program.variable(one.name, shape, **bounds)
        for function in description.functions:
            self._declare_function(function)
        for parameter in description.parameters:
            leaves[parameter.name] = program.parameter(parameter.name, parameter.size, sign=parameter.sign)
            leaves[parameter.name].value = description.settings[0][parameter.name]
        objective = self._expression(description.objective, scalar=True)
        (program.maximize if description.maximize else program.minimize)(objective)
        for row in description.rows:
            e = self._expression(row.expression, scalar=row.expression.size == 1)
            # Rows of constants that are false stay: the program is then infeasible.
            program.keep({">=": e >= 0, "<=": e <= 0}[row.sense] if row.sense != "==" else e == 0, name=row.name)
        return self.translation

    def _declare_function(self, function: Function) -> None:
        kernel = self.language.kernel(function.kernel)
        more = () if function.dictionary is None else (function.dictionary,)
        declared = self.translation.program.function(function.name, kernel, *more)
        self.translation.leaves[function.name] = declared
        if function.dictionary is not None:
            self.translation.leaves[f"{function.name}.coefficients"] = declared.coefficients

    def _expression(self, expression: Expression, scalar: bool) -> Any:
        total = None
        for term in expression.affine.terms:
            total = _plus(total, self._term(term, scalar))
        for atom in expression.atoms:
            total = _plus(total, self._multiplied(atom, scalar))
        return self._with_constant(total, expression.affine, scalar)

    def _affine(self, affine: Affine) -> Any:
        total = None
        for term in affine.terms:
            total = _plus(total, self._term(term, scalar=False))
        return self._with_constant(total, affine, scalar=False)

    def _with_constant(self, total: Any, affine: Affine, scalar: bool) -> Any:
        """Add the constant; without any term it is a number, or an expression with a coefficient of zero."""
        constant = float(affine.constant[0]) if scalar else affine.constant
        if total is None:
            return constant
        return total + constant if affine.constant.any() else total

    def _term(self, term: Term, scalar: bool) -> Any:
        leaf = self.translation.leaves[term.leaf]
        if term.at is not None:
            leaf = leaf(self.translation.bags[term.at] if isinstance(term.at, int) else term.at)
        if term.times:
            leaf = self.translation.leaves[term.times] * leaf
        is_scalar = any(one.name == term.leaf and one.scalar for one in self.description.variables)
        if term.inner is not None:
            leaf = _times(term.inner, leaf, is_scalar, scalar=False)
            is_scalar = False
        if term.aggregate:
            leaf = self.language.call(term.aggregate, leaf, self.translation.bags[term.bags])
        return _times(term.matrix, leaf, is_scalar, scalar)

    def _multiplied(self, atom: Atom, scalar: bool) -> Any:
        if atom.kind == "bag_max":
            assert atom.argument is not None
            inner = self._affine(atom.argument)
            vector = self.language.call("bag_max", inner, self.translation.bags[atom.bags])
            if atom.times:
                vector = self.translation.leaves[atom.times] * vector
            return _times(atom.multiplier, vector, False, scalar)
        if atom.kind == "function_norm":
            value = self.translation.leaves[atom.function].norm()
        elif atom.kind == "function_norm_squared":
            value = self.translation.leaves[atom.function].norm_squared()
        else:
            assert atom.argument is not None
            weight = () if atom.kind != "quad_form" else (atom.weight,)
            value = self.language.call(atom.kind, self._affine(atom.argument), *weight)
        return _times(atom.multiplier, value, True, scalar)


def _plus(total: Any, more: Any) -> Any:
    return more if total is None else total + more


def _times(matrix: Array, expression: Any, is_scalar: bool, scalar: bool) -> Any:
    """matrix @ expression, for expressions and results without a shape too."""
    if is_scalar:
        return float(matrix[0, 0]) * expression if scalar else matrix[:, 0] * expression
    if scalar:
        return matrix[0] @ expression
    if matrix.shape[0] == matrix.shape[1] and (matrix == np.eye(len(matrix))).all():
        return expression
    return matrix @ expression


def _short(bound: Array) -> Any:
    """One number for a bound that is the same everywhere."""
    return float(bound[0]) if (bound == bound[0]).all() else bound
