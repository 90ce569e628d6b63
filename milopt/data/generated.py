"""Bags drawn for generalised multiple-instance concepts: a label that depends on several places at once.

A site is a box of half-width `radius` about a point of [0, 1]^D; a bag hits it with an instance inside.

    multi_site_binding  positive: a bag that hits at least `needed` of the sites; how many a bag of either class hits is
                        drawn evenly between the bounds `hits`, by default `needed` and `needed - 1`: near misses
    conjunctive         positive: a bag that hits every attracting site and no repelling one; negative bags either miss
                        one attracting site or hit a repelling one, half of them each

Every single site is hit by many negative bags, so that no single place tells the classes apart. All other instances are
drawn evenly, outside of all sites.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import numpy.typing as npt

from milopt.arrays import Floats
from milopt.declaration.arrays import read_only
from milopt.declaration.bags.bags import Bags
from milopt.declaration.checks import whole
from milopt.errors import ParameterError

Labels = npt.NDArray[np.int64]

MOST_DRAWS = 10_000
"""Tries at sites that do not overlap, and at the instances of a bag outside of them."""


def multi_site_binding(
    bags: int = 200,
    dimension: int = 5,
    sites: int = 5,
    needed: int = 4,
    size: int = 8,
    radius: float = 0.1,
    seed: int = 0,
    concept: int = 0,
    hits: tuple[int, int] | None = None,
) -> tuple[Bags, Labels]:
    """(bags, labels 1 and 0, one after the other); `concept` draws the sites, `seed` the bags."""
    numbers = {"bags": bags, "dimension": dimension, "sites": sites, "needed": needed, "size": size}
    _check(numbers, {"seed": seed, "concept": concept})
    if not needed <= sites or needed > size:
        raise ParameterError(f"needed must be at most sites ({sites}) and size ({size}), not {needed}.")
    fewest, most = _bounds(hits) if hits is not None else (needed - 1, needed)
    if not 0 <= fewest < needed <= most <= min(sites, size):
        raise ParameterError(
            f"hits must reach from below needed ({needed}) to at least that, and to at most sites ({sites}) and size "
            f"({size}), not {hits}."
        )
    centres, rng = _centres(sites, dimension, radius, concept), np.random.default_rng([seed, concept])
    labels = np.arange(bags) % 2
    bounds = ((fewest, needed - 1), (needed, most))
    drawn = []
    for label in labels:
        count = int(rng.integers(*bounds[label], endpoint=True))
        drawn.append(_bag(centres, rng.choice(sites, count, replace=False), size, radius, rng))
    return _together(drawn, labels)


def conjunctive(
    bags: int = 200,
    dimension: int = 2,
    attracting: int = 2,
    repelling: int = 1,
    size: int = 6,
    radius: float = 0.1,
    seed: int = 0,
    concept: int = 0,
) -> tuple[Bags, Labels]:
    """(bags, labels 1 and 0, one after the other); `concept` draws the sites, `seed` the bags."""
    numbers = {"bags": bags, "dimension": dimension, "attracting": attracting, "repelling": repelling, "size": size}
    _check(numbers, {"seed": seed, "concept": concept})
    if attracting + 1 > size:
        raise ParameterError(f"size must be above the number of attracting sites ({attracting}), not {size}.")
    centres = _centres(attracting + repelling, dimension, radius, concept)
    rng = np.random.default_rng([seed, concept])
    labels = np.arange(bags) % 2
    drawn = []
    for i, label in enumerate(labels):
        hit = list(range(attracting))
        if not label and i % 4 == 0:
            hit.remove(int(rng.integers(attracting)))
        elif not label:
            hit.append(attracting + int(rng.integers(repelling)))
        drawn.append(_bag(centres, np.array(hit, dtype=np.intp), size, radius, rng))
    return _together(drawn, labels)


def _check(numbers: Mapping[str, int], seeds: Mapping[str, int]) -> None:
    for name, number in numbers.items():
        whole(name, number, 1)
    for name, number in seeds.items():
        whole(name, number, 0)


def _check_radius(radius: object) -> None:
    if not isinstance(radius, (int, float, np.floating)) or not 0 < radius < 0.5:
        raise ParameterError(f"radius must be above 0 and below 0.5, where a site fills everything, not {radius!r}.")


def _bounds(hits: object) -> tuple[int, int]:
    if not isinstance(hits, (tuple, list)) or len(hits) != 2:
        raise ParameterError(f"hits must be two whole numbers, the fewest and the most, not {hits!r}.")
    return whole("hits[0]", hits[0], 0), whole("hits[1]", hits[1], 0)


def _centres(count: int, dimension: int, radius: float, concept: int) -> Floats:
    """Sites that do not overlap."""
    _check_radius(radius)
    rng = np.random.default_rng(concept)
    centres: list[Floats] = []
    for _ in range(MOST_DRAWS):
        one = rng.uniform(radius, 1 - radius, dimension)
        if all(np.abs(one - other).max() > 2 * radius for other in centres):
            centres.append(one)
        if len(centres) == count:
            return np.array(centres)
    raise ParameterError(f"{count} sites of radius {radius} do not fit into {dimension} dimensions: make them smaller.")


def _bag(centres: Floats, hit: npt.NDArray[np.intp], size: int, radius: float, rng: np.random.Generator) -> Floats:
    """Instances in the sites that are hit, and others outside of all."""
    dimension = centres.shape[1]
    inside = centres[hit] + rng.uniform(-radius, radius, (len(hit), dimension))
    others: list[Floats] = []
    for _ in range(MOST_DRAWS + 10 * size):
        if len(others) == size - len(hit):
            return rng.permutation(np.vstack([inside, *others]))
        one = rng.uniform(0.0, 1.0, (dimension,))
        if (np.abs(one - centres).max(axis=1) > radius).all():
            others.append(one)
    many = f"{len(centres)} sites of radius {radius}"
    raise ParameterError(f"{many} leave next to no room between them: make them smaller.")


def _together(drawn: list[Floats], labels: Labels) -> tuple[Bags, Labels]:
    offsets = np.cumsum([0, *(len(bag) for bag in drawn)])
    return Bags(read_only(np.vstack(drawn)), offsets), labels
