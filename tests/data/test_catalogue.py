"""Data sets by name: embedded sets, sets in a directory, similar names, and names that try to leave the directory."""

from __future__ import annotations

from pathlib import Path

import pytest

from milopt import load_data
from milopt.data import known_data_sets
from milopt.errors import DataError, UnknownNameError

TABLE = "bag,label,f0\na,1,1\nb,0,2\n"
SERIES = "@data\n1,2,3:a\n3,2,1:b\n"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    made = tmp_path / "sets"
    made.mkdir()
    for name in ("Elephant.csv", "fox.csv", "musk1.csv", "notes.txt", "README.md", ".csv"):
        (made / name).write_text(TABLE)
    (made / "fox.svm").write_text("1 qid:1 1:1\n0 qid:2 1:2\n1 qid:3 1:1\n")
    for name in ("Coffee_TRAIN.ts", "Coffee_TEST.ts", "alone.ts", "Half_TRAIN.ts", "Lost_TEST.ts"):
        (made / name).write_text(SERIES)
    (made / "SOURCES.csv").write_text("set,source\nfox,somewhere\n")
    (made / "inner").mkdir()
    (made / "inner" / "deep.csv").write_text(TABLE)
    (tmp_path / "outside.csv").write_text(TABLE)
    return made


def test_known_sets_are_embedded_ones_and_those_of_the_directory(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("MILOPT_DATA", raising=False)
    shipped = ["musk1", "musk2", "GunPoint", "ItalyPowerDemand"]
    assert [known.name for known in known_data_sets()] == shipped
    assert known_data_sets()[0].content == "92 bags (47 positive), 476 instances, 166 features"
    monkeypatch.setenv("MILOPT_DATA", str(folder))
    assert [known.name for known in known_data_sets()] == [*shipped, "alone", "Coffee", "Elephant", "fox", "Half_TRAIN"]
    assert known_data_sets() == known_data_sets(folder)
    coffee = next(known for known in known_data_sets() if known.name == "Coffee")
    assert [path.name for path in coffee.paths] == ["Coffee_TRAIN.ts", "Coffee_TEST.ts"]
    assert coffee.source == str(folder)
    for known in known_data_sets():
        assert load_data(known.name, window=2).name == known.name


def test_data_dir_takes_precedence_over_the_environment(folder, tmp_path, monkeypatch) -> None:
    monkeypatch.setenv("MILOPT_DATA", str(tmp_path))
    assert load_data("outside").bags.sizes.tolist() == [1, 1]
    with pytest.raises(UnknownNameError):
        load_data("outside", data_dir=folder)


def test_names_are_case_insensitive_and_the_first_format_is_used(folder: Path) -> None:
    assert load_data("ELEPHANT", data_dir=folder).name == "Elephant"
    # fox.csv takes precedence over fox.svm, which has three bags.
    assert len(load_data("fox", data_dir=folder).bags) == 2
    assert load_data("MUSK1", data_dir=folder).source == "embedded"


def test_a_table_without_bags_is_not_listed_and_its_error_names_the_columns(folder: Path) -> None:
    assert "SOURCES" not in {known.name for known in known_data_sets(folder)}
    with pytest.raises(DataError, match=r'SOURCES\.csv, line 1: the header has no column called "bag"'):
        load_data("sources", data_dir=folder)


def test_similar_names_are_suggested_for_a_typo(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("MILOPT_DATA", raising=False)
    with pytest.raises(UnknownNameError, match=r'No data set is called "elefant"; did you mean "Elephant"\?'):
        load_data("elefant", data_dir=folder)
    with pytest.raises(UnknownNameError, match='No data set is called "xyzzy"; there are "musk1", "musk2", '):
        load_data("xyzzy")
    with pytest.raises(UnknownNameError) as refusal:
        load_data("two\nlines")
    assert str(refusal.value).isprintable()


@pytest.mark.parametrize(
    "name", ["../outside", "../outside.csv", "inner/deep", "./fox", "fox/", "/etc/passwd", "..", ""]
)
def test_a_name_does_not_leave_the_directory(folder: Path, name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    # Names do not reach subdirectories either: a name with a separator is a path relative to the working directory.
    monkeypatch.chdir(folder / "inner")
    with pytest.raises((DataError, UnknownNameError)):
        load_data(name, data_dir=folder)


def test_a_path_is_relative_to_the_working_directory(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(folder)
    assert load_data("fox.csv").source == "fox.csv"
    assert load_data("inner/deep.csv").name == "deep"
    assert load_data(Path("../outside.csv")).name == "outside"


@pytest.mark.parametrize("given", ["no/such/folder", "sets/fox.csv"])
def test_a_missing_data_directory_is_rejected(tmp_path: Path, folder: Path, given: str, monkeypatch) -> None:
    with pytest.raises(DataError, match="data_dir must be a directory with data files"):
        known_data_sets(tmp_path / given)
    monkeypatch.setenv("MILOPT_DATA", str(tmp_path / given))
    with pytest.raises(DataError, match="MILOPT_DATA must be a directory"):
        load_data("elephant")
    # Embedded sets are found anyway.
    assert len(load_data("musk1").bags) == 92


@pytest.mark.parametrize("given", ["a\0b.csv", "a\0b", "\udcff.csv", b"musk1"])
def test_an_impossible_path_is_rejected(given) -> None:
    with pytest.raises((DataError, UnknownNameError)) as refusal:
        load_data(given)
    assert str(refusal.value).isprintable()
