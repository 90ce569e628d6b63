"""The columns of an ensemble in readable form: signed maxima of kernel expansions with weights.

    g(B) = sum_t w_t h_t(B) + offset,   h_t(B) = sign_t max_{x in B} u_t(x),   u_t = sum_z a_tz K(z, .)

Some columns evaluate u_t at the instances of a bag, others at its windows of a given length.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from milopt.arrays import Index, Matrix, Points, Vector
from milopt.declaration.bags.bags import Bags
from milopt.declaration.bags.sliding_windows import sliding_windows
from milopt.declaration.kernels.gram_blocks import kernel_times
from milopt.declaration.kernels.kernel import Kernel
from milopt.errors import DeclarationError
from milopt.outcome.result import Result

NEGLIGIBLE_COEFFICIENT = 1e-8
"""Share of the largest coefficient of a column below which a coefficient counts as zero."""


@dataclass(frozen=True, eq=False)
class EnsembleColumns:
    """Columns of one oracle that have a weight."""

    places: Index
    """Positions among all columns of the ensemble."""
    weights: Vector
    sign: float
    kernel: Kernel
    points: Points
    coefficients: Matrix
    """Coefficients a_tz, with one row per point z and one column per column t."""
    samples: int | None
    """Length of the windows at which the columns are evaluated, in samples; None for the instances themselves."""
    size: int
    """Number of points that could have had a coefficient, n_Z."""

    def cut_windows(self, bags: Bags) -> Bags:
        """Return the bags of windows at which these columns are evaluated, or the bags themselves."""
        return bags if self.samples is None else sliding_windows(bags, self.samples)

    def values(self, seen: Bags) -> Matrix:
        """Return u_t(x), with one row per instance or window x and one column per t.

        `seen`: bags as returned by `cut_windows`.
        """
        return kernel_times(self.kernel, seen.instances, self.points, self.coefficients)

    @property
    def is_nonzero(self) -> npt.NDArray[np.bool_]:
        """Per coefficient, whether it counts as non-zero (see `NEGLIGIBLE_COEFFICIENT`)."""
        size = np.abs(self.coefficients)
        return np.asarray((size > 0) & (size >= NEGLIGIBLE_COEFFICIENT * size.max(axis=0, initial=0.0)))


def declares_maxima(result: Result) -> bool:
    """Return True if a result has an ensemble, and each oracle of its program declares its column as a maximum."""
    if result.ensemble is None:
        return False
    return all(oracle.maximum is not None for oracle in result.program.oracles)


def readable_columns(result: Result) -> tuple[EnsembleColumns, ...]:
    """Return the columns of a result's ensemble, one `EnsembleColumns` per oracle that has columns in it."""
    problem, ensemble = result.program, result.ensemble
    if ensemble is None:
        raise DeclarationError(f"{problem.name!r} has no ensemble of columns, and so neither maximisers nor patterns.")
    groups, first = [], 0
    for oracle, members in zip(problem.oracles, ensemble.members, strict=True):
        if not members.count:
            continue
        maximum = oracle.maximum
        if maximum is None:
            raise DeclarationError(f"An oracle of {problem.name!r} does not declare its column as a maximum.")
        points, coefficients = members.expansion(maximum.u)
        group = EnsembleColumns(
            places=np.arange(first, first + members.count),
            weights=members.weights,
            sign=maximum.sign,
            kernel=maximum.u.kernel,
            points=points,
            coefficients=coefficients,
            samples=maximum.samples,
            size=points.shape[0]
            if maximum.u.dictionary is not None
            else _count_instances(problem.bags, maximum.samples),
        )
        groups.append(group)
        first += members.count
    return tuple(groups)


def _count_instances(bags: Bags | None, samples: int | None) -> int:
    """Return the number of instances of all bags or, if `samples` is given, of windows of this length."""
    assert bags is not None
    sizes = bags.sizes if samples is None else bags.sizes - samples + 1
    return int(sizes.sum())
