"""Rows that are scaled on demand give the same numbers as a scaled array, without a copy of all rows."""

from __future__ import annotations

import pickle
import tracemalloc

import numpy as np
import pytest
import scipy.sparse as sp

from milopt import Bags, Linear, Nystrom, as_bags, load_model
from milopt.declaration.bags import scaled_rows
from milopt.declaration.bags.column_statistics import column_moments, column_range
from milopt.declaration.bags.mixed_rows import MixedRows
from milopt.declaration.bags.scaled_rows import ScaledRows, bag_slices
from milopt.declaration.kernels import feature_rows
from milopt.declaration.kernels.dictionary import choose_dictionary
from milopt.declaration.kernels.feature_rows import FeatureRows
from milopt.errors import BagsError, MiloptWarning
from milopt.estimator.scaling import fit_scaling
from milopt.models import LSSVM, MIORDM, MISVM, ODM, SAFE, SetKernelSVM

COUNT, WIDTH = 400, 6


@pytest.fixture
def small_blocks(monkeypatch):
    """Make blocks so small that the data of these tests have many of them."""
    monkeypatch.setattr(scaled_rows, "MAX_BLOCK_VALUES", 100)
    monkeypatch.setattr(scaled_rows, "MAX_PRODUCT_VALUES", 70)


def float32_rows(count=COUNT, width=WIDTH, seed=0):
    """Return read-only float32 rows whose features have different ranges."""
    rng = np.random.default_rng(seed)
    rows = (rng.normal(size=(count, width)) * 10.0 ** rng.uniform(-0.5, 0.5, width) + 3).astype(np.float32)
    rows.flags.writeable = False
    return rows


def mapped(rows, folder):
    """Return the rows as a memory-mapped array."""
    np.save(folder / "rows.npy", rows)
    return np.load(folder / "rows.npy", mmap_mode="r")


def labelled_bags():
    """Return float32 rows, offsets and labels; one instance of each positive bag is shifted."""
    sizes = np.random.default_rng(1).integers(3, 9, 60)
    offsets = np.concatenate([[0], np.cumsum(sizes)])
    y = np.where(np.arange(60) % 2, 1, -1)
    rows = np.array(float32_rows(int(offsets[-1])))
    rows[offsets[:-1][y > 0]] += 2 * rows.std(axis=0)
    rows.flags.writeable = False
    return rows, offsets, y


@pytest.mark.parametrize("shift", [0.0, 1.0, 1e5], ids=["no shift", "folded", "not folded"])
@pytest.mark.parametrize("kind", [np.float32, np.float64, np.int16, ">f4"])
def test_products_are_those_of_the_scaled_array(small_blocks, shift, kind):
    raw = (10 * float32_rows()).astype(kind)
    rng = np.random.default_rng(2)
    shifts, divisor, factors = np.full(WIDTH, shift), rng.uniform(0.5, 2, WIDTH), rng.normal(size=COUNT)
    rows = ScaledRows(raw, shifts, divisor, factors)
    dense = factors[:, None] * ((raw.astype(float) - shifts) / divisor)
    np.testing.assert_array_equal(np.asarray(rows), dense)
    np.testing.assert_array_equal(rows[7:90], dense[7:90])
    np.testing.assert_array_equal(rows[np.array([9, 3])], dense[[9, 3]])
    np.testing.assert_array_equal(rows[3], dense[3])
    np.testing.assert_array_equal(rows[:, 2], dense[:, 2])
    np.testing.assert_array_equal(np.asarray(rows.select(np.array([9, 3]))), dense[[9, 3]])
    np.testing.assert_array_equal(rows + 1.0, dense + 1.0)
    np.testing.assert_allclose(rows.squared_norms(), (dense**2).sum(axis=1), rtol=1e-13)
    for w in (rng.normal(size=WIDTH), rng.normal(size=(WIDTH, 2))):
        np.testing.assert_allclose(rows @ w, dense @ w, rtol=1e-12, atol=1e-12 * np.abs(dense).max())
    for a in (rng.normal(size=COUNT), rng.normal(size=(COUNT, 2)), np.eye(COUNT)[5], np.zeros(COUNT)):
        np.testing.assert_allclose(rows.T @ a, dense.T @ a, rtol=1e-12, atol=1e-10 * np.abs(dense).max())


def test_a_shift_that_would_cancel_is_not_folded():
    rng = np.random.default_rng(4)
    raw = 1e8 + rng.integers(-99, 99, (COUNT, WIDTH)) / 8
    dense = raw - 1e8
    rows = ScaledRows(raw, np.full(WIDTH, 1e8), np.ones(WIDTH))
    w, a = rng.normal(size=WIDTH), rng.normal(size=COUNT)
    np.testing.assert_allclose(rows @ w, dense @ w, rtol=1e-12, atol=1e-12)
    np.testing.assert_allclose(rows.T @ a, dense.T @ a, rtol=1e-12, atol=1e-12)


def test_mixed_rows_are_scaled_rows_and_combinations_of_them(monkeypatch):
    monkeypatch.setattr(scaled_rows, "MAX_BLOCK_VALUES", 1)
    rng = np.random.default_rng(5)
    rows = ScaledRows(float32_rows(), rng.normal(size=WIDTH), rng.uniform(0.5, 2, WIDTH))
    dense, points = np.asarray(rows), rng.integers(COUNT, size=(50, 3))
    count = np.where(np.arange(50) % 3, 1, 3)
    parts = [rng.normal(size=size) for size in count]
    indices = np.concatenate([np.sort(row[:size]) for row, size in zip(points, count, strict=True)])
    combinations = sp.csr_array((np.concatenate(parts), indices, np.append(0, np.cumsum(count))), shape=(50, COUNT))
    expected = combinations @ dense
    mixed = FeatureRows(Linear(), rows).take(combinations)
    assert isinstance(mixed, MixedRows)
    few = np.flatnonzero(count == 1)
    single = FeatureRows(Linear(), rows).take(combinations[few])
    assert isinstance(single, ScaledRows)
    np.testing.assert_allclose(np.asarray(single), expected[few], rtol=1e-12, atol=1e-12)
    monkeypatch.setattr(scaled_rows, "MAX_BLOCK_VALUES", 50)
    dense = FeatureRows(Linear(), rows).take(combinations)
    assert type(dense) is np.ndarray
    np.testing.assert_allclose(dense, expected, rtol=1e-12, atol=1e-12)
    w, a = rng.normal(size=WIDTH), rng.normal(size=50)
    for given, wanted in (
        (np.asarray(mixed), expected),
        (mixed[7:30], expected[7:30]),
        (mixed[np.array([9, 3])], expected[[9, 3]]),
        (mixed[4], expected[4]),
        (mixed[:, 1], expected[:, 1]),
        (mixed @ w, expected @ w),
        (mixed.T @ a, expected.T @ a),
        (mixed.squared_norms(), (expected**2).sum(axis=1)),
        (FeatureRows(Linear(), rows).take(combinations[1:3]), expected[1:3]),
    ):
        np.testing.assert_allclose(np.asarray(given), wanted, rtol=1e-12, atol=1e-12)


def test_sums_of_float32_rows_have_the_accuracy_of_float64():
    raw = float32_rows(1000, 512)
    w = np.random.default_rng(3).normal(size=512)
    exact = raw.astype(np.longdouble) @ w.astype(np.longdouble)
    np.testing.assert_allclose(ScaledRows(raw) @ w, exact.astype(float), rtol=1e-11, atol=1e-9)


@pytest.mark.parametrize("block", [1, 13, 100, 10**6])
def test_blocks_of_every_size_give_the_same_statistics(monkeypatch, block):
    rows = float32_rows()
    dense = rows.astype(np.float64)
    monkeypatch.setattr(scaled_rows, "MAX_BLOCK_VALUES", block)
    for given in (ScaledRows(rows), dense):
        low, high = column_range(given)
        np.testing.assert_array_equal([low, high], [dense.min(axis=0), dense.max(axis=0)])
        mean, deviation = column_moments(given)
        np.testing.assert_allclose(mean, dense.mean(axis=0), rtol=1e-13)
        np.testing.assert_allclose(deviation, dense.std(axis=0), rtol=1e-13)


def test_slices_of_bags_cover_all_bags_in_order(monkeypatch):
    offsets = np.array([0, 3, 4, 30, 31, 33])
    for values in (1, 8, 20, 60, 1000):
        monkeypatch.setattr(scaled_rows, "MAX_BLOCK_VALUES", values)
        parts = list(bag_slices(offsets, 2))
        assert [i for part in parts for i in range(part.start, part.stop)] == list(range(5))
        rows = [offsets[part.stop] - offsets[part.start] for part in parts]
        assert all(2 * count <= values or part.stop == part.start + 1 for count, part in zip(rows, parts, strict=True))


def test_large_arrays_are_viewed_and_small_ones_converted(small_blocks, tmp_path):
    rows = float32_rows()
    offsets = np.arange(COUNT // 4 + 1) * 4
    for given in (rows, mapped(rows, tmp_path), np.load(tmp_path / "rows.npy", mmap_mode="r+")):
        bags = Bags(given, offsets)
        assert np.shares_memory(bags.instances.raw, given)
        assert not bags.instances.raw.flags.writeable
        assert np.shares_memory(as_bags(given.reshape(-1, 4, WIDTH)).instances.raw, given)
        assert np.shares_memory(bags[10:90].instances.raw, given)
    assert not np.shares_memory(Bags(rows.copy(), offsets).instances.raw, rows)
    small = Bags(rows[:8], [0, 4, 8])
    assert type(small.instances) is np.ndarray
    assert type(bags[3]) is np.ndarray
    assert type(bags[[3, 5]].instances) is np.ndarray
    np.testing.assert_array_equal(bags[3], rows[12:16])
    np.testing.assert_array_equal(bags[[9, 3] * 20].instances, np.concatenate([rows[36:40], rows[12:16]] * 20))
    wide = rows.astype(np.float64)
    wide.flags.writeable = False
    assert Bags(wide, offsets).instances is wide
    assert bags.digest() == Bags(wide, offsets).digest()


def test_a_list_of_large_arrays_keeps_its_type(small_blocks):
    rows = float32_rows()
    bags = as_bags(list(rows.reshape(-1, 4, WIDTH)))
    assert bags.instances.raw.dtype == np.float32
    np.testing.assert_array_equal(bags.instances.raw, rows)


def test_values_that_are_not_finite_are_found_in_every_block(small_blocks):
    for place in (0, 7, 399):
        rows = np.array(float32_rows())
        rows[place, 2] = np.nan
        message = f"Bag {place // 4} of bags has NaN in instance {place % 4}, feature 2"
        with pytest.raises(BagsError, match=message):
            Bags(rows, np.arange(101) * 4)


def test_sums_over_bags_are_computed_in_blocks(small_blocks):
    rows, offsets, _ = labelled_bags()
    bags, dense = Bags(rows, offsets), rows.astype(np.float64)
    np.testing.assert_array_equal(bags.max(bags.instances), bags.max(dense))
    np.testing.assert_allclose(bags.mean(bags.instances), bags.mean(dense), rtol=1e-14)
    with pytest.raises(BagsError, match="one row per instance"):
        bags.sum(bags.instances.select(slice(0, 100)))


@pytest.mark.parametrize("scale", ["minmax01", "zscore", "none"])
@pytest.mark.parametrize(
    "model",
    [
        MISVM(kernel=Linear()),
        MISVM(kernel=Nystrom(rank=10, landmarks="uniform")),
        MIORDM(kernel=Linear()),
        SetKernelSVM(kernel=Linear()),
        LSSVM(kernel=Linear()),
        ODM(kernel=Linear()),
        SAFE(kernel=Linear(), core="kpca"),
    ],
    ids=lambda model: f"{type(model).__name__}-{type(model.kernel).__name__}",
)
@pytest.mark.filterwarnings("ignore")
def test_memory_mapped_float32_gives_the_numbers_of_float64(monkeypatch, tmp_path, model, scale):
    rows, offsets, y = labelled_bags()
    model.set_params(scale=scale)
    expected = model.fit(Bags(rows.astype(np.float64), offsets), y)
    scores, objective = expected.decision_function(Bags(rows.astype(np.float64), offsets)), expected.result_.objective
    instance_scores = np.concatenate(expected.instance_scores(Bags(rows.astype(np.float64), offsets)))
    monkeypatch.setattr(scaled_rows, "MAX_BLOCK_VALUES", 100)
    monkeypatch.setattr(feature_rows, "MAX_DENSE_BLOCKS", 1)
    bags = Bags(mapped(rows, tmp_path), offsets)
    assert isinstance(bags.instances, ScaledRows)
    size = np.abs(scores).max()
    same = np.concatenate(model.instance_scores(bags))
    np.testing.assert_allclose(model.decision_function(bags), scores, rtol=1e-9, atol=1e-9 * size)
    np.testing.assert_allclose(same, instance_scores, rtol=1e-9, atol=1e-9 * size)
    fitted = model.fit(bags, y)
    assert fitted.result_.objective == pytest.approx(objective, rel=1e-9)
    # Two fits with objectives that differ by 1e-9 have weights that differ by the root of this number.
    np.testing.assert_allclose(fitted.decision_function(bags), scores, rtol=1e-5, atol=1e-5 * size)


@pytest.mark.filterwarnings("ignore")
def test_a_saved_model_keeps_its_rows_in_their_type(small_blocks, tmp_path):
    rows, offsets, y = labelled_bags()
    bags = Bags(rows, offsets)
    model = MISVM(kernel=Linear()).fit(bags, y)
    model.save(tmp_path / "model.milopt")
    loaded = load_model(tmp_path / "model.milopt")
    assert loaded._fitted.training.bags.instances.raw.dtype == np.float32
    for other in (loaded, pickle.loads(pickle.dumps(model))):
        np.testing.assert_array_equal(other.decision_function(bags), model.decision_function(bags))


def test_landmarks_of_large_rows_come_from_one_block(small_blocks):
    rows = ScaledRows(float32_rows())
    for choice in ("kmeans", "sample", "uniform"):
        landmarks = choose_dictionary(rows, choice, 3, Linear(), 0)
        assert type(landmarks) is np.ndarray
        assert landmarks.shape == (3, WIDTH)


def test_a_fit_makes_no_copy_of_all_rows(monkeypatch):
    # 1,000 bags of 10 instances with 400 features: 16 MB in float32, 32 MB in float64.
    rng = np.random.default_rng(0)
    rows = rng.standard_normal((10_000, 400), dtype=np.float32)
    y = np.where(np.arange(1000) % 2, 1, -1)
    rows[::10][y > 0] += 1.5
    rows.flags.writeable = False
    monkeypatch.setattr(scaled_rows, "MAX_BLOCK_VALUES", 2**17)
    model = MISVM(kernel=Linear(), C=1.0)
    model.fit(Bags(rows[:1000].copy(), np.arange(101) * 10), y[:100])  # load the algorithms
    tracemalloc.start()
    try:
        bags = Bags(rows, np.arange(1001) * 10)
        fit_scaling("zscore", bags)
        _, statistics = tracemalloc.get_traced_memory()
        model.fit(bags, y)
        _, fit = tracemalloc.get_traced_memory()
        tracemalloc.reset_peak()
        before, _ = tracemalloc.get_traced_memory()
        model.decision_function(bags)
        _, scores = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert statistics < 5e6
    assert fit < 25e6
    assert scores - before < 5e6


def test_a_table_of_single_instances_is_viewed(small_blocks):
    rows = float32_rows()
    with pytest.warns(MiloptWarning, match="400 rows"):
        bags = as_bags(rows)
    assert np.shares_memory(bags.instances.raw, rows)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_an_empty_part_of_read_only_rows_is_scaled(dtype):
    raw = float32_rows().astype(dtype)
    raw.flags.writeable = False
    rows = ScaledRows(raw, np.ones(WIDTH), np.full(WIDTH, 2.0))
    assert rows[:0].shape == (0, WIDTH)
    np.testing.assert_allclose(rows[:3], (raw[:3].astype(np.float64) - 1) / 2)


def test_large_float64_arrays_are_fitted_without_a_copy(small_blocks):
    rows, offsets, y = labelled_bags()
    wide = np.asarray(rows, dtype=np.float64)
    wide.flags.writeable = False
    bags = Bags(wide, offsets)
    assert np.shares_memory(getattr(bags.instances, "raw", bags.instances), wide)
    fitted = MISVM(kernel=Linear(), positive=1).fit(bags, y)
    assert fitted.result_.certificate.worst <= 1e-6
