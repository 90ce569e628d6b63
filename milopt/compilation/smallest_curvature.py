"""Smallest eigenvalue of a quadratic over a function f and columns x, with Lanczos in the kernel's inner product.

For  1/2 c ||f||^2 + 1/2 sum_k r_k'W_k r_k,  r_k = A_k x + E_k f,  the Hessian at (f, x) with f = sum_p a_p K(x_p, .) is

    T (a, x) = (c a + sum_k E_k'W_k r_k,  sum_k A_k'W_k r_k)

where K is the kernel matrix of all points. T is symmetric in the inner product  <(a, x), (b, y)> = a'Kb + x'y  of f and
x, so the Lanczos method needs no coordinates of f. If the kernel has features, the weights w of the features replace a,
and the inner product is w'v + x'y.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

import numpy as np
from scipy.linalg import eigh_tridiagonal

from milopt.arrays import Vector
from milopt.compilation.evaluation_form import EvaluationForm
from milopt.compilation.kernel_space import KernelSpace
from milopt.compilation.quadratic import apply_weight

MAX_LANCZOS_STEPS = 300
"""Maximum number of Lanczos steps."""


def smallest_curvature(form: EvaluationForm, spaces: Sequence[KernelSpace], tolerance: float = 1e-6) -> float:
    """Return an estimate of the smallest eigenvalue of the objective's Hessian; rows and bounds are ignored.

    The estimate is the smallest Ritz value. Its estimated relative error is at most `tolerance`, unless
    `MAX_LANCZOS_STEPS` was reached.
    """
    bounds = np.concatenate([[0], np.cumsum([space.size for space in spaces])]).astype(int)
    total = int(bounds[-1])
    parts = [slice(a, b) for a, b in pairwise(bounds.tolist())]

    def apply_kernel(vector: Vector) -> Vector:
        """Return (Ka, x) for `vector` = (a, x); (b, y) @ (Ka, x) is the inner product <(a, x), (b, y)>."""
        images = [
            space.values(vector[part]) if space.features is None else vector[part]
            for space, part in zip(spaces, parts, strict=True)
        ]
        return np.concatenate([*images, vector[total:]])

    def apply_hessian(vector: Vector, image: Vector) -> Vector:
        """Return T (a, x), given `vector` = (a, x) and `image` = (Ka, x)."""
        values = [
            image[part] if space.features is None else space.values(vector[part])
            for space, part in zip(spaces, parts, strict=True)
        ]
        o = form.objective
        pulls = [ridge * vector[part] for ridge, part in zip(o.ridge, parts, strict=True)]
        columns = np.zeros(form.n)
        for square in o.squares:
            r = square.rows.A @ vector[total:]
            for e, mine in zip(square.rows.E, values, strict=True):
                r = r + e @ mine
            pull = apply_weight(square.weight, r)
            columns += square.rows.A.T @ pull
            pulls = [
                mine + space.from_points(np.asarray(e.T @ pull))
                for space, mine, e in zip(spaces, pulls, square.rows.E, strict=True)
            ]
        return np.concatenate([*pulls, columns])

    size = total + form.n
    vector = np.random.default_rng(0).standard_normal(size)
    values = apply_kernel(vector)
    length = np.sqrt(float(vector @ values))
    basis: list[tuple[Vector, Vector]] = []
    diagonal: list[float] = []
    off: list[float] = []
    smallest = 0.0
    for _ in range(min(MAX_LANCZOS_STEPS, size)):
        vector, values = vector / length, values / length
        basis.append((vector, values))
        image = apply_hessian(vector, values)
        diagonal.append(float(image @ values))
        for _ in range(2):
            # Two passes of Gram-Schmidt keep the basis orthogonal up to rounding.
            for direction, image_of_direction in basis:
                image = image - float(image @ image_of_direction) * direction
        theta, modes = eigh_tridiagonal(diagonal, off, select="i", select_range=(0, 0))
        smallest = float(theta[0])
        vector, values = image, apply_kernel(image)
        length = np.sqrt(max(0.0, float(vector @ values)))
        scale = max(abs(smallest), 1e-300)
        if length * abs(float(modes[-1, 0])) <= tolerance * scale or length <= 1e-13 * max(map(abs, diagonal)):
            break
        off.append(length)
    return smallest
