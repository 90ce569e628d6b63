"""An ensemble as it reads: signed maxima of known functions, weighted.

    g(B) = sum_t w_t h_t(B) + offset,   h_t(B) = sign_t max_{x in B} u_t(x),   u_t = sum_z a_tz K(z, .)

Some columns look at the instances of a bag, others at its windows of some length.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from milopt.arrays import Index, Matrix, Points, Vector
from milopt.declaration.bags.bags import Bags
from milopt.declaration.bags.sliding import sliding
from milopt.declaration.kernels.blocks import kernel_times
from milopt.declaration.kernels.kernel import Kernel
from milopt.errors import DeclarationError
from milopt.outcome.result import Result

NEGLIGIBLE = 1e-8
"""A coefficient smaller than this part of its column's largest one counts as zero."""


@dataclass(frozen=True, eq=False)
class Columns:
    """The columns of one oracle that have a weight, side by side."""

    places: Index
    """Where they are among all columns of the ensemble."""
    weights: Vector
    sign: float
    kernel: Kernel
    points: Points
    coefficients: Matrix
    """a_tz, a point z a row and a column t a column."""
    samples: int | None
    """How long the windows are that they look at; None for the instances themselves."""
    size: int
    """n_Z, the number of points that could have had a coefficient."""

    def seen(self, bags: Bags) -> Bags:
        """The bags as these columns look at them."""
        return bags if self.samples is None else sliding(bags, self.samples)

    def values(self, seen: Bags) -> Matrix:
        """u_t(x), an instance or window x a row."""
        return kernel_times(self.kernel, seen.instances, self.points, self.coefficients)

    @property
    def used(self) -> npt.NDArray[np.bool_]:
        """Which coefficients are not zero."""
        size = np.abs(self.coefficients)
        return np.asarray((size > 0) & (size >= NEGLIGIBLE * size.max(axis=0, initial=0.0)))


def is_readable(result: Result) -> bool:
    """Whether a result has columns, and its program tells what they are made of."""
    if result.ensemble is None:
        return False
    return all(oracle.maximum is not None for oracle in result.program.oracles)


def columns_of(result: Result) -> tuple[Columns, ...]:
    """The columns of a result's ensemble, oracle by oracle."""
    problem, ensemble = result.program, result.ensemble
    if ensemble is None:
        raise DeclarationError(f"{problem.name!r} has no ensemble of columns, and so neither maximisers nor patterns.")
    found, first = [], 0
    for oracle, members in zip(problem.oracles, ensemble.members, strict=True):
        if not members.count:
            continue
        maximum = oracle.maximum
        if maximum is None:
            raise DeclarationError(f"An oracle of {problem.name!r} does not declare its column as a maximum.")
        points, coefficients = members.expansion(maximum.u)
        one = Columns(
            places=np.arange(first, first + members.count),
            weights=members.weights,
            sign=maximum.sign,
            kernel=maximum.u.kernel,
            points=points,
            coefficients=coefficients,
            samples=maximum.samples,
            size=points.shape[0] if maximum.u.dictionary is not None else _instances(problem.bags, maximum.samples),
        )
        found.append(one)
        first += members.count
    return tuple(found)


def _instances(bags: Bags | None, samples: int | None) -> int:
    assert bags is not None
    sizes = bags.sizes if samples is None else bags.sizes - samples + 1
    return int(sizes.sum())
