"""Recentring: the same program seen from a point and through a lens, for solvers whose accuracy is absolute.

With  x = centre + s e  and the objective divided by s^2,

    min 1/2 e'Pe + ((q + P centre)/s)'e   s.t.   F e + (F centre + g)/s in K,
                                                 (lower - centre)/s <= e <= (upper - centre)/s.

A cone solver that is content with an objective gap of eps leaves an error of sqrt(eps) in Bx, P = B'B; near the
optimum, where Be is small, that error is s times smaller in x. Multipliers are  z = s z_e.
"""

from __future__ import annotations

from dataclasses import replace

from milopt.arrays import Vector
from milopt.compilation.answer import Answer
from milopt.compilation.standard_form import StandardForm


def apply(form: StandardForm, centre: Vector, s: float) -> StandardForm:
    """The program over e; its objective is that of `form` less a constant, over s^2."""
    return replace(
        form,
        q=(form.q + form.P.times(centre)) / s,
        constant=0.0,
        g=(form.g + form.F @ centre) / s,
        lower=(form.lower - centre) / s,
        upper=(form.upper - centre) / s,
    )


def invert(answer: Answer, centre: Vector, s: float) -> Answer:
    """The answer over x."""
    return replace(
        answer,
        x=None if answer.x is None else centre + s * answer.x,
        z=None if answer.z is None else s * answer.z,
    )
