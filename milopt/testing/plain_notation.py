"""LaTeX notation for checks of `Atom.latex`, with fixed symbols in place of the arguments and parts of an atom."""

from __future__ import annotations

from milopt.arrays import Vector, Weight
from milopt.declaration.programs.expression import Expression


class PlainNotation:
    """Notation (see `milopt.declaration.atoms.atom.Notation`) that writes every argument as e with an index.

    Parameters
    ----------
    is_scalar : bool
        Whether the argument is a scalar, which has no index.
    """

    instance = "x"

    def __init__(self, is_scalar: bool) -> None:
        self.is_scalar = is_scalar

    def argument(self, index: str) -> str:
        """Return the LaTeX of e with an index, or of e alone if the index is empty."""
        return f"e_{{{index}}}" if index else "e"

    def bracketed(self, index: str) -> str:
        """Return `argument(index)`: e is a single symbol, which needs no brackets."""
        return self.argument(index)

    def part(self, expression: Expression, index: str) -> str:
        """Return the LaTeX of p with an index, in place of the expression."""
        return f"p_{{{index}}}" if index else "p"

    def matrix(self, values: Weight, letter: str, row: str, column: str) -> str:
        """Return the LaTeX of a letter with two indices, in place of a matrix entry."""
        return f"{letter}_{{{row}{column}}}"

    def next_index(self, index: str) -> str:
        """Return the letter after an index, starting with i; empty if the argument is a scalar."""
        if self.is_scalar:
            return ""
        return chr(ord(index) + 1) if index else "i"

    def number(self, value: float) -> str:
        """Return a number as text."""
        return f"{value:g}"

    def numbers(self, values: Vector, letter: str, index: str) -> str:
        """Return the LaTeX of a letter with an index, in place of the numbers."""
        return f"{letter}_{{{index}}}" if index else letter
