"""Gram matrices of box counts in files, with their grid: count once, then fit with many labels.

    BoxCounting().save("images.gram", bags)          # counts every pair once
    kernel = load_gram("images.gram")                # the same kernel; the counts of the file are cached
    BoxCountingSVM(kernel=kernel).fit(bags, labels)  # for any labels, and any subset of the bags

The grid is fitted to the given bags, so it depends on their features, but not on labels. For an unbiased estimate of
the error, save the training bags only. Counts of other bags are computed when needed.

The bags themselves are not in the file, so the counts cannot be verified. Therefore the header contains the SHA-256 of
the kernel's fields and of all arrays, so that parts of two files cannot be mixed.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import replace
from os import PathLike
from typing import Any

import numpy as np

from milopt.archive import Arrays, as_path, invalid_content_error, read_archive, write_archive
from milopt.arrays import Floats, Words
from milopt.bag_kernels.box_counting import BoxCounting
from milopt.bag_kernels.coded_bags import code_bags
from milopt.bag_kernels.count_cache import cached_counts, store_counts
from milopt.bag_kernels.grid import Grid
from milopt.bag_kernels.stream import pair_seeds
from milopt.declaration.bags.bags import Bags

FORMAT_VERSION, FILE_KIND = 2, "Gram matrix"
_SAVED_FIELDS = ("epsilon", "delta", "exact_below", "bins", "binning", "rule", "seed")


def save_gram(kernel: BoxCounting, bags: Bags, path: str | PathLike[str]) -> None:
    """Write a fitted kernel and the counts of all pairs of these bags to a file."""
    file = as_path(path, FILE_KIND)
    assert kernel.grid is not None
    account = kernel.count_details(bags, bags)
    fields = {name: getattr(kernel, name) for name in _SAVED_FIELDS}
    grid = kernel.grid
    arrays = {
        "low": grid.low,
        "high": grid.high,
        "cuts": grid.cuts,
        "starts": grid.starts,
        "words": code_bags(grid, bags).words,
        "counts": np.stack([account.log_counts, account.draws, account.log_universe], axis=2),
    }
    header = json.dumps(
        {"format": FORMAT_VERSION, "kernel": fields, "sha256": _digest(fields, arrays)}, allow_nan=False
    )
    write_archive(file, header.encode(), arrays, FILE_KIND)


def load_gram(path: str | PathLike[str]) -> BoxCounting:
    """Load a box-counting kernel with its counts from a file.

    Parameters
    ----------
    path : str or path-like
        File written by `BoxCounting.save`.

    Returns
    -------
    BoxCounting
        Fitted kernel. The counts of the file are in the cache, so they are not computed again.

    Raises
    ------
    ModelFileError
        If the file cannot be read, or was not written by `BoxCounting.save`.

    Examples
    --------
    >>> import os, tempfile
    >>> import numpy as np
    >>> import milopt
    >>> bags = [np.array([[0.0], [1.0]]), np.array([[2.0]]), np.array([[4.0]])]
    >>> path = os.path.join(tempfile.mkdtemp(), "toy.gram")
    >>> milopt.BoxCounting(bins=5).save(path, bags)
    >>> milopt.load_gram(path)
    BoxCounting(bins=5)
    """
    file = as_path(path, FILE_KIND)
    header, arrays = read_archive(file, FILE_KIND)
    try:
        kernel, words, counts = _parse_content(json.loads(header), arrays)
    except Exception as error:  # a file may contain anything, and a check of one part may fail on the type of another
        raise invalid_content_error(file, FILE_KIND, error) from error
    seeds = pair_seeds(int(kernel.seed), words[:, None], words)
    store_counts(
        kernel.cache_key, cached_counts(kernel.cache_key).with_pairs(seeds.ravel(), counts.reshape(-1, 3)), seeds
    )
    return kernel


def _parse_content(content: Any, arrays: Arrays) -> tuple[BoxCounting, Words, Floats]:
    """Return (kernel, digests of its bags, counts) of a header and arrays, or raise an error if they do not match."""
    if content["format"] not in (1, FORMAT_VERSION):
        raise ValueError(f"it is of format {content['format']}, not {FORMAT_VERSION}")
    fields = {name: content["kernel"][name] for name in _SAVED_FIELDS}
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
