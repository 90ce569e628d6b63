"""Cones in which the rows of a program lie. Each cone has one module, one class and one instance."""

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
"""Cones by name. If a program has rows in several cones, the last of them in this order determines its `kind`."""


def get_cone(name: str) -> Cone:
    """Return the cone with this name, or raise `UnsupportedError` if there is none."""
    if name not in CONES:
        raise UnsupportedError(f"There is no cone {name!r}; milopt has {', '.join(CONES)}.")
    return CONES[name]


__all__ = ["CONES", "EXPONENTIAL", "NONNEGATIVE", "SECOND_ORDER", "ZERO", "Cone", "get_cone"]
