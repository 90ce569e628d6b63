"""The leading directions of kernel PCA or kernel spectral clustering, and the scores of any instance along them.

    max  sum_p v_p e_p^2   s.t.  ||f|| = 1,  e = f + b,  v'e = 0

has stationary points f = sum_p alpha_p K(x_p, .) with  V P Omega alpha = lambda alpha,  P = I - 11'V/(1'V1), Omega
the Gram matrix and b = -1'V Omega alpha / (1'V1); with alpha = V^1/2 u that is the symmetric eigenproblem of
V^1/2 P Omega P' V^1/2. v = 1 is kernel PCA, v = 1 / (Omega 1) kernel spectral clustering. The program
1/2 ||f||^2 - gamma/2 e'Ve  is singular just at gamma = 1 / lambda.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.linalg import eigh

from milopt.arrays import Floats, Index, Points
from milopt.declaration.kernels.blocks import kernel_times
from milopt.declaration.kernels.kernel import Kernel
from milopt.errors import ParameterError


@dataclass(frozen=True, eq=False)
class Spectrum:
    """alpha (N x k), b (k) and the eigenvalues, largest first; ||f_j|| = 1."""

    kernel: Kernel
    points: Points
    alpha: Floats
    b: Floats
    values: Floats

    def scores(self, points: Points) -> Floats:
        """e at the rows of `points`, one column a direction."""
        return kernel_times(self.kernel, points, self.points, self.alpha) + self.b


def spectrum(kernel: Kernel, points: Points, v: Floats, count: int) -> Spectrum:
    """The first `count` directions for weights v > 0."""
    if not 1 <= count < points.shape[0]:
        raise ParameterError(
            f"{points.shape[0]} instances have from 1 to {points.shape[0] - 1} directions, not {count}."
        )
    omega, root = kernel(points, points), np.sqrt(v)
    share = v / v.sum()
    rows = omega - share @ omega
    centred = rows - (rows @ share)[:, None]
    size = centred.shape[0]
    values, u = eigh(root[:, None] * centred * root, subset_by_index=(size - count, size - 1))
    values, alpha = values[::-1], root[:, None] * u[:, ::-1]
    lengths = np.sqrt(np.maximum(np.einsum("pk,pk->k", alpha, omega @ alpha), 1e-300))
    alpha /= lengths
    scores = rows @ alpha
    # The largest score is positive: unlike the largest coefficient, it is the same where a point is repeated.
    alpha *= np.sign(scores[np.abs(scores).argmax(axis=0), np.arange(count)])
    return Spectrum(kernel, points, alpha, -(share @ omega @ alpha), values)


@dataclass(frozen=True, eq=False)
class CodeBook:
    """Clusters as patterns of signs of the scores: a code word each, and the mean score of its members."""

    words: Floats
    prototypes: Floats

    def nearest(self, scores: Floats) -> Index:
        """The cluster of each row: the word that the fewest signs contradict, the first of those that tie."""
        apart = (signs(scores)[:, None, :] != self.words).sum(axis=2)
        return np.asarray(apart.argmin(axis=1), dtype=np.intp)

    def memberships(self, scores: Floats) -> Floats:
        """Soft memberships, rows that sum to 1: prod_{r != q} d_r over the cosine distances d to the prototypes."""
        lengths = np.linalg.norm(scores, axis=1)[:, None] * np.linalg.norm(self.prototypes, axis=1)
        cosine = (scores @ self.prototypes.T) / np.where(lengths > 0, lengths, 1.0)
        apart = np.maximum(1.0 - cosine, 1e-12)
        inverse = 1.0 / apart
        return np.asarray(inverse / inverse.sum(axis=1, keepdims=True))


def code_book(scores: Floats, clusters: int, weight: Floats) -> CodeBook:
    """The most frequent patterns of signs, as many as clusters where there are so many; a row of weight 2 is two."""
    found, place = np.unique(signs(scores), axis=0, return_inverse=True)
    counts = np.bincount(place.ravel(), weights=weight)
    words = found[np.argsort(-counts, kind="stable")[:clusters]]
    place = CodeBook(words, words).nearest(scores)
    members = (place[:, None] == np.arange(words.shape[0])) * weight[:, None]
    return CodeBook(words, (members.T @ scores) / members.sum(axis=0)[:, None])


def signs(scores: Floats) -> Floats:
    """-1 or 1."""
    return np.where(scores > 0, 1.0, -1.0)
