"""The table of a comparison, whole or as far as it came."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from milopt.comparison.agreement import Agreement, agreement
from milopt.comparison.cell import Cell


@dataclass(frozen=True)
class Comparison:
    """The cells, formulation by formulation, and whether the solvers of each agree."""

    data: str
    digest: str
    folds: int
    seed: int
    settings: Mapping[str, object]
    cells: tuple[Cell, ...]
    """Those that are complete."""
    expected: int
    """How many there are to be."""
    interrupted: bool
    """Ended by Ctrl-C."""
    seconds: float
    """Of the whole comparison."""

    @property
    def agreements(self) -> tuple[Agreement, ...]:
        """One verdict a formulation."""
        return tuple(agreement(model, cells) for model, cells in grouped(self.cells).items())

    @property
    def exit_code(self) -> int:
        """130 after Ctrl-C, 1 for a killed process; 0 when every cell that can be has its certificate, 3 otherwise."""
        if self.interrupted:
            return 130
        if any(cell.killed for cell in self.cells):
            return 1
        return 3 if any(cell.failed for cell in self.cells) else 0

    def as_dict(self) -> dict[str, object]:
        """Plain JSON data."""
        from milopt.model_registry import spelled

        return {
            "data": self.data,
            "digest": self.digest,
            "folds": self.folds,
            "seed": self.seed,
            "settings": {name: spelled(value) for name, value in self.settings.items()},
            "cells": [cell.as_dict() for cell in self.cells],
            "agreement": [one.as_dict() for one in self.agreements],
            "expected": self.expected,
            "interrupted": self.interrupted,
            "seconds": self.seconds,
        }

    def __str__(self) -> str:
        from milopt.comparison.layout import Layout

        if not self.cells:
            return self.closing()
        layout = Layout([cell.model for cell in self.cells], [cell.solver for cell in self.cells])
        lines = [*layout.header()]
        for verdict, cells in zip(self.agreements, grouped(self.cells).values(), strict=True):
            lines += [line for cell in cells for line in layout.row(cell)] + layout.verdict(verdict)
        return "\n".join([*lines, *layout.remarks(self.cells), self.closing()])

    def closing(self) -> str:
        """The last line: what was compared, and whether it came to its end."""
        count = f"interrupted after {len(self.cells)} of {self.expected} cells, " if self.interrupted else ""
        labels = dict.fromkeys(cell.positive_label for cell in self.cells if cell.positive_label is not None)
        positive = f", positive class {' or '.join(map(str, labels))}" if labels else ""
        return f"{self.data}, {self.folds} folds, seed {self.seed}{positive}: {count}{self.seconds:.1f} s"


def grouped(cells: Sequence[Cell]) -> dict[str, list[Cell]]:
    """Cells by formulation."""
    groups: dict[str, list[Cell]] = {}
    for cell in cells:
        groups.setdefault(cell.model, []).append(cell)
    return groups
