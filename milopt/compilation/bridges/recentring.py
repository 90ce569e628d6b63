"""Bridge that recentres a program at a point and magnifies its neighbourhood, for solvers with absolute tolerances.

With  x = centre + s e  and the objective divided by s^2, the program becomes

    min 1/2 e'Pe + ((q + P centre)/s)'e   s.t.   F e + (F centre + g)/s in K,
                                                 (lower - centre)/s <= e <= (upper - centre)/s.

A cone solver that stops at an objective gap of eps leaves an error of about sqrt(eps) in Bx, where P = B'B. If the
program over e is solved instead, an error of sqrt(eps) in Be is an error of s sqrt(eps) in Bx, which is smaller if
s < 1. The multipliers are  z = s z_e,  where z_e are those of the program over e.
"""

from __future__ import annotations

from dataclasses import replace

from milopt.arrays import Vector
from milopt.compilation.answer import Answer
from milopt.compilation.standard_form import StandardForm


def apply(form: StandardForm, centre: Vector, s: float) -> StandardForm:
    """Return the program over e; its objective is that of `form` without the constant terms, divided by s^2."""
    return replace(
        form,
        q=(form.q + form.P.times(centre)) / s,
        constant=0.0,
        g=(form.g + form.F @ centre) / s,
        lower=(form.lower - centre) / s,
        upper=(form.upper - centre) / s,
    )


def invert(answer: Answer, centre: Vector, s: float) -> Answer:
    """Return the answer for the program over x, given the answer for the program over e."""
    return replace(
        answer,
        x=None if answer.x is None else centre + s * answer.x,
        z=None if answer.z is None else s * answer.z,
    )
