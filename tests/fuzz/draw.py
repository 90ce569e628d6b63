"""Draw the description of a program from a seed."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import lru_cache

import numpy as np

from tests.fuzz import themes_choices, themes_flat, themes_functions
from tests.fuzz.composer import Composer
from tests.fuzz.descriptions import Array, Description, Scaling, features
from tests.fuzz.parts import LARGEST_EXPONENT

PLAIN = ("auto", "highs", "clarabel", "ecos", "native", "piqp")
OTHERS = (
    "cvxpy:CLARABEL",
    "cvxpy:SCS",
    "cvxpy:OSQP",
    "cvxpy:ECOS",
    "cvxpy:HIGHS",
    "cvxpy:SCIPY",
    "pyomo:highs",
    "libsvm",
)
CONIC = ("auto", "clarabel", "ecos", "clarabel", "ecos", "cvxpy:CLARABEL", "cvxpy:SCS", "cvxpy:ECOS")

Theme = Callable[[Composer], Description]


@lru_cache(maxsize=4)
def draw(seed: int) -> Description:
    """The description of a seed, always the same."""
    rng = np.random.default_rng([18, seed])
    theme = str(rng.choice(list(THEMES), p=_SHARES))
    composer = Composer(rng)
    description = THEMES[theme](composer)
    solvers = description.solvers or _solvers(composer, description)
    scaling = description.scaling if description.scaling.columns else _scaling(composer, description)
    return replace(description, seed=seed, theme=theme, solvers=solvers, scaling=scaling)


THEMES: dict[str, Theme] = {
    "linear": themes_flat.linear,
    "quadratic": themes_flat.quadratic,
    "box": themes_flat.box,
    "determined": themes_flat.determined,
    "conic": themes_flat.conic,
    "ellipsoid": themes_flat.ellipsoid,
    "small": themes_flat.small,
    "distant": themes_functions.distant,
    "saddle": themes_flat.saddle,
    "functions": themes_functions.functions,
    "unregularised": themes_functions.unregularised,
    "laplacian": themes_functions.laplacian,
    "mixture": themes_functions.mixture,
    "near atoms": themes_functions.near_atoms,
    "witnesses": themes_choices.witnesses,
    "integer": themes_choices.integer,
    "session": themes_choices.session,
}
_SHARES = np.array([10, 9, 6, 3, 9, 4, 4, 2, 3, 12, 5, 3, 2, 3, 10, 7, 8]) / 100


def _solvers(composer: Composer, description: Description) -> tuple[str, ...]:
    """Two solvers, mostly such as take programs of this kind."""
    if "cone" in features(description) and composer.chance(0.9):
        first, second = composer.pick(*CONIC), composer.pick(*CONIC)
    else:
        first = composer.pick(*PLAIN)
        second = composer.pick(*PLAIN) if composer.chance(0.6) else composer.pick(*OTHERS)
    return (first, second) if first != second else (first,)


def _scaling(composer: Composer, description: Description) -> Scaling:
    """None in half of the programs; otherwise columns, rows or the objective, or all of them, up to 1e6 or 1e-6."""
    kind = composer.pick("none", "none", "none", "mild", "columns", "rows", "objective", "all")
    if kind == "none":
        return Scaling()
    rng, largest = composer.rng, 7 if kind in ("mild", "all") else LARGEST_EXPONENT

    def powers(size: int, least: int) -> Array:
        if composer.chance(0.5):
            return np.ldexp(np.ones(size), int(rng.integers(least, largest + 1)))
        return np.ldexp(1.0, rng.integers(least, largest + 1, size))

    columns: dict[str, Array] = {}
    rows: dict[str, Array] = {}
    if kind in ("mild", "columns", "all"):
        free = [v for v in description.variables if not v.integer and not v.name.endswith(".coefficients")]
        columns = {one.name: powers(one.size, -largest) for one in free}
    if kind in ("mild", "rows", "all"):
        rows = {row.name: powers(row.expression.size, -largest - 3) for row in description.rows if composer.chance(0.7)}
    objective = float(powers(1, -largest)[0]) if kind in ("mild", "objective", "all") else 1.0
    return Scaling(columns, rows, objective)
