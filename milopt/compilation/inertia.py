"""Inertia of a reduced Hessian: the numbers of its positive, zero and negative eigenvalues."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Inertia:
    """Numbers of positive, zero and negative eigenvalues of a Hessian on the null space of the equalities.

    If the program contains a function in a kernel's space, every point at which the function is evaluated counts as one
    dimension, even if its kernel function depends linearly on those of other points.
    """

    positive: int
    zero: int
    negative: int
    smallest: float | None = None
    """Smallest eigenvalue, if it is negative and known."""

    def __str__(self) -> str:
        if not self.negative:
            return self.eigenvalue_summary
        return f"{'saddle' if self.positive else 'maximum'}: {self.eigenvalue_summary}"

    @property
    def is_saddle(self) -> bool:
        """True if an eigenvalue is negative, so that a stationary point is not a minimum but a saddle or a maximum."""
        return self.negative > 0

    @property
    def eigenvalue_summary(self) -> str:
        """Text with the number of negative eigenvalues, or of positive and zero eigenvalues if none is negative."""
        if self.negative:
            plural = "" if self.negative == 1 else "s"
            known = "" if self.smallest is None else f", smallest eigenvalue {self.smallest:.3g}"
            return f"{self.negative} negative direction{plural}{known}"
        kind = "semidefinite" if self.zero else "definite"
        return f"reduced Hessian positive {kind}: {self.positive} positive, {self.zero} zero"
