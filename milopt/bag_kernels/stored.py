"""A Gram matrix of counts in one file, with the grid that it is on: the data stay, the labels change.

    BoxCounting().save("images.gram", bags)          # counts every pair once
    kernel = load_gram("images.gram")                # the same kernel, which knows these counts
    BoxCountingSVM(kernel=kernel).fit(bags, labels)  # for any labels, and any part of the bags

The grid is that of the bags given, so it knows their features, though no label: for an honest estimate of the error,
save the training bags alone. Counts of other bags are computed when they are met.
"""

from __future__ import annotations

import json
from dataclasses import replace
from os import PathLike

import numpy as np

from milopt.bag_kernels.box_counting import BoxCounting
from milopt.bag_kernels.coded import coded
from milopt.bag_kernels.grid import Grid
from milopt.bag_kernels.memory import known_counts, remember
from milopt.bag_kernels.stream import pair_seeds
from milopt.declaration.bags import Bags
from milopt.errors import MiloptError, ModelFileError
from milopt.estimator.archive import as_path, read, written

FORMAT, WHAT = 1, "Gram matrix"
_FIELDS = ("epsilon", "delta", "exact_below", "bins", "binning", "rule", "seed")


def save_gram(kernel: BoxCounting, bags: Bags, path: str | PathLike[str]) -> None:
    """Write a fitted kernel and the counts of all pairs of these bags."""
    file = as_path(path, WHAT)
    assert kernel.grid is not None
    account = kernel.account(bags, bags)
    fields = {name: getattr(kernel, name) for name in _FIELDS}
    header = json.dumps({"format": FORMAT, "kernel": fields}, allow_nan=False)
    grid = kernel.grid
    arrays = {
        "low": grid.low,
        "high": grid.high,
        "cuts": grid.cuts,
        "starts": grid.starts,
        "words": coded(grid, bags).words,
        "counts": np.stack([account.log_counts, account.draws, account.log_universe], axis=2),
    }
    written(file, header.encode(), arrays, WHAT)


def load_gram(path: str | PathLike[str]) -> BoxCounting:
    """The fitted kernel of a file, which knows the counts of the file."""
    file = as_path(path, WHAT)
    header, arrays = read(file, WHAT)
    try:
        content = json.loads(header)
        if content["format"] != FORMAT:
            raise ValueError(f"it is of format {content['format']}, not {FORMAT}")
        grid = Grid(*(np.asarray(arrays[name]) for name in ("low", "high", "cuts", "starts")))
        kernel = replace(BoxCounting(**{name: content["kernel"][name] for name in _FIELDS}), grid=grid)
        words, counts = arrays["words"].astype(np.uint64), arrays["counts"].astype(np.float64)
        if counts.shape != (len(words), len(words), 3):
            raise ValueError("its counts do not match its bags")
    except (ValueError, TypeError, LookupError, MiloptError) as error:
        raise ModelFileError(f"{file} does not hold what a saved Gram matrix holds ({error}).") from error
    seeds = pair_seeds(int(kernel.seed), words[:, None], words)
    remember(kernel.key, known_counts(kernel.key).extended(seeds.ravel(), counts.reshape(-1, 3)), seeds)
    return kernel
