"""A copy of a program that changes while the original stays as it is.

The copy has variables and parameters of its own. It takes expressions in those of the original too, and puts its own in
their place, so that whoever declared the original goes on with the objects at hand.
"""

from __future__ import annotations

from copy import copy
from typing import TypeVar

from milopt.declaration.atoms.atom import Atom, Radial
from milopt.declaration.programs.coefficient import Coefficient, Product
from milopt.declaration.programs.expression import Constraint, Expression, Leaf
from milopt.declaration.programs.leaves import Evaluation, Function, Variable
from milopt.declaration.programs.program import Handles, Program, leaves, named_block
from milopt.declaration.programs.row_edits import without, without_variable
from milopt.errors import DeclarationError

L = TypeVar("L", bound=Leaf)


class ProgramCopy(Program):
    """A program with the declarations of another one.

    Parameters
    ----------
    original : Program
        The program to copy; nothing that happens to the copy changes it.
    """

    def __init__(self, original: Program) -> None:
        super().__init__(original.name)
        self._leaves: dict[int, tuple[Leaf, Leaf]] = {}
        """Own leaves by the ids of those that they stand for, which are kept alive."""
        self._functions: dict[int, tuple[Function, Function]] = {}
        self._handles: dict[int, tuple[str, object]] = {}
        for name, variable in original.variables.items():
            own = self.variables[name] = self._stands_for(variable, _fresh(variable))
            own.lower, own.upper = variable.lower.copy(), variable.upper.copy()
            self.remember(name, variable, own)
        for own in self.variables.values():
            own.active = None if own.active is None else self.variables[own.active.name]
        for name, parameter in original.parameters.items():
            self.parameters[name] = self._stands_for(parameter, _fresh(parameter))
            self.remember(name, parameter, self.parameters[name])
        for name, function in original.functions.items():
            self.functions[name] = self._own_function(function)
            self.remember(name, function, self.functions[name])
        for name, constraint in original.constraints.items():
            self.remember(name, constraint, self.keep(constraint, name))
        self._objective(original.objective, original.maximizes)
        self.bag_score, self.instance_score = original.bag_score, original.instance_score
        self.start, self.remarks, self.labels = original.start, original.remarks, dict(original.labels)

    # -- names ---------------------------------------------------------------------------------------------------

    def handles(self) -> Handles:
        """Return what stands for a part of this program now, by id, the declarations of the original included."""
        return dict(self._handles)

    def remember(self, name: str, *handles: object) -> None:
        """Let objects stand for what is declared under a name, unless they stand for something already."""
        for handle in handles:
            self._handles.setdefault(id(handle), (name, handle))

    def forget(self, name: str) -> None:
        """Let nothing stand for a name any more."""
        self._handles = {key: known for key, known in self._handles.items() if known[0] != name}

    def name_of(self, handle: object) -> str | None:
        """Return the name of what an object stands for; None if it is not known here."""
        return self._handles.get(id(handle), (None, None))[0]

    def snapshot(self) -> ProgramCopy:
        """Return this program as it is now; later changes of bounds and of parameters show in it too."""
        taken = ProgramCopy.__new__(ProgramCopy)
        taken.__dict__.update(self.__dict__)  # `copy` takes several microseconds longer.
        for parts in ("variables", "functions", "parameters", "constraints", "_handles"):
            setattr(taken, parts, dict(getattr(self, parts)))
        return taken

    def replace(self, name: str, constraint: Constraint) -> None:
        """Put another constraint in a block's place, even if a row without variables does not hold, as `keep` does."""
        self.block(name)
        self.constraints[name] = named_block(self._checked(constraint, name), name)

    def delete_variable(self, name: str) -> None:
        """Delete a variable, and its terms in the objective and in constraints."""
        variable = self.variables[name]
        for function in self.functions.values():
            if function.dictionary is not None and function.coefficients is variable:
                raise DeclarationError(f"{name!r} cannot be deleted: the function {function.name!r} consists of it.")
        inside = {f"constraint {block!r}": row.expression for block, row in self.constraints.items()}
        for where, expression in {"the objective": self.objective, **inside}.items():
            for leaf, _ in expression.terms:
                if isinstance(leaf, Atom) and leaf.function is None and _holds(leaf.argument, variable):
                    raise DeclarationError(
                        f"Variable {name!r} cannot be deleted: it stands inside {leaf.describe()} in {where}. Replace "
                        "or delete that first."
                    )
        for block, row in list(self.constraints.items()):
            if _holds(row.expression, variable):
                self.replace(block, without_variable(self.written(block), variable))
        if _holds(self.objective, variable):
            self._objective(without(self.objective, variable), self.maximizes)
        del self.variables[name]

    # -- expressions of the original -----------------------------------------------------------------------------

    def owned(self, expression: Expression, where: str) -> Expression:
        """Return an expression with own leaves in place of the original's."""
        return super().owned(self._own(expression), where)

    def owned_rows(self, constraint: Constraint, name: str | None) -> Constraint:
        """Return a constraint in own leaves; raise an error if it is not one, or its name is taken."""
        return self._new_block(constraint, name)[1]

    def written(self, name: str) -> Constraint:
        """Return a block as it was written, in own leaves: only printed, the comparison may have the original's."""
        block = self.constraints[name]
        if block.compared is None:
            return block
        compared = tuple(part if isinstance(part, str) else self._own(part) for part in block.compared)
        own = Constraint(block.expression, block.equality, compared, block.layout, block.shape)
        own.name = name
        return own

    def _own(self, expression: Expression) -> Expression:
        if isinstance(expression, Leaf):
            return self._own_leaf(expression)
        terms = [(self._own_leaf(leaf), self._own_coefficient(factor)) for leaf, factor in expression.terms]
        pairs = zip(terms, expression.terms, strict=True)
        if all(own[0] is its[0] and own[1] is its[1] for own, its in pairs):
            return expression
        shape, constant, bags = expression.shape, expression.constant, expression.bags
        return Expression(shape, constant, terms, bags, expression.constant_is_negated)

    def _own_coefficient(self, coefficient: Coefficient) -> Coefficient:
        if not coefficient.products:
            return coefficient
        scales = [self._own(product.scale) for product in coefficient.products]
        if all(own is product.scale for own, product in zip(scales, coefficient.products, strict=True)):
            return coefficient
        products = tuple(Product(p.left, own, p.right) for own, p in zip(scales, coefficient.products, strict=True))
        return Coefficient(coefficient.matrix, products, coefficient.is_identity, coefficient.is_negated)

    def _own_leaf(self, leaf: Leaf) -> Leaf:
        known = self._leaves.get(id(leaf))
        if known is not None:
            own = known[1]
            if isinstance(own, Variable) and self.variables.get(own.name) is not own:
                raise DeclarationError(f"Variable {own.name!r} was deleted from program {self.name!r}.")
            return own
        if isinstance(leaf, Evaluation):
            function = self._own_function(leaf.function)
            if function is leaf.function:
                return leaf
            return self._stands_for(leaf, Evaluation(function, leaf.points, leaf.bags))
        if isinstance(leaf, Radial) and leaf.function is not None:
            function = self._own_function(leaf.function)
            return leaf if function is leaf.function else self._stands_for(leaf, leaf.of_function(function))
        if isinstance(leaf, Atom) and leaf.function is None:
            # The copy of an atom is one object, wherever the atom occurs: it has one column.
            own_atom = leaf.of(self._own(leaf.argument))
            self._leaves[id(own_atom)] = own_atom, own_atom
            return self._stands_for(leaf, own_atom)
        return leaf

    def _own_function(self, function: Function) -> Function:
        """Return a function whose coefficients are an own variable; one without a dictionary never changes."""
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

    def _stands_for(self, leaf: L, own: L) -> L:
        self._leaves[id(leaf)] = leaf, own
        return own


def _holds(expression: Expression, variable: Variable) -> bool:
    """Return True if a variable occurs in an expression, inside atoms too."""
    return any(leaf is variable for leaf in leaves(expression))


def _fresh(leaf: L) -> L:
    """Return a variable or parameter with the attributes of another one, as a leaf of its own."""
    own = copy(leaf)
    Leaf.__init__(own, leaf.shape, leaf.bags)
    return own
