"""Draw random programs with one atom on its other side: in the objective, in a row, or inside a monotone atom."""

from __future__ import annotations

import numpy as np

from tests.atoms.kinds import KINDS
from tests.atoms.sampling import ProgramSampler
from tests.atoms.trees import Sum, TreeNode, TreeProgram, TreeRow

OUTER_KINDS = ("logistic", "positive_part", "exp", "maximum", "log_sum_exp", "sum_largest")
"""Kinds of atoms inside which the atom on its other side may occur."""


def draw_dc(seed: int) -> TreeProgram:
    """Draw the DC program of a seed; consecutive seeds put every kind of atom on its other side in turn."""
    return DCProgramSampler(seed).program()


class DCProgramSampler(ProgramSampler):
    """Random generator of a program whose atom in focus is on its other side."""

    share_with_squares = 0.8
    """Share of the objectives that contain the squares of `squares`."""

    def program(self) -> TreeProgram:
        """Draw the program of the seed."""
        node = self.node(self.focus, self.count(1, 2))
        other = -KINDS[self.focus].curvature
        place = self.pick("objective", "row", "inside")
        objective = self.affine(1).plus(self.squares()) if self.chance(self.share_with_squares) else self.affine(1)
        rows: list[TreeRow] = []
        if self.functions:
            ball = TreeNode("norm of a function", (), function="f")
            rows.append(self.row("ball", Sum(np.zeros(1), (), ((np.ones((1, 1)), ball),))))
        if place == "objective":
            objective = objective.plus(self._weighted(1, other, node))
        elif place == "row":
            size = self.count(1, 2)
            flipped = self._weighted(size, other, node)
            rows.append(self.row("flipped", flipped.plus(self.affine(size)) if self.chance(0.5) else flipped))
        else:
            size = self.count(1, 3)
            inside = self.scaled(self._weighted(size, other, node).plus(self.affine(size)))
            kind = self.pick(*OUTER_KINDS)
            parts = (inside, self.scaled(self.affine(size))) if kind == "maximum" else (inside,)
            outer = TreeNode(kind, parts)
            objective = objective.plus(self._weighted(1, 1, outer))
        if self.chance(0.4):
            rows.append(self.row("other", self.curved(self.count(1, 2), 1, self.count(1, 2))))
        return self.finish_program(objective, rows)


class StrictDCProgramSampler(DCProgramSampler):
    """Random generator of a DC program whose steps have unique optima, with finite slopes at all feasible points."""

    share_at_edge = 0.0
    share_with_squares = 1.0

    def node(self, kind: str, depth: int) -> TreeNode:
        """Draw an atom of this kind; a relative entropy has affine arguments, because other ranges are not known."""
        return super().node(kind, 1 if kind == "relative_entropy" else depth)
