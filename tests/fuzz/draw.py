"""Draw a random program from a seed."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import lru_cache

import numpy as np

from tests.fuzz import themes_choices, themes_flat, themes_functions
from tests.fuzz.composer import Composer
from tests.fuzz.descriptions import Array, ProgramDescription, ScalingSpec, features
from tests.fuzz.parts import MAX_SCALE_EXPONENT

GENERAL_SOLVERS = ("auto", "highs", "clarabel", "ecos", "native", "piqp")
LIMITED_SOLVERS = (
    "cvxpy:CLARABEL",
    "cvxpy:SCS",
    "cvxpy:OSQP",
    "cvxpy:ECOS",
    "cvxpy:HIGHS",
    "cvxpy:SCIPY",
    "pyomo:highs",
    "libsvm",
)
CONIC_SOLVERS = ("auto", "clarabel", "ecos", "clarabel", "ecos", "cvxpy:CLARABEL", "cvxpy:SCS", "cvxpy:ECOS")

Theme = Callable[[Composer], ProgramDescription]


@lru_cache(maxsize=4)
def draw(seed: int) -> ProgramDescription:
    """Return the program of a seed; equal seeds give equal programs."""
    rng = np.random.default_rng([18, seed])
    theme = str(rng.choice(list(THEMES), p=_THEME_PROBABILITIES))
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
_THEME_PROBABILITIES = np.array([10, 9, 6, 3, 9, 4, 4, 2, 3, 12, 5, 3, 2, 3, 10, 7, 8]) / 100


def _solvers(composer: Composer, description: ProgramDescription) -> tuple[str, ...]:
    """Return one or two random solvers, most of which support programs of this kind."""
    if "cone" in features(description) and composer.chance(0.9):
        first, second = composer.pick(*CONIC_SOLVERS), composer.pick(*CONIC_SOLVERS)
    else:
        first = composer.pick(*GENERAL_SOLVERS)
        second = composer.pick(*GENERAL_SOLVERS) if composer.chance(0.6) else composer.pick(*LIMITED_SOLVERS)
    return (first, second) if first != second else (first,)


def _scaling(composer: Composer, description: ProgramDescription) -> ScalingSpec:
    """Return random scales of columns, rows, the objective or all of them, between 1e-6 and 1e6.

    Three programs in eight are not scaled.
    """
    kind = composer.pick("none", "none", "none", "mild", "columns", "rows", "objective", "all")
    if kind == "none":
        return ScalingSpec()
    rng, largest = composer.rng, 7 if kind in ("mild", "all") else MAX_SCALE_EXPONENT

    def powers(size: int, least: int) -> Array:
        if composer.chance(0.5):
            return np.ldexp(np.ones(size), int(rng.integers(least, largest + 1)))
        return np.ldexp(1.0, rng.integers(least, largest + 1, size))

    columns: dict[str, Array] = {}
    rows: dict[str, Array] = {}
    if kind in ("mild", "columns", "all"):
        free = [v for v in description.variables if not v.integer and not v.name.endswith(".coefficients")]
        columns = {variable.name: powers(variable.size, -largest) for variable in free}
    if kind in ("mild", "rows", "all"):
        rows = {row.name: powers(row.expression.size, -largest - 3) for row in description.rows if composer.chance(0.7)}
    objective = float(powers(1, -largest)[0]) if kind in ("mild", "objective", "all") else 1.0
    return ScalingSpec(columns, rows, objective)
