"""MATLAB files, NumPy archives and data frames: every layout is read, and objects are never loaded."""

from __future__ import annotations

import io
import struct
from pathlib import Path

import numpy as np
import pandas as pd
import polars as pl
import pytest
import scipy.io
import scipy.sparse as sp

from milopt import load_data
from milopt.data import DataSet, from_frame
from milopt.data.matlab_format import CellArray, read_variables
from milopt.declaration.array_conversion import is_memory_mapped
from milopt.errors import DataError
from tests.data.malformed_matlab import LEVEL_5, cells, element, saved

BAGS = [np.array([[1.0, 2.0], [3.0, 4.0]]), np.array([[5.0, 6.0]]), np.array([[7.0, 8.5], [9.0, -1.0], [0.0, 0.0]])]
STACKED = np.concatenate(BAGS)
IDS = [1, 1, 2, 3, 3, 3]


@pytest.fixture
def read(tmp_path: Path):
    def read(ending: str, content: bytes) -> DataSet:
        path = tmp_path / f"made{ending}"
        path.write_bytes(content)
        return load_data(path)

    return read


def npz(**named: object) -> bytes:
    stream = io.BytesIO()
    np.savez(stream, **named)
    return stream.getvalue()


@pytest.mark.parametrize("number", [0xD800, 0x110000, 0xFFFFFFFF])
@pytest.mark.parametrize("name", ["labels", "bag"])
def test_npz_with_invalid_unicode_is_rejected(read, name: str, number: int) -> None:
    """NumPy accepts any 32-bit number as a character; Python does not."""
    arrays = {"labels": np.array(["x", "y", "x", "y"]), "bag": np.array(["a", "b", "c", "d"])}
    arrays[name].view(np.uint32)[1] = number
    with pytest.raises(DataError, match=rf'the array "{name}" contains invalid Unicode'):
        read(".npz", npz(instances=np.eye(4), **arrays))


# -- MATLAB files ------------------------------------------------------------------------------------------------


def words(*texts: str) -> np.ndarray:
    return cells(*texts)


LAYOUTS = {
    "cells and labels": {"bags": cells(*BAGS), "labels": [1, 0, 1]},
    "cells in a row, labels in a column": {"x": cells(*BAGS).T, "Y": np.array([[1], [0], [1]])},
    "sparse cells": {"bags": cells(*map(sp.csc_matrix, BAGS)), "labels": [1, 0, 1]},
    "one row per bag": {
        "data": np.array([[bag, label] for bag, label in zip(BAGS, [1, 0, 1], strict=True)], dtype=object)
    },
    "matrix and ids": {"features": STACKED, "bag_ids": IDS, "labels": [1, 1, 0, 1, 1, 1]},
    "sparse matrix, sparse labels": {
        "features": sp.csc_matrix(STACKED),
        "bag_ids": np.array(IDS, dtype=np.uint8),
        "labels": sp.csc_matrix([[1, 1, 0, 1, 1, 1]]),
    },
    "small integers": {"X": STACKED.round().astype(np.int16), "bagid": IDS, "y": [1, 1, 0, 1, 1, 1]},
    "within a struct": {"set": {"bags": cells(*BAGS), "labels": [1, 0, 1]}},
}


@pytest.mark.parametrize("packed", [True, False])
@pytest.mark.parametrize("layout", LAYOUTS)
def test_matlab_layouts_are_read(read, layout: str, packed: bool) -> None:
    data = read(".mat", saved(packed, **LAYOUTS[layout]))
    expected = STACKED.round() if layout == "small integers" else STACKED
    instances = data.bags.instances
    assert np.array_equal(instances.toarray() if sp.issparse(instances) else instances, expected)
    assert data.bags.sizes.tolist() == [2, 1, 3]
    assert data.labels.tolist() == [1, 0, 1]


def test_labels_may_be_strings(read) -> None:
    data = read(".mat", saved(bags=cells(*BAGS), labels=words("musk", "other", "musk")))
    assert data.labels.tolist() == ["musk", "other", "musk"]
    data = read(".mat", saved(bags=cells(*BAGS), labels=np.array(["musk", "no", "musk"])))
    assert data.labels.tolist() == ["musk", "no", "musk"]


def test_a_dataset_of_the_mil_toolbox_is_read(read) -> None:
    # One positive instance makes a bag positive.
    dataset = {
        "data": STACKED,
        "nlab": [1, 2, 2, 2, 2, 1],
        "lablist": np.array(["positive", "negative"]),
        "ident": {"milbag": IDS},
    }
    data = read(".mat", saved(x=dataset))
    assert data.labels.tolist() == ["positive", "negative", "positive"]
    assert np.array_equal(data.bags.instances, STACKED)


@pytest.mark.parametrize("packed", [True, False])
def test_matlab_values_agree_with_scipy(packed: bool) -> None:
    draw = np.random.default_rng(0)
    given = {
        **{kind: (100 * draw.normal(size=(3, 4))).astype(kind) for kind in ("f8", "f4", "i1", "u2", "i4", "u8")},
        "wide": draw.normal(size=(2, 3, 4)),
        "bool": np.array([[True, False]]),
        "empty": np.empty((0, 3)),
        "sparse": sp.random_array((5, 6), density=0.4, rng=draw, format="csc"),
        "cell": cells(np.eye(2), np.arange(5)),
    }
    content = saved(packed, **given)
    ours, theirs = read_variables(content), scipy.io.loadmat(io.BytesIO(content))
    for name in given:
        mine, other = ours[name], theirs[name]
        if isinstance(mine, CellArray):
            assert mine.shape == other.shape
            for item, two in zip(mine.items, other.ravel(order="F"), strict=True):
                assert np.array_equal(item, two)
        elif sp.issparse(mine):
            assert np.array_equal(mine.toarray(), other.toarray())
        else:
            assert mine.shape == other.shape
            assert np.array_equal(mine, other)


def test_a_file_with_the_other_byte_order_is_read() -> None:
    def part(kind: int, body: bytes) -> bytes:
        return struct.pack(">II", kind, len(body)) + body + b"\0" * (-len(body) % 8)

    head = part(6, struct.pack(">II", 6, 0)) + part(5, struct.pack(">ii", 1, 2)) + part(1, b"x")
    content = b"MATLAB 5.0".ljust(124) + b"\x01\x00MI" + part(14, head + part(9, struct.pack(">dd", 1.5, -2)))
    assert np.asarray(read_variables(content)["x"]).tolist() == [[1.5, -2]]


def test_variables_that_are_not_data_are_ignored() -> None:
    opaque = element(14, element(6, struct.pack("<II", 17, 0)) + element(1, b"x"))
    assert list(read_variables(LEVEL_5 + opaque + saved(False, y=1.0)[128:])) == ["y"]


def test_matlab_version_7_3_is_rejected_by_name(read) -> None:
    with pytest.raises(DataError, match=r"made\.mat: MATLAB files of version 7\.3 .*save it with -v7\."):
        read(".mat", b"MATLAB 7.3 MAT-file, Platform: GLNXA64".ljust(512) + b"\x89HDF\r\n\x1a\n")


# -- numpy files -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("order", ["C", "F"])
def test_npz_with_offsets_and_labels_is_read(read, order) -> None:
    data = read(".npz", npz(instances=np.asarray(STACKED, order=order), offsets=[0, 2, 3, 6], labels=["a", "b", "a"]))
    assert np.array_equal(data.bags.instances, STACKED)
    assert (data.bags.sizes.tolist(), data.labels.tolist(), data.ids) == ([2, 1, 3], ["a", "b", "a"], ("0", "1", "2"))


def test_npz_with_bag_names_is_read(read) -> None:
    mixed = [3, 0, 2, 4, 1, 5]
    named = np.array(["x", "x", "y", "z", "z", "z"])[mixed]
    labels = np.array([True, True, False, True, True, True])[mixed]
    data = read(".npz", npz(instances=STACKED[mixed].astype(np.float32), bag=named, labels=labels))
    assert data.ids == ("z", "x", "y")
    assert [bag.tolist() for bag in data.bags] == [BAGS[2].tolist(), BAGS[0].tolist(), BAGS[1].tolist()]
    assert data.labels.tolist() == [1, 1, 0]


@pytest.mark.parametrize("packing", ["savez", "savez_compressed", "beside"])
@pytest.mark.parametrize("order", ["C", "F"])
def test_large_instances_are_memory_mapped_unless_they_are_compressed(tmp_path, monkeypatch, packing, order) -> None:
    instances = np.asarray(STACKED, dtype=np.float32, order=order)
    path, others = tmp_path / "made.npz", {"offsets": [0, 2, 3, 6], "labels": [1, 0, 1]}
    if packing == "beside":
        np.savez(path, **others)
        np.save(tmp_path / "made.npy", instances)
    else:
        getattr(np, packing)(path, instances=instances, **others)
    small = load_data(path)
    assert type(small.bags.instances) is np.ndarray
    monkeypatch.setattr("milopt.declaration.bags.scaled_rows.MAX_BLOCK_VALUES", 4)
    data = load_data(path)
    raw = data.bags.instances.raw
    assert raw.dtype == np.float32
    assert is_memory_mapped(raw) == (packing != "savez_compressed" and order == "C")
    assert np.array_equal(raw, STACKED)
    assert data.digest == small.digest
    named = tmp_path / "named.npz"
    np.savez(named, instances=instances, bag=np.array([*"xxyzzz"]), labels=[1, 1, 0, 1, 1, 1])
    assert load_data(named).digest == small.digest


def test_a_broken_file_of_instances_is_one_sentence(tmp_path, monkeypatch) -> None:
    monkeypatch.setattr("milopt.declaration.bags.scaled_rows.MAX_BLOCK_VALUES", 4)
    np.savez(tmp_path / "made.npz", offsets=[0, 2, 3, 6], labels=[1, 0, 1])
    np.save(tmp_path / "made.npy", STACKED)
    content = (tmp_path / "made.npy").read_bytes()
    for broken, reason in ((content[:-1], "exceeds the file"), (b"text", "broken one"), (b"", "broken one")):
        (tmp_path / "made.npy").write_bytes(broken)
        with pytest.raises(DataError, match=rf"made\.npy: .*{reason}"):
            load_data(tmp_path / "made.npz")
    np.save(tmp_path / "made.npy", np.array([object()]), allow_pickle=True)
    with pytest.raises(DataError, match="Python objects, which are never loaded"):
        load_data(tmp_path / "made.npz")


def test_a_pickle_is_never_loaded(read, tmp_path: Path) -> None:
    class Trap:
        def __reduce__(self):
            return Path.touch, (tmp_path / "sprung",)

    for name in ("instances", "labels", "offsets", "bag"):
        given = {"instances": STACKED, "offsets": [0, 6], "labels": [1]}
        given[name] = np.array([Trap()], dtype=object)
        with pytest.raises(DataError, match=f'the array "{name}" contains Python objects, which are never loaded'):
            read(".npz", npz(**given))
    assert not (tmp_path / "sprung").exists()


# -- frames ------------------------------------------------------------------------------------------------------

COLUMNS = {"bag": ["b", "a", "b"], "label": [1, 0, 1], "f0": [1, 2, 3], "f1": [0.5, 1.5, 2.5]}


@pytest.mark.parametrize("library", [pd, pl])
def test_a_long_frame_becomes_bags(library) -> None:
    data = from_frame(library.DataFrame(COLUMNS))
    assert [bag.tolist() for bag in data.bags] == [[[1, 0.5], [3, 2.5]], [[2, 1.5]]]
    assert (data.labels.tolist(), data.ids) == ([1, 0], ("b", "a"))
    other = library.DataFrame({"y" if name == "label" else name: column for name, column in COLUMNS.items()})
    assert from_frame(other, label="y").digest == data.digest


@pytest.mark.parametrize("library", [pd, pl])
@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"f0": [1, None, 3]}, 'The frame, row 1: column "f0" is missing or not finite'),
        ({"f1": [1.0, 2.0, float("nan")]}, 'The frame, row 2: column "f1" is missing or not finite'),
        ({"f1": ["x", "y", "z"]}, 'The frame: column "f1" is not numeric'),
        ({"label": [1, 0, 0]}, 'The frame, row 2: bag "b" has label "0" here and "1" in row 0'),
        ({"label": ["x", None, "x"]}, "The frame, row 1: the label is empty"),
        ({"bag": ["b", None, "b"]}, "The frame, row 1: the bag's name is empty"),
        ({"f0": np.array(["2020-01-01"] * 3, dtype="datetime64[us]")}, 'column "f0" is not numeric'),
    ],
)
def test_a_frame_that_is_not_a_table_of_bags_is_rejected(library, change, message) -> None:
    with pytest.raises(DataError, match=message):
        from_frame(library.DataFrame({**COLUMNS, **change}))


@pytest.mark.parametrize("library", [pd, pl])
@pytest.mark.parametrize(
    ("labels", "positive"),
    [(["in", "act", "in"], "act"), ([0, 1, 0], 1), ([0, 1, 0], "1"), ([1, 0, 1], 0), ([False, True, False], True)],
)
def test_the_positive_label_of_a_frame_becomes_true(library, labels, positive) -> None:
    data = from_frame(library.DataFrame({**COLUMNS, "label": labels}), positive=positive)
    assert (data.labels.dtype, data.labels.tolist(), data.ids) == (bool, [False, True], ("b", "a"))


def test_positive_label_of_several_classes_is_one_against_the_rest() -> None:
    frame = pd.DataFrame({"bag": [1, 2, 3], "label": ["x", "y", "z"], "f0": [1.0, 2.0, 3.0]})
    assert from_frame(frame, positive="y").labels.tolist() == [False, True, False]


def test_an_unknown_positive_label_is_rejected() -> None:
    frame = pd.DataFrame({**COLUMNS, "label": ["in", "act", "in"]})
    with pytest.raises(DataError, match='The frame: no bag has the label "activ"; the labels are act, in'):
        from_frame(frame, positive="activ")
    with pytest.raises(DataError, match='no bag has the label "two"; the labels are 0, 1'):
        from_frame(pd.DataFrame(COLUMNS), positive="two")
    with pytest.raises(DataError, match="positive='act' needs a column of labels"):
        from_frame(frame.drop(columns="label"), label=None, positive="act")


def test_missing_values_of_pandas_are_rejected() -> None:
    frame = pd.DataFrame(COLUMNS).astype({"f0": "Int64", "bag": "category"})
    assert from_frame(frame).digest == from_frame(pd.DataFrame(COLUMNS)).digest
    frame.loc[1, "f0"] = pd.NA
    with pytest.raises(DataError, match='row 1: column "f0" is missing'):
        from_frame(frame)


@pytest.mark.parametrize(
    ("frame", "message"),
    [
        (COLUMNS, "frame must be a DataFrame of pandas or polars, not dict."),
        (pl.LazyFrame(COLUMNS), "not LazyFrame; call collect.. on it first."),
        (pd.DataFrame(COLUMNS).drop(columns="bag"), 'The frame: No column is called "bag"; there are "label"'),
        (pd.DataFrame([[1, 1, 2, 3]], columns=["bag", "label", "f", "f"]), '2 columns are called "f"'),
        (pd.DataFrame({"bag": [1], "label": [1]}), "there is no column besides"),
        (pd.DataFrame(COLUMNS).head(0), "at least one instance"),
    ],
)
def test_other_objects_than_frames_are_rejected(frame, message) -> None:
    with pytest.raises(DataError, match=message):
        from_frame(frame)


def test_arrays_and_frames_may_have_no_labels(tmp_path: Path) -> None:
    frame = pd.DataFrame({"bag": ["a", "a", "b"], "x": [1.0, 2.0, 3.0]})
    data = from_frame(frame, label=None)
    assert (data.labels.tolist(), data.features) == (["", ""], ("x",))
    for how in ({"offsets": [0, 2, 3]}, {"bag": ["a", "a", "b"]}):
        np.savez(tmp_path / "made.npz", instances=[[1.0], [2.0], [3.0]], **how)
        assert load_data(tmp_path / "made.npz", labelled=False).labels.tolist() == ["", ""]
