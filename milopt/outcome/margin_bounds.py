"""Margin bounds: what the margins of an ensemble on m training bags prove about bags that it has not seen.

For h_u(B) = max_{x in B} <u, Phi(x)>, ||u|| <= Lam, and ||Phi(x)|| <= R, a selection theta has
Z_theta(s) = ||sum_i s_i Phi(theta(B_i))||, of mean at most R sqrt(m) over random signs s, and no sign moves it by more
than 2R. The largest of |Theta| of them is then, in the mean, small enough for

    Rad <= (Lam R / sqrt(m)) (1 + sqrt(2 ln|Theta|)),

and with probability 1 - delta over the training bags, for every convex combination g of the class,

    P(y g(B) <= 0) <= E_rho + (2/rho) Rad + 3 sqrt(ln(2/delta) / (2m))                                   (rho fixed)
    P(y g(B) <= 0) <= E_rho + (4/rho) Rad + sqrt(ln log2(2 Lam R/rho) / m) + 3 sqrt(ln(4/delta) / (2m))  (all rho)

with E_rho the share of training bags of margin y g(B) < rho. Only the ratio Lam R / rho counts: g scales with Lam.
"""

from __future__ import annotations

from math import inf, log, log2, sqrt

DELTA = 0.05


def complexity(Lam: float, R: float, m: int, ln_theta: float) -> float:
    """The bound of the Rademacher complexity, and of the Gaussian one."""
    return Lam * R / sqrt(m) * (1 + sqrt(2 * ln_theta))


def complexity_by_moments(Lam: float, R: float, m: int, ln_theta: float) -> float:
    """The same by E exp(lambda Z^2), with the constants corrected."""
    return Lam * R / sqrt(m) * sqrt(4 * (sqrt(2) - 1) + 4 * ln_theta)


def fixed_bound(error: float, rho: float, rad: float, m: int, delta: float = DELTA) -> float:
    """The bound for a rho that was fixed beforehand; infinite where rho <= 0."""
    if rho <= 0:
        return inf
    return error + 2 * rad / rho + 3 * sqrt(log(2 / delta) / (2 * m))


def uniform_bound(error: float, rho: float, rad: float, reach: float, m: int, delta: float = DELTA) -> float:
    """The bound for all rho at once up to the reach Lam R, beyond which no margin lies; infinite where rho <= 0."""
    if rho <= 0:
        return inf
    choice = sqrt(log(log2(2 * max(1.0, reach / rho))) / m)
    return error + 4 * rad / rho + choice + 3 * sqrt(log(4 / delta) / (2 * m))
