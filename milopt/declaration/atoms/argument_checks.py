"""Check the arguments of the functions that create atoms."""

from __future__ import annotations

from math import isfinite
from numbers import Integral, Real

from milopt.declaration.programs.expression import Expression, Operand, as_expression
from milopt.errors import DeclarationError


def check_positive_number(value: object, name: str, atom: str) -> float:
    """Return `value` as a float, or raise `DeclarationError` if it is not a positive finite number.

    The message contains `name`, the name of the parameter, and `atom`, the name of the atom.
    """
    if not isinstance(value, bool) and isinstance(value, Real) and isfinite(value) and float(value) > 0:
        return float(value)
    raise DeclarationError(f"{atom} needs a positive number {name}, not {value!r}.")


def check_positive_count(value: object, name: str, atom: str) -> int:
    """Return `value` as an int, or raise `DeclarationError` if it is not a positive integer.

    The message contains `name`, the name of the parameter, and `atom`, the name of the atom.
    """
    if not isinstance(value, bool) and isinstance(value, Integral) and int(value) >= 1:
        return int(value)
    raise DeclarationError(f"{atom} needs a positive integer {name}, not {value!r}.")


def check_not_empty(expression: Operand, atom: str) -> Expression:
    """Return the operand as an expression, or raise `DeclarationError`, with the name `atom`, if it has no entries."""
    argument = as_expression(expression)
    if not argument.size:
        raise DeclarationError(f"{atom} needs an expression with at least one entry; this expression has none.")
    return argument
