"""Witnesses of a bag_max: a (bags x instances) matrix; a row is one instance, the bag's mean, or open (zero)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TypeAlias

import numpy as np
import scipy.sparse as sp

from milopt.compilation.evaluation_form import Index
from milopt.declaration.expression import Expression
from milopt.declaration.leaves import BagMax
from milopt.declaration.sparse import from_parts

Witness: TypeAlias = sp.csr_array | Expression
"""A selection matrix, or an expression with an entry a bag that stands in for the maximum."""
Witnesses: TypeAlias = Mapping[BagMax, Witness]
Selections: TypeAlias = dict[BagMax, Index]
"""Per maximum, a flat instance a bag; -1 leaves the bag open."""


def mean_selection(atom: BagMax) -> sp.csr_array:
    """Each bag's mean."""
    bags = atom.over
    count = int(bags.offsets[-1])
    return from_parts(np.repeat(1.0 / bags.sizes, bags.sizes), np.arange(count), bags.offsets, (len(bags), count))


def one_hot_selection(atom: BagMax, index: Index) -> sp.csr_array:
    """One instance a bag, by flat index; -1 leaves the bag open."""
    fixed = index >= 0
    chosen, indptr = index[fixed], np.concatenate([[0], np.cumsum(fixed)])
    return from_parts(np.ones(chosen.size), chosen, indptr, (len(atom.over), int(atom.over.offsets[-1])))


def one_hot(selections: Selections) -> dict[BagMax, Witness]:
    """Selections as witnesses."""
    return {atom: one_hot_selection(atom, index) for atom, index in selections.items()}


def instances_of(atom: BagMax, bags: Index) -> tuple[Index, Index]:
    """For a list of bags: (place in the list, flat instance) of all their instances, in order."""
    sizes = atom.over.sizes[bags]
    place = np.repeat(np.arange(bags.size), sizes)
    first = np.cumsum(sizes) - sizes
    return place, np.arange(place.size) - first[place] + atom.over.offsets[bags][place]
