"""How many eigenvalues of a reduced Hessian have each sign: what kind of point a stationary point is."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Inertia:
    """Counts by sign, on the subspace that the equalities leave; the smallest eigenvalue where it is below 0 and known.

    Where a function of a kernel's space is among the unknowns, every point at which it is evaluated counts as one
    dimension, points that depend linearly on others too.
    """

    positive: int
    zero: int
    negative: int
    smallest: float | None = None

    def __str__(self) -> str:
        if not self.negative:
            return self.spectrum
        return f"{'saddle' if self.positive else 'maximum'}: {self.spectrum}"

    @property
    def is_saddle(self) -> bool:
        """Whether a stationary point is no minimum: the objective falls in some direction."""
        return self.negative > 0

    @property
    def spectrum(self) -> str:
        """The signs in words, without what they make of a stationary point."""
        if self.negative:
            plural = "" if self.negative == 1 else "s"
            known = "" if self.smallest is None else f", smallest eigenvalue {self.smallest:.3g}"
            return f"{self.negative} negative direction{plural}{known}"
        kind = "semidefinite" if self.zero else "definite"
        return f"reduced Hessian positive {kind}: {self.positive} positive, {self.zero} zero"
