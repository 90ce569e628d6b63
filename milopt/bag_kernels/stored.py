"""A Gram matrix of counts in one file, with the grid that it is on: the data stay, the labels change.

    BoxCounting().save("images.gram", bags)          # counts every pair once
    kernel = load_gram("images.gram")                # the same kernel, which knows these counts
    BoxCountingSVM(kernel=kernel).fit(bags, labels)  # for any labels, and any part of the bags

The grid is that of the bags given, so it knows their features, though no label: for an honest estimate of the error,
save the training bags alone. Counts of other bags are computed when they are met.

The bags themselves are not in the file, so nothing in it could be counted again. Therefore the header also holds the
SHA-256 of the kernel's fields and of all arrays: the parts of two files cannot be mixed.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import replace
from os import PathLike
from typing import Any

import numpy as np

from milopt.archive import Arrays, as_path, read, written, wrong_content
from milopt.arrays import Floats
from milopt.bag_kernels.box_counting import BoxCounting
from milopt.bag_kernels.coded import coded
from milopt.bag_kernels.grid import Grid
from milopt.bag_kernels.memory import known_counts, remember
from milopt.bag_kernels.stream import Words, pair_seeds
from milopt.declaration.bags.bags import Bags

FORMAT, WHAT = 2, "Gram matrix"
_FIELDS = ("epsilon", "delta", "exact_below", "bins", "binning", "rule", "seed")


def save_gram(kernel: BoxCounting, bags: Bags, path: str | PathLike[str]) -> None:
    """Write a fitted kernel and the counts of all pairs of these bags."""
    file = as_path(path, WHAT)
    assert kernel.grid is not None
    account = kernel.account(bags, bags)
    fields = {name: getattr(kernel, name) for name in _FIELDS}
    grid = kernel.grid
    arrays = {
        "low": grid.low,
        "high": grid.high,
        "cuts": grid.cuts,
        "starts": grid.starts,
        "words": coded(grid, bags).words,
        "counts": np.stack([account.log_counts, account.draws, account.log_universe], axis=2),
    }
    header = json.dumps({"format": FORMAT, "kernel": fields, "sha256": _digest(fields, arrays)}, allow_nan=False)
    written(file, header.encode(), arrays, WHAT)


def load_gram(path: str | PathLike[str]) -> BoxCounting:
    """The fitted kernel of a file, which knows the counts of the file."""
    file = as_path(path, WHAT)
    header, arrays = read(file, WHAT)
    try:
        kernel, words, counts = _restored(json.loads(header), arrays)
    except Exception as error:  # a file may hold anything, and checks of a part may fail on the type of another
        raise wrong_content(file, WHAT, error) from error
    seeds = pair_seeds(int(kernel.seed), words[:, None], words)
    remember(kernel.key, known_counts(kernel.key).extended(seeds.ravel(), counts.reshape(-1, 3)), seeds)
    return kernel


def _restored(content: Any, arrays: Arrays) -> tuple[BoxCounting, Words, Floats]:
    """Make the kernel, the words of its bags and their counts, or raise an error if the parts do not fit."""
    if content["format"] not in (1, FORMAT):
        raise ValueError(f"it is of format {content['format']}, not {FORMAT}")
    fields = {name: content["kernel"][name] for name in _FIELDS}
    # Files of format 1 have no digest.
    if (content["format"] != 1 or "sha256" in content) and content["sha256"] != _digest(fields, arrays):
        raise ValueError("its parts are not those that were saved together")
    grid = Grid(arrays["low"], arrays["high"], arrays["cuts"], arrays["starts"])
    kernel = replace(BoxCounting(**fields), grid=grid)
    words, counts = arrays["words"], arrays["counts"]
    if words.ndim != 1 or words.size == 0 or words.dtype != np.uint64 or counts.dtype != np.float64:
        raise ValueError("its words or counts are of another type")
    if counts.shape != (words.size, words.size, 3):
        raise ValueError("its counts do not match its bags")
    if not np.array_equal(counts, counts.transpose(1, 0, 2), equal_nan=True):
        raise ValueError("its counts are not symmetric")
    logs, draws, universe = (counts[..., k] for k in range(3))
    if not np.isfinite(logs).all() or not (draws >= 0).all() or np.isinf(draws).any() or np.isinf(universe).any():
        raise ValueError("its counts are not numbers of boxes and draws")
    return kernel, words, counts


def _digest(fields: Mapping[str, Any], arrays: Arrays) -> str:
    """Compute the SHA-256 of the kernel's fields and of the arrays with their names, types and shapes."""
    digest = hashlib.sha256(json.dumps(fields, sort_keys=True).encode())
    for name in sorted(arrays):
        array = np.ascontiguousarray(arrays[name])
        digest.update(f"{name} {array.dtype.str} {array.shape} ".encode())
        digest.update(array.tobytes())
    return digest.hexdigest()
