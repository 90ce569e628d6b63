"""Optimal values of the integer programs by enumeration and dynamic programming."""

from __future__ import annotations

import itertools

import numpy as np

from tests.peers.integer import CLIENT_DEMAND, DISTANCE, MILES, SITE_CAPACITY


def facility_location() -> float:
    """Enumerate the sets of open sites; each client goes to the nearest one."""
    sets = itertools.chain.from_iterable(itertools.combinations(range(5), size) for size in range(1, 6))
    return float(min(len(sites) + DISTANCE[:, list(sites)].min(axis=1).sum() for sites in sets))


def capacitated_location() -> float:
    """Find the least distance per loads of the five sites, client by client, and add 1 per site that has a load."""
    least = np.full(SITE_CAPACITY + 1, np.inf)
    least[(0,) * 5] = 0
    for demand, distances in zip(CLIENT_DEMAND, DISTANCE, strict=True):
        following = np.full_like(least, np.inf)
        for site in range(5):
            before = np.moveaxis(least, site, 0)[:-demand] + distances[site]
            after = np.moveaxis(following, site, 0)[demand:]
            np.minimum(after, before, out=after)
        least = following
    return float((least + sum(loads > 0 for loads in np.indices(least.shape))).min())


def tour() -> float:
    """Enumerate the orders of the six other cities."""
    orders = np.array([(0, *order, 0) for order in itertools.permutations(range(1, 7))])
    return float(MILES[orders[:, :-1], orders[:, 1:]].sum(axis=1).min())


def tour_with_orders() -> float:
    """Return the same value: the declaration differs, the problem does not."""
    return tour()
