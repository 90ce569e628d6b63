"""The bounds that a fitted ensemble comes with: its class counted, its margins measured, and both put together.

Classes of several oracles (both signs, several lengths of windows) add up: |Theta| is the sum of theirs.

A free bias b is no convex combination. But with c = Lam R and s = sum_t w_t + |b|/c, g/s is one of the columns h_t and
of the constant sign(b) c; and sup over the constants +-c is c |sum_i s_i|, of the mean and steps of one more Z_theta.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from math import floor, inf, log, sqrt
from typing import Any

import numpy as np

from milopt.arrays import Floats
from milopt.declaration.bags.labels import Signs
from milopt.declaration.kernels.dictionary import distinct
from milopt.declaration.kernels.kernel import Linear
from milopt.declaration.programs.ball import Ball
from milopt.errors import ConvexityError
from milopt.outcome.margin_bounds import DELTA, complexity, complexity_by_moments, fixed_bound, uniform_bound
from milopt.outcome.result import Result
from milopt.outcome.selections import selections

_LOOKED_AT = 1000
_ROUNDING = 1e-8


@dataclass(frozen=True)
class Bounds:
    """Bounds of the error on new bags, and all that they are made of; a bound of 1 or more says nothing (vacuous).

    Kernel, scaling, Lam and R count as chosen before the bags were seen: bounds know of no search for them.
    """

    m: int
    """Bags."""
    N: int
    """Instances, of all lengths where they are windows of several."""
    P_S: int
    """Different instances."""
    R: float
    """max ||Phi(x)|| over the instances."""
    Lam: float
    """The radius of the ball of functions."""
    ln_Theta: float
    """ln|Theta|: the smaller count of each class, added up over the classes and the constants."""
    ln_product: float
    """The same by sum_i ln n_i alone."""
    ln_cover: float | None
    """The same by Cover's count alone."""
    q: int | None
    """The dimension that Cover's count is for; the largest, where lengths differ."""
    ln_printed: float | None
    """2 d* ln|P_S| of the papers, for reference: d* is D for a linear kernel and not computable otherwise."""
    Rad: float
    Rad_mgf: float
    """(Lam R / sqrt(m)) sqrt(4 (sqrt(2) - 1) + 4 ln|Theta|), which another proof gives."""
    comparator_ratio: float | None
    """Rad / rho over ln(N) ln(m) / (rho sqrt(m)), the form of older bounds without their constants."""
    nu: float
    rho_star: float
    """The largest margin that at most a share nu of the bags falls short of: the optimum's, with equal weights."""
    scale: float
    """s: what g is divided by to be a convex combination, 1 without a bias."""
    rho: float
    """rho_star / s."""
    E_rho: float
    """The share of bags of margin below rho; at most nu."""
    delta: float
    B_fixed: float
    """As if rho had been fixed beforehand; infinite where rho <= 0."""
    B_unif: float
    """At this rho, which the bags decided; infinite where rho <= 0."""
    rho_best: float
    """The rho of the least bound for all rho."""
    E_best: float
    """The share of bags of margin below that rho."""
    B_best: float
    """That bound: the one to quote, with that rho and that share."""
    notes: tuple[str, ...] = ()

    @property
    def clipped(self) -> dict[str, float]:
        """The three bounds, at most 1."""
        return {name: min(1.0, getattr(self, name)) for name in ("B_fixed", "B_unif", "B_best")}

    def as_dict(self) -> dict[str, Any]:
        """Plain JSON data; None for infinity."""
        plain = {name: None if value in (inf, -inf) else value for name, value in asdict(self).items()}
        return plain | {"notes": list(self.notes), "clipped": self.clipped}

    def line(self) -> str:
        """The essence in one line: the least bound, with the margin that it is at."""
        vacuous = " (vacuous)" if self.B_best >= 1 else ""
        return (
            f"error on new bags at most {self.B_best:.4g}{vacuous} with probability {1 - self.delta:g}, "
            f"by margin error {self.E_best:.4g} at rho {self.rho_best:.4g}"
        )

    def __str__(self) -> str:
        cover = "-" if self.ln_cover is None else f"{self.ln_cover:.4g} (q = {self.q})"
        printed = "" if self.ln_printed is None else f", the papers' {self.ln_printed:.4g}"
        lines = [
            ("bounds", self.line()),
            ("sample", f"{self.m} bags, {self.N} instances, {self.P_S} of them different"),
            ("class", f"Lam {self.Lam:.4g}, R {self.R:.4g}, Lam R / rho {_over(self.Lam * self.R, self.rho):.4g}"),
            ("ln|Theta|", f"{self.ln_Theta:.4g}: product {self.ln_product:.4g}, Cover {cover}{printed}"),
            ("complexity", f"{self.Rad:.4g}, by moments {self.Rad_mgf:.4g}"),
            ("margin", f"rho* {self.rho_star:.4g}, nu {self.nu:.4g}, scale {self.scale:.4g}"),
            ("at rho", f"{self.rho:.4g}: margin error {self.E_rho:.4g}, bound {self.B_unif:.4g}"),
            ("rho fixed", f"{self.B_fixed:.4g}, had this rho been chosen beforehand"),
            ("best rho", f"{self.rho_best:.4g}: margin error {self.E_best:.4g}, bound {self.B_best:.4g}"),
        ]
        return "\n".join([*(f"{name:<12}{text}" for name, text in lines), *self.notes])


def generalisation(result: Result, scores: Floats, y: Signs, delta: float = DELTA) -> Bounds | None:
    """The bounds of an ensemble with these scores on the training bags; None for a program that declares no class."""
    problem, ensemble = result.program, result.ensemble
    if ensemble is None or problem.nu is None:
        return None
    balls = [oracle.ball for oracle in problem.oracles if oracle.ball is not None]
    if len(balls) < len(problem.oracles):
        return None
    bias = None if problem.offset is None else ensemble.offset
    return bounds(balls, y * scores, problem.nu, float(ensemble.weights.sum()), bias, delta)


def bounds(
    balls: Sequence[Ball],
    margins: Floats,
    nu: float,
    weight: float = 1.0,
    bias: float | None = None,
    delta: float = DELTA,
) -> Bounds:
    """The bounds of g = sum_t w_t h_t + b with these y g(B_i), weights of this sum, and columns of these balls.

    `bias` is b where it was free, and None where there is none.
    """
    different = tuple(dict.fromkeys(balls))
    for ball in different:
        _require_semidefinite(ball)
    m, counted = margins.size, {ball: selections(ball.kernel, ball.bags) for ball in different}
    R = max(float(np.sqrt(ball.kernel.diagonal(ball.bags.instances).max())) for ball in different)
    Lam = max(ball.norm for ball in different)
    reach = Lam * R

    def total(logs: Sequence[float]) -> float:
        """ln of the sum of counts, with the constants as one more."""
        return float(np.logaddexp.reduce([*logs, *([] if bias is None else [0.0])]))

    ln_theta = total([counted[ball].ln_count for ball in balls])
    covers = [cover for ball in balls if (cover := counted[ball].ln_cover) is not None]
    dimensions = [q for one in counted.values() if (q := one.q) is not None]
    patterns = [distinct(ball.bags.instances).shape[0] for ball in different]
    N = sum(ball.bags.instances.shape[0] for ball in different)
    rad = complexity(Lam, R, m, ln_theta)
    scale = (weight + (_over(abs(bias), reach) if bias else 0.0)) or 1.0
    ascending = np.sort(margins)
    place, ordered = _place(ascending, nu), ascending / scale
    rho, error = float(ordered[place]), place / m
    # For one share of errors a bound falls with rho: the least lies at a margin, or where all are below.
    tried = [*ordered[ordered > 0].tolist(), reach]
    below = np.searchsorted(ordered, tried) / m
    found = ((uniform_bound(e, r, rad, reach, m, delta), r, e) for e, r in zip(below, tried, strict=True))
    best, rho_best, error_best = min(found)
    return Bounds(
        m=m,
        N=N,
        P_S=sum(patterns),
        R=R,
        Lam=Lam,
        ln_Theta=ln_theta,
        ln_product=total([counted[ball].ln_product for ball in balls]),
        ln_cover=total(covers) if len(covers) == len(balls) else None,
        q=max(dimensions) if len(dimensions) == len(different) else None,
        ln_printed=_printed(different, patterns),
        Rad=rad,
        Rad_mgf=complexity_by_moments(Lam, R, m, ln_theta),
        comparator_ratio=rad * sqrt(m) / (log(N) * log(m)) if m > 1 else None,
        nu=nu,
        rho_star=float(ascending[place]),
        scale=scale,
        rho=rho,
        E_rho=error,
        delta=delta,
        B_fixed=fixed_bound(error, rho, rad, m, delta),
        B_unif=uniform_bound(error, rho, rad, reach, m, delta),
        rho_best=rho_best,
        E_best=float(error_best),
        B_best=float(best),
        notes=(*_said_of_bias(bias, scale), *dict.fromkeys(one.reason for one in counted.values() if one.reason)),
    )


def _require_semidefinite(ball: Ball) -> None:
    """A kernel without a space has no ball. Of many instances some are looked at, for some can disprove it."""
    if ball.kernel.is_semidefinite:
        return
    rows = ball.bags.instances
    if rows.shape[0] > _LOOKED_AT:
        rows = rows[np.linspace(0, rows.shape[0] - 1, _LOOKED_AT).astype(np.intp)]
    values = np.linalg.eigvalsh(ball.kernel(rows, rows))
    if values[0] < -1e-8 * values[-1] or values[-1] < 0:
        raise ConvexityError(
            f"There is no bound: the kernel is not positive semidefinite, with smallest eigenvalue {values[0]:.4g} on "
            f"{rows.shape[0]} instances."
        )


def _printed(balls: Sequence[Ball], patterns: Sequence[int]) -> float | None:
    if not all(isinstance(ball.kernel, Linear) for ball in balls):
        return None
    logs = [2 * ball.bags.dimension * log(count) for ball, count in zip(balls, patterns, strict=True)]
    return float(np.logaddexp.reduce(logs))


def _said_of_bias(bias: float | None, scale: float) -> tuple[str, ...]:
    if bias is None:
        return ()
    return (f"The bias {bias:.4g} counts as a constant column of height Lam R: margins are divided by {scale:.4g}.",)


def _place(ordered: Floats, nu: float) -> int:
    """How many margins lie below rho*: at most a share nu, and none that is at rho* but for rounding."""
    rho = ordered[min(floor(nu * ordered.size + 1e-9), ordered.size - 1)]
    return int(np.searchsorted(ordered, rho - _ROUNDING * np.abs(ordered).max()))


def _over(above: float, below: float) -> float:
    return above / below if below > 0 else inf
