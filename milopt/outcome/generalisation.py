"""Generalisation bounds of a fitted ensemble, from the number of selections and the margins of the training bags.

The symbols are those of `milopt.outcome.margin_bounds`: Lam, R, rho, Rad, E_rho, and |Theta|, the number of selections
of one instance per bag. Classes of several oracles (both signs, several window lengths) add up: |Theta| is the sum of
their counts.

The ensemble is g = sum_t w_t h_t + b. A free bias b is not a convex combination of columns h_t. With c = Lam R and s =
sum_t w_t + |b|/c, however, g/s is a convex combination of the columns h_t and of the constant sign(b) c. The supremum
over the constants +-c is c |sum_i s_i|, which has the mean and the increments of one more Z_theta (see
`milopt.outcome.margin_bounds`).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, fields
from math import floor, inf, log, sqrt
from typing import Any, Self

import numpy as np

from milopt.arrays import Floats
from milopt.declaration.bags.labels import Signs
from milopt.declaration.kernels.dictionary import distinct_instances
from milopt.declaration.kernels.kernel import Linear
from milopt.declaration.programs.ball import FunctionBall
from milopt.errors import ConvexityError
from milopt.outcome.margin_bounds import (
    DEFAULT_DELTA,
    bound_at_fixed_rho,
    bound_for_all_rho,
    rademacher_bound,
    rademacher_bound_by_moments,
)
from milopt.outcome.result import Result
from milopt.outcome.selection_count import count_selections

_MAX_CHECKED_INSTANCES = 1000
"""Largest number of instances on which the kernel is checked for positive semidefiniteness."""
_ROUNDING_TOLERANCE = 1e-8
"""Relative difference up to which margins count as equal."""


@dataclass(frozen=True)
class GeneralisationBounds:
    """Bounds on the error on new bags, with all quantities that enter them; a bound of 1 or more is vacuous.

    The bounds assume that the kernel, the scaling, Lam and R were chosen before the bags were seen. They do not account
    for a search over them.
    """

    m: int
    """Number of bags."""
    N: int
    """Number of instances, or of windows of all lengths."""
    P_S: int
    """Number of distinct instances."""
    R: float
    """Largest norm ||Phi(x)|| of an instance."""
    Lam: float
    """Radius of the ball of functions."""
    ln_Theta: float
    """ln|Theta|: logarithm of the sum, over the classes and the constants, of the smaller of two counts."""
    ln_product: float
    """ln|Theta| with the product of the bag sizes as the count of each class."""
    ln_cover: float | None
    """ln|Theta| with Cover's count for each class; None if a dimension was not computed."""
    q: int | None
    """Dimension in Cover's count; the largest one if window lengths differ."""
    ln_printed: float | None
    """The papers' count 2 d* ln|P_S|, for reference, with d* the number of features; None unless kernels are linear."""
    Rad: float
    """Bound on the Rademacher complexity."""
    Rad_mgf: float
    """(Lam R / sqrt(m)) sqrt(4 (sqrt(2) - 1) + 4 ln|Theta|), the bound on the complexity by another proof."""
    comparator_ratio: float | None
    """Ratio of Rad / rho to ln(N) ln(m) / (rho sqrt(m)), the form of older bounds without their constants."""
    nu: float
    """Share of bags that may have a margin below rho_star."""
    rho_star: float
    """Largest margin such that at most a share nu of the bags is below it; for equal bag weights, the program's rho."""
    scale: float
    """Factor s by which g is divided to be a convex combination; 1 without a bias."""
    rho: float
    """rho_star / s."""
    E_rho: float
    """Share of bags with a margin below rho; at most nu."""
    delta: float
    """Probability that a bound fails."""
    B_fixed: float
    """Bound as if rho had been fixed in advance; infinite if rho <= 0."""
    B_unif: float
    """Bound that is valid for all rho, at this rho, which depends on the bags; infinite if rho <= 0."""
    rho_best: float
    """Value of rho at which the bound for all rho is smallest."""
    E_best: float
    """Share of bags with a margin below `rho_best`."""
    B_best: float
    """Smallest bound over all rho: the bound to quote, with `rho_best` and `E_best`."""
    notes: tuple[str, ...] = ()

    @property
    def clipped(self) -> dict[str, float]:
        """The three bounds, clipped at 1."""
        return {name: min(1.0, getattr(self, name)) for name in ("B_fixed", "B_unif", "B_best")}

    def as_dict(self) -> dict[str, Any]:
        """Return the bounds as JSON data, with None for infinity."""
        plain = {name: None if value in (inf, -inf) else value for name, value in asdict(self).items()}
        return plain | {"notes": list(self.notes), "clipped": self.clipped}

    @classmethod
    def from_dict(cls, plain: Mapping[str, Any]) -> Self:
        """Return the bounds for JSON data of `as_dict`."""
        values = {field.name: plain[field.name] for field in fields(cls)}
        infinite = {name: inf for name in ("B_fixed", "B_unif", "B_best") if values[name] is None}
        return cls(**(values | infinite | {"notes": tuple(plain["notes"])}))

    def line(self) -> str:
        """Return one line with the smallest bound and its margin."""
        vacuous = " (vacuous)" if self.B_best >= 1 else ""
        return (
            f"error on new bags at most {self.B_best:.4g}{vacuous} with probability {1 - self.delta:g}, "
            f"by margin error {self.E_best:.4g} at rho {self.rho_best:.4g}"
        )

    def __str__(self) -> str:
        cover = "-" if self.ln_cover is None else f"{self.ln_cover:.4g} (q = {self.q})"
        printed = "" if self.ln_printed is None else f", the papers' {self.ln_printed:.4g}"
        ratio = _ratio_or_infinity(self.Lam * self.R, self.rho)
        lines = [
            ("bounds", self.line()),
            ("sample", f"{self.m} bags, {self.N} instances, {self.P_S} of them different"),
            ("class", f"Lam {self.Lam:.4g}, R {self.R:.4g}, Lam R / rho {ratio:.4g}"),
            ("ln|Theta|", f"{self.ln_Theta:.4g}: product {self.ln_product:.4g}, Cover {cover}{printed}"),
            ("complexity", f"{self.Rad:.4g}, by moments {self.Rad_mgf:.4g}"),
            ("margin", f"rho* {self.rho_star:.4g}, nu {self.nu:.4g}, scale {self.scale:.4g}"),
            ("at rho", f"{self.rho:.4g}: margin error {self.E_rho:.4g}, bound {self.B_unif:.4g}"),
            ("rho fixed", f"{self.B_fixed:.4g}, had this rho been chosen beforehand"),
            ("best rho", f"{self.rho_best:.4g}: margin error {self.E_best:.4g}, bound {self.B_best:.4g}"),
        ]
        return "\n".join([*(f"{name:<12}{text}" for name, text in lines), *self.notes])


def generalisation_bounds(
    result: Result, scores: Floats, y: Signs, delta: float = DEFAULT_DELTA
) -> GeneralisationBounds | None:
    """Return the bounds of a result's ensemble, given its scores and the labels y (1 or -1) of the training bags.

    Return None if there is no ensemble, the program declares no nu, or an oracle declares no ball of functions.
    """
    problem, ensemble = result.program, result.ensemble
    if ensemble is None or problem.nu is None:
        return None
    balls = [oracle.ball for oracle in problem.oracles if oracle.ball is not None]
    if len(balls) < len(problem.oracles):
        return None
    bias = None if problem.offset is None else ensemble.offset
    return ensemble_bounds(balls, y * scores, problem.nu, float(ensemble.weights.sum()), bias, delta)


def ensemble_bounds(
    balls: Sequence[FunctionBall],
    margins: Floats,
    nu: float,
    weight: float = 1.0,
    bias: float | None = None,
    delta: float = DEFAULT_DELTA,
) -> GeneralisationBounds:
    """Return bounds on the error of the ensemble g = sum_t w_t h_t + b (columns h_t, weights w_t, bias b) on new bags.

    Parameters
    ----------
    balls : sequence of FunctionBall
        Ball of functions of each oracle.
    margins : ndarray of shape (n_bags,)
        Margins y_i g(B_i) of the training bags.
    nu : float
        Share of bags that may have a margin below rho_star.
    weight : float, default=1.0
        Sum of the weights w_t.
    bias : float or None, default=None
        Bias b if it was free; None if there is no bias.
    delta : float, default=0.05
        Probability that a bound fails.

    Returns
    -------
    GeneralisationBounds
    """
    different = tuple(dict.fromkeys(balls))
    for ball in different:
        _require_semidefinite(ball)
    m, counted = margins.size, {ball: count_selections(ball.kernel, ball.bags) for ball in different}
    R = max(float(np.sqrt(ball.kernel.diagonal(ball.bags.instances).max())) for ball in different)
    Lam = max(ball.norm for ball in different)
    reach = Lam * R

    def ln_sum(logs: Sequence[float]) -> float:
        """Return the logarithm of the sum of counts, given their logarithms; a free bias adds a count of 1."""
        return float(np.logaddexp.reduce([*logs, *([] if bias is None else [0.0])]))

    ln_theta = ln_sum([counted[ball].ln_count for ball in balls])
    covers = [cover for ball in balls if (cover := counted[ball].ln_cover) is not None]
    dimensions = [q for count in counted.values() if (q := count.q) is not None]
    patterns = [distinct_instances(ball.bags.instances).shape[0] for ball in different]
    N = sum(ball.bags.instances.shape[0] for ball in different)
    rad = rademacher_bound(Lam, R, m, ln_theta)
    scale = (weight + (_ratio_or_infinity(abs(bias), reach) if bias else 0.0)) or 1.0
    ascending = np.sort(margins)
    place, ordered = _count_below_rho(ascending, nu), ascending / scale
    rho, error = float(ordered[place]), place / m
    # For a fixed share of errors, the bound decreases in rho. So its minimum is at a margin, or at the largest rho.
    radii = [*ordered[ordered > 0].tolist(), reach]
    below = np.searchsorted(ordered, radii) / m
    candidates = ((bound_for_all_rho(e, r, rad, reach, m, delta), r, e) for e, r in zip(below, radii, strict=True))
    best, rho_best, error_best = min(candidates)
    return GeneralisationBounds(
        m=m,
        N=N,
        P_S=sum(patterns),
        R=R,
        Lam=Lam,
        ln_Theta=ln_theta,
        ln_product=ln_sum([counted[ball].ln_product for ball in balls]),
        ln_cover=ln_sum(covers) if len(covers) == len(balls) else None,
        q=max(dimensions) if len(dimensions) == len(different) else None,
        ln_printed=_ln_published_count(different, patterns),
        Rad=rad,
        Rad_mgf=rademacher_bound_by_moments(Lam, R, m, ln_theta),
        comparator_ratio=rad * sqrt(m) / (log(N) * log(m)) if m > 1 else None,
        nu=nu,
        rho_star=float(ascending[place]),
        scale=scale,
        rho=rho,
        E_rho=error,
        delta=delta,
        B_fixed=bound_at_fixed_rho(error, rho, rad, m, delta),
        B_unif=bound_for_all_rho(error, rho, rad, reach, m, delta),
        rho_best=rho_best,
        E_best=float(error_best),
        B_best=float(best),
        notes=(*_bias_note(bias, scale), *dict.fromkeys(count.reason for count in counted.values() if count.reason)),
    )


def _require_semidefinite(ball: FunctionBall) -> None:
    """Raise an error if the kernel of a ball is not positive semidefinite.

    Without semidefiniteness there is no kernel space and no ball. If there are many instances, a subset is checked: one
    negative eigenvalue on a subset disproves semidefiniteness.
    """
    if ball.kernel.is_semidefinite:
        return
    rows = ball.bags.instances
    if rows.shape[0] > _MAX_CHECKED_INSTANCES:
        rows = rows[np.linspace(0, rows.shape[0] - 1, _MAX_CHECKED_INSTANCES).astype(np.intp)]
    values = np.linalg.eigvalsh(ball.kernel(rows, rows))
    if values[0] < -1e-8 * values[-1] or values[-1] < 0:
        raise ConvexityError(
            f"There is no bound: the kernel is not positive semidefinite, with smallest eigenvalue {values[0]:.4g} on "
            f"{rows.shape[0]} instances."
        )


def _ln_published_count(balls: Sequence[FunctionBall], patterns: Sequence[int]) -> float | None:
    """Return 2 d* ln|P_S| of the papers, the logarithm of a count; None unless all kernels are linear.

    d* is the number of features, and `patterns` has |P_S|, the number of distinct instances, for each ball. With
    several balls, the result is the logarithm of the sum of their counts.
    """
    if not all(isinstance(ball.kernel, Linear) for ball in balls):
        return None
    logs = [2 * ball.bags.dimension * log(count) for ball, count in zip(balls, patterns, strict=True)]
    return float(np.logaddexp.reduce(logs))


def _bias_note(bias: float | None, scale: float) -> tuple[str, ...]:
    """Return the note on a free bias; empty without a bias."""
    if bias is None:
        return ()
    return (f"The bias {bias:.4g} counts as a constant column of height Lam R: margins are divided by {scale:.4g}.",)


def _count_below_rho(ordered: Floats, nu: float) -> int:
    """Return how many of the sorted margins are below rho* by more than rounding, which is at most a share nu."""
    rho = ordered[min(floor(nu * ordered.size + 1e-9), ordered.size - 1)]
    return int(np.searchsorted(ordered, rho - _ROUNDING_TOLERANCE * np.abs(ordered).max()))


def _ratio_or_infinity(numerator: float, denominator: float) -> float:
    """Return numerator / denominator, or infinity if the denominator is not positive."""
    return numerator / denominator if denominator > 0 else inf
