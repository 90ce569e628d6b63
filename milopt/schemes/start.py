"""Starting witnesses of a `bag_max`: the replacement of the maximum over each bag in the first step of a scheme.

The replacement is the mean over the bag, the value of a given instance, the value of the instance at which given
function values are largest, or the value at a given point.
"""

from __future__ import annotations

from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from milopt.compilation.minorant import StandIn, mean_minorant, one_hot_minorant
from milopt.declaration.atoms.atom import SelectionAtom
from milopt.declaration.programs.coefficient import Coefficient, identity_matrix
from milopt.declaration.programs.expression import Expression, Leaf
from milopt.declaration.programs.leaves import FunctionEvaluation
from milopt.declaration.programs.sparse import scale_rows, selection_matrix
from milopt.errors import ParameterError

Start: TypeAlias = npt.NDArray[np.intp] | npt.NDArray[np.float64] | None
"""Start of the witnesses, in one of four forms.

None starts with the mean over each bag. Integers, one per bag, are instance indices. Floats, one per instance, are
values: the start is the instance with the largest value of each bag. A 2-D array has one point per bag.
"""


def starting_stand_in(atom: SelectionAtom, start: Start) -> StandIn:
    """Return the replacement of a maximum in the first step: an expression if `start` is 2-D, otherwise a minorant."""
    if start is None:
        return mean_minorant(atom)
    bags, array = atom.segments, _as_start_array(start)
    if array.ndim == 2 and array.shape[0] == len(bags):
        return _evaluate_at_points(atom, array.astype(float))
    if array.ndim == 1 and np.issubdtype(array.dtype, np.integer) and array.size == len(bags):
        if (array < bags.offsets[:-1]).any() or (array >= bags.offsets[1:]).any():
            raise ParameterError("start: a selected instance lies outside its bag; give flat instance indices.")
        return one_hot_minorant(atom, array.astype(np.intp))
    if array.ndim == 1 and array.size == bags.offsets[-1]:
        return one_hot_minorant(atom, bags.argmax(array.astype(float)))
    raise ParameterError(
        f"start must be {len(bags)} integer indices, {int(bags.offsets[-1])} function values or "
        f"{len(bags)} points, not an array of shape {array.shape} and type {array.dtype}."
    )


def _as_start_array(start: object) -> npt.NDArray[Any]:
    """Return the start as an array; raise `ParameterError` if it is not numeric or not finite."""
    try:
        array = np.asarray(start)
    except ValueError:
        raise ParameterError("start is ragged: give indices, function values or points as one array.") from None
    if array.dtype.kind not in "biuf":
        given = f"an array of {array.dtype}" if isinstance(start, np.ndarray) else type(start).__name__
        raise ParameterError(f"start must be None or an array of indices, function values or points, not {given}.")
    if not np.isfinite(array).all():
        raise ParameterError("start has a value that is NaN or infinite: every one must be finite.")
    return array


def _evaluate_at_points(atom: SelectionAtom, points: npt.NDArray[np.float64]) -> Expression:
    """Return the argument of a maximum with its functions evaluated at one point per bag instead of instances.

    All other terms are those of the first instance of each bag.
    """
    first = atom.segments.offsets[:-1]
    m, n = len(first), int(atom.segments.offsets[-1])
    pick = selection_matrix(first, n)
    terms: list[tuple[Leaf, Coefficient]] = []
    for leaf, coefficient in atom.argument.terms:
        moved = coefficient.premultiply(pick)
        if isinstance(leaf, FunctionEvaluation):
            if leaf.points.shape[1] != points.shape[1]:
                dimensions = f"{points.shape[1]} features, but the instances have {leaf.points.shape[1]}"
                raise ParameterError(f"start: the points have {dimensions}; give one such point per bag.")
            matrix = coefficient.matrix
            if coefficient.products or matrix.count_nonzero() > np.count_nonzero(matrix.diagonal()):
                raise ParameterError(
                    f"start: points cannot stand for the instances of {leaf.describe()}, which enters the maximum "
                    "mixed or times a parameter; give indices or function values."
                )
            scale = matrix.diagonal()[first]
            terms.append((leaf.function(points), Coefficient(scale_rows(identity_matrix(m), scale))))
        else:
            terms.append((leaf, moved))
    return Expression((m,), np.asarray(pick @ atom.argument.constant), terms)
