"""LaTeX of names and numbers, restricted to commands that both MathJax and matplotlib's mathtext support."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from fractions import Fraction
from typing import Any

import numpy as np
import scipy.sparse as sp

from milopt.arrays import Vector
from milopt.declaration.programs.named_constant import NamedConstant
from milopt.inspection.number_names import name_of_number

GREEK_NAMES = frozenset(
    (
        *("alpha", "beta", "gamma", "delta", "epsilon", "zeta", "eta", "theta", "iota", "kappa", "lambda", "mu", "nu"),
        *("xi", "pi", "rho", "sigma", "tau", "upsilon", "phi", "chi", "psi", "omega", "Gamma", "Delta", "Theta"),
        *("Lambda", "Xi", "Pi", "Sigma", "Upsilon", "Phi", "Psi", "Omega"),
    )
)
"""Names of Greek letters with a LaTeX command."""
_LATEX_OF_NAME = {"eps": r"\varepsilon", "slack": r"\xi"}
"""LaTeX of names that formulas write otherwise."""
_NAMES_IN_USE: ContextVar[frozenset[str]] = ContextVar("names_in_use", default=frozenset())
"""Names of the problem that is printed."""
_LATEX_OF_CHARACTER = {
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
"""LaTeX of each character that has a special meaning in LaTeX."""


def latex_name(name: str) -> str:
    """Return the LaTeX of a name: a letter unchanged, a Greek letter as its command, other names in upright type."""
    if len(name) == 1 and name.isalpha():
        return name
    if name in GREEK_NAMES:
        return f"\\{name}"
    latex = _LATEX_OF_NAME.get(name)
    # A slack is not called xi if another variable has this name.
    return upright_text(name) if latex is None or latex.lstrip("\\") in _NAMES_IN_USE.get() else latex


@contextmanager
def names_in_use(names: Iterable[str]) -> Iterator[None]:
    """State the names of variables, functions and parameters that are printed in the block."""
    token = _NAMES_IN_USE.set(frozenset(names))
    try:
        yield
    finally:
        _NAMES_IN_USE.reset(token)


def upright_text(text: str) -> str:
    """Return the LaTeX of a text in upright type, with special characters escaped."""
    return rf"\mathrm{{{''.join(_LATEX_OF_CHARACTER.get(character, character) for character in text)}}}"


def format_number(value: float) -> str:
    """Return the LaTeX of a number: an integer, a fraction of integers up to 12, or six digits with a power of ten."""
    if value < 0:
        return f"-{format_number(-value)}"
    if value == float("inf"):
        return r"\infty"
    name = name_of_number(value)
    if name is not None:
        return name
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
    """Return the index letter after `used` in i, j, ..., n; return i if `used` is n or not one of these letters."""
    letters = "ijklmn"
    return letters[letters.index(used) + 1] if used and used in letters[:-1] else letters[0]


class ArraySymbols:
    """Symbols of the vectors and matrices of one program; a symbol stands for the same array in the whole program.

    The negative of an array that has a symbol is printed as minus this symbol. Different arrays with the same letter
    and superscript get different primes, or different numbers in the superscript. Arrays that the program has named
    get these names.
    """

    def __init__(self, named: Mapping[str, NamedConstant] | None = None) -> None:
        self._arrays: dict[tuple[str, str], list[Any]] = {}
        self._named = dict(named or {})
        self.used_names: list[str] = []
        """Symbols of the named constants that were printed."""

    def symbol_of(self, letter: str, superscript: str, array: Any, is_negated: bool = False) -> tuple[str, float]:
        """Return (symbol, sign) of an array, such that the array is sign * symbol with sign 1 or -1.

        The symbol has no index. An array without a symbol gets a new one. If `is_negated`, the user wrote -array, so a
        new symbol represents -array, and the sign is -1.
        """
        for name, constant in self._named.items():
            for sign in (1.0, -1.0):
                if _is_same(constant.values, sign * _as_dense(array, constant.values.shape)):
                    self._use(name)
                    return name, sign
        known = self._arrays.setdefault((letter, superscript), [])
        for position, array_of_symbol in enumerate(known):
            for sign in (1.0, -1.0):
                if _is_same(array_of_symbol, sign * array):
                    return numbered_symbol(letter, superscript, position), sign
        sign = -1.0 if is_negated else 1.0
        known.append(sign * array)
        return numbered_symbol(letter, superscript, len(known) - 1), sign

    def named_rows(self, matrix: sp.csr_array) -> tuple[str, Vector] | None:
        """Return (symbol, signs) if a matrix is a named constant with its rows multiplied by signs +-1, else None."""
        for name, constant in self._named.items():
            values = constant.values
            if values.shape != matrix.shape:
                continue
            dense = matrix.toarray()
            first = (values != 0).argmax(axis=1)
            rows = np.arange(len(values))
            signs = np.where(dense[rows, first] * values[rows, first] < 0, -1.0, 1.0)
            if np.array_equal(signs[:, None] * values, dense):
                self._use(name)
                return name, signs
        return None

    def _use(self, name: str) -> None:
        """Remember that a named constant was printed."""
        if name not in self.used_names:
            self.used_names.append(name)

    def arrays_by_symbol(self) -> dict[str, Any]:
        """Return a dictionary from every symbol to the array that it stands for."""
        return {
            numbered_symbol(letter, superscript, position): array
            for (letter, superscript), arrays in self._arrays.items()
            for position, array in enumerate(arrays)
        }


def numbered_symbol(letter: str, superscript: str, position: int) -> str:
    """Return the LaTeX symbol of one of several arrays with the same letter and superscript.

    The arrays at the positions 0, 1, ... have the symbols y, y', ... if the superscript is empty, otherwise a^{x},
    a^{x,2}, ...
    """
    if not superscript:
        return letter + "'" * position
    return f"{letter}^{{{superscript}{f',{position + 1}' if position else ''}}}"


def _as_dense(array: Any, shape: tuple[int, ...]) -> Any:
    """Return a sparse array of the given shape as a dense one; other arrays are unchanged."""
    is_sparse: bool = sp.issparse(array)
    return array.toarray() if is_sparse and array.shape == shape else array


def _is_same(a: Any, b: Any) -> bool:
    """Return True if two arrays have the same shape and entries, and both or neither are sparse."""
    if a.shape != b.shape or sp.issparse(a) != sp.issparse(b):
        return False
    return abs(a - b).count_nonzero() == 0 if sp.issparse(a) else np.array_equal(a, b)
