"""Boosted kernel shapelets: soft-margin boosting over infinitely many similarity patterns, by column generation.

    min  gamma   s.t.  sum_i y_i d_i h(B_i) <= gamma for every h in H,  1'd = 1,  0 <= d_i <= w_i / (nu sum_j w_j)

with the weak learners H = { B -> max_{x in B} <u, Phi(x)> : u in U } and the bag weights w_i. Phi(x) = K(x, .) is the
feature map of the kernel. The linear program over (gamma, d) with the weak learners found so far is the master. The
edge of a weak learner h is the left side of its row, sum_i y_i d_i h(B_i); an oracle finds the weak learner with the
largest edge at the current d. The ball U is one of

    `l1`        ||a||_1 <= radius for u = sum_z a_z Phi(z) over a dictionary of points z; a step of the oracle is an LP
    `hilbert`   ||u|| <= radius; a step of the oracle is an SOCP
    `one-hot`   u = +-radius Phi(z), single dictionary points with a sign; the oracle is a search

The multiplier omega_t of the row of a weak learner h_t is the weight of h_t in the score of a bag,
g(B) = sum_t omega_t h_t(B) + b. A free bias b (`bias`) adds the row y'd = 0 to the master. If `two_sided`, H also
contains -h for every h.

The dual of the master maximises the soft margin  rho - sum_i w_i xi_i / (nu sum_j w_j)  with the margin rho and the
slacks xi_i = [rho - y_i g(B_i)]_+. For fixed omega, let s_i = g(B_i) - b. The problem in (rho, b) splits into two: one
for p = rho - b, a quantile of s_i over the positive bags, and one for q = rho + b, a quantile of -s_i over the negative
bags. Half of d lies on the positive bags with s_i <= p, and half on the negative bags with -s_i <= q. If all p (or q)
of an interval are optimal, the middle of the interval is used, or its lower end if it is unbounded.

y'd = 0 requires that nu is at most twice the smaller class's fraction of the weight. A larger nu is lowered to this
limit. Then all bags of the smaller class may lie within the margin, and b is not unique. If the positive class is the
smaller one, every larger p is optimal too: it lowers b and raises rho by the same amount. If the negative class is the
smaller one, every larger q is optimal too: it raises b and rho by the same amount. If `class_weight` is given and nu
was lowered, b is shifted by (nu / lowered nu - 1) |rho| in favour of the heavier class. A heavier positive class raises
b, and a heavier negative class lowers it.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from typing import ClassVar

import numpy as np

from milopt import RBF, Bags, Kernel, Program, Signs, Weights, bag_max, norm1
from milopt.arrays import Floats, Points
from milopt.declaration.bags.sliding_windows import sliding_windows, window_length
from milopt.declaration.checks import check_choice, check_fraction, check_positive
from milopt.declaration.kernels.dictionary import choose_dictionary
from milopt.declaration.kernels.similarity import signed_similarity
from milopt.declaration.programs.ball import FunctionBall
from milopt.declaration.programs.column_maximum import BagMaximumColumn, KernelExpansion
from milopt.declaration.programs.leaves import Variable
from milopt.declaration.programs.semi_infinite import Oracle, SemiInfinite
from milopt.errors import MiloptWarning, ParameterError
from milopt.estimator.ensemble_classifier import EnsembleClassifier

CUMULATIVE_COST_TOLERANCE = 1e-9
"""Tolerance for rounding errors when cumulative slack costs are compared with one half, in `optimal_quantile`."""
MAX_RADIUS = 1e5
"""Largest admissible radius of the ball of patterns; the smallest one is 1 / MAX_RADIUS."""


class ShapeletBoost(EnsembleClassifier):
    """Bag classifier: boosting over kernel shapelets, by column generation.

    A weak learner is the maximum over a bag, h(B) = max_{x in B} <u, Phi(x)>, for a pattern u from a ball in the
    kernel's space; Phi(x) = K(x, .). There are infinitely many weak learners, so column generation solves the
    soft-margin linear program

        min_{gamma,d}  gamma
        s.t.  sum_i y_i d_i h(B_i) <= gamma for every h,  1'd = 1,  0 <= d_i <= w_i / (nu sum_j w_j),

    with y'd = 0 if `bias` is True, where w_i is the weight of bag i and d_i its price. The dual maximises the soft
    margin of a mixture of weak learners. The score of a bag is g(B) = sum_t omega_t h_t(B) + b, with the weights
    omega_t of the mixture. Few omega_t are nonzero, so `maximisers` and `patterns` can explain a score by few patterns.

    Parameters
    ----------
    nu : float, default=0.3
        Upper bound on the fraction of the bags (by weight) within the margin, in (0, 1]. With ``bias=True``, a value
        above twice the smaller class's fraction of the weight is lowered to this limit, with a warning.
    ball : {"l1", "hilbert", "one-hot"}, default="l1"
        Set of patterns u: combinations of dictionary entries with bounded 1-norm, functions with bounded norm in the
        kernel's space, or single dictionary entries with a sign.
    radius : float, default=1.0
        Radius of the ball of patterns, between 1e-5 and 1e5. It only scales scores and margins.
    kernel : Kernel, default=RBF("median")
        Kernel between instances, or between windows if `window` is given.
    dictionary : {"kmeans", "sample", "uniform", "all"}, default="kmeans"
        How the dictionary is chosen from the training instances: k-means centroids, k-means++ sampling, uniformly at
        random, or all instances.
    atoms : int, default=100
        Maximum number of dictionary entries, unless ``dictionary="all"``. Entries are chosen from at most 20,000
        instances (or windows), or 10 per entry if that is more. The similarities of all entries to all instances are
        computed in blocks of at most 64 MiB, and kept for ``ball="l1"``: 8 bytes each, 80 MB for 100 entries and
        100,000 instances. For ``ball="one-hot"``, only the largest similarities per bag are kept.
    bias : bool, default=True
        Whether scores have a free bias b. The prices d of each class then sum to 1/2.
    two_sided : bool, default=True
        Whether -h is a weak learner for every weak learner h.
    window : float, tuple of floats or None, default=None
        Window lengths, for bags that are time series with their samples in order: numbers of samples, or fractions of
        the shortest series. None uses the instances of the bags.
    oracle : {"ccp", "exact"}, default="ccp"
        How the weak learner with the largest edge is searched in each round: locally ("ccp"), or globally with a proved
        bound ("exact"). With ``ball="one-hot"``, the search is always exact.

    Attributes
    ----------
    result_ : Result
        Result of the optimisation (two classes).
    classes_ : ndarray of shape (n_classes,)
        Labels of the classes, sorted.

    References
    ----------
    .. [1] D. Suehiro, K. Hatano, E. Takimoto, S. Yamamoto, K. Bannai and A. Takeda. Multiple-instance learning by
       boosting infinitely many shapelet-based classifiers. arXiv:1811.08084, 2018.
    .. [2] D. Suehiro, K. Hatano, E. Takimoto, S. Yamamoto, K. Bannai and A. Takeda. Boosting the kernelized shapelets:
       Theory and algorithms for local features. arXiv:1709.01300, 2017.

    Examples
    --------
    >>> import numpy as np
    >>> from milopt.models import ShapeletBoost
    >>> bags = np.random.default_rng(0).normal(size=(20, 4, 2))
    >>> y = np.repeat([-1, 1], 10)
    >>> bags[y == 1, 0] += 4
    >>> model = ShapeletBoost(nu=0.3, atoms=10).fit(bags, y)
    >>> model.score(bags, y)
    1.0
    """

    nu: float = 0.3
    ball: str = "l1"
    radius: float = 1.0
    kernel: Kernel = RBF("median")
    dictionary: str = "kmeans"
    atoms: int = 100
    bias: bool = True
    two_sided: bool = True
    window: float | tuple[float, ...] | None = None
    oracle: str = "ccp"

    in_default_comparison = True
    grid: ClassVar[Mapping[str, tuple[object, ...]]] = {
        "nu": (0.1, 0.3, 0.5),
        "kernel": (RBF("0.1/median"), RBF("0.5/median"), RBF("2/median")),
    }
    """Candidate values of nu, and kernel widths around the median distance between instances."""

    @property
    def receives_fitted_kernels(self) -> bool:
        """True if `window` is None; otherwise `declare` cuts the windows and fits the kernel, which compares them."""
        return self.window is None

    @property
    def has_symmetric_classes(self) -> bool:
        """True if `two_sided`, so that -h is a weak learner for every h: exchanging the classes exchanges h and -h."""
        return bool(self.two_sided)

    def declare(self, bags: Bags, y: Signs, weight: Weights) -> SemiInfinite:
        """Build the semi-infinite program stated in the class docstring: the master and its oracles.

        Raises
        ------
        ParameterError
            If a hyper-parameter is invalid: `nu`, `ball`, `radius`, `dictionary`, `window` (also without a length), or
            `oracle`.
        """
        nu = check_fraction("nu", self.nu)
        if self.bias:
            nu = clip_nu(nu, y, weight)
        master = Program("soft margin")
        # 1'd = 1 implies d_i <= 1, so that capping the bounds at 2 changes nothing. The huge bounds of a tiny nu would
        # worsen the scaling of the program.
        d = master.variable("d", len(bags), lower=0, upper=np.minimum(weight / (nu * weight.sum()), 2.0))
        gamma = master.variable("gamma")
        master.minimize(gamma)
        master.subject_to(d.sum() == 1, name="simplex")
        start, offset = weight / weight.sum(), None
        if self.bias:
            master.subject_to(y @ d == 0, name="balance")
            slack_costs = weight / (nu * weight.sum())
            shift = 0.0 if self.class_weight is None else float(np.sign(y @ weight)) * (self.nu / nu - 1)
            offset = partial(optimal_bias, y=y, slack_costs=slack_costs, shift=shift)
            start = weight / np.where(y > 0, 2 * weight[y > 0].sum(), 2 * weight[y < 0].sum())
        edge = master.family("edge", lambda h: (y * h) @ d <= gamma)
        # A string is a sequence in Python, but not a sequence of lengths.
        window = (self.window,) if isinstance(self.window, str) else self.window
        lengths = window if isinstance(window, Sequence) else (window,)
        if not lengths:
            raise ParameterError("window must have at least one length, or be None to use the instances of the bags.")
        shortest = int(bags.sizes.min())
        # Different fractions of short series may give the same number of samples.
        samples = dict.fromkeys(None if length is None else window_length(length, shortest) for length in lengths)
        patterns = [self._build_patterns(length, bags) for length in samples]
        signs = (1.0, -1.0) if self.two_sided else (1.0,)
        oracles = [self._build_oracle(part, y, d, sign) for part in patterns for sign in signs]
        return SemiInfinite(master, edge, oracles, bags, {d: start}, offset, nu)

    def _build_patterns(self, samples: int | None, bags: Bags) -> WindowPatterns:
        """Build the dictionary and the ball of patterns for windows of `samples` samples, or for instances if None."""
        training = bags if samples is None else sliding_windows(bags, samples)
        kernel = self.kernel.fitted(training.instances)
        seed = self.random_state if isinstance(self.random_state, int) else 0
        Z = choose_dictionary(training.instances, self.dictionary, self.atoms, kernel, seed)
        ball = FunctionBall(kernel, training, self.radius, None if self.ball == "hilbert" else Z)
        return WindowPatterns(samples, bags, training, kernel, Z, ball)

    def _build_oracle(self, patterns: WindowPatterns, y: Signs, d: Variable, sign: float) -> Oracle:
        """Build the oracle that finds the weak learner h (-h if `sign` is -1) with the largest edge at the prices d."""
        ball, radius = check_choice("ball", self.ball, ("l1", "hilbert", "one-hot")), check_radius(self.radius)
        scheme = check_choice("oracle", self.oracle, ("ccp", "exact"))
        kernel, Z = patterns.kernel, patterns.atoms
        program = Program("weak learning")
        p = program.parameter("d", d.size, sign=+1)
        if ball == "one-hot":
            count = Z.shape[0]
            atom = program.variable("atom", 2 * count, lower=0)
            program.maximize((sign * y * p) @ (radius * signed_similarity(kernel, patterns.training, Z) @ atom))
            program.subject_to(atom.sum() == 1, name="choice")
            return Oracle(
                program,
                {p: d},
                column=lambda new: sign * radius * signed_similarity(kernel, patterns.cut_into_windows(new), Z) @ atom,
                instances=lambda x: sign * radius * append_negatives(kernel(x, Z)) @ atom,
                ball=patterns.ball,
                maximum=BagMaximumColumn(
                    sign, KernelExpansion(kernel, Z, radius * (atom[:count] - atom[count:])), patterns.samples
                ),
            )
        uses_all_instances = ball == "hilbert" and self.dictionary == "all"
        u = program.function("u", kernel, dictionary=None if uses_all_instances else Z)
        program.maximize((sign * y * p) @ bag_max(u(patterns.training)))
        program.subject_to((norm1(u.coefficients) if ball == "l1" else u.norm()) <= radius, name="ball")
        return Oracle(
            program,
            {p: d},
            column=lambda new: sign * bag_max(u(patterns.cut_into_windows(new))),
            instances=lambda x: sign * u(x),
            starts=lambda prices: patterns.starting_values(sign * y * prices[p]),
            scheme=scheme,
            ball=patterns.ball,
            maximum=BagMaximumColumn(sign, u, patterns.samples),
        )


@dataclass(frozen=True, eq=False)
class WindowPatterns:
    """Dictionary and ball of patterns for windows of one length, with the training bags.

    `samples` is the length of the windows, or None if patterns are compared with the instances of the bags. `given` are
    the training bags before they are cut into windows. `atoms` are the points z of the dictionary.
    """

    samples: int | None
    given: Bags
    training: Bags
    """Windows of the bags `given`, or `given` itself if `samples` is None."""
    kernel: Kernel
    atoms: Points
    ball: FunctionBall

    @cached_property
    def similarities(self) -> Floats:
        """Matrix [M, N]: M_iz = max_{x in B_i} K(x, z) and N_iz = max_{x in B_i} -K(x, z) for bag i and atom z."""
        return signed_similarity(self.kernel, self.training, self.atoms)

    def cut_into_windows(self, bags: Bags) -> Bags:
        """Cut bags into windows of `samples` samples; if `samples` is None, return the bags themselves."""
        if bags is self.given:
            return self.training
        return bags if self.samples is None else sliding_windows(bags, self.samples)

    def starting_values(self, weights: Floats) -> Iterator[Floats]:
        """Yield starting points of a local search: the values of +-K(z, .) at all training instances, for the atoms z.

        The first one has the largest edge sum_i weights_i max_{x in B_i} +-K(x, z), and the edges decrease.
        """
        count = self.atoms.shape[0]
        for z in np.argsort(-(weights @ self.similarities), kind="stable"):
            yield (1.0 if z < count else -1.0) * self.kernel(self.training.instances, self.atoms[[z % count]])[:, 0]


def soft_margin_program(columns: Floats, y: Signs, weight: Weights, nu: float, bias: bool) -> Program:
    """Build the dual of the master for given weak learners h_t: find their mixture with the largest soft margin.

    max  rho - weight'xi / (nu sum_j weight_j)   s.t.  y_i ((H w)_i + b) >= rho - xi_i,  1'w = 1,  w, xi >= 0

    `columns` is the matrix H with H[i, t] = h_t(B_i), and `weight` has the weights of the bags. The variables w are the
    weights of the weak learners (omega in the module docstring). If `bias` is False, b = 0.
    """
    program = Program("soft margin, primal")
    w = program.variable("w", columns.shape[1], lower=0)
    xi = program.variable("xi", y.size, lower=0)
    rho = program.variable("rho")
    score = columns @ w
    if bias:
        score = score + program.variable("b")
    program.maximize(rho - (weight / (check_fraction("nu", nu) * weight.sum())) @ xi)
    program.subject_to(y * score >= rho - xi, name="margin")
    program.subject_to(w.sum() == 1, name="mixture")
    return program


def check_radius(radius: float) -> float:
    """Return the radius, or raise an error if it is not between 1 / MAX_RADIUS and MAX_RADIUS.

    Outside this range, the edges are too small or too large for the tolerances of solvers.
    """
    if not 1 / MAX_RADIUS <= check_positive("radius", radius) <= MAX_RADIUS:
        bounds = f"between {1 / MAX_RADIUS:g} and {MAX_RADIUS:g}"
        raise ParameterError(f"radius only scales scores and margins: it must lie {bounds}, not at {radius:g}.")
    return radius


def clip_nu(nu: float, y: Signs, weight: Weights) -> float:
    """Return nu, or, if nu is above twice the smaller class's fraction of the weight, warn and return this limit.

    The limit is the largest nu for which each class can have half of the prices d.
    """
    limit = 2 * min(float(weight[y > 0].sum()), float(weight[y < 0].sum())) / float(weight.sum())
    if nu <= limit:
        return nu
    message = f"With a bias, nu is at most twice the smaller class's share: {limit:.4g} is used instead of {nu:g}."
    warnings.warn(f"{message} Balance the classes by class_weight, or give bias=False.", MiloptWarning, stacklevel=2)
    return limit


def optimal_bias(scores: Floats, y: Signs, slack_costs: Weights, shift: float) -> float:
    """Return b + shift * |rho|, where the bias b and the margin rho maximise the soft margin for given scores.

    The module docstring has the formulas. `scores` are the scores s_i of the training bags without bias, and
    `slack_costs` are w_i / (nu sum_j w_j).
    """
    p, q = optimal_quantile(scores[y > 0], slack_costs[y > 0]), optimal_quantile(-scores[y < 0], slack_costs[y < 0])
    return (q - p) / 2 + shift * abs(p + q) / 2


def optimal_quantile(values: Floats, slack_costs: Weights) -> float:
    """Return the p that maximises p / 2 - sum_i slack_costs_i [p - values_i]_+.

    If all p of an interval are optimal, return the middle of the interval, or its lower end if it is unbounded.
    """
    order = np.argsort(values, kind="stable")
    cumulative_costs = slack_costs[order].cumsum()
    k = min(int(np.searchsorted(cumulative_costs, 0.5 - CUMULATIVE_COST_TOLERANCE)), order.size - 1)
    is_interval = cumulative_costs[k] < 0.5 + CUMULATIVE_COST_TOLERANCE and k + 1 < order.size
    return float(values[order[k : k + 2]].mean() if is_interval else values[order[k]])


def append_negatives(values: Floats) -> Floats:
    """Return the matrix [K, -K] for a matrix K of kernel values."""
    return np.hstack([values, -values])
