"""Scores of many bags are computed in blocks, in this process or on a Dask cluster, with the same bits."""

from __future__ import annotations

import csv
import io

import numpy as np
import pytest

import milopt
from milopt import Bags, Linear, score_bags, score_instances
from milopt.declaration.bags import scaled_rows
from milopt.errors import BagsError, ParameterError
from milopt.models import MILES, MISVM, SetKernelSVM

SIZES = np.random.default_rng(0).integers(1, 9, 60)
OFFSETS = np.concatenate([[0], np.cumsum(SIZES)])
ROWS = np.random.default_rng(1).normal(size=(OFFSETS[-1], 5)).astype(np.float32)
Y = np.where(np.arange(60) % 2, 1, -1)
ROWS[OFFSETS[:-1][Y > 0]] += 2
THREE = np.arange(60) % 3


@pytest.fixture(scope="module")
def address():
    """Start a cluster of two workers in separate processes, and return the address of its scheduler."""
    distributed = pytest.importorskip("distributed", reason="needs the extra milopt[dask]")
    with distributed.LocalCluster(
        n_workers=2, threads_per_worker=1, processes=True, dashboard_address=None, silence_logs=50
    ) as cluster:
        yield cluster.scheduler_address


@pytest.mark.parametrize(
    ("model", "labels"),
    [(MISVM(), Y), (MISVM(kernel=Linear()), THREE), (SetKernelSVM(), Y), (MILES(), Y)],
    ids=["MISVM", "three classes", "SetKernelSVM", "MILES"],
)
@pytest.mark.filterwarnings("ignore")
def test_scores_in_blocks_are_those_of_all_bags(monkeypatch, model, labels) -> None:
    bags = Bags(ROWS, OFFSETS)
    fitted = model.fit(bags, labels)
    scores, instances = fitted.decision_function(bags), fitted.instance_scores(bags)
    np.testing.assert_array_equal(score_bags(fitted, bags), scores)
    monkeypatch.setattr(scaled_rows, "MAX_BLOCK_VALUES", 100)
    large = Bags(ROWS, OFFSETS)
    assert len(list(scaled_rows.bag_slices(OFFSETS, 5))) > 10
    for given in (fitted.decision_function(large), score_bags(fitted, large)):
        np.testing.assert_allclose(given, scores, rtol=1e-9, atol=1e-12)
    for given in (fitted.instance_scores(large), score_instances(fitted, large)):
        assert [len(part) for part in given] == SIZES.tolist()
        np.testing.assert_allclose(np.concatenate(given), np.concatenate(instances), rtol=1e-9, atol=1e-12)
    np.testing.assert_array_equal(fitted.labels(fitted.decision_function(large)), fitted.predict(bags))


@pytest.mark.filterwarnings("ignore")
def test_a_dask_cluster_gives_the_same_bits(monkeypatch, address) -> None:
    for model, labels in ((MISVM(), Y), (MISVM(kernel=Linear()), THREE)):
        fitted = model.fit(Bags(ROWS, OFFSETS), labels)
        monkeypatch.setattr(scaled_rows, "MAX_BLOCK_VALUES", 100)
        bags = Bags(ROWS, OFFSETS)
        assert score_bags(fitted, bags, dask=address).tobytes() == score_bags(fitted, bags).tobytes()
        there, here = score_instances(fitted, bags, dask=address), score_instances(fitted, bags)
        assert [part.tobytes() for part in there] == [part.tobytes() for part in here]
        monkeypatch.undo()


def test_wrong_bags_and_addresses_are_errors() -> None:
    fitted = SetKernelSVM().fit(Bags(ROWS, OFFSETS), Y)
    with pytest.raises(BagsError, match="4 features"):
        score_bags(fitted, [np.zeros((2, 4))])
    with pytest.raises(ParameterError, match="No Dask scheduler answers at foo"):
        score_bags(fitted, [np.zeros((2, 5))], dask="foo")


def test_the_command_line_prints_the_same_with_dask(tmp_path, capsys, address) -> None:
    from milopt.cli.app import app

    data, file = tmp_path / "made.npz", tmp_path / "model.milopt"
    np.savez(data, instances=ROWS, offsets=OFFSETS, labels=Y)
    MISVM(kernel=Linear()).fit(Bags(ROWS, OFFSETS), Y).save(file)
    for options in ([], ["--instances"]):
        printed = []
        for more in ([], ["--dask", address]):
            with pytest.raises(SystemExit) as ended:
                app(["predict", str(file), str(data), *options, *more])
            assert ended.value.code == 0
            printed.append(capsys.readouterr().out)
        assert printed[0] == printed[1]
        rows = list(csv.DictReader(io.StringIO(printed[0])))
        assert len(rows) == (OFFSETS[-1] if options else 60)
    assert milopt.load_data(data).bags.digest() == Bags(ROWS, OFFSETS).digest()
