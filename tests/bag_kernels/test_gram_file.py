"""Gram matrices in files: counts are read back, for any labels and any subset of the bags, without counting again."""

from __future__ import annotations

import io
import json
import subprocess
import sys
import zipfile

import numpy as np
import pytest

import milopt
from milopt import as_bags
from milopt.archive import pack_archive
from milopt.bag_kernels import box_counting
from milopt.bag_kernels.box_counting import BoxCounting
from milopt.bag_kernels.count_cache import clear_count_cache
from milopt.bag_kernels.gram_file import load_gram
from milopt.errors import ModelFileError, ParameterError
from milopt.models import BoxCountingSVM
from tests.bag_kernels.test_box_counting import random_bags


@pytest.fixture
def stored(tmp_path):
    """Return a file, its bags, and their counts."""
    bags = as_bags(random_bags(m=14, D=3))
    kernel = BoxCounting(bins=20, exact_below=0, epsilon=0.3).fitted_to(bags)
    kernel.save(tmp_path / "bags.gram", bags)
    gram = kernel.log(bags, bags)
    clear_count_cache()
    return tmp_path / "bags.gram", bags, gram


def test_counts_come_back_without_counting(stored, monkeypatch):
    path, bags, gram = stored
    kernel = load_gram(path)
    monkeypatch.setattr(box_counting, "count_pairs", None)
    np.testing.assert_array_equal(kernel.log(bags, bags), gram)
    np.testing.assert_array_equal(kernel.log(bags[3:5], bags[::2]), gram[3:5, ::2])
    for labels in (np.arange(14) % 2, np.arange(14) < 5):
        model = BoxCountingSVM(kernel=kernel).fit(bags[:12], labels[:12])
        assert model.decision_function(bags[12:]).shape == (2,)


def test_new_bags_are_counted_on_the_stored_grid(stored):
    path, bags, _ = stored
    kernel, new = load_gram(path), as_bags(random_bags(seed=5, D=3))
    expected = BoxCounting(bins=20, exact_below=0, epsilon=0.3).fitted_to(bags).log(new, bags)
    clear_count_cache()
    np.testing.assert_array_equal(load_gram(path).log(new, bags), expected)
    assert kernel.requires_unscaled_input


def test_another_process_reads_the_same_numbers(stored):
    path, _, gram = stored
    code = """
import json, sys
from milopt.bag_kernels.count_cache import _CACHES
from milopt.bag_kernels.gram_file import load_gram
load_gram(sys.argv[1])
print(json.dumps(sorted(count[0] for known in _CACHES.values() for count in known.counts.tolist())))
"""
    done = subprocess.run([sys.executable, "-c", code, str(path)], capture_output=True, text=True, check=True)
    np.testing.assert_array_equal(json.loads(done.stdout), np.sort(gram[np.triu_indices(14)]))


def test_invalid_gram_files_are_rejected(stored, tmp_path):
    path, bags, _ = stored
    other = tmp_path / "other"
    other.write_bytes(b"something else, long stopping_sum to hold a mark and a digest of sixty-four digits" * 3)
    for wrong in (None, 3):
        with pytest.raises(ParameterError, match=f"A Gram matrix is stored in a file: give its path, not {wrong}"):
            load_gram(wrong)
        with pytest.raises(ParameterError, match=f"A model is stored in a file: give its path, not {wrong}"):
            milopt.load_model(wrong)
    with pytest.raises(ModelFileError, match="is not a Gram matrix saved by milopt"):
        load_gram(other)
    damaged = bytearray(path.read_bytes())
    damaged[200] ^= 1
    path.write_bytes(damaged)
    with pytest.raises(ModelFileError, match="its checksum is wrong"):
        load_gram(path)
    BoxCountingSVM().fit(bags, np.arange(14) % 2).save(tmp_path / "model")
    with pytest.raises(ModelFileError, match="does not have the content of a saved Gram matrix"):
        load_gram(tmp_path / "model")


def contents(path):
    """Return the header and the arrays of a file."""
    with zipfile.ZipFile(path) as archive:
        names = [name for name in archive.namelist() if name.endswith(".npy")]
        arrays = {name.removesuffix(".npy"): np.load(io.BytesIO(archive.read(name))) for name in names}
        return json.loads(archive.read("header.json")), arrays


def test_a_file_of_format_1_has_no_digest_and_is_read(stored, monkeypatch):
    path, bags, gram = stored
    header, arrays = contents(path)
    path.write_bytes(pack_archive(json.dumps({"format": 1, "kernel": header["kernel"]}).encode(), arrays))
    monkeypatch.setattr(box_counting, "count_pairs", None)
    np.testing.assert_array_equal(load_gram(path).log(bags, bags), gram)


def test_changed_parts_are_detected_by_the_digest(stored):
    path, _, _ = stored
    header, arrays = contents(path)
    arrays["counts"][0, 0, 0] += 0.1
    path.write_bytes(pack_archive(json.dumps(header).encode(), arrays))
    with pytest.raises(ModelFileError, match="its parts are not those that were saved together"):
        load_gram(path)


def _asymmetric(arrays):
    arrays["counts"][0, 1, 0] += 0.1


def _infinite(arrays):
    arrays["counts"][2, 2, 0] = np.inf


def _negative_draws(arrays):
    arrays["counts"][2, 2, 1] = -1


def _integer_counts(arrays):
    arrays["counts"] = np.zeros(arrays["counts"].shape, dtype=int)


def _falling_starts(arrays):
    arrays["starts"][1] = 1000


def _no_features(arrays):
    arrays.update(low=np.empty(0), high=np.empty(0), cuts=np.empty(0), starts=np.zeros(1, dtype=int))


def _falling_cuts(arrays):
    arrays["cuts"][:2] = arrays["cuts"][1::-1]


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (_asymmetric, "its counts are not symmetric"),
        (_infinite, "its counts are not numbers of boxes and draws"),
        (_negative_draws, "its counts are not numbers of boxes and draws"),
        (_integer_counts, "its words or counts are of another type"),
        (_falling_starts, "The starts of a grid must rise from 0 to the number of its cuts"),
        (_no_features, "A grid must have a smallest value, a largest value and a start for each feature"),
        (_falling_cuts, "The cuts of each feature of a grid must not decrease"),
    ],
)
def test_invalid_parts_are_rejected_even_if_all_checksums_are_correct(stored, change, message):
    path, _, _ = stored
    header, arrays = contents(path)
    change(arrays)
    path.write_bytes(pack_archive(json.dumps({"format": 1, "kernel": header["kernel"]}).encode(), arrays))
    with pytest.raises(ModelFileError, match=rf"does not have the content of a saved Gram matrix \({message}\)\.$"):
        load_gram(path)
