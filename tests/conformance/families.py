"""All families that every solver is asked to solve; importing their modules enters them into the list."""

from __future__ import annotations

from tests.conformance import combinatorial_families, conic_families, linear_families, quadratic_families
from tests.conformance.family import FAMILIES

MODULES = (linear_families, quadratic_families, conic_families, combinatorial_families)

__all__ = ["FAMILIES", "MODULES"]
