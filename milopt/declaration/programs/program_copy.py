"""Copy of a program that can be changed without changing the original.

The copy has its own variables and parameters. It also accepts expressions in the variables and parameters of the
original program, and replaces them by those of the copy. So the caller can continue to use the objects of the original
program.
"""

from __future__ import annotations

from copy import copy
from typing import TypeVar

from milopt.declaration.atoms.atom import Atom, RadialAtom
from milopt.declaration.programs.coefficient import Coefficient, Product
from milopt.declaration.programs.expression import Constraint, Expression, Leaf
from milopt.declaration.programs.leaves import Function, FunctionEvaluation, Variable
from milopt.declaration.programs.program import NamesById, Program, assign_block_name, leaves
from milopt.declaration.programs.row_edits import without_terms_of, without_variable
from milopt.errors import DeclarationError

LeafT = TypeVar("LeafT", bound=Leaf)


class ProgramCopy(Program):
    """Copy of a program.

    Parameters
    ----------
    original : Program
        Program to copy; changes of the copy do not change the original.
    """

    def __init__(self, original: Program) -> None:
        super().__init__(original.name)
        self._leaves: dict[int, tuple[Leaf, Leaf]] = {}
        """Leaf of the copy (own leaf) for each leaf of the original, by the id of the original leaf.

        The original leaves are stored as well, so that their ids are not reused.
        """
        self._functions: dict[int, tuple[Function, Function]] = {}
        """Function of the copy for each function of the original, by the id of the original function."""
        self._handles: dict[int, tuple[str, object]] = {}
        """Name and object by the id of the object, for the objects of the original and of the copy."""
        for name, variable in original.variables.items():
            own = self.variables[name] = self._register_leaf(variable, _copy_leaf(variable))
            own.lower, own.upper = variable.lower.copy(), variable.upper.copy()
            self.register_names(name, variable, own)
        for own in self.variables.values():
            own.active = None if own.active is None else self.variables[own.active.name]
        for name, parameter in original.parameters.items():
            self.parameters[name] = self._register_leaf(parameter, _copy_leaf(parameter))
            self.register_names(name, parameter, self.parameters[name])
        for name, function in original.functions.items():
            self.functions[name] = self._translate_function(function)
            self.register_names(name, function, self.functions[name])
        for name, constraint in original.constraints.items():
            self.register_names(name, constraint, self.add_unchecked(constraint, name))
        self._set_objective(original.objective, original.maximizes)
        self.bag_score, self.instance_score = original.bag_score, original.instance_score
        self.start, self.remarks, self.labels = original.start, original.remarks, dict(original.labels)

    # -- names ---------------------------------------------------------------------------------------------------

    def names_by_id(self) -> NamesById:
        """Return the names of all declared objects by id, including the objects of the original program."""
        return dict(self._handles)

    def register_names(self, name: str, *objects: object) -> None:
        """Register objects for the variable, function or block `name`; objects registered before keep their name."""
        for handle in objects:
            self._handles.setdefault(id(handle), (name, handle))

    def unregister_names(self, name: str) -> None:
        """Remove all objects that are registered for the variable, function or block `name`."""
        self._handles = {key: handle for key, handle in self._handles.items() if handle[0] != name}

    def name_of(self, handle: object) -> str | None:
        """Return the name under which an object is registered; None if the object is not registered."""
        return self._handles.get(id(handle), (None, None))[0]

    def snapshot(self) -> ProgramCopy:
        """Return a copy of the current blocks and objective; variables and parameters are shared with this program.

        So later changes of bounds and of parameter values affect the snapshot, too.
        """
        snapshot = ProgramCopy.__new__(ProgramCopy)
        snapshot.__dict__.update(self.__dict__)  # several microseconds faster than `copy`
        for parts in ("variables", "functions", "parameters", "constraints", "_handles"):
            setattr(snapshot, parts, dict(getattr(self, parts)))
        return snapshot

    def replace(self, name: str, constraint: Constraint) -> None:
        """Replace a constraint block, even if a row without variables does not hold (like `add_unchecked`)."""
        self.block(name)
        self.constraints[name] = assign_block_name(self._check_constraint(constraint, name), name)

    def delete_variable(self, name: str) -> None:
        """Delete a variable and its terms in the objective and the constraints.

        `DeclarationError` is raised if the variable occurs inside an atom or has the coefficients of a function.
        """
        variable = self.variables[name]
        for function in self.functions.values():
            if function.dictionary is not None and function.coefficients is variable:
                raise DeclarationError(
                    f"{name!r} cannot be deleted: it has the coefficients of the function {function.name!r}."
                )
        inside = {f"constraint {block!r}": row.expression for block, row in self.constraints.items()}
        for where, expression in {"the objective": self.objective, **inside}.items():
            for leaf, _ in expression.terms:
                if isinstance(leaf, Atom) and leaf.function is None and _contains_variable(leaf.argument, variable):
                    raise DeclarationError(
                        f"Variable {name!r} cannot be deleted: it occurs inside {leaf.describe()} in {where}. Replace "
                        "or delete that first."
                    )
        for block, row in list(self.constraints.items()):
            if _contains_variable(row.expression, variable):
                self.replace(block, without_variable(self.written_constraint(block), variable))
        if _contains_variable(self.objective, variable):
            self._set_objective(without_terms_of(self.objective, variable), self.maximizes)
        del self.variables[name]

    # -- expressions of the original -----------------------------------------------------------------------------

    def as_own_expression(self, expression: Expression, where: str) -> Expression:
        """Return an expression, rewritten with the variables and parameters of the copy."""
        return super().as_own_expression(self._translate(expression), where)

    def as_own_constraint(self, constraint: Constraint, name: str | None) -> Constraint:
        """Return a constraint, rewritten with the variables and parameters of the copy, without adding it.

        `DeclarationError` is raised if the constraint is invalid or `name` is used already.
        """
        return self._check_new_block(constraint, name)[1]

    def written_constraint(self, name: str) -> Constraint:
        """Return the block `name`, with its comparison as written in the variables and parameters of the copy."""
        block = self.constraints[name]
        if block.compared is None:
            return block
        compared = tuple(part if isinstance(part, str) else self._translate(part) for part in block.compared)
        own = Constraint(block.expression, block.equality, compared, block.layout, block.shape)
        own.name = name
        return own

    def _translate(self, expression: Expression) -> Expression:
        """Return an expression with the leaves (such as variables) of the copy; the same object if it has them."""
        if isinstance(expression, Leaf):
            return self._translate_leaf(expression)
        terms = [(self._translate_leaf(leaf), self._translate_coefficient(factor)) for leaf, factor in expression.terms]
        pairs = zip(terms, expression.terms, strict=True)
        if all(own[0] is original[0] and own[1] is original[1] for own, original in pairs):
            return expression
        shape, constant, bags = expression.shape, expression.constant, expression.bags
        return Expression(shape, constant, terms, bags, expression.constant_is_negated)

    def _translate_coefficient(self, coefficient: Coefficient) -> Coefficient:
        """Return a coefficient in the parameters of the copy; the same object if nothing has to be replaced."""
        if not coefficient.products:
            return coefficient
        scales = [self._translate(product.scale) for product in coefficient.products]
        if all(own is product.scale for own, product in zip(scales, coefficient.products, strict=True)):
            return coefficient
        products = tuple(Product(p.left, own, p.right) for own, p in zip(scales, coefficient.products, strict=True))
        return Coefficient(coefficient.matrix, products, coefficient.is_identity, coefficient.is_negated)

    def _translate_leaf(self, leaf: Leaf) -> Leaf:
        """Return the leaf of the copy for a leaf of the original; a leaf of another program is returned unchanged.

        `DeclarationError` is raised for a variable that was deleted from the copy.
        """
        known = self._leaves.get(id(leaf))
        if known is not None:
            own = known[1]
            if isinstance(own, Variable) and self.variables.get(own.name) is not own:
                raise DeclarationError(f"Variable {own.name!r} was deleted from program {self.name!r}.")
            return own
        if isinstance(leaf, FunctionEvaluation):
            function = self._translate_function(leaf.function)
            if function is leaf.function:
                return leaf
            return self._register_leaf(leaf, FunctionEvaluation(function, leaf.points, leaf.bags))
        if isinstance(leaf, RadialAtom) and leaf.function is not None:
            function = self._translate_function(leaf.function)
            return leaf if function is leaf.function else self._register_leaf(leaf, leaf.with_function(function))
        if isinstance(leaf, Atom) and leaf.function is None:
            # All occurrences of an atom have the same copy, so that they share one column of the standard form.
            own_atom = leaf.with_argument(self._translate(leaf.argument))
            self._leaves[id(own_atom)] = own_atom, own_atom
            return self._register_leaf(leaf, own_atom)
        return leaf

    def _translate_function(self, function: Function) -> Function:
        """Return the function with its coefficients replaced by the variable of the copy.

        A function without a dictionary, or of another program, is returned unchanged.
        """
        if function.dictionary is None:
            return function
        known = self._functions.get(id(function))
        if known is not None:
            return known[1]
        coefficients = self._leaves.get(id(function.coefficients))
        if coefficients is None or not isinstance(coefficients[1], Variable):
            return function
        own = function.with_coefficients(coefficients[1])
        self._functions[id(function)] = function, own
        self._functions[id(own)] = own, own
        return own

    def _register_leaf(self, leaf: LeafT, own: LeafT) -> LeafT:
        """Register `own` as the leaf of the copy for `leaf`, a leaf of the original, and return `own`."""
        self._leaves[id(leaf)] = leaf, own
        return own


def _contains_variable(expression: Expression, variable: Variable) -> bool:
    """Return True if a variable occurs in an expression, also inside atoms."""
    return any(leaf is variable for leaf in leaves(expression))


def _copy_leaf(leaf: LeafT) -> LeafT:
    """Return a new variable or parameter with the attributes of another one."""
    own = copy(leaf)
    Leaf.__init__(own, leaf.shape, leaf.bags)
    return own
