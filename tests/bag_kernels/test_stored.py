"""A Gram matrix in a file: the counts come back, for any labels and any part of the bags, and nothing is recounted."""

from __future__ import annotations

import json
import subprocess
import sys

import numpy as np
import pytest

import milopt
from milopt import as_bags
from milopt.bag_kernels import box_counting
from milopt.bag_kernels.box_counting import BoxCounting
from milopt.bag_kernels.memory import forget_counts
from milopt.bag_kernels.stored import load_gram
from milopt.errors import ModelFileError, ParameterError
from milopt.models import BoxCountingSVM
from tests.bag_kernels.test_box_counting import random_bags


@pytest.fixture
def stored(tmp_path):
    """A file, its bags, and their counts."""
    bags = as_bags(random_bags(m=14, D=3))
    kernel = BoxCounting(bins=20, exact_below=0, epsilon=0.3).fitted_to(bags)
    kernel.save(tmp_path / "bags.gram", bags)
    gram = kernel.log(bags, bags)
    forget_counts()
    return tmp_path / "bags.gram", bags, gram


def test_counts_come_back_without_counting(stored, monkeypatch):
    path, bags, gram = stored
    kernel = load_gram(path)
    monkeypatch.setattr(box_counting, "counted_pairs", None)
    np.testing.assert_array_equal(kernel.log(bags, bags), gram)
    np.testing.assert_array_equal(kernel.log(bags[3:5], bags[::2]), gram[3:5, ::2])
    for labels in (np.arange(14) % 2, np.arange(14) < 5):
        model = BoxCountingSVM(kernel=kernel).fit(bags[:12], labels[:12])
        assert model.decision_function(bags[12:]).shape == (2,)


def test_new_bags_are_counted_on_the_stored_grid(stored):
    path, bags, _ = stored
    kernel, new = load_gram(path), as_bags(random_bags(seed=5, D=3))
    expected = BoxCounting(bins=20, exact_below=0, epsilon=0.3).fitted_to(bags).log(new, bags)
    forget_counts()
    np.testing.assert_array_equal(load_gram(path).log(new, bags), expected)
    assert kernel.takes_points_as_they_are


def test_another_process_reads_the_same_numbers(stored):
    path, _, gram = stored
    code = """
import json, sys
from milopt.bag_kernels.memory import _KNOWN
from milopt.bag_kernels.stored import load_gram
load_gram(sys.argv[1])
print(json.dumps(sorted(count[0] for known in _KNOWN.values() for count in known.counts.tolist())))
"""
    done = subprocess.run([sys.executable, "-c", code, str(path)], capture_output=True, text=True, check=True)
    np.testing.assert_array_equal(json.loads(done.stdout), np.sort(gram[np.triu_indices(14)]))


def test_what_is_no_stored_gram_is_told(stored, tmp_path):
    path, bags, _ = stored
    other = tmp_path / "other"
    other.write_bytes(b"something else, long enough to hold a mark and a digest of sixty-four digits" * 3)
    for wrong in (None, 3):
        with pytest.raises(ParameterError, match=f"A Gram matrix is kept in a file: give its path, not {wrong}"):
            load_gram(wrong)
        with pytest.raises(ParameterError, match=f"A model is kept in a file: give its path, not {wrong}"):
            milopt.load_model(wrong)
    with pytest.raises(ModelFileError, match="is not a Gram matrix that milopt saved"):
        load_gram(other)
    damaged = bytearray(path.read_bytes())
    damaged[200] ^= 1
    path.write_bytes(damaged)
    with pytest.raises(ModelFileError, match="its checksum does not hold"):
        load_gram(path)
    BoxCountingSVM().fit(bags, np.arange(14) % 2).save(tmp_path / "model")
    with pytest.raises(ModelFileError, match="does not hold what a saved Gram matrix holds"):
        load_gram(tmp_path / "model")
