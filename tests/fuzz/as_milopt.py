"""Declare a program description in milopt.

The translator calls milopt through a `Language`. Another language records the same calls as the text of a script
(`as_script`).
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np

import milopt
from tests.fuzz.descriptions import (
    Affine,
    Array,
    AtomSpec,
    BagSet,
    ExpressionSpec,
    FunctionSpec,
    KernelSpec,
    ProgramDescription,
    TermSpec,
)


class Language:
    """Functions of milopt that a translation calls."""

    def program(self) -> Any:
        """Return an empty program."""
        return milopt.Program("fuzz")

    def as_bags(self, bags: BagSet) -> Any:
        """Return bags."""
        return milopt.Bags(bags.instances, list(bags.offsets))

    def kernel(self, kernel: KernelSpec) -> Any:
        """Return a kernel."""
        if kernel.kind == "rbf":
            return milopt.RBF(kernel.s)
        return milopt.Linear() if kernel.kind == "linear" else milopt.Polynomial(2, 1.0, kernel.s)

    def call(self, name: str, *arguments: Any) -> Any:
        """Call the function of milopt with this name."""
        return getattr(milopt, name)(*arguments)


@dataclass
class Translation:
    """Declared program with its leaves by name and its bags."""

    program: Any
    leaves: dict[str, Any] = field(default_factory=dict)
    bags: list[Any] = field(default_factory=list)


def declare(description: ProgramDescription, language: Language | None = None) -> Translation:
    """Declare a program description whose scaling has been applied already (`descriptions.apply_scaling`)."""
    return _Translator(description, language or Language()).declare()


class _Translator:
    """Translator of a program description to milopt."""

    def __init__(self, description: ProgramDescription, language: Language) -> None:
        self.description = description
        self.language = language
        self.translation = Translation(language.program())

    def declare(self) -> Translation:
        """Declare variables, functions, parameters, the objective and the rows."""
        description, program, leaves = self.description, self.translation.program, self.translation.leaves
        self.translation.bags = [self.language.as_bags(bags) for bags in description.bags]
        for variable in description.variables:
            if variable.name.endswith(".coefficients"):
                continue
            shape = () if variable.scalar else variable.size
            bounds: dict[str, Any] = {}
            if np.isfinite(variable.lower).any():
                bounds["lower"] = _short(variable.lower)
            if np.isfinite(variable.upper).any():
                bounds["upper"] = _short(variable.upper)
            if variable.integer:
                bounds["integer"] = True
            leaves[variable.name] = program.variable(variable.name, shape, **bounds)
        for function in description.functions:
            self._declare_function(function)
        for parameter in description.parameters:
            leaves[parameter.name] = program.parameter(parameter.name, parameter.size, sign=parameter.sign)
            leaves[parameter.name].value = description.settings[0][parameter.name]
        objective = self._expression(description.objective, scalar=True)
        (program.maximize if description.maximize else program.minimize)(objective)
        for row in description.rows:
            e = self._expression(row.expression, scalar=row.expression.size == 1)
            # Constant rows that do not hold are added too; they make the program infeasible.
            program.add_unchecked(
                {">=": e >= 0, "<=": e <= 0}[row.sense] if row.sense != "==" else e == 0, name=row.name
            )
        return self.translation

    def _declare_function(self, function: FunctionSpec) -> None:
        """Declare a function, and its coefficients if it has a dictionary."""
        kernel = self.language.kernel(function.kernel)
        dictionary = () if function.dictionary is None else (function.dictionary,)
        leaf = self.translation.program.function(function.name, kernel, *dictionary)
        self.translation.leaves[function.name] = leaf
        if function.dictionary is not None:
            self.translation.leaves[f"{function.name}.coefficients"] = leaf.coefficients

    def _expression(self, expression: ExpressionSpec, scalar: bool) -> Any:
        """Return an expression, without a shape if `scalar`."""
        total = None
        for term in expression.affine.terms:
            total = _plus(total, self._term(term, scalar))
        for atom in expression.atoms:
            total = _plus(total, self._weighted_atom(atom, scalar))
        return self._with_constant(total, expression.affine, scalar)

    def _affine(self, affine: Affine) -> Any:
        """Return an affine vector expression."""
        total = None
        for term in affine.terms:
            total = _plus(total, self._term(term, scalar=False))
        return self._with_constant(total, affine, scalar=False)

    def _with_constant(self, total: Any, affine: Affine, scalar: bool) -> Any:
        """Return the sum of the terms and the constant; the constant alone if there are no terms."""
        constant = float(affine.constant[0]) if scalar else affine.constant
        if total is None:
            return constant
        return total + constant if affine.constant.any() else total

    def _term(self, term: TermSpec, scalar: bool) -> Any:
        """Return matrix @ aggregate(inner @ (times * leaf))."""
        leaf = self.translation.leaves[term.leaf]
        if term.at is not None:
            leaf = leaf(self.translation.bags[term.at] if isinstance(term.at, int) else term.at)
        if term.times:
            leaf = self.translation.leaves[term.times] * leaf
        is_scalar = any(variable.name == term.leaf and variable.scalar for variable in self.description.variables)
        if term.inner is not None:
            leaf = _times(term.inner, leaf, is_scalar, scalar=False)
            is_scalar = False
        if term.aggregate:
            leaf = self.language.call(term.aggregate, leaf, self.translation.bags[term.bags])
        return _times(term.matrix, leaf, is_scalar, scalar)

    def _weighted_atom(self, atom: AtomSpec, scalar: bool) -> Any:
        """Return multiplier @ (times * atom)."""
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


def _plus(total: Any, term: Any) -> Any:
    """Return total + term, where None stands for an empty sum."""
    return term if total is None else total + term


def _times(matrix: Array, expression: Any, is_scalar: bool, scalar: bool) -> Any:
    """Return matrix @ expression; the expression or the result may be without a shape."""
    if is_scalar:
        return float(matrix[0, 0]) * expression if scalar else matrix[:, 0] * expression
    if scalar:
        return matrix[0] @ expression
    if matrix.shape[0] == matrix.shape[1] and (matrix == np.eye(len(matrix))).all():
        return expression
    return matrix @ expression


def _short(bound: Array) -> Any:
    """Return a single number if all entries of a bound are equal, otherwise the bound."""
    return float(bound[0]) if (bound == bound[0]).all() else bound
