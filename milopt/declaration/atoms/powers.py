"""Powers e ** p of expressions, for the exponents p that have an atom."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import numpy as np

from milopt.declaration.atoms.inv_pos import inv_pos
from milopt.declaration.atoms.sqrt import sqrt
from milopt.declaration.atoms.sum_squares import square
from milopt.declaration.programs.expression import Expression
from milopt.errors import DeclarationError

ATOM_BY_EXPONENT: Mapping[float, Callable[[Expression], Expression]] = {
    2.0: square,
    0.5: sqrt,
    -1.0: inv_pos,
    1.0: lambda e: e,
}
"""Function that returns e ** p, for each supported exponent p."""


def power(expression: Expression, exponent: object) -> Expression:
    """Return e ** p, entry by entry, for p = 2, 0.5, -1 or 1; raise an error for any other exponent."""
    atom = ATOM_BY_EXPONENT.get(float(exponent)) if isinstance(exponent, (int, float, np.number)) else None
    if atom is None:
        raise DeclarationError(
            f"The power {exponent!r} of an expression has no atom; the exponents 2, 0.5, -1 and 1 have one."
        )
    return atom(expression)
