"""Bags behave like a plain list of arrays, but are faster, immutable and checked."""

from __future__ import annotations

import copy
import pickle
import subprocess
import sys
import warnings

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st

import milopt
from milopt.declaration.bags.bags import Bags, as_bags
from milopt.declaration.bags.labels import as_signs, as_weights
from milopt.errors import BagsError, DeclarationError, MiloptWarning

quick = settings(max_examples=60, deadline=None)
members_of = st.lists(st.integers(1, 5), min_size=1, max_size=8)


def random_members(sizes, dimension=3, seed=0):
    rng = np.random.default_rng(seed)
    return [np.where(rng.random((n, dimension)) < 0.4, 0.0, rng.normal(size=(n, dimension))) for n in sizes]


# Reductions


@quick
@given(members_of, st.integers(0, 99), st.sampled_from([(), (1,), (3,)]), st.booleans())
def test_reductions_equal_a_loop_over_bags(sizes, seed, tail, coarse):
    bags = as_bags(random_members(sizes))
    values = np.random.default_rng(seed).normal(size=(sum(sizes), *tail))
    if coarse:  # many ties
        values = np.round(values)
    parts = np.split(values, np.cumsum(sizes)[:-1])
    np.testing.assert_array_equal(bags.max(values), [p.max(axis=0) for p in parts])
    np.testing.assert_allclose(bags.sum(values), [p.sum(axis=0) for p in parts], atol=1e-14)
    np.testing.assert_allclose(bags.mean(values), [p.mean(axis=0) for p in parts], atol=1e-14)
    np.testing.assert_array_equal(
        bags.argmax(values), [p.argmax(axis=0) + start for p, start in zip(parts, bags.offsets, strict=False)]
    )
    np.testing.assert_allclose(bags.membership.T @ values, bags.sum(values), atol=1e-14)
    np.testing.assert_array_equal(bags.bag_of, np.repeat(np.arange(len(sizes)), sizes))
    assert bags.membership is bags.membership
    assert bags.bag_of is bags.bag_of


def test_argmax_is_the_first_of_tied_instances():
    bags = as_bags([np.zeros((3, 1)), np.zeros((2, 1))])
    assert bags.argmax([1.0, 2.0, 2.0, -0.0, 0.0]).tolist() == [1, 3]
    assert bags.argmax([0.0, np.nan, 1.0, -np.inf, -np.inf]).tolist() == [1, 3]


def test_values_of_another_length_raise_an_error():
    bags = as_bags([np.zeros((3, 1)), np.zeros((2, 1))])
    for reduce in (bags.max, bags.sum, bags.mean, bags.argmax):
        with pytest.raises(BagsError, match=r"shape \(4,\) for 5 instances"):
            reduce(np.zeros(4))


# Indexing


@quick
@given(members_of, st.data(), st.booleans())
def test_indexing_equals_indexing_of_a_list(sizes, data, sparse):
    members = random_members(sizes)
    bags = as_bags([sp.csr_array(x) for x in members] if sparse else members)
    m = len(sizes)

    def dense(bag):
        return bag.toarray() if sparse else bag

    def same(some, expected):
        assert isinstance(some, Bags)
        assert len(some) == len(expected)
        assert some.sizes.tolist() == [len(x) for x in expected]
        for bag, x in zip(some, expected, strict=True):
            np.testing.assert_array_equal(dense(bag), x)
        np.testing.assert_array_equal(dense(some.instances), np.concatenate(expected))

    i = data.draw(st.integers(-m, m - 1))
    np.testing.assert_array_equal(dense(bags[i]), members[i])
    np.testing.assert_array_equal(dense(bags[np.int64(i)]), members[i])
    same(bags[:], members)
    which = data.draw(st.lists(st.integers(-m, m - 1), min_size=1, max_size=6))
    same(bags[which], [members[i] for i in which])
    same(bags[np.array(which)], [members[i] for i in which])
    part = data.draw(st.slices(m))
    if members[part]:
        same(bags[part], members[part])
    else:
        with pytest.raises(BagsError, match="The selection is empty"):
            bags[part]
    mask = np.zeros(m, dtype=bool)
    mask[which] = True
    same(bags[mask], [x for x, keep in zip(members, mask, strict=True) if keep])


def test_indices_out_of_range_raise_an_error():
    bags = as_bags(random_members([2, 3]))
    with pytest.raises(IndexError, match="index 2 is out of range for 2 bags"):
        bags[2]
    with pytest.raises(IndexError, match="index -3 is out of range"):
        bags[[0, -3]]
    with pytest.raises(IndexError, match="3 entries for 2 bags"):
        bags[[True, False, True]]
    with pytest.raises(IndexError, match="list of integers or a boolean mask"):
        bags[[0.5]]
    with pytest.raises(BagsError, match="select at least one"):
        bags[[]]


# Immutability


def test_bags_are_read_only_and_later_writes_to_the_input_do_not_change_them():
    members = random_members([2, 3, 1])
    stacked = np.concatenate(members)
    for given_array in (stacked, np.asfortranarray(stacked), stacked[:], stacked.astype(np.float32)):
        bags = Bags(given_array, [0, 2, 5, 6])
        before = np.array(bags.instances)
        given_array += 1.0
        np.testing.assert_array_equal(bags.instances, before)
        assert bags.instances.flags.c_contiguous
        for array in (bags.instances, bags[0], bags[1:].instances, bags[[2, 0]].instances, bags.offsets, bags.sizes):
            with pytest.raises(ValueError, match="read-only"):
                array[...] = 0
    for attribute in ("instances", "offsets"):
        with pytest.raises(AttributeError):
            setattr(bags, attribute, 0)


def test_a_read_only_view_of_a_writeable_array_is_copied():
    base = np.ones((3, 2))
    view = base[:]
    view.flags.writeable = False
    bags = Bags(view, [0, 1, 3])
    base[:] = 7
    assert bags.instances.max() == 1


def test_a_read_only_array_is_not_copied():
    base = np.ones((3, 2))
    base.flags.writeable = False
    bags = Bags(base, [0, 1, 3])
    assert np.shares_memory(bags.instances, base)
    assert np.shares_memory(bags[1], base)
    assert np.shares_memory(bags[1:].instances, base)
    assert bags.instances is bags.instances


def test_sparse_bags_are_read_only_copies_of_their_input():
    matrix = sp.csr_array(np.eye(3))
    bags = Bags(matrix, [0, 1, 3])
    matrix.data[:] = 5
    assert bags.instances.data.max() == 1
    assert np.shares_memory(bags[1].data, bags.instances.data)
    for rows in (bags.instances, bags[1], bags[[1, 0]].instances):
        with pytest.raises(ValueError, match="read-only"):
            rows.data[:] = 0
    np.testing.assert_array_equal((bags.instances @ bags.instances.T).toarray(), np.eye(3))


def test_pickled_bags_are_read_only():
    bags = as_bags(random_members([2, 3]))
    for again in (pickle.loads(pickle.dumps(bags)), copy.deepcopy(bags)):
        assert again.digest() == bags.digest()
        assert not again.instances.flags.writeable


# Sparse, digest, repr


@quick
@given(members_of, st.integers(0, 99))
def test_sparse_bags_equal_dense_bags(sizes, seed):
    members = random_members(sizes, seed=seed)
    dense, sparse = as_bags(members), as_bags([sp.csr_matrix(x) for x in members])
    assert isinstance(sparse.instances, sp.csr_array)
    np.testing.assert_array_equal(sparse.instances.toarray(), dense.instances)
    assert sparse.dimension == dense.dimension
    np.testing.assert_array_equal(sparse.offsets, dense.offsets)


def test_digest_depends_only_on_the_content():
    members = random_members([2, 3])
    bags = as_bags(members)
    assert bags.digest() == as_bags([x.copy() for x in members]).digest() == bags[[0, 1]].digest()
    assert len(bags.digest()) == 64
    others = [bags[::-1], Bags(bags.instances, [0, 3, 5]), as_bags([x + 1e-15 for x in members])]
    assert len({bags.digest(), *(other.digest() for other in others)}) == 4
    unsorted = sp.csr_array((np.array([2.0, 1.0, 0.0]), np.array([1, 0, 1]), np.array([0, 2, 3])), shape=(2, 2))
    tidy = sp.csr_array(np.array([[1.0, 2.0], [0.0, 0.0]]))
    assert Bags(unsorted, [0, 2]).digest() == Bags(tidy, [0, 2]).digest()


def test_digest_is_the_same_in_another_process():
    code = (
        "import numpy as np; from milopt.declaration.bags.bags import Bags; print(Bags(np.eye(3), [0, 1, 3]).digest())"
    )
    digest = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.strip()
    assert digest == Bags(np.eye(3), [0, 1, 3]).digest()


def test_repr_contains_the_sizes():
    assert repr(as_bags(random_members([2, 3]))) == "Bags(2 bags, 5 instances, 3 features)"
    assert repr(as_bags([sp.csr_array(np.eye(2))])) == "Bags(1 bags, 2 instances, 2 features, sparse)"


# Neither numpy nor scikit-learn treats bags as an array


def test_bags_are_not_an_array():
    bags = as_bags(random_members([2, 3]))
    for attribute in ("shape", "dtype", "__array__", "ndim"):
        assert not hasattr(bags, attribute)
    with pytest.raises(TypeError):
        np.ones(2) * bags
    with pytest.raises(TypeError):
        np.exp(bags)


@pytest.mark.parametrize("sizes", [[2, 3, 1, 2, 4, 1, 2, 2], [2] * 8])
def test_scikit_learn_splits_bags(sizes):
    from sklearn.base import BaseEstimator, ClassifierMixin
    from sklearn.model_selection import GridSearchCV, StratifiedGroupKFold, StratifiedKFold, train_test_split

    class Largest(ClassifierMixin, BaseEstimator):
        def __init__(self, feature=0):
            self.feature = feature

        def fit(self, X, y):
            self.classes_ = np.unique(y)
            assert len(as_bags(X)) == len(y)
            return self

        def predict(self, X):
            bags = as_bags(X)
            return np.where(bags.max(bags.instances[:, self.feature]) > 0, 1, -1)

    bags = as_bags(random_members(sizes))
    y = np.where(np.arange(8) % 2, 1, -1)
    for train, test in StratifiedKFold(2).split(bags, y):
        assert len(bags[train]) + len(bags[test]) == 8
    list(StratifiedGroupKFold(2).split(bags, y, groups=np.arange(8)))
    search = GridSearchCV(Largest(), {"feature": [0, 1]}, cv=2).fit(bags, y)
    assert search.predict(bags).shape == (8,)
    train, test, _, _ = train_test_split(bags, y, test_size=2, random_state=0)
    assert len(as_bags(train)) == 6


# Input of users


def test_all_input_formats_give_the_same_bags():
    block = np.arange(12).reshape(2, 3, 2)
    objects = np.empty(2, dtype=object)
    objects[:] = list(block)
    spellings = [
        block,
        list(block),
        tuple(block),
        block.tolist(),
        objects,
        block.astype(object),
        block.astype(np.float32),
        [block[0], sp.csr_array(block[1])],
    ]
    for spelling in spellings:
        bags = as_bags(spelling)
        rows = bags.instances.toarray() if sp.issparse(bags.instances) else bags.instances
        assert rows.dtype == np.float64
        np.testing.assert_array_equal(rows, block.reshape(6, 2))
        assert bags.offsets.tolist() == [0, 3, 6]
    assert as_bags(bags) is bags


@pytest.mark.parametrize("make", [np.asarray, sp.csr_array, lambda x: np.asarray(x, dtype=object)])
def test_a_2d_array_becomes_bags_of_one_instance_with_a_warning(make):
    with pytest.warns(MiloptWarning, match="each of its 4 rows becomes a bag of one") as caught:
        bags = as_bags(make(np.ones((4, 2))))
    assert caught[0].filename == __file__
    assert bags.sizes.tolist() == [1, 1, 1, 1]


good = np.ones((2, 3))
nan, inf = good.copy(), good.copy()
nan[1, 2], inf[0, 1] = np.nan, -np.inf


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ([], "There are no bags in bags: give at least one."),
        (np.empty((0, 2, 2)), "There are no bags"),
        (np.empty((0, 2)), "There are no bags"),
        (np.empty((2, 0, 2)), "Bag 0 of bags is empty"),
        ([good, np.empty((0, 3))], "Bag 1 of bags is empty: leave it out"),
        ([good, []], "Bag 1 of bags is empty"),
        ([good, sp.csr_array((0, 3))], "Bag 1 of bags is empty"),
        ([good, good, np.ones((1, 4))], "Bag 2 of bags has 4 features, but bag 0 has 3"),
        ([good, nan], "Bag 1 of bags has NaN in instance 1, feature 2"),
        ([good, inf], r"Bag 1 of bags has infinity \(-inf\) in instance 0, feature 1"),
        ([good, sp.csr_array(nan)], "Bag 1 of bags has NaN in instance 1, feature 2"),
        ([good, [["a", "b", "c"]]], "Bag 1 of bags has values of type <U1: only real numbers are supported"),
        ([good, good * 1j], "Bag 1 of bags has values of type complex128: Complex data not supported"),
        ([sp.csr_array(good * 1j)], "Complex data not supported"),
        ([good, [[1, 2], [3]]], "Bag 1 of bags cannot be read as an array of numbers"),
        ([good, np.array([[{}]])], "Bag 1 of bags cannot be read"),
        ([good, good[0]], "Bag 1 of bags is 1-D: give a 2-D array"),
        ([1.0, 2.0], "Bag 0 of bags is 0-D"),
        (np.ones(3), "A 1-D ndarray is not bags"),
        ("musk1", "A 0-D str is not bags"),
        (None, "A 0-D NoneType is not bags"),
        (np.ones((2, 2, 2, 2)), "Bag 0 of bags is 3-D"),
        ([np.ones((2, 0))], r"0 feature\(s\) \(shape=\(2, 0\)\) while a minimum of 1 is required"),
    ],
)
def test_invalid_bags_raise_an_error(wrong, message):
    with warnings.catch_warnings():
        warnings.simplefilter("error")  # no warning in addition to the error
        with pytest.raises(BagsError, match=message) as caught:
            as_bags(wrong)
    assert "\n" not in str(caught.value)
    with pytest.raises(BagsError):
        as_bags(wrong, name="test bags")


def test_message_contains_the_name_of_the_bags():
    with pytest.raises(BagsError, match="Bag 1 of the test set has NaN"):
        as_bags([good, nan], name="the test set")


@pytest.mark.parametrize(
    ("offsets", "message"),
    [
        ([0], "no bags"),
        ([0, 3], "from 0 to the 2 instances, not from 0 to 3"),
        ([1, 2], "not from 1 to 2"),
        ([0, 2, 1, 2], "decrease after bag 1"),
        ([0, 1, 1, 2], "Bag 1 of bags is empty"),
        ([0.0, 2.0], "1-D array of integers"),
        ([[0, 2]], "1-D array of integers"),
    ],
)
def test_invalid_offsets_raise_an_error(offsets, message):
    with pytest.raises(BagsError, match=message):
        Bags(good, offsets)


# Labels and weights


@pytest.mark.parametrize(
    "y",
    [[-1, 1, 1], [-1.0, 1.0, 1.0], [0, 1, 1], np.array([False, True, True]), np.array([-1, 1, 1], dtype=np.int8)],
)
def test_signs_come_from_plus_minus_one_and_from_zero_one(y):
    signs = as_signs(y, 3)
    assert signs.dtype == np.float64
    assert signs.tolist() == [-1.0, 1.0, 1.0]


@pytest.mark.parametrize(
    ("y", "message"),
    [
        ([1, -1, 1], "There are 3 labels for 2 bags"),
        ([1, 1], "All 2 bags belong to one class, 1"),
        ([0, 0], "All 2 bags belong to one class, 0"),
        ([0, -1], "The labels are -1 and 0: give -1 and \\+1, or 0 and 1"),
        ([2, 1], "The labels are 1 and 2"),
        ([np.nan, 1], "labels have NaN at bag 0"),
        ([1, np.inf], "labels have infinity \\(inf\\) at bag 1"),
        (["a", "b"], "only real numbers are supported"),
        ([[1], [-1]], "1-D array"),
    ],
)
def test_labels_that_are_not_two_classes_raise_an_error(y, message):
    with pytest.raises(BagsError, match=message):
        as_signs(y, 2)


def test_more_than_two_labels_raise_an_error():
    with pytest.raises(BagsError, match="3 different labels"):
        as_signs([-1, 0, 1], 3)


@quick
@given(st.lists(st.floats(0, 1.7e308), min_size=1, max_size=9).filter(any))
def test_weights_are_a_copy_of_the_given_ones(raw):
    given = np.array(raw)
    weights = as_weights(given, len(raw))
    assert weights.tolist() == raw
    weights[:] = 0
    assert given.tolist() == raw


def test_default_weights_are_ones():
    assert as_weights(None, 3).tolist() == [1.0, 1.0, 1.0]


@pytest.mark.parametrize(
    ("weight", "message"),
    [
        ([1.0], "There are 1 weights for 2 bags"),
        ([1.0, -2.0], "weight of bag 1 is -2: weights must not be negative"),
        ([0.0, 0.0], "All weights are zero"),
        ([1.0, np.nan], "weights have NaN at bag 1"),
    ],
)
def test_weights_out_of_range_raise_an_error(weight, message):
    with pytest.raises(BagsError, match=message):
        as_weights(weight, 2)


def test_the_mean_over_all_instances_of_all_bags_is_an_error_that_names_bag_mean() -> None:
    program = milopt.Program("means")
    bags = milopt.as_bags([[[1.0], [2.0]], [[3.0]]])
    f = program.function("f", milopt.Linear())
    for call in (f(bags).mean, lambda: np.mean(2 * f(bags) + 1)):
        with pytest.raises(DeclarationError, match=r"write bag_mean\(e\) for one mean per bag, or e.sum\(\) / 3"):
            call()
    assert milopt.bag_mean(f(bags)).shape == (2,)
    x = program.variable("x", 4)
    assert x.mean().shape == ()
    assert f(bags)[:2].mean().shape == ()


def test_a_function_in_place_of_its_values_is_an_error_that_names_them() -> None:
    program = milopt.Program("functions")
    f = program.function("f", milopt.Linear())
    g = program.function("g", milopt.Linear(), dictionary=np.eye(2))
    with pytest.raises(DeclarationError, match=r"f\(bags\) for its values, .*declare function\('f', kernel, "):
        milopt.norm1(f)
    with pytest.raises(DeclarationError, match=r"norm1\(g.coefficients\) for a 1-norm"):
        milopt.norm1(g)
    with pytest.raises(DeclarationError, match=r"not Function: write bag_max\(f\(bags\)\)"):
        milopt.bag_max(f)
