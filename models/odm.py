"""ODM, the optimal margin distribution machine: all margins close to 1, instead of a large smallest margin.

    min  1/2 ||f||^2 + sum_i c0_i (xi_i^2 + mu_i eps_i^2)
    s.t. y_i F_i >= 1 - theta_i - xi_i,   y_i F_i <= 1 + theta_i + eps_i,        c0_i = lambda w_i / (W (1 - theta_i)^2)

F_i is the mean of f + b over bag i, w_i the weight of the bag and W the sum of the weights. A margin y_i F_i within
[1 - theta_i, 1 + theta_i] costs nothing. A margin below this interval costs c0_i times the square of its distance to
the interval, and a margin above it costs c0_i mu_i times this square. Without bias (b = 0, the default), the dual is a
QP over delta = (alpha, beta) >= 0,

    min  1/2 delta'A delta + r'delta,   A = [[Q + diag(c), -Q], [-Q, Q + diag(c / mu)]],   r = (theta - 1, theta + 1),

with c_i = 1 / (2 c0_i) and Q_ij = y_i y_j k_ij, where k_ij is the mean of K(x, x') over the instances x of bag i and x'
of bag j. The solution is f = sum_i y_i (alpha_i - beta_i) phi_i, where phi_i is the mean of K(x, .) over bag i, with
the slacks xi = c alpha and eps = (c / mu) beta.

Special cases: theta = 0 with mu = 1 is kernel ridge regression of the labels. In the limit mu -> 0, the model is an SVM
with squared slacks. In the limit lambda -> 0, f is a multiple of sum_i w_i y_i phi_i / (1 - theta_i), which is the
difference of the class means if both classes have the same theta and the same total weight.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar

from milopt import RBF, BagClassifier, Kernel, Program, bag_mean, quad_form, sum_squares
from milopt.declaration.bags.bags import Bags
from milopt.declaration.bags.labels import Signs, Weights
from milopt.declaration.checks import (
    check_below_one,
    check_choice,
    check_fraction,
    check_positive,
    differs_by_class,
    expand_by_class,
)
from milopt.declaration.programs.expression import Expression, as_expression
from milopt.errors import ParameterError

MIN_TARGET_MARGIN = 1e-6
"""Smallest admissible value of 1 - theta, the smallest margin that costs nothing. Rounding errors hide smaller ones."""


class ODM(BagClassifier):
    """Bag classifier: optimal margin distribution machine on bag means (ODM).

    Solves

        min_{f,b,xi,eps}  1/2 ||f||^2 + sum_i c_i (xi_i^2 + mu_i eps_i^2)
        s.t.  1 - theta_i - xi_i <= y_i F_i <= 1 + theta_i + eps_i,    c_i = lam w_i / (sum_j w_j (1 - theta_i)^2),

    where F_i is the mean of f + b over bag i (b = 0 by default, see `bias`) and w_i is the weight of the bag. All
    margins y_i F_i are drawn towards 1. A margin between 1 - theta_i and 1 + theta_i costs nothing. A margin below this
    interval costs c_i times the square of its distance to the interval, and a margin above it c_i mu_i times.

    Parameters
    ----------
    lam : float, default=16.0
        Weight of the deviations of the margins.
    theta : float or tuple of two floats, default=0.7
        Half width of the interval of margins that cost nothing, in [0, 1 - 1e-6]. A pair has the values of the negative
        and of the positive class, in this order.
    mu : float or tuple of two floats, default=0.7
        Cost of too large margins relative to too small ones, in (0, 1]. A pair has the values of the negative and of
        the positive class, in this order.
    kernel : Kernel, default=RBF("median")
        Kernel between instances.
    bias : {"none", "regularised", "free"}, default="none"
        Bias b: none (b = 0), as in the paper; regularised by 1/2 b^2, which corresponds to the kernel K + 1; or free.

    Attributes
    ----------
    result_ : Result
        Result of the optimisation (two classes).
    classes_ : ndarray of shape (n_classes,)
        Labels of the classes, sorted.

    References
    ----------
    .. [1] T. Zhang and Z.-H. Zhou. Optimal margin distribution machine. IEEE Transactions on Knowledge and Data
       Engineering 32(6), 1143-1156, 2020.

    Examples
    --------
    >>> import numpy as np
    >>> from milopt.models import ODM
    >>> bags = np.random.default_rng(0).normal(size=(20, 4, 2))
    >>> y = np.repeat([-1, 1], 10)
    >>> bags[y == 1] += 3
    >>> model = ODM(lam=16.0).fit(bags, y)
    >>> model.score(bags, y)
    1.0
    """

    lam: float = 16.0
    theta: float | tuple[float, float] = 0.7
    mu: float | tuple[float, float] = 0.7
    kernel: Kernel = RBF("median")
    bias: str = "none"

    grid: ClassVar[Mapping[str, tuple[object, ...]]] = {
        "lam": (128.0, 1024.0),
        "kernel": (RBF(), RBF("0.125/median")),
    }
    """Candidates: the ends of the range of lambda in the papers on ODM and MIORDM, their wide kernel, and a narrow one.

    The wide kernel is s = 1/D for D features; the width of the other one is about the median distance. The grid is
    small because with few bags, a selection among many candidates would be random. If most features of most instances
    are 0, as in word counts, the median distance is a distance between nearly empty instances, and the instances with
    more nonzero features need the wide kernel.
    """

    @property
    def has_symmetric_classes(self) -> bool:
        """True if theta and mu are the same for both classes: exchanging the classes then negates f and b."""
        return not any(differs_by_class(value) for value in (self.theta, self.mu))

    def declare(self, bags: Bags, y: Signs, weight: Weights) -> Program:
        """Build the ODM program stated in the class docstring."""
        return self._build_program("ODM", bags, y, weight)

    def _build_program(self, name: str, bags: Bags, y: Signs, weight: Weights) -> Program:
        """Build the program stated in the class docstring, with the name `name` and with F_i from `_bag_values`."""
        lam = check_positive("lam", self.lam)
        theta, mu = (
            expand_by_class("theta", self.theta, y, check_theta),
            expand_by_class("mu", self.mu, y, check_fraction),
        )
        check_choice("bias", self.bias, ("none", "regularised", "free"))
        program = Program(name)
        f = program.function("f", self.kernel)
        xi, eps = program.variable("xi", len(bags)), program.variable("eps", len(bags))
        cost = lam * weight / (weight.sum() * (1 - theta) ** 2)
        b = as_expression(0.0) if self.bias == "none" else program.variable("b")
        size = f.norm_squared() + sum_squares(b) if self.bias == "regularised" else f.norm_squared()
        program.minimize(0.5 * size + quad_form(xi, cost) + quad_form(eps, cost * mu))
        margin = y * self._bag_values(f(bags) + b)
        program.subject_to(margin >= 1 - theta - xi, name="lower")
        program.subject_to(margin <= 1 + theta + eps, name="upper")
        program.score(lambda new: self._bag_values(f(new) + b), instances=lambda x: f(x) + b)
        return program

    def _bag_values(self, values: Expression) -> Expression:
        """Return F_i for each bag from `values`, the values of f + b at all instances: here the mean over the bag."""
        return bag_mean(values)


def check_theta(name: str, value: float) -> float:
    """Return theta, or raise an error if it is not in [0, 1 - MIN_TARGET_MARGIN]; `name` is for the error."""
    if 1 - check_below_one(name, value) < 0.999 * MIN_TARGET_MARGIN:
        raise ParameterError(f"{name} must leave 1 - {name} at {MIN_TARGET_MARGIN:g} or above, not at {1 - value:.2g}.")
    return value
