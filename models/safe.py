"""SAFE: bag sums fitted to the labels, over instance scores that spread as kernel PCA or spectral clustering has them.

    min  1/2 ||f||^2 - gamma/2 sum_p v_p e_p^2 + rho/2 sum_i w_i (E_i - y_i)^2,   e = f + b,  E_i = sum_{p in B_i} e_p

v = 1 is the core of kernel PCA, v_p = 1 / sum_q K(x_p, x_q) that of kernel spectral clustering (an instance of a bag
that counts twice counts twice in both). One quadratic, one linear system; not convex for every gamma. Where it is not,
its stationary point, which is unique, is a saddle: it says so, and `largest_convex_gamma` says from where on.

`aggregation` makes E_i the mean or the maximum; `loss` replaces the square by Huber's function of E_i - y_i or by the
hinge of y_i E_i. Nothing then holds b up against -gamma/2 e'Ve, and for gamma > 0 it is the b that centres the scores,
sum_p v_p e_p = 0. With `rank` landmarks z, f = sum_z a_z K(z, .) (Nystrom): time and memory grow as the instances do.
"""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from typing import ClassVar

import numpy as np
import numpy.typing as npt

from milopt import RBF, BagClassifier, Kernel, Program, bag_max, bag_mean, bag_sum, quad_form
from milopt.compilation.convex_limit import convex_limit
from milopt.declaration.bags.bags import Bags
from milopt.declaration.bags.labels import Signs, Weights
from milopt.declaration.checks import non_negative, one_of, positive, whole
from milopt.declaration.kernels.degrees import core_weights
from milopt.declaration.kernels.dictionary import dictionary
from milopt.declaration.programs.expression import Expression
from milopt.declaration.programs.leaves import Function
from milopt.errors import ConvexityError, MiloptWarning, ParameterError
from milopt.outcome.result import Result

AGGREGATIONS = {"sum": bag_sum, "mean": bag_mean, "max": bag_max}


class SAFE(BagClassifier):
    """Least squares on bag sums with the core of kernel PCA or kernel spectral clustering."""

    gamma: float = 0.3
    """What the spread of the instance scores is worth; 0 leaves it out."""
    rho: float = 10.0
    """What the fit of the bag scores is worth."""
    core: str = "ksc"
    """`ksc` or `kpca`."""
    kernel: Kernel = RBF("median")
    """Kernel between instances."""
    aggregation: str = "sum"
    """`sum`, `mean` or `max`."""
    loss: str = "square"
    """`square`, `huber` or `hinge`."""
    rank: int | None = None
    """How many landmarks stand for the instances at most; None for all instances."""
    landmarks: str = "kmeans"
    """`kmeans` centroids, a `uniform` or a k-means++ `sample` of the instances."""
    on_nonconvex: str = "warn"
    """What a saddle is worth: `warn`, `error`, or `allow`."""

    grid: ClassVar[Mapping[str, tuple[object, ...]]] = {
        "gamma": (0.0, 0.3, 0.9),
        "rho": (1.0, 10.0, 100.0),
        "kernel": (RBF(s="0.5/median"), RBF(s="4/median")),
    }
    """gamma below 1, where the core of spectral clustering alone stays convex; one wide kernel and one narrow."""

    in_selection: ClassVar[Mapping[str, object]] = {"on_nonconvex": "error"}
    """A saddle is no candidate, unless it is allowed."""

    @property
    def has_symmetric_classes(self) -> bool:
        """Return whether bags are summed or averaged: a maximum looks for the most positive instance."""
        return self.aggregation != "max"

    def declare(self, bags: Bags, y: Signs, weight: Weights) -> Program:
        """The program of the module."""
        if self.rho == 0:
            raise ParameterError("rho must be a positive number, not 0: without labels, take SpectralBagClustering.")
        gamma, rho = non_negative("gamma", self.gamma), positive("rho", self.rho)
        aggregate = AGGREGATIONS[one_of("aggregation", self.aggregation, tuple(AGGREGATIONS))]
        one_of("loss", self.loss, ("square", "huber", "hinge"))
        one_of("landmarks", self.landmarks, ("kmeans", "uniform", "sample"))
        one_of("on_nonconvex", self.on_nonconvex, ("warn", "error", "allow"))
        program = Program("SAFE")
        f = self._function(program, bags)
        v = core_weights(self.core, f, bags, weight[bags.bag_of])
        plain = self.loss == "square" and self.aggregation != "max"
        scores = f(bags)
        b: Expression = program.variable("b") if plain or gamma == 0 else -_shares(np.asarray(v)) @ scores
        e = scores + b
        price = (
            quad_form(aggregate(e, bags) - y, weight) if plain else self._price(program, aggregate(e, bags), y, weight)
        )
        program.minimize(0.5 * f.norm_squared() - 0.5 * gamma * quad_form(e, v) + 0.5 * rho * price)
        program.score(lambda new: aggregate(f(new) + b, new), instances=lambda x: f(x) + b)
        return program

    def review(self, result: Result) -> None:
        """Say that a stationary point is no minimum."""
        found = result.inertia
        if self.on_nonconvex == "allow" or found is None or not found.is_saddle:
            return
        said = f"{result.program.name} with gamma={self.gamma:g} is not convex, and its point is a {found}"
        remedy = "lower gamma (largest_convex_gamma tells how far), or give on_nonconvex="
        if self.on_nonconvex == "error":
            raise ConvexityError(f'{said}; {remedy}"allow".')
        warnings.warn(f'{said}; {remedy}"allow".', MiloptWarning, stacklevel=4)

    def largest_convex_gamma(self, bags: object, y: npt.ArrayLike, sample_weight: npt.ArrayLike | None = None) -> float:
        """The gamma up to which the program over these bags is convex, everything else as it is."""
        program = type(self)(**self.get_params(deep=False) | {"gamma": 1.0}).program(bags, y, sample_weight)
        assert isinstance(program, Program)
        return convex_limit(program)

    def _function(self, program: Program, bags: Bags) -> Function:
        if self.rank is None:
            return program.function("f", self.kernel)
        rank = whole("rank", self.rank, 1)
        seed = self.random_state if isinstance(self.random_state, int) else 0
        Z = dictionary(bags.instances, self.landmarks, rank, self.kernel, seed)
        return program.function("f", self.kernel, dictionary=Z, orthonormal=True)

    def _price(self, program: Program, E: Expression, y: Signs, weight: Weights) -> Expression:
        """Twice the losses: the hinge of y E; or the square, or Huber's function, of over + under = |E - y|."""
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
        # Huber's function of t is the least of 1/2 (t - far)^2 + far over far >= 0.
        far = program.variable("far", y.size, lower=0)
        return quad_form(over + under - far, weight) + 2.0 * (weight @ far)


def _shares(weights: Weights) -> Weights:
    return np.asarray(weights / weights.sum())
