"""The features and cones of a flat program, and the kind of program that they make."""

from __future__ import annotations

from collections.abc import Collection
from enum import Enum

from milopt.compilation.standard_form import StandardForm
from milopt.cones import CONES


class Feature(Enum):
    """What a flat program may contain, and a solver may take, besides the cones of its rows."""

    LINEAR = "linear rows"
    QUADRATIC = "a convex quadratic objective"
    NONCONVEX = "a non-convex quadratic objective"
    INTEGER = "integer variables"
    INTEGER_QUADRATIC = "a convex quadratic objective with integer variables"

    def __str__(self) -> str:
        return self.value


QUADRATICS = frozenset({Feature.QUADRATIC, Feature.INTEGER_QUADRATIC})


def features_of(form: StandardForm) -> frozenset[Feature]:
    """Return the features that a flat program has; convexity is judged elsewhere, and cones are in `cones_of`."""
    features = {Feature.LINEAR}
    if not form.P.is_zero:
        features.add(Feature.QUADRATIC)
    if form.integer.any():
        features.add(Feature.INTEGER)
    return with_integers(features)


def with_integers(features: Collection[Feature]) -> frozenset[Feature]:
    """Return the features of a program; a quadratic objective with integer variables is a feature of its own."""
    found = frozenset(features)
    if found >= {Feature.QUADRATIC, Feature.INTEGER}:
        return found - {Feature.QUADRATIC} | {Feature.INTEGER_QUADRATIC}
    return found


def cones_of(form: StandardForm) -> frozenset[str]:
    """Return the names of the cones of a flat program that are not polyhedral."""
    return frozenset(block.cone.name for block in form.conic)


def kind_name(features: Collection[Feature], cones: Collection[str]) -> str:
    """Return the kind of a program with these features and cones: LP, QP, MILP, MIQP, or a kind named after a cone."""
    is_integer = Feature.INTEGER in features
    kinds = [cone.integer_kind if is_integer else cone.kind for cone in CONES.values() if cone.name in cones]
    conic = [kind for kind in kinds if kind is not None]
    if conic:
        return conic[-1]
    return ("MI" if is_integer else "") + ("LP" if not QUADRATICS.intersection(features) else "QP")
