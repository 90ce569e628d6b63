"""Embedded data sets: sizes, checksums, and equality with the published data."""

from __future__ import annotations

import hashlib
import os
import shutil
from pathlib import Path

import numpy as np
import pytest

import milopt
from milopt import load_data
from milopt.data import embedded
from milopt.data.embedded import EMBEDDED_FOLDER, check_embedded_file
from milopt.errors import DataError


@pytest.mark.parametrize(("name", "bags", "positive", "instances"), [("musk1", 92, 47, 476), ("musk2", 102, 39, 6598)])
def test_musk_has_its_published_size(name: str, bags: int, positive: int, instances: int) -> None:
    data = load_data(name)
    assert (len(data.bags), data.bags.instances.shape) == (bags, (instances, 166))
    assert data.labels.dtype == np.int64
    assert [int((data.labels == label).sum()) for label in (1, 0)] == [positive, bags - positive]
    assert (data.name, data.source, data.test, len(set(data.ids))) == (name, "embedded", None, bags)


@pytest.mark.parametrize(
    ("name", "counts", "length"), [("GunPoint", (50, 150), 150), ("ItalyPowerDemand", (67, 1029), 24)]
)
def test_the_series_have_their_published_size(name: str, counts: tuple[int, int], length: int) -> None:
    data = load_data(name.lower(), window=length)
    assert data.test is not None
    assert (len(data.bags), len(data.test.bags)) == counts
    # A window of the length of the series is the series itself.
    for part in (data, data.test):
        assert part.bags.instances.shape == (len(part.bags), length)
        assert set(part.labels) == {1, 2}
        assert part.source == "embedded"
    assert data.name == name


def test_the_checksums_are_those_of_the_files_and_cover_them_all() -> None:
    lines = [line.split() for line in (EMBEDDED_FOLDER / "SHA256SUMS").read_text().splitlines()]
    assert {name for _, name in lines} == {path.name for path in EMBEDDED_FOLDER.glob("*.gz")}
    for digest, name in lines:
        assert hashlib.sha256((EMBEDDED_FOLDER / name).read_bytes()).hexdigest() == digest
    assert sum(path.stat().st_size for path in EMBEDDED_FOLDER.iterdir()) < 1_700_000


def test_a_changed_file_is_not_loaded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    copy = Path(shutil.copy(EMBEDDED_FOLDER / "musk1.csv.gz", tmp_path))
    assert check_embedded_file(copy) == copy
    copy.write_bytes(copy.read_bytes() + b"\0")
    with pytest.raises(DataError, match=r"musk1\.csv\.gz: the embedded file was changed"):
        check_embedded_file(copy)
    monkeypatch.setattr("milopt.data.catalogue.EMBEDDED_FOLDER", tmp_path)
    with pytest.raises(DataError, match="the embedded file was changed"):
        load_data("musk1")
    copy.unlink()
    with pytest.raises(DataError, match="musk1 is missing from the installation"):
        load_data("musk1")


def test_the_provenance_names_sources_licences_and_every_file() -> None:
    text = (EMBEDDED_FOLDER / "PROVENANCE.txt").read_text()
    for path in EMBEDDED_FOLDER.glob("*.gz"):
        assert path.name in text
    for needed in (
        "CC BY 4.0",
        "10.24432/C5ZK5B",
        "10.24432/C51608",
        "Chapman",
        "Jain",
        "UCR",
        "mil-1.0.5",
        "aeon-1.6.0",
    ):
        assert needed in text
    assert set(embedded.EMBEDDED_DESCRIPTIONS) == {
        known.name for known in milopt.data.known_data_sets() if known.source == "embedded"
    }


@pytest.mark.parametrize("name", ["musk1", "musk2", "GunPoint", "ItalyPowerDemand"])
def test_embedded_sets_equal_independent_copies(name: str) -> None:
    folder = Path(os.environ.get("MILOPT_DATA", ""))
    file = f"{name}.csv.gz" if name.startswith("musk") else f"{name}_TRAIN.ts"
    if not (folder / file).is_file():
        pytest.skip(f"needs {file} in the folder that MILOPT_DATA names")
    ours, theirs = load_data(name), load_data(folder / file)
    for data, other in ((ours, theirs), (ours.test, theirs.test)):
        if data is None or other is None:
            assert data is other
            continue
        assert np.array_equal(data.bags.instances, other.bags.instances)
        assert np.array_equal(data.bags.offsets, other.bags.offsets)
        assert np.array_equal(data.labels, other.labels)
    assert ours.digest == theirs.digest


def test_the_digest_is_the_same_on_every_machine() -> None:
    assert load_data("musk1").digest == "2290acde723fd804f6e12bd2e12e558320cc99b914bca8520744b2f2afdd6846"
    assert load_data("GunPoint").digest == "23dd64b2eb9da463d9e3f4aa5f3391ea8d208f1a01227cf4ab5d605beae83fe3"
    assert load_data("GunPoint", window=0.1).digest != load_data("GunPoint").digest
