"""Evaluations on a Dask cluster give the same results, even if a worker dies during the run."""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from milopt.data.data_set import DataSet
from milopt.errors import MissingSolverError, ParameterError
from milopt.evaluation.evaluate import evaluate
from milopt.evaluation.record import Failure, Record

from .compared import numbers

distributed = pytest.importorskip("distributed", reason="needs the extra milopt[dask]")


@pytest.fixture
def cluster() -> Iterator[Any]:
    """Start two workers in separate processes."""
    with distributed.LocalCluster(
        n_workers=2, threads_per_worker=1, processes=True, dashboard_address=None, silence_logs=50
    ) as local_cluster:
        yield local_cluster


def test_a_worker_killed_during_the_run_does_not_change_the_results(
    toy: DataSet, own_file: Path, tmp_path: Path, cluster: Any
) -> None:
    model = f"{own_file}:SlowModel"
    killed: list[int] = []

    def kill(done: int, total: int, outcome: Record | Failure) -> None:
        # The worker that has just finished a task is now running the next one, which takes a while.
        if done == 3 and isinstance(outcome, Record):
            assert outcome.pid in {nanny.process.pid for nanny in cluster.workers.values()}
            os.kill(outcome.pid, signal.SIGKILL)
            killed.append(outcome.pid)

    chosen: dict[str, Any] = {"settings": {"C": 10.0}, "grid": {}}
    report = evaluate(
        toy,
        [model, "set-kernel-svm", "miles"],
        "4",
        settings={"scale": "zscore"},
        grid={},
        dask=cluster.scheduler_address,
        progress=kill,
        store=tmp_path / "store",
    )
    assert killed
    assert not report.failures
    assert killed[0] in {record.pid for record in report.records}
    assert len({record.pid for record in report.records}) >= 2
    alone = evaluate(toy, [model, "set-kernel-svm", "miles"], "4", settings={"scale": "zscore"}, grid={})
    assert numbers(report) == numbers(alone)
    assert len(list((tmp_path / "store").glob("*.json"))) == 12
    failing = evaluate(toy, f"{own_file}:FailingModel", "6", dask=cluster.scheduler_address, **chosen)
    assert failing.failures == evaluate(toy, f"{own_file}:FailingModel", "6", **chosen).failures


def test_an_address_without_a_scheduler_raises_an_error(toy: DataSet, monkeypatch: pytest.MonkeyPatch) -> None:
    import distributed

    monkeypatch.setattr(distributed, "Client", lambda *a, **k: pytest.fail("a client tries for long"))
    for address in ("tcp://127.0.0.1:9", "127.0.0.1:9", "nonsense://x", "foo", "foo:99999", ""):
        with pytest.raises(ParameterError, match=rf"No Dask scheduler answers at {address} .*tcp://127\.0\.0\.1:8786"):
            evaluate(toy, "set-kernel-svm", "2", dask=address)


def test_without_the_package_the_error_states_the_install_command(
    toy: DataSet, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "distributed", None)
    with pytest.raises(MissingSolverError, match=r"run `pip install 'milopt\[dask\]'`") as caught:
        evaluate(toy, "set-kernel-svm", "2", dask="tcp://127.0.0.1:8786")
    assert caught.value.exit_code == 4
