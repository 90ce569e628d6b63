"""Instance scores of a ridge regression on inherited labels, used as a start and to break ties.

    min_v  sum_p (x_p'v - t_{bag(p)})^2 + ||v||^2

with standardised features x_p of the instances and centred targets t_i of the bags. The target of a bag is the value
that the rows of the program require of its maximum: y_i, its label, for  y_i (max_i + b) >= 1 - slack_i. If all rows
require the same value, the target is +1 for a bag whose maximum should be large, and -1 for one whose maximum should be
small.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp
from scipy.linalg import cho_factor, cho_solve
from scipy.sparse.linalg import LinearOperator, lsqr

from milopt.arrays import Points, Vector
from milopt.declaration.atoms.atom import SelectionAtom
from milopt.declaration.bags.column_statistics import column_moments
from milopt.declaration.bags.scaled_rows import row_slices
from milopt.declaration.kernels.kernel import Precomputed
from milopt.declaration.programs.leaves import FunctionEvaluation, Variable
from milopt.declaration.programs.program import Program

MAX_LANDMARKS = 100
"""Number of columns of a precomputed Gram matrix that are used as features, because its points have no features."""
MAX_DENSE_FEATURES = 1000
"""Number of features up to which the normal equations are solved directly; above it, LSQR is used."""
MAX_LSQR_ITERATIONS = 200
"""Maximum number of iterations of LSQR."""


def ridge_scores(program: Program, atom: SelectionAtom, features: Points) -> Vector:
    """Return one score per instance of a maximum (see the module docstring); all 0 if all bags have the same target."""
    target = inherited_targets(program, atom)[atom.segments.run_of_entry]
    target = target - target.mean()
    if not target.any():
        return np.zeros(target.size)
    mean, deviation = _means_and_deviations(features)
    scale = np.where(deviation > 0, 1.0 / np.where(deviation > 0, deviation, 1.0), 0.0)
    if isinstance(features, sp.csr_array) or features.shape[1] > MAX_DENSE_FEATURES:

        def times_features(v: Vector) -> Vector:
            """Return the standardised features times v."""
            return np.asarray(features @ (scale * v), dtype=np.float64) - float((mean * scale) @ v)

        def times_transposed_features(u: Vector) -> Vector:
            """Return the transposed standardised features times u."""
            return np.asarray(scale * (features.T @ u - mean * u.sum()), dtype=np.float64)

        operator = LinearOperator(
            features.shape, matvec=times_features, rmatvec=times_transposed_features, dtype=np.float64
        )
        solution = lsqr(operator, target, damp=1.0, atol=1e-12, btol=1e-12, iter_lim=MAX_LSQR_ITERATIONS)
        return np.asarray(times_features(solution[0]), dtype=np.float64)
    size = features.shape[1]
    normal, right = np.eye(size), np.zeros(size)
    for rows in row_slices(*features.shape):
        standard = (features[rows] - mean) * scale
        normal += standard.T @ standard
        right += standard.T @ target[rows]
    v, scores = cho_solve(cho_factor(normal), right), np.zeros(target.size)
    for rows in row_slices(*features.shape):
        scores[rows] = ((features[rows] - mean) * scale) @ v
    return scores


def instance_features(atom: SelectionAtom) -> Points:
    """Return one row per instance: the points and the coefficients of variables with which it enters a maximum.

    For a precomputed kernel, up to `MAX_LANDMARKS` columns of the Gram matrix replace the points.
    """
    parts: list[Points] = []
    for leaf, coefficient in atom.argument.terms:
        if isinstance(leaf, FunctionEvaluation):
            kernel, points = leaf.function.kernel, leaf.points
            if isinstance(kernel, Precomputed):
                every = np.linspace(0, points.shape[0] - 1, min(MAX_LANDMARKS, points.shape[0])).astype(np.intp)
                points = np.asarray(kernel(points, points[every]))
            parts.append(points if coefficient.is_identity else coefficient.value() @ points)
        elif isinstance(leaf, Variable):
            parts.append(coefficient.value())
    if len(parts) == 1:
        return parts[0]
    if (
        any(isinstance(part, sp.csr_array) for part in parts)
        and sum(part.shape[1] for part in parts) > MAX_DENSE_FEATURES
    ):
        return sp.csr_array(sp.hstack([sp.csr_array(part) for part in parts], format="csr"))
    dense = [part.toarray() if isinstance(part, sp.csr_array) else part for part in parts]
    return np.concatenate([np.zeros((int(atom.segments.offsets[-1]), 0)), *dense], axis=1)


def inherited_targets(program: Program, atom: SelectionAtom) -> Vector:
    """Return the target of each bag: the mean value that the rows require of its maximum; 0 if no row contains it.

    If all required values are equal, or no row contains the maximum, the target is the sign of the direction in which
    rows and objective push the bag's maximum: +1 for large, -1 for small.
    """
    m = len(atom.segments)
    required, counts, direction = np.zeros(m), np.zeros(m), np.zeros(m)
    for constraint in program.constraints.values():
        for leaf, coefficient in constraint.expression.terms:
            if leaf is atom:
                entries = coefficient.value().tocoo()
                rows, bags = entries.coords
                used = entries.data != 0
                rows, bags, data = rows[used], bags[used], entries.data[used]
                np.add.at(required, bags, -constraint.expression.constant[rows] / data)
                np.add.at(counts, bags, 1.0)
                np.add.at(direction, bags, np.sign(data))
    for leaf, coefficient in program.minimized_objective().terms:
        if leaf is atom:
            entries = coefficient.value().tocoo()
            np.add.at(direction, entries.coords[1], -np.sign(entries.data))
    is_required = counts > 0
    target = np.divide(required, counts, out=np.zeros(m), where=is_required)
    return target if is_required.any() and np.ptp(target[is_required]) > 0 else np.sign(direction)


def _means_and_deviations(features: Points) -> tuple[Vector, Vector]:
    """Return the mean and the standard deviation of every feature; for sparse features, rounding errors count as 0."""
    if not isinstance(features, sp.csr_array):
        return column_moments(features)
    count = features.shape[0]
    mean = np.asarray(features.sum(axis=0)).ravel() / count
    squares = np.asarray(features.multiply(features).sum(axis=0)).ravel() / count
    deviation: npt.NDArray[np.float64] = np.sqrt(np.maximum(squares - mean**2, 0.0))
    return mean, np.where(deviation > 1e-8 * np.sqrt(squares), deviation, 0.0)
