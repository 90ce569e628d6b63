"""MIRSVM: maximum-margin separation of bags by one representative each, in both classes.

    min  1/2 ||f||^2 + C sum_i w_i xi_i   s.t.  y_i max_{x in B_i} (f(x) + b) >= 1 - xi_i,  xi >= 0

The program of MI-SVM; what makes the method is its scheme: `representatives` puts the most positive instance in the
place of every bag, where MI-SVM constrains all instances of a negative one. At given representatives it is the C-SVM,
max 1'a - 1/2 a'(yy' o K)a over 0 <= a_i <= C w_i, y'a = 0. Choosing a negative bag's representative anew can only raise
its slack, so the loop may cycle: the best iterate is kept.
"""

from __future__ import annotations

from milopt import Program, bag_max
from milopt.declaration.bags.bags import Bags
from milopt.declaration.bags.labels import Signs, Weights
from milopt.declaration.checks import positive
from milopt.declaration.kernels.representatives import starting_points
from milopt.models.mi_svm import MISVM
from milopt.schemes.scheme import Scheme


class MIRSVM(MISVM):
    """Maximum-margin separation of bags by one representative each, in both classes."""

    start: str = "mean"
    """The first representatives: each bag's `mean`, or an instance of it at `random`, as in the paper."""
    scheme: str | Scheme | None = "representatives"

    is_exemplary = False

    def declare(self, bags: Bags, y: Signs, weight: Weights) -> Program:
        """The program of the module."""
        C = positive("C", self.C)
        program = Program("MIRSVM")
        f = program.function("f", self.kernel)
        b = program.variable("b")
        slack = program.variable("slack", len(bags), lower=0)
        program.minimize(0.5 * f.norm_squared() + C * (weight @ slack))
        # Within the maximum b belongs to the representatives' SVM, and stays as it is when slacks are completed.
        program.subject_to(y * bag_max(f(bags) + b) >= 1 - slack, name="margin")
        program.score(lambda new: bag_max(f(new) + b), instances=lambda x: f(x) + b)
        program.start = starting_points(self.start, bags, self.kernel, self.random_state)
        return program
