"""Names and numbers as LaTeX, within what MathJax and matplotlib's mathtext both understand."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np
import scipy.sparse as sp

GREEK = frozenset(
    (
        *("alpha", "beta", "gamma", "delta", "epsilon", "zeta", "eta", "theta", "iota", "kappa", "lambda", "mu", "nu"),
        *("xi", "pi", "rho", "sigma", "tau", "upsilon", "phi", "chi", "psi", "omega", "Gamma", "Delta", "Theta"),
        *("Lambda", "Xi", "Pi", "Sigma", "Upsilon", "Phi", "Psi", "Omega"),
    )
)
_ESCAPED = {
    "\\": r"\backslash ",
    "{": r"\{",
    "}": r"\}",
    "$": r"\$",
    "%": r"\%",
    "#": r"\#",
    "&": r"\&",
    "_": r"\_",
    "^": r"\wedge ",
    "~": r"\sim ",
    " ": r"\ ",
}


def symbol(name: str) -> str:
    """One letter as it is, a Greek letter as its command, a word upright."""
    if len(name) == 1 and name.isalpha():
        return name
    if name in GREEK:
        return f"\\{name}"
    return upright(name)


def upright(text: str) -> str:
    """Any text as an upright word of a formula."""
    return rf"\mathrm{{{''.join(_ESCAPED.get(character, character) for character in text)}}}"


def number(value: float) -> str:
    """A number: small fractions as such, powers of ten written out, six digits of the rest."""
    if value < 0:
        return f"-{number(-value)}"
    if value == float("inf"):
        return r"\infty"
    if value == int(value) and value < 1e6:
        return str(int(value))
    ratio = Fraction(value).limit_denominator(12)
    if ratio.numerator <= 12 and abs(float(ratio) - value) <= 1e-15 * value:
        return rf"\frac{{{ratio.numerator}}}{{{ratio.denominator}}}"
    text = f"{value:.6g}"
    if "e" not in text:
        return text
    mantissa, exponent = text.split("e")
    power = f"10^{{{int(exponent)}}}"
    return power if mantissa == "1" else rf"{mantissa} \cdot {power}"


def index_after(used: str) -> str:
    """The letter for an index inside a formula that uses `used` already."""
    letters = "ijklmn"
    return letters[letters.index(used) + 1] if used and used in letters[:-1] else letters[0]


class Symbols:
    """The vectors and matrices of one program that are printed as symbols: one symbol is one array, throughout.

    The opposite of a known array is printed as minus its symbol. Other arrays of one name are numbered from the second
    on, by primes or in the superscript.
    """

    def __init__(self) -> None:
        self._arrays: dict[tuple[str, str], list[Any]] = {}

    def named(self, letter: str, superscript: str, array: Any, is_negated: bool = False) -> tuple[str, float]:
        """Return the symbol of an array without its index, and 1 or -1 so that their product is the array.

        If `is_negated`, a new symbol stands for the opposite of the array, which is what the user wrote.
        """
        known = self._arrays.setdefault((letter, superscript), [])
        for place, held in enumerate(known):
            for sign in (1.0, -1.0):
                if _is_same(held, sign * array):
                    return spelled_symbol(letter, superscript, place), sign
        sign = -1.0 if is_negated else 1.0
        known.append(sign * array)
        return spelled_symbol(letter, superscript, len(known) - 1), sign

    def values(self) -> dict[str, Any]:
        """Return every array by its symbol."""
        return {
            spelled_symbol(letter, superscript, place): held
            for (letter, superscript), arrays in self._arrays.items()
            for place, held in enumerate(arrays)
        }


def spelled_symbol(letter: str, superscript: str, place: int) -> str:
    """Return the symbol of the array in this place among those of one name: y, y', ... or a^{x}, a^{x,2}, ..."""
    if not superscript:
        return letter + "'" * place
    return f"{letter}^{{{superscript}{f',{place + 1}' if place else ''}}}"


def _is_same(one: Any, other: Any) -> bool:
    if one.shape != other.shape or sp.issparse(one) != sp.issparse(other):
        return False
    return abs(one - other).count_nonzero() == 0 if sp.issparse(one) else np.array_equal(one, other)
