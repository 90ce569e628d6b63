"""Boosted kernel shapelets: a soft margin over infinitely many similarity patterns, by column generation.

    min  gamma   s.t.  sum_i y_i d_i h(B_i) <= gamma for every h in H,  1'd = 1,  0 <= d_i <= w_i / (nu sum_j w_j)

with H = { B -> max_{x in B} <u, Phi(x)> : u in U } and U a ball: ||a||_1 <= radius for u = sum_z a_z Phi(z) over a
dictionary (`l1`: the oracle's step is an LP), ||u|| <= radius (`hilbert`: an SOCP), or the signed single patterns
+-radius Phi(z) (`one-hot`: a search). The multipliers of the rows weigh the shapelets: g(B) = sum_t w_t h_t(B) + b. A
free bias b adds y'd = 0 to the master; the two-sided class has -h beside every h.

At given shapelets (rho, b) splits into p = rho - b, a level of the positive bags' scores, and q = rho + b, one of the
negative bags': half of d lies on the bags below each. Where nu leaves an interval of such levels, its middle is taken.
y'd = 0 needs nu <= twice the smaller class's share of the weight, and nu is lowered to that: all of that class may then
lie within the margin, and every larger level of it is optimal too. Where class weights say what the classes are worth,
b moves towards the heavier class until rho is as many times larger as nu was lowered.
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
from milopt.declaration.bags.sliding import sliding, window_length
from milopt.declaration.checks import one_of, positive, share
from milopt.declaration.kernels.dictionary import dictionary
from milopt.declaration.kernels.similarity import signed_similarity
from milopt.declaration.programs.ball import Ball
from milopt.declaration.programs.leaves import Variable
from milopt.declaration.programs.maximum import Combination, Maximum
from milopt.declaration.programs.semi_infinite import Oracle, SemiInfinite
from milopt.errors import MiloptWarning, ParameterError
from milopt.estimator.ensemble_classifier import EnsembleClassifier

ROUNDING = 1e-9
LARGEST_RADIUS = 1e5


class ShapeletBoost(EnsembleClassifier):
    """Boosting over kernel shapelets: few weighted patterns, each a maximum over the instances of a bag."""

    nu: float = 0.3
    """At most this share of the bags may lie within the margin; in (0, 1]."""
    ball: str = "l1"
    """`l1`, `hilbert` or `one-hot`."""
    radius: float = 1.0
    """Radius of the ball of patterns."""
    kernel: Kernel = RBF("median")
    """Kernel between instances, or between windows if `window` is given."""
    dictionary: str = "kmeans"
    """`kmeans` centroids, a k-means++ `sample` of the instances, a `uniform` one, or `all` of them."""
    atoms: int = 100
    """How many patterns the dictionary has at most, unless it has `all`."""
    bias: bool = True
    """Whether scores have a free bias, which balances the prices of the two classes."""
    two_sided: bool = True
    """Whether -h may be chosen beside every h."""
    window: float | tuple[float, ...] | None = None
    """For bags that are series, their samples in order: window lengths, in samples or as fractions of the shortest."""
    oracle: str = "ccp"
    """`ccp`, or `exact` for the globally best shapelet at each round, with the bound that it proves."""

    is_exemplary = True
    grid: ClassVar[Mapping[str, tuple[object, ...]]] = {
        "nu": (0.1, 0.3, 0.5),
        "kernel": (RBF("0.1/median"), RBF("0.5/median"), RBF("2/median")),
    }
    """Kernel widths about the median distance of instances."""

    @property
    def fits_kernels(self) -> bool:
        """Not where windows are cut: the kernel compares these."""
        return self.window is None

    @property
    def has_symmetric_classes(self) -> bool:
        """Return whether -h may be chosen beside every h: exchanging the classes then exchanges h and -h."""
        return bool(self.two_sided)

    def declare(self, bags: Bags, y: Signs, weight: Weights) -> SemiInfinite:
        """The program of the module."""
        nu, asked = share("nu", self.nu), self.nu
        if self.bias:
            nu = balanceable(nu, y, weight)
        master = Program("soft margin")
        # 1'd = 1 leaves every d_i below 1: a bound above 2 is none, and of a tiny nu it would only spoil the scale.
        d = master.variable("d", len(bags), lower=0, upper=np.minimum(weight / (nu * weight.sum()), 2.0))
        gamma = master.variable("gamma")
        master.minimize(gamma)
        master.subject_to(d.sum() == 1, name="simplex")
        start, offset = weight / weight.sum(), None
        if self.bias:
            master.subject_to(y @ d == 0, name="balance")
            charge = weight / (nu * weight.sum())
            more = 0.0 if self.class_weight is None else float(np.sign(y @ weight)) * (asked / nu - 1)
            offset = partial(centred_bias, y=y, charge=charge, more=more)
            start = weight / np.where(y > 0, 2 * weight[y > 0].sum(), 2 * weight[y < 0].sum())
        edge = master.family("edge", lambda h: (y * h) @ d <= gamma)
        # A text is a sequence to Python, and no lengths.
        given = (self.window,) if isinstance(self.window, str) else self.window
        lengths = given if isinstance(given, Sequence) else (given,)
        if not lengths:
            raise ParameterError("window must have at least one length, or be None for bags as they are.")
        shortest = int(bags.sizes.min())
        # Fractions of short series may come to the same number of samples.
        samples = dict.fromkeys(None if length is None else window_length(length, shortest) for length in lengths)
        patterns = [self._patterns(some, bags) for some in samples]
        signs = (1.0, -1.0) if self.two_sided else (1.0,)
        oracles = [self._oracle(some, y, d, sign) for some in patterns for sign in signs]
        return SemiInfinite(master, edge, oracles, bags, {d: start}, offset, nu)

    def _patterns(self, samples: int | None, bags: Bags) -> Patterns:
        """What shapelets of one length are made of."""
        training = bags if samples is None else sliding(bags, samples)
        kernel = self.kernel.fitted(training.instances)
        seed = self.random_state if isinstance(self.random_state, int) else 0
        Z = dictionary(training.instances, self.dictionary, self.atoms, kernel, seed)
        ball = Ball(kernel, training, self.radius, None if self.ball == "hilbert" else Z)
        return Patterns(samples, bags, training, kernel, Z, ball)

    def _oracle(self, some: Patterns, y: Signs, d: Variable, sign: float) -> Oracle:
        """Weak learning: the best shapelet h, or with sign -1 the best -h, at the weights d."""
        ball, radius = one_of("ball", self.ball, ("l1", "hilbert", "one-hot")), reasonable(self.radius)
        scheme = one_of("oracle", self.oracle, ("ccp", "exact"))
        kernel, Z = some.kernel, some.atoms
        program = Program("weak learning")
        p = program.parameter("d", d.size, sign=+1)
        if ball == "one-hot":
            count = Z.shape[0]
            atom = program.variable("atom", 2 * count, lower=0)
            program.maximize((sign * y * p) @ (radius * signed_similarity(kernel, some.training, Z) @ atom))
            program.subject_to(atom.sum() == 1, name="choice")
            return Oracle(
                program,
                {p: d},
                column=lambda new: sign * radius * signed_similarity(kernel, some.cut(new), Z) @ atom,
                instances=lambda x: sign * radius * signed(kernel(x, Z)) @ atom,
                ball=some.ball,
                maximum=Maximum(sign, Combination(kernel, Z, radius * (atom[:count] - atom[count:])), some.samples),
            )
        whole = ball == "hilbert" and self.dictionary == "all"
        u = program.function("u", kernel, dictionary=None if whole else Z)
        program.maximize((sign * y * p) @ bag_max(u(some.training)))
        program.subject_to((norm1(u.coefficients) if ball == "l1" else u.norm()) <= radius, name="ball")
        return Oracle(
            program,
            {p: d},
            column=lambda new: sign * bag_max(u(some.cut(new))),
            instances=lambda x: sign * u(x),
            starts=lambda prices: some.starts(sign * y * prices[p]),
            scheme=scheme,
            ball=some.ball,
            maximum=Maximum(sign, u, some.samples),
        )


@dataclass(frozen=True, eq=False)
class Patterns:
    """Windows of one length, and the dictionary of patterns that stand for them."""

    samples: int | None
    given: Bags
    training: Bags
    """The given bags' windows, or these bags themselves."""
    kernel: Kernel
    atoms: Points
    ball: Ball

    @cached_property
    def similarities(self) -> Floats:
        """[max_{x in B_i} K(x, z), max_{x in B_i} -K(x, z)]; solvers with an algorithm of their own do without."""
        return signed_similarity(self.kernel, self.training, self.atoms)

    def cut(self, bags: Bags) -> Bags:
        """Bags as the shapelets see them: themselves, or their windows."""
        if bags is self.given:
            return self.training
        return bags if self.samples is None else sliding(bags, self.samples)

    def starts(self, weights: Floats) -> Iterator[Floats]:
        """K(z, .) or -K(z, .) at all training instances, from the signed atom of the best edge on."""
        count = self.atoms.shape[0]
        for z in np.argsort(-(weights @ self.similarities), kind="stable"):
            yield (1.0 if z < count else -1.0) * self.kernel(self.training.instances, self.atoms[[z % count]])[:, 0]


def primal_master(columns: Floats, y: Signs, weight: Weights, nu: float, bias: bool) -> Program:
    """The master's dual over some columns H[i, t] = h_t(B_i): the largest soft margin of a mixture of them.

    max  rho - weight'xi / (nu sum_j weight_j)   s.t.  y_i ((H w)_i + b) >= rho - xi_i,  1'w = 1,  w, xi >= 0
    """
    program = Program("soft margin, primal")
    w = program.variable("w", columns.shape[1], lower=0)
    xi = program.variable("xi", y.size, lower=0)
    rho = program.variable("rho")
    score = columns @ w
    if bias:
        score = score + program.variable("b")
    program.maximize(rho - (weight / (share("nu", nu) * weight.sum())) @ xi)
    program.subject_to(y * score >= rho - xi, name="margin")
    program.subject_to(w.sum() == 1, name="mixture")
    return program


def reasonable(radius: float) -> float:
    """A radius that leaves edges within what solvers' tolerances are made for."""
    if not 1 / LARGEST_RADIUS <= positive("radius", radius) <= LARGEST_RADIUS:
        bounds = f"between {1 / LARGEST_RADIUS:g} and {LARGEST_RADIUS:g}"
        raise ParameterError(f"radius only scales scores and margins: it must lie {bounds}, not at {radius:g}.")
    return radius


def balanceable(nu: float, y: Signs, weight: Weights) -> float:
    """nu, or the most for which both classes can carry half of d: twice the smaller one's share of the weight."""
    most = 2 * min(float(weight[y > 0].sum()), float(weight[y < 0].sum())) / float(weight.sum())
    if nu <= most:
        return nu
    message = f"With a bias, nu is at most twice the smaller class's share: {most:.4g} is taken instead of {nu:g}."
    warnings.warn(f"{message} Balance the classes by class_weight, or give bias=False.", MiloptWarning, stacklevel=2)
    return most


def centred_bias(scores: Floats, y: Signs, charge: Weights, more: float) -> float:
    """b of the largest soft margin rho at the scores of the training bags, moved by `more` times |rho|."""
    p, q = level(scores[y > 0], charge[y > 0]), level(-scores[y < 0], charge[y < 0])
    return (q - p) / 2 + more * abs(p + q) / 2


def level(values: Floats, charge: Weights) -> float:
    """The p that maximises p / 2 - sum_i charge_i [p - values_i]_+; the middle of an interval of them."""
    order = np.argsort(values, kind="stable")
    spent = charge[order].cumsum()
    k = min(int(np.searchsorted(spent, 0.5 - ROUNDING)), order.size - 1)
    is_interval = spent[k] < 0.5 + ROUNDING and k + 1 < order.size
    return float(values[order[k : k + 2]].mean() if is_interval else values[order[k]])


def signed(values: Floats) -> Floats:
    """[K, -K]."""
    return np.hstack([values, -values])
