"""Draw programs with one atom on its other side: in the objective, in a row, or inside a monotone atom."""

from __future__ import annotations

import numpy as np

from tests.atoms.grow import Grower
from tests.atoms.kinds import KINDS
from tests.atoms.trees import Description, Node, Row, Sum

OUTER = ("logistic", "positive_part", "exp", "maximum", "log_sum_exp", "sum_largest")


def draw_dc(seed: int) -> Description:
    """Draw the DC program of a seed; every kind of atom in turn is its focus."""
    return DCGrower(seed).program()


class DCGrower(Grower):
    """Draws a program whose focus stands on its other side."""

    share_with_squares = 0.8
    """How many objectives contain ||x - a||^2 / 2 over all variables and functions."""

    def program(self) -> Description:
        """Draw the program."""
        node = self.node(self.focus, self.count(1, 2))
        other = -KINDS[self.focus].curvature
        place = self.pick("objective", "row", "inside")
        objective = self.affine(1).plus(self.squares()) if self.chance(self.share_with_squares) else self.affine(1)
        rows: list[Row] = []
        if self.functions:
            ball = Node("norm of a function", (), function="f")
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
            kind = self.pick(*OUTER)
            parts = (inside, self.scaled(self.affine(size))) if kind == "maximum" else (inside,)
            outer = Node(kind, parts)
            objective = objective.plus(self._weighted(1, 1, outer))
        if self.chance(0.4):
            rows.append(self.row("other", self.curved(self.count(1, 2), 1, self.count(1, 2))))
        return self.described(objective, rows)


class StrictDCGrower(DCGrower):
    """Draws a program whose steps have unique optima, and whose slopes are finite wherever its rows hold."""

    share_at_edge = 0.0
    share_with_squares = 1.0

    def node(self, kind: str, depth: int) -> Node:
        """Draw an atom of a kind; the range of a relative entropy with a minimum inside is not known."""
        return super().node(kind, 1 if kind == "relative_entropy" else depth)
