"""ODM, the optimal margin distribution machine: margins near 1 for all bags, rather than large for the nearest ones.

    min  1/2 ||f||^2 + sum_i c0_i (xi_i^2 + mu_i eps_i^2)
    s.t. y_i F_i >= 1 - theta_i - xi_i,   y_i F_i <= 1 + theta_i + eps_i,        c0_i = lambda w_i / (W (1 - theta_i)^2)

with F_i the mean of f + b over bag i (its one instance, where bags are of one), w_i the weight of the bag and W the sum
of weights. A margin within [1 - theta, 1 + theta] costs nothing, one below it the square of what it lacks, one above it
mu times the square of what it has too much. Its dual is a QP over delta = (alpha, beta) >= 0 alone,

    min  1/2 delta'A delta + b'delta,   A = [[Q + diag(c), -Q], [-Q, Q + diag(c / mu)]],   b = (theta - 1, theta + 1),

with Q_ij = y_i y_j <F_i, F_j>, c_i = 1 / (2 c0_i);  f = sum_i y_i (alpha_i - beta_i) F_i,  xi = c alpha,
eps = (c / mu) beta.  theta = 0 with mu = 1 is kernel ridge regression, mu -> 0 the SVM with squared slacks, lambda -> 0
the difference of the class means.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar

from milopt import RBF, BagClassifier, Kernel, Program, bag_mean, quad_form, sum_squares
from milopt.declaration.bags.bags import Bags
from milopt.declaration.bags.labels import Signs, Weights
from milopt.declaration.checks import below_one, by_class, differs_by_class, one_of, positive, share
from milopt.declaration.programs.expression import Expression, as_expression
from milopt.errors import ParameterError

LEAST_MARGIN = 1e-6
"""Of what 1 - theta may be: smaller margins, which then are enough, drown in rounding."""


class ODM(BagClassifier):
    """Margins of a chosen mean and little spread, of the mean of a function over each bag."""

    lam: float = 16.0
    """What deviations cost, all together, beside ||f||^2."""
    theta: float | tuple[float, float] = 0.7
    """Half the width of the margins that cost nothing, in [0, 1); a pair is of the negative and the positive class."""
    mu: float | tuple[float, float] = 0.7
    """What too large a margin costs beside one too small, in (0, 1]; or a pair."""
    kernel: Kernel = RBF("median")
    """Kernel between instances."""
    bias: str = "none"
    """`none` as in the papers, `regularised` (the kernel K + 1), or `free`."""

    grid: ClassVar[Mapping[str, tuple[object, ...]]] = {
        "lam": (128.0, 1024.0),
        "kernel": (RBF(), RBF("0.125/median")),
    }
    """The ends of the papers' range of costs; their wide kernel, s = 1/D, and one of about the median distance.

    Among many candidates few bags would choose by chance. Where most features of most instances are 0, as counts of
    words are, the median distance is that of instances with hardly any: the wide kernel reaches the others.
    """

    @property
    def has_symmetric_classes(self) -> bool:
        """Return whether theta and mu are the same for both classes: exchanging these then negates f and b."""
        return not any(differs_by_class(one) for one in (self.theta, self.mu))

    def declare(self, bags: Bags, y: Signs, weight: Weights) -> Program:
        """The program of the module."""
        return self._declared("ODM", bags, y, weight)

    def _declared(self, name: str, bags: Bags, y: Signs, weight: Weights) -> Program:
        """The program over what `_aggregate` makes of f on each bag."""
        lam = positive("lam", self.lam)
        theta, mu = by_class("theta", self.theta, y, half_width), by_class("mu", self.mu, y, share)
        one_of("bias", self.bias, ("none", "regularised", "free"))
        program = Program(name)
        f = program.function("f", self.kernel)
        xi, eps = program.variable("xi", len(bags)), program.variable("eps", len(bags))
        cost = lam * weight / (weight.sum() * (1 - theta) ** 2)
        b = as_expression(0.0) if self.bias == "none" else program.variable("b")
        size = f.norm_squared() + sum_squares(b) if self.bias == "regularised" else f.norm_squared()
        program.minimize(0.5 * size + quad_form(xi, cost) + quad_form(eps, cost * mu))
        margin = y * self._aggregate(f(bags) + b)
        program.subject_to(margin >= 1 - theta - xi, name="lower")
        program.subject_to(margin <= 1 + theta + eps, name="upper")
        program.score(lambda new: self._aggregate(f(new) + b), instances=lambda x: f(x) + b)
        return program

    def _aggregate(self, values: Expression) -> Expression:
        """One number a bag from the values of its instances."""
        return bag_mean(values)


def half_width(name: str, value: float) -> float:
    """theta, which leaves a margin to reach."""
    if 1 - below_one(name, value) < 0.999 * LEAST_MARGIN:
        raise ParameterError(f"{name} must leave 1 - {name} at {LEAST_MARGIN:g} or above, not at {1 - value:.2g}.")
    return value
