"""MIORDM: the optimal margin distribution of bags, each represented by its most positive instance.

    min  1/2 ||f||^2 + sum_i c0_i (xi_i^2 + mu_i eps_i^2)
    s.t. y_i max_{x in B_i} f(x) >= 1 - theta_i - xi_i,   y_i max_{x in B_i} f(x) <= 1 + theta_i + eps_i

ODM with a maximum on both sides, so that every bag needs a witness on one of them: a positive bag lest its margin be
too small, a negative one lest it be too large. At given representatives it is ODM, and its dual the QP over
(alpha, beta) >= 0 that `odm` states. `scheme` says how representatives are found: `ccp` (the default) linearises what
is not convex and never rises; `representatives` is the paper's loop, which starts from the bags' means and may cycle,
in which case its best iterate is kept; `exact` proves a global optimum on small data.
"""

from __future__ import annotations

from milopt import Program, bag_max
from milopt.declaration.bags.bags import Bags
from milopt.declaration.bags.labels import Signs, Weights
from milopt.declaration.kernels.representatives import starting_points
from milopt.declaration.programs.expression import Expression
from milopt.models.odm import ODM


class MIORDM(ODM):
    """Margins of a chosen mean and little spread, of the most positive instance of each bag."""

    start: str = "mean"
    """The first representatives: each bag's `mean`, or an instance of it at `random`."""

    @property
    def has_symmetric_classes(self) -> bool:
        """Return False: each bag is represented by its most positive instance."""
        return False

    def declare(self, bags: Bags, y: Signs, weight: Weights) -> Program:
        """The program of the module."""
        program = self._declared("MIORDM", bags, y, weight)
        program.start = starting_points(self.start, bags, self.kernel, self.random_state)
        return program

    def _aggregate(self, values: Expression) -> Expression:
        return bag_max(values)
