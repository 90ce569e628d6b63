"""Margin bounds: bounds on the error on new bags from the margins of an ensemble on m training bags.

Let h_u(B) = max_{x in B} <u, Phi(x)> with ||u|| <= Lam and ||Phi(x)|| <= R. A selection theta chooses one instance of
every bag. Let Z_theta(s) = ||sum_i s_i Phi(theta(B_i))|| with random signs s. Its mean is at most R sqrt(m), and one
sign changes it by at most 2R. For the Rademacher complexity Rad of the functions h_u on the training bags, the expected
maximum over all |Theta| selections then gives

    Rad <= (Lam R / sqrt(m)) (1 + sqrt(2 ln|Theta|)),

and with probability 1 - delta over the training bags, for every convex combination g of the class,

    P(y g(B) <= 0) <= E_rho + (2/rho) Rad + 3 sqrt(ln(2/delta) / (2m))                                   (rho fixed)
    P(y g(B) <= 0) <= E_rho + (4/rho) Rad + sqrt(ln log2(2 Lam R/rho) / m) + 3 sqrt(ln(4/delta) / (2m))  (all rho)

where E_rho is the share of training bags with margin y g(B) < rho. Only the ratio Lam R / rho matters, because g scales
with Lam.
"""

from __future__ import annotations

from math import inf, log, log2, sqrt

DEFAULT_DELTA = 0.05
"""Default probability that a bound fails."""


def rademacher_bound(Lam: float, R: float, m: int, ln_theta: float) -> float:
    """Return the bound on Rad of the module docstring; it also bounds the Gaussian complexity."""
    return Lam * R / sqrt(m) * (1 + sqrt(2 * ln_theta))


def rademacher_bound_by_moments(Lam: float, R: float, m: int, ln_theta: float) -> float:
    """Return another bound on the Rademacher complexity, by moments of Z_theta (symbols: see the module docstring)."""
    return Lam * R / sqrt(m) * sqrt(4 * (sqrt(2) - 1) + 4 * ln_theta)


def bound_at_fixed_rho(error: float, rho: float, rad: float, m: int, delta: float = DEFAULT_DELTA) -> float:
    """Return the error bound for a rho that was fixed in advance, with E_rho as `error`; infinite if rho <= 0."""
    if rho <= 0:
        return inf
    return error + 2 * rad / rho + 3 * sqrt(log(2 / delta) / (2 * m))


def bound_for_all_rho(
    error: float, rho: float, rad: float, reach: float, m: int, delta: float = DEFAULT_DELTA
) -> float:
    """Return the error bound that holds for all rho up to the largest possible margin; infinite if rho <= 0.

    `error` is E_rho, and `reach` the largest possible margin, Lam R.
    """
    if rho <= 0:
        return inf
    choice = sqrt(log(log2(2 * max(1.0, reach / rho))) / m)
    return error + 4 * rad / rho + choice + 3 * sqrt(log(4 / delta) / (2 * m))
