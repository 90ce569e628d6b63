"""Which block is to blame: an infeasible program relaxed row by row, an unbounded one asked for its ray.

infeasible:  min sum of relaxations e  s.t.  F x + g + e in K     positive optimum: no point satisfies all rows
unbounded:   min q'd  s.t.  P d = 0, F d in K, d within the recession cone of the bounds, |d| <= 1
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
import scipy.sparse as sp

from milopt.compilation.evaluation_form import Index
from milopt.compilation.quadratic import Quadratic, Vector
from milopt.compilation.recession import falls, recession_form
from milopt.compilation.standard_form import ColumnBlock, Cone, StandardForm
from milopt.outcome.status import Termination
from milopt.solving.options import Options
from milopt.solving.refusal import refusal
from milopt.solving.solver import Solver


@dataclass(frozen=True)
class Diagnosis:
    """Whether a claim of infeasibility or unboundedness was confirmed, and the blocks to blame."""

    confirmed: bool
    message: str


def infeasible_blocks(form: StandardForm, solver: Solver, options: Options) -> Diagnosis:
    """The blocks that cannot hold together; unconfirmed when the relaxed program, always feasible, shows none."""
    relaxed, owner = _relaxed(form)
    able = _able(relaxed, solver)
    if able is None:
        return Diagnosis(True, "")
    x = _answer(relaxed, able, options)
    moved = np.abs(x[form.n :]) if x is not None else np.zeros(0)
    if moved.sum() <= options.tolerance * (1.0 + float(np.max(np.abs(form.g), initial=0.0))):
        return Diagnosis(False, "The solver said infeasible, but relaxing the constraints does not confirm it.")
    worst: dict[str, float] = {}
    for block in form.rows:
        size = float(moved[(owner >= block.start) & (owner < block.stop)].sum())
        if size > 1e-6 * moved.sum():
            worst[block.name] = worst.get(block.name, 0.0) + size
    names = ", ".join(f"{name!r} by {size:.3g}" for name, size in sorted(worst.items(), key=lambda item: -item[1]))
    return Diagnosis(True, f"No point satisfies all constraints; the cheapest relaxation violates {names}.")


def unbounded_blocks(form: StandardForm, solver: Solver, options: Options) -> Diagnosis:
    """The variables that run away; unconfirmed when no direction is found along which the objective falls for ever."""
    ray = recession_form(form)
    able = _able(ray, solver)
    if able is None:
        return Diagnosis(True, "")
    d = _answer(ray, able, options)
    if d is None or not falls(form, d):
        return Diagnosis(
            False, "The solver said unbounded, but no direction was found along which the objective falls."
        )
    names = [block.name for block in form.columns if np.max(np.abs(d[block.start : block.stop]), initial=0.0) > 1e-6]
    runaways = ", ".join(repr(name) for name in names)
    return Diagnosis(True, f"The objective falls without limit along {runaways}; bound or penalise them.")


def _able(form: StandardForm, solver: Solver) -> Solver | None:
    """The solver itself if it takes the form, else another that does; its options are not passed on."""
    if refusal(solver, form) is None:
        return solver
    from milopt.solving import registry

    return next((other for other in registry.plain_solvers() if refusal(other, form) is None), None)


def _answer(form: StandardForm, solver: Solver, options: Options) -> Vector | None:
    engine = solver.engine(form, replace(options, extra={}, verbose=False))
    answer = engine.solve(options.time_limit)
    engine.close()
    return answer.x if answer.termination in (Termination.OPTIMAL, Termination.STALLED) else None


def _relaxed(form: StandardForm) -> tuple[StandardForm, Index]:
    """Add e >= 0 to every non-negative row and cone head, and +-e to every equation; `owner` is each e's row."""
    equal = form.rows_in(Cone.ZERO)
    heads = [np.array([b.start]) for b in form.second_order]
    up = np.concatenate([form.rows_in(Cone.NONNEGATIVE), *heads, equal]).astype(np.intp)
    owner = np.concatenate([up, equal])
    data = np.concatenate([np.ones(up.size), -np.ones(equal.size)])
    count = owner.size
    extra = sp.csr_array((data, (owner, np.arange(count))), shape=(form.m, count))
    return (
        replace(
            form,
            P=Quadratic(form.n + count),
            q=np.concatenate([np.zeros(form.n), np.ones(count)]),
            constant=0.0,
            F=sp.csr_array(sp.hstack([form.F, extra], format="csr")),
            lower=np.concatenate([form.lower, np.zeros(count)]),
            upper=np.concatenate([form.upper, np.full(count, np.inf)]),
            integer=np.concatenate([form.integer, np.zeros(count, dtype=bool)]),
            columns=(*form.columns, ColumnBlock("relaxation", form.n, form.n + count)),
        ),
        owner,
    )
