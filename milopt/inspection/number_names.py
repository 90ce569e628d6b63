"""Numbers that are printed by the names of hyper-parameters: 2C, 1/(nu 92), 1 - mu.

A number is recognised as a product of a simple rational number and powers of up to three factors h, 1 - h or 1 + h, for
hyper-parameters h. This is only reliable for generic values of the hyper-parameters, which no other number of a program
equals by chance.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from fractions import Fraction
from itertools import combinations, product
from math import prod

RECOGNITION_TOLERANCE = 1e-11
"""Relative difference up to which a number equals a product of hyper-parameters."""
MAX_INTEGER_FACTOR = 10**6
"""Largest integer that may occur as a factor or a divisor, such as a number of bags."""
MAX_FRACTION_PART = 12
"""Largest numerator and denominator of other rational factors."""
RECOGNISED_POWERS = (1, -1, 2, -2)
"""Powers of factors that are recognised."""
MAX_PARAMETER_FACTORS = 3
"""Largest number of factors h, 1 - h or 1 + h in a product."""


class NumberNames:
    """Names of hyper-parameters with their values, and the names that were recognised in numbers so far.

    Parameters
    ----------
    values : mapping of str to float
        Positive generic value of each hyper-parameter, by its LaTeX.
    """

    def __init__(self, values: Mapping[str, float]) -> None:
        self._values = dict(values)
        self._quantities = dict(values)
        """Positive values of the factors that are recognised, by LaTeX: the hyper-parameters first."""
        for name, value in values.items():
            for text, total in zip(_latex_of_sums(name), (1 - value, 1 + value), strict=True):
                if total > 0:
                    self._quantities[text] = total
        self.used: set[str] = set()

    def latex_of(self, number: float) -> str | None:
        """Return the LaTeX of a positive number that consists of hyper-parameters; None if it does not."""
        for count in range(1, MAX_PARAMETER_FACTORS + 1):
            for chosen in combinations(self._quantities.items(), count):
                for powers in product(RECOGNISED_POWERS, repeat=count):
                    scale = prod(value**power for (_, value), power in zip(chosen, powers, strict=True))
                    factor = _simple_fraction(number / scale)
                    if factor is not None:
                        names = [text for text, _ in chosen]
                        self.used |= {
                            name for name in self._values if any(_involves_parameter(text, name) for text in names)
                        }
                        return _format_product(factor, dict(zip(names, powers, strict=True)))
        return None


def _involves_parameter(text: str, name: str) -> bool:
    """Return True if a quantity is the hyper-parameter of this name, or 1 plus or minus it."""
    return text == name or text in _latex_of_sums(name)


def _latex_of_sums(name: str) -> tuple[str, str]:
    """Return the LaTeX of 1 minus and of 1 plus a hyper-parameter."""
    return rf"\left(1 - {name}\right)", rf"\left(1 + {name}\right)"


_CURRENT_NUMBER_NAMES: ContextVar[NumberNames | None] = ContextVar("names of numbers", default=None)


@contextmanager
def names_of_numbers(values: Mapping[str, float]) -> Iterator[NumberNames]:
    """Print numbers by the names of hyper-parameters during the block; `values` are their values by LaTeX name."""
    names = NumberNames(values)
    token = _CURRENT_NUMBER_NAMES.set(names)
    try:
        yield names
    finally:
        _CURRENT_NUMBER_NAMES.reset(token)


def name_of_number(number: float) -> str | None:
    """Return the LaTeX of a positive number by the names of the enclosing `names_of_numbers`; None without one."""
    names = _CURRENT_NUMBER_NAMES.get()
    return None if names is None else names.latex_of(number)


def _simple_fraction(value: float) -> Fraction | None:
    """Return a value as a simple fraction: with small parts, an integer, or one over an integer; None otherwise."""
    if not 1 / MAX_INTEGER_FACTOR <= value <= MAX_INTEGER_FACTOR:
        return None
    candidates = (Fraction(value).limit_denominator(MAX_FRACTION_PART), Fraction(1, max(1, round(1 / value))))
    for fraction in candidates:
        is_small = fraction.numerator <= MAX_FRACTION_PART or fraction.denominator == 1
        if fraction and is_small and abs(float(fraction) - value) <= RECOGNITION_TOLERANCE * value:
            return fraction
    return None


def _format_product(factor: Fraction, powers: Mapping[str, int]) -> str:
    """Return the LaTeX of a fraction times powers of hyper-parameters."""
    above = [_format_power(name, power) for name, power in powers.items() if power > 0]
    below = [_format_power(name, -power) for name, power in powers.items() if power < 0]
    numerator = " ".join([str(factor.numerator)] * (factor.numerator != 1 or not above) + above)
    denominator = " ".join([str(factor.denominator)] * (factor.denominator != 1) + below)
    return rf"\frac{{{numerator}}}{{{denominator}}}" if denominator else numerator


def _format_power(name: str, power: int) -> str:
    """Return the LaTeX of a power of a hyper-parameter."""
    return name if power == 1 else f"{name}^{power}"
