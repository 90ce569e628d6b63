"""Result of comparing models and solvers on a data set, complete or interrupted."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Self

from milopt.comparison.agreement import Agreement, compare_objectives
from milopt.comparison.cell import ComparisonCell
from milopt.estimator.report_content import package_versions
from milopt.html import notes, view
from milopt.table import to_data_frame

if TYPE_CHECKING:
    import pandas


@dataclass(frozen=True)
class Comparison:
    """Table of models and solvers on one data set; prints as text, and `to_frame` returns it as a data frame.

    Attributes
    ----------
    data, digest : str
        Name and hash of the data set.
    folds, seed : int
        Number of cross-validation folds, and the seed that shuffles the bags.
    settings : mapping
        Hyper-parameters that were set for all models that have them.
    cells : tuple of ComparisonCell
        Finished cells and cells that are not run, in the order of the models and then of the solvers.
    expected : int
        Number of cells of the complete comparison.
    interrupted : bool
        True if Ctrl-C ended the comparison.
    seconds : float
        Time of the whole comparison.
    """

    data: str
    digest: str
    folds: int
    seed: int
    settings: Mapping[str, object]
    cells: tuple[ComparisonCell, ...]
    expected: int
    interrupted: bool
    seconds: float

    @property
    def agreements(self) -> tuple[Agreement, ...]:
        """Agreement of the solvers, one entry per model (formulation)."""
        return tuple(compare_objectives(model, cells) for model, cells in group_by_model(self.cells).items())

    @property
    def jit_seconds(self) -> float:
        """Time of just-in-time compilation of native algorithms, summed over all processes."""
        return sum(cell.jit_seconds for cell in self.cells)

    @property
    def exit_code(self) -> int:
        """Exit code of the command: 130 after Ctrl-C, 1 after a killed process, 3 if a cell failed, otherwise 0."""
        if self.interrupted:
            return 130
        if any(cell.killed for cell in self.cells):
            return 1
        return 3 if any(cell.has_failed for cell in self.cells) else 0

    def as_dict(self) -> dict[str, object]:
        """Return the comparison as plain JSON data."""
        from milopt.model_registry import format_value

        return {
            "data": self.data,
            "digest": self.digest,
            "folds": self.folds,
            "seed": self.seed,
            "settings": {name: format_value(value) for name, value in self.settings.items()},
            "cells": [cell.as_dict() for cell in self.cells],
            "agreement": [agreement.as_dict() for agreement in self.agreements],
            "expected": self.expected,
            "interrupted": self.interrupted,
            "seconds": self.seconds,
            "jit_seconds": self.jit_seconds,
            "versions": package_versions(cell.solver for cell in self.cells if not cell.is_not_run),
        }

    @classmethod
    def from_dict(cls, plain: Mapping[str, Any]) -> Self:
        """Return the comparison for JSON data of `as_dict`; certificates have their three residuals only."""
        return cls(
            data=plain["data"],
            digest=plain["digest"],
            folds=plain["folds"],
            seed=plain["seed"],
            settings=plain["settings"],
            cells=tuple(ComparisonCell.from_dict(cell) for cell in plain["cells"]),
            expected=plain["expected"],
            interrupted=plain["interrupted"],
            seconds=plain["seconds"],
        )

    def rows(self) -> list[dict[str, object]]:
        """Return one row per cell, with numbers that are not rounded."""
        return [{"data": self.data, **cell.as_row()} for cell in self.cells]

    def to_frame(self) -> pandas.DataFrame:
        """Return one row per model and solver as a data frame of pandas, with numbers that are not rounded."""
        return to_data_frame(self.rows())

    def __str__(self) -> str:
        """Return the table as text of 120 columns."""
        from milopt.comparison.layout import ComparisonLayout

        if not self.cells:
            return "\n".join(self.closing_lines())
        layout = ComparisonLayout([cell.model for cell in self.cells], [cell.solver for cell in self.cells])
        lines = [*layout.header()]
        for agreement, cells in zip(self.agreements, group_by_model(self.cells).values(), strict=True):
            lines += [line for cell in cells for line in layout.row(cell)] + layout.summary(agreement)
        return "\n".join([*lines, *layout.notes(self.cells), *self.closing_lines()])

    def __repr__(self) -> str:
        """Return the data and the numbers of models, solvers and cells in one line."""
        models, solvers = (len({getattr(cell, name) for cell in self.cells}) for name in ("model", "solver"))
        done = f"{len(self.cells)} of {self.expected} cells"
        return f"Comparison({self.data}: {models} models, {solvers} solvers, {done})"

    def _repr_html_(self) -> str:
        """Return the cells and the agreement of the solvers as tables for a notebook."""
        from milopt.comparison.comparison_view import agreement_table, cell_notes, cells_table

        cells = self.cells
        tables = [cells_table("", cells).html(), agreement_table(self.agreements).html()] if cells else []
        return view(*tables, notes([*cell_notes(cells), *self.closing_lines()]))

    def closing_lines(self) -> list[str]:
        """Return the last lines: time of just-in-time compilation (if any), data, folds, seed and total time."""
        lines = []
        if self.jit_seconds >= 0.1:
            cost = f"compilation of native code: {self.jit_seconds:.1f} s"
            lines.append(f"{cost} (only at the first use on a machine; not included in seconds)")
        count = f"interrupted after {len(self.cells)} of {self.expected} cells, " if self.interrupted else ""
        labels = dict.fromkeys(cell.positive_label for cell in self.cells if cell.positive_label is not None)
        positive = f", positive class {' or '.join(map(str, labels))}" if labels else ""
        protocol = f"{self.data}, {self.folds} folds, seed {self.seed}{positive}"
        return [*lines, f"{protocol}: {count}total time {self.seconds:.1f} s"]


def group_by_model(cells: Sequence[ComparisonCell]) -> dict[str, list[ComparisonCell]]:
    """Return the cells of each model by the name of the model, in their order."""
    groups: dict[str, list[ComparisonCell]] = {}
    for cell in cells:
        groups.setdefault(cell.model, []).append(cell)
    return groups
