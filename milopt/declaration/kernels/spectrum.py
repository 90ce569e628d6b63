"""Leading directions of kernel PCA or kernel spectral clustering, and clusters by the signs of the instance scores.

The program

    max  sum_p v_p e_p^2   s.t.  ||f|| = 1,  e_p = f(x_p) + b,  v'e = 0

with instances x_p and weights v_p > 0, has stationary points f = sum_p alpha_p K(x_p, .) with

    V P Omega alpha = lambda alpha,   P = I - 11'V/(1'V1),   b = -1'V Omega alpha / (1'V1),

where V = diag(v), Omega is the Gram matrix, and 1 a vector of ones. They are called directions, and e_p are the scores
of the instances. With alpha = V^1/2 u, the equation is the symmetric eigenproblem of V^1/2 P Omega P' V^1/2. The
weights v = 1 give kernel PCA, and v = 1 / (Omega 1) kernel spectral clustering. The program that minimises
1/2 ||f||^2 - gamma/2 e'Ve  becomes singular at gamma = 1 / lambda.

If the kernel has features, Omega = Phi Phi', the directions are f = <w, phi> with Phi'V P Phi w = lambda w, a symmetric
eigenproblem with one row per feature, and alpha = V P Phi w / lambda.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.linalg import eigh

from milopt.arrays import Floats, Index, Points
from milopt.declaration.kernels.feature_rows import FeatureRows
from milopt.declaration.kernels.gram_blocks import kernel_times
from milopt.declaration.kernels.kernel import Kernel
from milopt.declaration.kernels.matrix_size import check_matrix_size
from milopt.errors import ParameterError

ZERO_EIGENVALUE = 1e-12
"""Eigenvalues up to this number times the largest one count as zero."""


@dataclass(frozen=True, eq=False)
class Spectrum:
    """Leading directions f_j with ||f_j|| = 1, in order of decreasing eigenvalue.

    f_j = sum_p alpha[p, j] K(x_p, .) with x_p the rows of `points`. For N points and k directions, `alpha` (N x k) has
    the coefficients of the directions, `b` (k entries) their offsets, and `values` (k entries) the eigenvalues lambda.
    """

    kernel: Kernel
    points: Points
    alpha: Floats
    b: Floats
    values: Floats

    def scores(self, points: Points) -> Floats:
        """Return the scores f_j(x) + b_j at the rows x of `points`, one row per point and one column per direction."""
        return kernel_times(self.kernel, points, self.points, self.alpha) + self.b


def leading_directions(kernel: Kernel, points: Points, v: Floats, count: int) -> Spectrum:
    """Return the `count` directions with the largest eigenvalues (see the module docstring).

    `v` are the positive weights of the points. There must be more points than directions. The sign of a direction is
    such that its score of largest absolute value is positive.
    """
    if not 1 <= count < points.shape[0]:
        raise ParameterError(f"{points.shape[0]} instances have 1 to {points.shape[0] - 1} directions, not {count}.")
    by_features = _leading_directions_of_features(kernel, points, v, count)
    if by_features is not None:
        return by_features
    check_matrix_size(kernel, points.shape[0], points.shape[0], "the eigenproblem")
    omega, root = kernel(points, points), np.sqrt(v)
    fractions = v / v.sum()
    rows = omega - fractions @ omega
    centred = rows - (rows @ fractions)[:, None]
    size = centred.shape[0]
    values, u = eigh(root[:, None] * centred * root, subset_by_index=(size - count, size - 1))
    values, alpha = values[::-1], root[:, None] * u[:, ::-1]
    lengths = np.sqrt(np.maximum(np.einsum("pk,pk->k", alpha, omega @ alpha), 1e-300))
    alpha /= lengths
    alpha *= _signs_of_largest(rows @ alpha)
    return Spectrum(kernel, points, alpha, -(fractions @ omega @ alpha), values)


def _leading_directions_of_features(kernel: Kernel, points: Points, v: Floats, count: int) -> Spectrum | None:
    """Return the leading directions from an eigenproblem over the features of the kernel.

    Return None if the kernel has no features, or more features than points, or if the features have fewer than `count`
    directions with a positive eigenvalue.
    """
    if not kernel.has_features:
        return None
    phi = FeatureRows(kernel, points)
    if not count <= phi.count <= phi.points:
        return None
    fractions = v / v.sum()
    mean = phi.transpose_times(fractions)
    values, w = eigh(
        phi.weighted_gram(v) - v.sum() * np.outer(mean, mean), subset_by_index=(phi.count - count, phi.count - 1)
    )
    values, w = values[::-1], w[:, ::-1]
    if values[-1] <= ZERO_EIGENVALUE * values[0]:
        return None
    b = -(mean @ w)
    scores = phi.times(w) + b
    signs = _signs_of_largest(scores)
    return Spectrum(kernel, points, v[:, None] * scores * (signs / values), b * signs, values)


def _signs_of_largest(scores: Floats) -> Floats:
    """Return the sign of the largest absolute score of each column.

    Unlike the largest coefficient, the largest score does not change if a point is repeated.
    """
    return np.asarray(np.sign(scores[np.abs(scores).argmax(axis=0), np.arange(scores.shape[1])]))


@dataclass(frozen=True, eq=False)
class CodeBook:
    """Clusters of points by their sign patterns: the signs of the scores of a point along all directions.

    `words` has one row per cluster, its code word: a sign pattern of -1 and 1. `prototypes` has one row per cluster,
    the weighted mean of the scores of its members.
    """

    words: Floats
    prototypes: Floats

    def nearest(self, scores: Floats) -> Index:
        """Return, for each row of scores, the index of the cluster whose code word differs from its signs least often.

        Ties go to the smallest index.
        """
        distances = (score_signs(scores)[:, None, :] != self.words).sum(axis=2)
        return np.asarray(distances.argmin(axis=1), dtype=np.intp)

    def memberships(self, scores: Floats) -> Floats:
        """Return soft memberships, one row per row of scores and one column per cluster; each row sums to 1.

        The membership in cluster q is proportional to prod_{r != q} d_r, with d_r the cosine distance of the scores
        to prototype r, at least 1e-12.
        """
        lengths = np.linalg.norm(scores, axis=1)[:, None] * np.linalg.norm(self.prototypes, axis=1)
        cosine = (scores @ self.prototypes.T) / np.where(lengths > 0, lengths, 1.0)
        distances = np.maximum(1.0 - cosine, 1e-12)
        inverse = 1.0 / distances
        return np.asarray(inverse / inverse.sum(axis=1, keepdims=True))


def make_code_book(scores: Floats, clusters: int, weight: Floats) -> CodeBook:
    """Return the code book of the most frequent sign patterns of the rows of scores, at most `clusters` of them.

    `weight` has one number per row: a row of weight 2 counts as two rows.
    """
    patterns, cluster = np.unique(score_signs(scores), axis=0, return_inverse=True)
    counts = np.bincount(cluster.ravel(), weights=weight)
    words = patterns[np.argsort(-counts, kind="stable")[:clusters]]
    cluster = CodeBook(words, words).nearest(scores)
    members = (cluster[:, None] == np.arange(words.shape[0])) * weight[:, None]
    return CodeBook(words, (members.T @ scores) / members.sum(axis=0)[:, None])


def score_signs(scores: Floats) -> Floats:
    """Return 1 for positive scores and -1 for all others."""
    return np.where(scores > 0, 1.0, -1.0)
