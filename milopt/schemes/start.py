"""Where witnesses start: the mean of the function over each bag, a selection, function values, or points."""

from __future__ import annotations

from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from milopt.compilation.minorant import StandIn, mean_selection, one_hot_selection
from milopt.declaration.atoms.atom import Selecting
from milopt.declaration.programs.coefficient import Coefficient, identity_matrix
from milopt.declaration.programs.expression import Expression, Leaf
from milopt.declaration.programs.leaves import Evaluation
from milopt.declaration.programs.sparse import picked, scaled_rows
from milopt.errors import ParameterError

Start: TypeAlias = npt.NDArray[np.intp] | npt.NDArray[np.float64] | None
"""None: means. Integers, one a bag: flat instance indices. Floats, one an instance: values to maximise. 2-D: points."""


def starting_witness(atom: Selecting, start: Start) -> StandIn:
    """The first witnesses of a maximum."""
    if start is None:
        return mean_selection(atom)
    bags, array = atom.segments, _numbers(start)
    if array.ndim == 2 and array.shape[0] == len(bags):
        return _at_points(atom, array.astype(float))
    if array.ndim == 1 and np.issubdtype(array.dtype, np.integer) and array.size == len(bags):
        if (array < bags.offsets[:-1]).any() or (array >= bags.offsets[1:]).any():
            raise ParameterError("start: a selected instance lies outside its bag; give flat instance indices.")
        return one_hot_selection(atom, array.astype(np.intp))
    if array.ndim == 1 and array.size == bags.offsets[-1]:
        return one_hot_selection(atom, bags.argmax(array.astype(float)))
    raise ParameterError(
        f"start must be {len(bags)} integer indices, {int(bags.offsets[-1])} function values or "
        f"{len(bags)} points, not an array of shape {array.shape} and type {array.dtype}."
    )


def _numbers(start: object) -> npt.NDArray[Any]:
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


def _at_points(atom: Selecting, points: npt.NDArray[np.float64]) -> Expression:
    """The inner expression with its functions evaluated at one point a bag instead of at instances."""
    first = atom.segments.offsets[:-1]
    m, n = len(first), int(atom.segments.offsets[-1])
    pick = picked(first, n)
    terms: list[tuple[Leaf, Coefficient]] = []
    for leaf, coefficient in atom.argument.terms:
        moved = coefficient.left(pick)
        if isinstance(leaf, Evaluation):
            if leaf.points.shape[1] != points.shape[1]:
                dimensions = f"{points.shape[1]} features where the instances have {leaf.points.shape[1]}"
                raise ParameterError(f"start: the points have {dimensions}; give one point of theirs a bag.")
            matrix = coefficient.matrix
            if coefficient.products or matrix.count_nonzero() > np.count_nonzero(matrix.diagonal()):
                raise ParameterError(
                    f"start: points cannot stand for the instances of {leaf.describe()}, which enters the maximum "
                    "mixed or times a parameter; give indices or function values."
                )
            scale = matrix.diagonal()[first]
            terms.append((leaf.function(points), Coefficient(scaled_rows(identity_matrix(m), scale))))
        else:
            terms.append((leaf, moved))
    return Expression((m,), np.asarray(pick @ atom.argument.constant), terms)
