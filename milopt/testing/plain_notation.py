"""A notation for checks: arguments and parts are symbols with an index."""

from __future__ import annotations

from milopt.arrays import Vector
from milopt.declaration.atoms.atom import Weight
from milopt.declaration.programs.expression import Expression


class PlainNotation:
    """Write every argument as e with an index.

    Parameters
    ----------
    is_scalar : bool
        Whether the argument is a scalar, which has no index.
    """

    instance = "x"

    def __init__(self, is_scalar: bool) -> None:
        self.is_scalar = is_scalar

    def argument(self, index: str) -> str:
        """Return e with an index."""
        return f"e_{{{index}}}" if index else "e"

    def bracketed(self, index: str) -> str:
        """Return e with an index."""
        return self.argument(index)

    def part(self, expression: Expression, index: str) -> str:
        """Return p with an index."""
        return f"p_{{{index}}}" if index else "p"

    def matrix(self, values: Weight, letter: str, row: str, column: str) -> str:
        """Return a letter with two indices."""
        return f"{letter}_{{{row}{column}}}"

    def after(self, index: str) -> str:
        """Return the letter after an index, from i on; empty if the argument is a scalar."""
        if self.is_scalar:
            return ""
        return chr(ord(index) + 1) if index else "i"

    def number(self, value: float) -> str:
        """Return a number as text."""
        return f"{value:g}"

    def numbers(self, values: Vector, letter: str, index: str) -> str:
        """Return a letter with an index."""
        return f"{letter}_{{{index}}}" if index else letter
