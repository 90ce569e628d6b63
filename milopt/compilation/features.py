"""Features and cones of a program in standard form, and the kind of a program with given features and cones."""

from __future__ import annotations

from collections.abc import Collection
from enum import Enum

from milopt.compilation.standard_form import StandardForm
from milopt.cones import CONES


class Feature(Enum):
    """Feature that a program may have and a solver may support, besides the cones of its rows."""

    LINEAR = "linear rows"
    QUADRATIC = "a convex quadratic objective"
    NONCONVEX = "a non-convex quadratic objective"
    INTEGER = "integer variables"
    INTEGER_QUADRATIC = "a convex quadratic objective with integer variables"

    def __str__(self) -> str:
        return self.value


QUADRATIC_FEATURES = frozenset({Feature.QUADRATIC, Feature.INTEGER_QUADRATIC})
"""Features of programs with a quadratic objective: each has one of them, and `NONCONVEX` if it is not convex."""


def features_of(form: StandardForm) -> frozenset[Feature]:
    """Return the features of a program in standard form, without a check of convexity and so never `NONCONVEX`."""
    features = {Feature.LINEAR}
    if not form.P.is_zero:
        features.add(Feature.QUADRATIC)
    if form.integer.any():
        features.add(Feature.INTEGER)
    return combine_integer_and_quadratic(features)


def combine_integer_and_quadratic(features: Collection[Feature]) -> frozenset[Feature]:
    """Return the features, with `INTEGER_QUADRATIC` in place of `QUADRATIC` if `INTEGER` is among them."""
    unique = frozenset(features)
    if unique >= {Feature.QUADRATIC, Feature.INTEGER}:
        return unique - {Feature.QUADRATIC} | {Feature.INTEGER_QUADRATIC}
    return unique


def cones_of(form: StandardForm) -> frozenset[str]:
    """Return the names of the non-polyhedral cones of a program in standard form."""
    return frozenset(block.cone.name for block in form.conic_blocks)


def kind_name(features: Collection[Feature], cones: Collection[str]) -> str:
    """Return the kind of a program with these features and cones: that of its last cone in `CONES` that has a kind.

    If no cone has a kind, it is "LP", "QP", "MILP" or "MIQP".
    """
    is_integer = Feature.INTEGER in features
    kinds = [cone.integer_kind if is_integer else cone.kind for cone in CONES.values() if cone.name in cones]
    conic = [kind for kind in kinds if kind is not None]
    if conic:
        return conic[-1]
    return ("MI" if is_integer else "") + ("LP" if not QUADRATIC_FEATURES.intersection(features) else "QP")
