"""Kernels of bags on a grid that follows the training bags: `bins` codes a feature by `binning`."""

from __future__ import annotations

from dataclasses import fields, replace
from typing import Any, Self

from milopt.bag_kernels.grid import BINNINGS, Grid, check_bins, fitted_grid
from milopt.declaration.bags.bag_rows import as_bag_rows
from milopt.declaration.bags.bags import as_bags
from milopt.declaration.checks import one_of
from milopt.declaration.kernels.bag_kernel import BagKernel
from milopt.errors import ParameterError


class GridKernel(BagKernel):
    """The base of a frozen dataclass that has these fields among its own."""

    bins: int
    binning: str
    grid: Grid | None

    def fitted_to(self, bags: Any) -> Self:
        """The kernel on the grid of these bags; itself where it has one."""
        if self.grid is not None:
            return self
        grid = fitted_grid(as_bags(bags), self.binning, int(self.bins))
        return replace(self, grid=grid)  # type: ignore[type-var]  # every subclass is a dataclass

    @property
    def takes_points_as_they_are(self) -> bool:
        """With a grid, it does: the cuts are in the units of the bags that it was fitted to."""
        return self.grid is not None

    def outside(self, bags: Any) -> int:
        """How many values of these bags lie outside the fitted grid, and are clipped to it."""
        return self.known_grid().outside(as_bag_rows(bags).bags)

    def known_grid(self) -> Grid:
        """The grid, or a sentence that says how to get one."""
        if self.grid is None:
            name = type(self).__name__
            raise ParameterError(f"{name} has no grid yet: call kernel.fitted_to(bags) with the training bags first.")
        return self.grid

    def _check_grid(self) -> None:
        check_bins(self.bins)
        one_of("binning", self.binning, BINNINGS)
        if self.grid is not None and not isinstance(self.grid, Grid):
            raise ParameterError(f"grid must be a Grid, or None to fit one to the training bags, not {self.grid!r}.")

    def __repr__(self) -> str:
        every = fields(self)  # type: ignore[arg-type]  # as above
        names = [one.name for one in every if one.compare and one.name != "grid"]
        given = [
            f"{name}={getattr(self, name)!r}" for name in names if getattr(self, name) != getattr(type(self), name)
        ]
        return f"{type(self).__name__}({', '.join(given)})"
