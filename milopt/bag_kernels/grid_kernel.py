"""Base class of bag kernels on a grid that is fitted to the training bags."""

from __future__ import annotations

from dataclasses import fields, replace
from typing import Any, Self

from milopt.bag_kernels.grid import BINNING_CHOICES, Grid, check_bins, fit_grid
from milopt.declaration.bags.bag_rows import as_bag_rows
from milopt.declaration.bags.bags import as_bags
from milopt.declaration.checks import check_choice
from milopt.declaration.kernels.bag_kernel import BagKernel
from milopt.errors import ParameterError


class GridKernel(BagKernel):
    """Base class of kernels on a grid: frozen dataclasses with the fields `bins`, `binning` and `grid` (see `Grid`)."""

    bins: int
    binning: str
    grid: Grid | None

    def fitted_to(self, bags: Any) -> Self:
        """Return this kernel with a grid fitted to training bags, or the kernel itself if it has a grid.

        Parameters
        ----------
        bags : bags
            Training bags in any form that `milopt.as_bags` accepts.

        Returns
        -------
        GridKernel
            Kernel of the same class with a grid.
        """
        if self.grid is not None:
            return self
        grid = fit_grid(as_bags(bags), self.binning, int(self.bins))
        return replace(self, grid=grid)  # type: ignore[type-var]  # every subclass is a dataclass

    @property
    def requires_unscaled_input(self) -> bool:
        """Whether features must not be rescaled: True with a grid, whose cuts are in the units of the training bags."""
        return self.grid is not None

    def count_values_outside_grid(self, bags: Any) -> int:
        """Return the number of values outside the training range of the grid; they get the first or the last code.

        Parameters
        ----------
        bags : bags
            Bags in any form that `milopt.as_bags` accepts.

        Returns
        -------
        int
            Number of values, summed over instances and features.
        """
        return self.require_grid().count_values_outside_grid(as_bag_rows(bags).bags)

    def require_grid(self) -> Grid:
        """Return the grid, or raise an error that explains how to fit one."""
        if self.grid is None:
            name = type(self).__name__
            raise ParameterError(f"{name} has no grid yet: call kernel.fitted_to(bags) with the training bags first.")
        return self.grid

    def _check_grid(self) -> None:
        """Raise an error if one of the fields `bins`, `binning` and `grid` is invalid."""
        check_bins(self.bins)
        check_choice("binning", self.binning, BINNING_CHOICES)
        if self.grid is not None and not isinstance(self.grid, Grid):
            raise ParameterError(f"grid must be a Grid, or None to fit one to the training bags, not {self.grid!r}.")

    def __repr__(self) -> str:
        every = fields(self)  # type: ignore[arg-type]  # every subclass is a dataclass
        names = [entry.name for entry in every if entry.compare and entry.name != "grid"]
        given = [
            f"{name}={getattr(self, name)!r}" for name in names if getattr(self, name) != getattr(type(self), name)
        ]
        return f"{type(self).__name__}({', '.join(given)})"
