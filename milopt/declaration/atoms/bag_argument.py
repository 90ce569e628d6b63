"""Check the bags and the expression that are given to an atom over bags."""

from __future__ import annotations

from milopt.declaration.bags.bags import Bags
from milopt.declaration.programs.expression import Expression
from milopt.declaration.programs.leaves import Function
from milopt.errors import DeclarationError


def resolve_bags(expression: Expression, bags: Bags | None, atom: str) -> Bags:
    """Return `bags`, or the bags of the expression if `bags` is None.

    Raise `DeclarationError`, with the name `atom` in its message, if there are no bags, or if the expression is not a
    vector with one entry per instance of the bags.
    """
    if not isinstance(expression, Expression):
        raise _not_an_expression(expression, atom)
    over = bags if bags is not None else expression.bags
    if over is not None and not isinstance(over, Bags):
        raise DeclarationError(f"{atom} needs Bags as its second argument, not {type(over).__name__}; see as_bags.")
    if over is None:
        raise DeclarationError(
            f"{atom} needs an expression over instances, such as f(bags), or the bags as its second argument; with a "
            "kernel of bags f(bags) has one value per bag already, so use a kernel of instances."
        )
    if expression.ndim > 1:
        raise DeclarationError(f"{atom} needs a vector over instances, not shape {expression.shape}; use e[:, j].")
    if expression.size != over.offsets[-1]:
        hint = "; with a kernel of bags, f(bags) has one value per bag already" if expression.size == len(over) else ""
        raise DeclarationError(f"{atom}: {expression.size} entries for {int(over.offsets[-1])} instances{hint}.")
    return over


def _not_an_expression(given: object, atom: str) -> DeclarationError:
    """Return the error for an object that is not an expression."""
    hint = f": write {atom}({given.name}(bags))" if isinstance(given, Function) else ""
    return DeclarationError(f"{atom} needs an expression over instances, not {type(given).__name__}{hint}.")
