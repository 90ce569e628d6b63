"""SAFE (supervised aggregated feature learning): least squares on bag sums, plus a reward for spread instance scores.

    min  1/2 ||f||^2 - gamma/2 sum_p v_p e_p^2 + rho/2 sum_i w_i (E_i - y_i)^2,   e = f + b,  E_i = sum_{p in B_i} e_p

p runs over all instances, e_p = f(x_p) + b is the score of instance p, E_i the score of bag i, and w_i the weight of
bag i. The instance weights v_p = 1 give the objective of kernel PCA, and v_p = 1 / sum_q K(x_p, x_q) the objective of
kernel spectral clustering; with both, an instance of a bag of weight 2 counts as two instances. The solution is found
from one linear system. The program is not convex for large gamma. Its unique stationary point is then a saddle point:
by default the fit warns, and `largest_convex_gamma` computes the largest gamma for which the program is convex.

`aggregation` replaces the sum E_i by the mean or the maximum. `loss` replaces the half square 1/2 (E_i - y_i)^2 by
Huber's function of E_i - y_i or by the hinge [1 - y_i E_i]_+; the loss of bag i has the weight rho w_i. If gamma > 0
and either the loss is not the square or the aggregation is the maximum, the term -gamma/2 sum_p v_p e_p^2 could make
the objective unbounded below in b. Then b is not free, but such that the scores are centred: sum_p v_p e_p = 0. With a
kernel that has features, such as `Nystrom`, time and memory grow linearly with the number of instances.
"""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from typing import ClassVar

import numpy as np
import numpy.typing as npt

from milopt import RBF, BagClassifier, Kernel, Program, bag_max, bag_mean, bag_sum, quad_form
from milopt.compilation.convex_limit import largest_convex_factor
from milopt.declaration.bags.bags import Bags
from milopt.declaration.bags.labels import Signs, Weights
from milopt.declaration.checks import check_choice, check_non_negative, check_positive
from milopt.declaration.kernels.degrees import core_weights
from milopt.declaration.programs.expression import Expression
from milopt.errors import ConvexityError, MiloptWarning, ParameterError
from milopt.outcome.result import Result

AGGREGATIONS = {"sum": bag_sum, "mean": bag_mean, "max": bag_max}
"""Functions that combine the scores of instances into the score of a bag, by name."""


class SAFE(BagClassifier):
    """Bag classifier: supervised aggregated feature learning (SAFE).

    Least squares on bag sums with a kernel PCA or spectral clustering term. Solves

        min_{f,b}  1/2 ||f||^2 - gamma/2 sum_p v_p e_p^2 + rho/2 sum_i w_i (E_i - y_i)^2,
        e = f + b,  E_i = sum_{p in B_i} e_p,

    where p runs over all instances, v_p is the weight of instance p (see `core`) and w_i the weight of bag i. The
    problem is convex only for small `gamma`; see `largest_convex_gamma`.

    Parameters
    ----------
    gamma : float, default=0.3
        Weight of the spread of the instance scores. 0 removes the term.
    rho : float, default=10.0
        Weight of the loss of the bag scores. Must be positive.
    core : {"ksc", "kpca"}, default="ksc"
        Instance weights v: inverse degrees ("ksc", kernel spectral clustering) or ones ("kpca", kernel PCA).
    kernel : Kernel, default=RBF("median")
        Kernel between instances.
    aggregation : {"sum", "mean", "max"}, default="sum"
        How instance scores are combined into the score E of a bag.
    loss : {"square", "huber", "hinge"}, default="square"
        Loss of a bag, with weight rho w_i: 1/2 (E - y)^2, Huber's function of E - y, or [1 - y E]_+. If gamma > 0 and
        either the loss is not "square" or the aggregation is "max", b is not free but centres the scores:
        sum_p v_p e_p = 0.
    on_nonconvex : {"warn", "error", "allow"}, default="warn"
        What to do if the problem is not convex and the solution is a saddle point: warn ("warn"), raise
        `ConvexityError` ("error"), or nothing ("allow").

    Attributes
    ----------
    result_ : Result
        Result of the optimisation (two classes).
    classes_ : ndarray of shape (n_classes,)
        Labels of the classes, sorted.

    References
    ----------
    .. [1] R. Langone and J. A. K. Suykens. Supervised aggregated feature learning for multiple instance classification.
       Information Sciences 375, 234-245, 2017.

    Examples
    --------
    >>> import numpy as np
    >>> from milopt.models import SAFE
    >>> bags = np.random.default_rng(0).normal(size=(20, 4, 2))
    >>> y = np.repeat([-1, 1], 10)
    >>> bags[y == 1] += 3
    >>> model = SAFE(gamma=0.3, rho=10.0).fit(bags, y)
    >>> model.score(bags, y)
    1.0
    """

    gamma: float = 0.3
    rho: float = 10.0
    core: str = "ksc"
    kernel: Kernel = RBF("median")
    aggregation: str = "sum"
    loss: str = "square"
    on_nonconvex: str = "warn"

    in_default_comparison = True
    grid: ClassVar[Mapping[str, tuple[object, ...]]] = {
        "gamma": (0.0, 0.3, 0.9),
        "rho": (1.0, 10.0, 100.0),
        "kernel": (RBF(s="0.5/median"), RBF(s="4/median")),
    }
    """Candidate values: gamma below 1, powers of ten for rho, and two kernel widths around the median distance.

    For gamma below 1 and the core "ksc", 1/2 ||f||^2 - gamma/2 sum_p v_p f(x_p)^2 is convex.
    """

    in_selection: ClassVar[Mapping[str, object]] = {"on_nonconvex": "error"}
    """Values used while candidates are compared: a candidate whose solution is a saddle point then fails.

    A value of `on_nonconvex` that the user gives takes precedence.
    """

    @property
    def has_symmetric_classes(self) -> bool:
        """True for the aggregations "sum" and "mean", where exchanging the classes negates f and b; False for "max"."""
        return self.aggregation != "max"

    def declare(self, bags: Bags, y: Signs, weight: Weights) -> Program:
        """Build the SAFE program stated in the class docstring.

        Raises
        ------
        ParameterError
            If `rho` is 0.
        """
        if self.rho == 0:
            raise ParameterError("rho must be a positive number, not 0: without labels, use SpectralBagClustering.")
        gamma, rho = check_non_negative("gamma", self.gamma), check_positive("rho", self.rho)
        aggregate = AGGREGATIONS[check_choice("aggregation", self.aggregation, tuple(AGGREGATIONS))]
        check_choice("loss", self.loss, ("square", "huber", "hinge"))
        check_choice("on_nonconvex", self.on_nonconvex, ("warn", "error", "allow"))
        program = Program("SAFE")
        f = program.function("f", self.kernel)
        v = core_weights(self.core, f.kernel, bags, weight[bags.bag_of])
        is_least_squares = self.loss == "square" and self.aggregation != "max"
        if isinstance(v, np.ndarray) and (weight == 1).all():
            # Other bag weights count instances several times.
            program.name_constant("w", v, r"\frac{1}{\sum_{j} K(x_{i}, x_{j})}")
        scores = f(bags)
        b: Expression = program.variable("b") if is_least_squares or gamma == 0 else -_normalise_to_sum_one(v) @ scores
        e = scores + b
        loss = (
            quad_form(aggregate(e, bags) - y, weight)
            if is_least_squares
            else self._add_loss(program, aggregate(e, bags), y, weight)
        )
        program.minimize(0.5 * f.norm_squared() - 0.5 * gamma * quad_form(e, v) + 0.5 * rho * loss)
        program.score(lambda new: aggregate(f(new) + b, new), instances=lambda x: f(x) + b)
        return program

    def check_result(self, result: Result) -> None:
        """Warn, or raise `ConvexityError`, if the stationary point is a saddle point (see `on_nonconvex`).

        Parameters
        ----------
        result : Result
            Result of the program.

        Raises
        ------
        ConvexityError
            If the solution is a saddle point and ``on_nonconvex="error"``.
        """
        inertia = result.inertia
        if self.on_nonconvex == "allow" or inertia is None or not inertia.is_saddle:
            return
        problem = f"{result.program.name} with gamma={self.gamma:g} is not convex, and its solution is a {inertia}"
        remedy = 'lower gamma (largest_convex_gamma computes the limit), or give on_nonconvex="allow".'
        if self.on_nonconvex == "error":
            raise ConvexityError(f"{problem}; {remedy}")
        warnings.warn(f"{problem}; {remedy}", MiloptWarning, stacklevel=4)

    def largest_convex_gamma(self, bags: object, y: npt.ArrayLike, sample_weight: npt.ArrayLike | None = None) -> float:
        """Compute the largest `gamma` for which the program over these bags is convex.

        All other hyper-parameters keep their values.

        Parameters
        ----------
        bags : list of array, 3-D array or Bags
            Training bags, each of shape (n_instances, n_features).
        y : array-like of shape (n_bags,)
            Labels of two classes.
        sample_weight : array-like of shape (n_bags,) or None, default=None
            Weight of each bag. None means 1 for all.

        Returns
        -------
        float
            Largest convex value of `gamma`; infinity if the program is convex for every `gamma`.

        Raises
        ------
        UnsupportedError
            If the loss is not "square" or the aggregation is "max": the program then has constraints, for which the
            limit is not defined.
        """
        program = type(self)(**self.get_params(deep=False) | {"gamma": 1.0}).program(bags, y, sample_weight)
        assert isinstance(program, Program)
        return largest_convex_factor(program)

    def _add_loss(self, program: Program, E: Expression, y: Signs, weight: Weights) -> Expression:
        """Add the variables and constraints of the losses to the program; return twice the sum of w_i times loss i.

        E has the scores of the bags, and `weight` the bag weights w_i. The loss of a bag is the hinge [1 - y E]_+, half
        the square of E - y, or Huber's function of E - y. The nonnegative variables `over` and `under` are upper bounds
        of E - y and y - E; at the optimum, over + under = |E - y|.
        """
        if self.loss == "hinge":
            slack = program.variable("slack", y.size, lower=0)
            program.subject_to(y * E >= 1 - slack, name="margin")
            return 2.0 * (weight @ slack)
        over = program.variable("over", y.size, lower=0)
        under = program.variable("under", y.size, lower=0)
        program.subject_to(over >= E - y, name="above")
        program.subject_to(under >= y - E, name="below")
        if self.loss == "square":
            return quad_form(over, weight) + quad_form(under, weight)
        # Huber's function of t >= 0 is the minimum of 1/2 (t - far)^2 + far over far >= 0; here t = over + under.
        far = program.variable("far", y.size, lower=0)
        return quad_form(over + under - far, weight) + 2.0 * (weight @ far)


def _normalise_to_sum_one(weights: Weights) -> Weights:
    """Divide weights by their sum."""
    return np.asarray(weights / weights.sum())
