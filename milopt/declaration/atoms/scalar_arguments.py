"""Checks of the numbers and expressions that the functions of atoms take."""

from __future__ import annotations

from math import isfinite
from numbers import Integral, Real

from milopt.declaration.programs.expression import Expression, Operand, as_expression
from milopt.errors import DeclarationError


def positive_number(value: object, name: str, atom: str) -> float:
    """Return a positive finite number, or raise an error that names it and the atom."""
    if not isinstance(value, bool) and isinstance(value, Real) and isfinite(value) and float(value) > 0:
        return float(value)
    raise DeclarationError(f"{atom} needs a positive number {name}, not {value!r}.")


def positive_count(value: object, name: str, atom: str) -> int:
    """Return a positive whole number, or raise an error that names it and the atom."""
    if not isinstance(value, bool) and isinstance(value, Integral) and int(value) >= 1:
        return int(value)
    raise DeclarationError(f"{atom} needs a positive whole number {name}, not {value!r}.")


def with_entries(expression: Operand, atom: str) -> Expression:
    """Return an expression, or raise an error that names the atom if the expression has no entries."""
    argument = as_expression(expression)
    if not argument.size:
        raise DeclarationError(f"{atom} needs an expression with at least one entry; this expression has none.")
    return argument
