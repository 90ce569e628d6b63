"""The bags over whose instances an expression has its entries."""

from __future__ import annotations

from milopt.declaration.bags.bags import Bags
from milopt.declaration.programs.expression import Expression
from milopt.errors import DeclarationError


def bags_of(expression: Expression, bags: Bags | None, atom: str) -> Bags:
    """Return the bags of an expression over instances, or those that are given; an error names the atom."""
    if not isinstance(expression, Expression):
        raise DeclarationError(f"{atom} takes an expression over instances, not {type(expression).__name__}.")
    over = bags if bags is not None else expression.bags
    if over is not None and not isinstance(over, Bags):
        raise DeclarationError(f"{atom} takes Bags as its second argument, not {type(over).__name__}; see as_bags.")
    if over is None:
        raise DeclarationError(
            f"{atom} needs an expression over instances, such as f(bags), or the bags as its second argument; with a "
            "kernel of bags f(bags) has one value per bag already, so take a kernel of instances."
        )
    if expression.ndim > 1:
        raise DeclarationError(f"{atom} takes a vector over instances, not shape {expression.shape}; take e[:, j].")
    if expression.size != over.offsets[-1]:
        hint = "; one value per bag is what a kernel of bags gives" if expression.size == len(over) else ""
        raise DeclarationError(f"{atom}: {expression.size} entries for {int(over.offsets[-1])} instances{hint}.")
    return over
