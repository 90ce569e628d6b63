"""The cones in which the rows of a program lie: one file and one class per cone, and the one instance of each class."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from milopt.cones.cone import Cone
from milopt.cones.exponential import Exponential
from milopt.cones.nonnegative import Nonnegative
from milopt.cones.second_order import SecondOrder
from milopt.cones.zero import Zero
from milopt.errors import UnsupportedError

ZERO = Zero()
NONNEGATIVE = Nonnegative()
SECOND_ORDER = SecondOrder()
EXPONENTIAL = Exponential()

CONES: Mapping[str, Cone] = MappingProxyType(
    {cone.name: cone for cone in (ZERO, NONNEGATIVE, SECOND_ORDER, EXPONENTIAL)}
)
"""The cones by name. If a program has several kinds of cones, the last of them gives the kind of the program."""


def cone_named(name: str) -> Cone:
    """Return the cone of this name."""
    if name not in CONES:
        raise UnsupportedError(f"There is no cone {name!r}; milopt knows {', '.join(CONES)}.")
    return CONES[name]


__all__ = ["CONES", "EXPONENTIAL", "NONNEGATIVE", "SECOND_ORDER", "ZERO", "Cone", "cone_named"]
