"""Columns are found by their names: in tables, frames, groups, and by fitted models."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import polars as pl
import pytest

import milopt
from milopt.data import from_frame
from milopt.errors import BagsError, DataError
from milopt.models import SetKernelSVM

FRAME = pd.DataFrame(
    {
        "molecule": ["b", "b", "a", "c", "c", "d"],
        "active": [1, 1, 0, 1, 1, 0],
        "width": [1.0, 2.0, 3.0, 4.0, 5.0, 6.0],
        "comment": ["x"] * 6,
        "height": [9.0, 8.0, 7.0, 6.0, 5.0, 4.0],
    }
)
FEATURES = ["width", "height"]


def write(path: Path, text: str) -> Path:
    """Write a text to a file and return the path."""
    path.write_text(text)
    return path


@pytest.fixture
def table(tmp_path: Path) -> Path:
    """Return a CSV file with the frame."""
    return write(tmp_path / "molecules.csv", FRAME.to_csv(index=False))


def test_a_table_is_read_by_the_names_of_its_columns(table: Path) -> None:
    data = milopt.load_data(table, bag="molecule", label="active", features=["height", "width"])
    assert data.ids == ("b", "a", "c", "d")
    assert data.labels.tolist() == [1, 0, 1, 0]
    assert data.features == data.bags.features == ("height", "width")
    assert data.bags[0].tolist() == [[9.0, 1.0], [8.0, 2.0]]


@pytest.mark.parametrize("library", ["pandas", "polars"])
def test_a_frame_is_read_by_the_names_of_its_columns(library: str) -> None:
    frame = FRAME if library == "pandas" else pl.DataFrame(FRAME.to_dict("list"))
    data = from_frame(frame, "molecule", "active", features=FEATURES)
    assert data.bags.sizes.tolist() == [2, 1, 2, 1]
    assert data.bags.features == ("width", "height")
    assert np.array_equal(data.bags.instances, FRAME[FEATURES])


@pytest.mark.parametrize(
    ("keywords", "words"),
    [
        ({"bag": "molecul"}, 'called "molecul".*--bag'),
        (
            {"bag": "molecule", "label": "active", "features": ["wdth"]},
            'no column is called "wdth"; features may be "width"',
        ),
        ({"bag": "molecule", "label": "active", "features": ["active"]}, "name it once"),
        ({"bag": "active", "label": "active"}, "name two columns"),
        ({"bag": "molecule", "label": "active", "features": ["width", "width"]}, "name each once"),
        ({"bag": "molecule", "label": "active", "features": "width"}, "a list of names"),
    ],
)
def test_wrong_names_are_one_sentence(table: Path, keywords: dict[str, object], words: str) -> None:
    with pytest.raises(DataError, match=words):
        milopt.load_data(table, **keywords)


@pytest.mark.parametrize(
    ("keywords", "words"),
    [
        ({"features": ["wdth"]}, "wdth.*width"),
        ({"features": ["active"]}, "name it once"),
        ({"features": "width"}, r"\['width'\]"),
        ({"features": []}, "no column besides"),
        ({"features": ["comment"]}, "not numeric"),
    ],
)
def test_wrong_features_of_a_frame_are_one_sentence(keywords: dict[str, object], words: str) -> None:
    with pytest.raises(DataError, match=words):
        from_frame(FRAME, "molecule", "active", **keywords)


def test_other_files_have_no_column_names(tmp_path: Path) -> None:
    file = write(tmp_path / "data.svm", "1 qid:1 1:2.0\n")
    with pytest.raises(DataError, match="in tables only"):
        milopt.load_data(file, bag="molecule")


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("bag;label;f0\na;1;2,5\n", "separated by semicolons; separate them by commas.*decimal point"),
        ('"bag";"label";"f0"\n', "separated by semicolons"),
        ("bag\tlabel\tf0\n", "separated by tabs"),
        ('bag,label,f0\na,1,"2,5"\n', 'f0 is "2,5", which is not a number, but a decimal comma'),
        ("bag,label,f0\na,1,2,5\n", "4 fields where the header has 3; if its numbers have decimal commas"),
    ],
)
def test_semicolons_and_decimal_commas_are_named(tmp_path: Path, text: str, words: str) -> None:
    with pytest.raises(DataError, match=words):
        milopt.load_data(write(tmp_path / "wrong.csv", text))


def test_groups_are_bags() -> None:
    data = from_frame(FRAME.groupby("molecule", sort=False), label="active", features=FEATURES)
    same = from_frame(FRAME, "molecule", "active", features=FEATURES)
    assert (data.ids, data.labels.tolist()) == (same.ids, same.labels.tolist())
    assert np.array_equal(data.bags.instances, same.bags.instances)
    groups = pl.DataFrame(FRAME.to_dict("list")).group_by("molecule", maintain_order=True)
    assert from_frame(groups, label="active", features=FEATURES).ids == same.ids
    bags = milopt.as_bags(FRAME.groupby("molecule", sort=False)[FEATURES])
    assert np.array_equal(bags.instances, same.bags.instances)
    assert bags.features == ("width", "height")


def test_levels_of_an_index_are_columns() -> None:
    counted = FRAME.assign(number=FRAME.groupby("molecule").cumcount())
    indexed = counted.set_index(["molecule", "number"])
    same = from_frame(FRAME, "molecule", "active", features=FEATURES)
    for bag in ("molecule", "bag"):
        data = from_frame(indexed, bag, "active", features=FEATURES)
        assert (data.ids, data.labels.tolist()) == (same.ids, same.labels.tolist())
    assert from_frame(indexed.drop(columns="comment"), "molecule", "active").features == ("width", "height")
    bags = milopt.as_bags(indexed[FEATURES])
    assert np.array_equal(bags.instances, same.bags.instances)


class TestFittedModels:
    def test_a_model_finds_the_columns_of_new_frames_by_their_names(self) -> None:
        data = from_frame(FRAME, "molecule", "active", features=FEATURES)
        model = SetKernelSVM().fit(data.bags, data.labels)
        assert model.feature_names_in_.tolist() == FEATURES
        expected = model.decision_function(data.bags)
        reversed_data = from_frame(FRAME, "molecule", None, features=FEATURES[::-1])
        assert np.array_equal(model.decision_function(reversed_data.bags), expected)
        frames = [part[FEATURES[::-1]] for _, part in FRAME.groupby("molecule", sort=False)]
        assert np.array_equal(model.decision_function(frames), expected)
        groups = FRAME.groupby("molecule", sort=False)[FEATURES[::-1]]
        assert np.array_equal(model.decision_function(groups), expected)
        assert np.array_equal(model.decision_function(list(data.bags)), expected)

    def test_names_survive_selections(self) -> None:
        data = from_frame(FRAME, "molecule", "active", features=FEATURES)
        assert data.bags[[3, 0]].features == data.bags[1:3].features == ("width", "height")

    def test_missing_and_new_features_are_named(self) -> None:
        data = from_frame(FRAME, "molecule", "active", features=FEATURES)
        model = SetKernelSVM().fit(data.bags, data.labels)
        with pytest.raises(BagsError, match='have no feature "height", which the model needs'):
            model.predict([FRAME[["width", "active"]]])
        with pytest.raises(BagsError, match='have a feature "active", which the model was not fitted on'):
            model.predict([FRAME[[*FEATURES, "active"]]])

    def test_a_frame_of_single_instances_is_matched_too(self) -> None:
        with pytest.warns(milopt.errors.MiloptWarning, match="each of its 6 rows"):
            model = SetKernelSVM().fit(FRAME[FEATURES], FRAME["active"])
        with pytest.warns(milopt.errors.MiloptWarning):
            expected = model.decision_function(FRAME[FEATURES])
        with pytest.warns(milopt.errors.MiloptWarning):
            assert np.array_equal(model.decision_function(FRAME[FEATURES[::-1]]), expected)

    def test_frames_with_different_columns_are_an_error(self) -> None:
        with pytest.raises(BagsError, match="Bag 1 of bags has other columns than bag 0"):
            milopt.as_bags([FRAME[FEATURES], FRAME[FEATURES[::-1]]])
