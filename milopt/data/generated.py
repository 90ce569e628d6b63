"""Generators of bags for generalised multiple-instance concepts, whose labels depend on several places at once.

A site is a box of half-width `radius` around a point of [0, 1]^D. A bag hits a site if one of its instances lies
inside.

    multi_site_binding  positive: bags that hit at least `needed` of the sites. How many sites a bag hits is drawn
                        uniformly from hits[0]..needed - 1 for negative and from needed..hits[1] for positive bags; by
                        default `needed - 1` and `needed` sites, so that negative bags are near misses
    conjunctive         positive: bags that hit every attracting site and no repelling one. Half of the negative bags
                        miss one attracting site, the other half hit a repelling site

Every single site is hit by many negative bags, so that no single place separates the classes. All other instances are
drawn uniformly outside of all sites.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import numpy.typing as npt

from milopt.arrays import Floats, Labels
from milopt.declaration.array_conversion import make_read_only
from milopt.declaration.bags.bags import Bags
from milopt.declaration.checks import check_integer
from milopt.errors import ParameterError

MAX_SITE_DRAWS = 10_000
"""Maximum number of attempts to draw sites that do not overlap.

For the instances of a bag outside of all sites, it is the maximum number of attempts plus 10 per instance.
"""


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
    """Generate bags that are positive if they hit at least `needed` sites.

    Parameters
    ----------
    bags : int, default=200
        Number of bags. Negative and positive bags alternate.
    dimension : int, default=5
        Number of features.
    sites : int, default=5
        Number of sites.
    needed : int, default=4
        Minimum number of sites that a positive bag hits.
    size : int, default=8
        Number of instances per bag.
    radius : float, default=0.1
        Half-width of a site, below 0.5.
    seed : int, default=0
        Seed of the bags.
    concept : int, default=0
        Seed of the sites.
    hits : tuple of two int or None, default=None
        Smallest number of sites that a negative bag hits, and largest number that a positive bag hits. None means
        (needed - 1, needed).

    Returns
    -------
    bags : Bags
        Generated bags.
    labels : ndarray of shape (n_bags,)
        Labels 0 and 1.
    """
    numbers = {"bags": bags, "dimension": dimension, "sites": sites, "needed": needed, "size": size}
    _check_counts_and_seeds(numbers, {"seed": seed, "concept": concept})
    if not needed <= sites or needed > size:
        raise ParameterError(f"needed must be at most sites ({sites}) and size ({size}), not {needed}.")
    fewest, most = _check_hits(hits) if hits is not None else (needed - 1, needed)
    if not 0 <= fewest < needed <= most <= min(sites, size):
        raise ParameterError(
            f"hits must reach from below needed ({needed}) to at least that, and to at most sites ({sites}) and size "
            f"({size}), not {hits}."
        )
    centres, rng = _draw_centres(sites, dimension, radius, concept), np.random.default_rng([seed, concept])
    labels = np.arange(bags) % 2
    bounds = ((fewest, needed - 1), (needed, most))
    drawn = []
    for label in labels:
        count = int(rng.integers(*bounds[label], endpoint=True))
        drawn.append(_draw_bag(centres, rng.choice(sites, count, replace=False), size, radius, rng))
    return _join_bags(drawn, labels)


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
    """Generate bags that are positive if they hit all attracting sites and no repelling site.

    Parameters
    ----------
    bags : int, default=200
        Number of bags. Negative and positive bags alternate.
    dimension : int, default=2
        Number of features.
    attracting, repelling : int, default=2 and 1
        Numbers of attracting and repelling sites.
    size : int, default=6
        Number of instances per bag.
    radius : float, default=0.1
        Half-width of a site, below 0.5.
    seed : int, default=0
        Seed of the bags.
    concept : int, default=0
        Seed of the sites.

    Returns
    -------
    bags : Bags
        Generated bags.
    labels : ndarray of shape (n_bags,)
        Labels 0 and 1.
    """
    numbers = {"bags": bags, "dimension": dimension, "attracting": attracting, "repelling": repelling, "size": size}
    _check_counts_and_seeds(numbers, {"seed": seed, "concept": concept})
    if attracting + 1 > size:
        raise ParameterError(f"size must be above the number of attracting sites ({attracting}), not {size}.")
    centres = _draw_centres(attracting + repelling, dimension, radius, concept)
    rng = np.random.default_rng([seed, concept])
    labels = np.arange(bags) % 2
    drawn = []
    for i, label in enumerate(labels):
        hit = list(range(attracting))
        if not label and i % 4 == 0:
            hit.remove(int(rng.integers(attracting)))
        elif not label:
            hit.append(attracting + int(rng.integers(repelling)))
        drawn.append(_draw_bag(centres, np.array(hit, dtype=np.intp), size, radius, rng))
    return _join_bags(drawn, labels)


def _check_counts_and_seeds(numbers: Mapping[str, int], seeds: Mapping[str, int]) -> None:
    """Raise an error if the numbers are not positive integers, or the seeds not nonnegative integers."""
    for name, number in numbers.items():
        check_integer(name, number, 1)
    for name, number in seeds.items():
        check_integer(name, number, 0)


def _check_radius(radius: object) -> None:
    """Raise an error if the radius does not lie strictly between 0 and 0.5."""
    if not isinstance(radius, (int, float, np.floating)) or not 0 < radius < 0.5:
        raise ParameterError(f"radius must be above 0 and below 0.5 (0.5 fills the cube), not {radius!r}.")


def _check_hits(hits: object) -> tuple[int, int]:
    """Return `hits`, or raise an error if it is not a pair of nonnegative integers."""
    if not isinstance(hits, (tuple, list)) or len(hits) != 2:
        raise ParameterError(f"hits must be two whole numbers, the minimum and the maximum, not {hits!r}.")
    return check_integer("hits[0]", hits[0], 0), check_integer("hits[1]", hits[1], 0)


def _draw_centres(count: int, dimension: int, radius: float, concept: int) -> Floats:
    """Draw the centres of `count` sites that do not overlap; `concept` is the seed."""
    _check_radius(radius)
    rng = np.random.default_rng(concept)
    centres: list[Floats] = []
    for _ in range(MAX_SITE_DRAWS):
        centre = rng.uniform(radius, 1 - radius, dimension)
        if all(np.abs(centre - other).max() > 2 * radius for other in centres):
            centres.append(centre)
        if len(centres) == count:
            return np.array(centres)
    raise ParameterError(f"{count} sites of radius {radius} do not fit into {dimension} dimensions: make them smaller.")


def _draw_bag(centres: Floats, hit: npt.NDArray[np.intp], size: int, radius: float, rng: np.random.Generator) -> Floats:
    """Draw a bag of `size` instances: one in each site whose index is in `hit`, the others outside of all sites."""
    dimension = centres.shape[1]
    inside = centres[hit] + rng.uniform(-radius, radius, (len(hit), dimension))
    others: list[Floats] = []
    for _ in range(MAX_SITE_DRAWS + 10 * size):
        if len(others) == size - len(hit):
            return rng.permutation(np.vstack([inside, *others]))
        point = rng.uniform(0.0, 1.0, (dimension,))
        if (np.abs(point - centres).max(axis=1) > radius).all():
            others.append(point)
    many = f"{len(centres)} sites of radius {radius}"
    raise ParameterError(f"{many} leave hardly any room between them: make them smaller.")


def _join_bags(drawn: list[Floats], labels: Labels) -> tuple[Bags, Labels]:
    """Return (bags, labels) with all bags in one `Bags` object."""
    offsets = np.cumsum([0, *(len(bag) for bag in drawn)])
    return Bags(make_read_only(np.vstack(drawn)), offsets), labels
