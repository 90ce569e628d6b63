"""A finished task is one file, found by all inputs of the task, and ignored if its content does not match."""

from __future__ import annotations

import json
import os
import warnings
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import milopt
from milopt import Bags
from milopt.data.data_set import DataSet
from milopt.errors import MiloptWarning, ParameterError
from milopt.evaluation.evaluate import evaluate
from milopt.evaluation.plan import make_plan
from milopt.evaluation.protocol import parse_protocol
from milopt.evaluation.store import TaskStore
from milopt.evaluation.summary import EvaluationReport
from milopt.evaluation.task import Task
from milopt.files import TEMPORARY_FILE_PREFIX

from .compared import numbers
from .conftest import toy_data


def files(store: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in store.iterdir()}


@pytest.fixture
def store(tmp_path: Path) -> Path:
    return tmp_path / "results" / "here"


def run_evaluation(toy: DataSet, store: Path | None, protocol: str = "3", **keywords: object) -> EvaluationReport:
    chosen = {"settings": {"C": 10.0}, "grid": {}} | keywords
    with warnings.catch_warnings():
        warnings.simplefilter("error", MiloptWarning)
        return evaluate(toy, "set-kernel-svm", protocol, store=store, **chosen)  # type: ignore[arg-type]  # a mixed bag


def test_each_task_is_one_file_and_is_not_run_again(toy: DataSet, store: Path) -> None:
    first = run_evaluation(toy, store)
    before = files(store)
    assert len(before) == 3
    again = run_evaluation(toy, store)
    assert (first.resumed, again.resumed) == (0, 3)
    assert files(store) == before
    assert again.records == first.records
    assert again.table == first.table


def test_without_a_store_nothing_is_written(toy: DataSet, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    run_evaluation(toy, None)
    assert not list(tmp_path.iterdir())


def test_more_repeats_reuse_the_tasks_of_fewer_repeats(toy: DataSet, store: Path) -> None:
    run_evaluation(toy, store, "1x3")
    assert run_evaluation(toy, store, "2x3").resumed == 3
    assert run_evaluation(toy, store, "3-fold").resumed == 3


def test_every_input_of_a_task_changes_its_key(toy: DataSet, store: Path) -> None:
    run_evaluation(toy, store)
    moved = Bags(np.asarray(toy.bags.instances) + 1e-9, toy.bags.offsets)
    for other in (
        run_evaluation(DataSet("toy", moved, toy.labels, toy.ids), store),
        run_evaluation(DataSet("toy", toy.bags, 1 - toy.labels, toy.ids), store),
        run_evaluation(toy, store, "4"),
        run_evaluation(toy, store, seed=1),
        run_evaluation(toy, store, solver="highs"),
        run_evaluation(toy, store, settings={"C": 10.5}, grid={}),
        run_evaluation(toy, store, settings={}, grid={"C": (10.0,)}),
    ):
        assert other.resumed == 0
    official = toy_data(count=12, test=6)
    keys = {
        make_plan(official, "miles", parse_protocol("train/test"), s, "auto", None, None).tasks[0].key for s in (0, 1)
    }
    assert len(keys) == 2, "inner folds are drawn by the seed too"
    # The name of the data set is not an input of the task.
    assert run_evaluation(DataSet("other", toy.bags, toy.labels, toy.ids), store).resumed == 3


def test_another_version_of_milopt_runs_the_tasks_again(toy: DataSet, monkeypatch: pytest.MonkeyPatch) -> None:
    plan = make_plan(toy, "set-kernel-svm", parse_protocol("2"), 0, "auto", None, None)
    keys = {task.key for task in plan.tasks}
    assert not keys & {replace(task, version="9.9").key for task in plan.tasks}
    assert {task.version for task in plan.tasks} == {milopt.__version__}


def test_edited_code_and_another_solver_version_change_the_keys(
    toy: DataSet, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    import inspect

    from milopt.solvers.highs.solver import HiGHS
    from milopt.solving.solver import Availability

    def keys(solver: str) -> set[str]:
        return {task.key for task in make_plan(toy, "miles", parse_protocol("2"), 0, solver, None, None).tasks}

    (edited := tmp_path / "miles.py").write_text("# edited\n")
    for solver in ("highs", "auto"):
        before = keys(solver)
        assert keys(solver) == before
        with monkeypatch.context() as patched:
            patched.setattr(inspect, "getsourcefile", lambda cls: str(edited))
            assert not keys(solver) & before
        with monkeypatch.context() as patched:
            patched.setattr(HiGHS, "availability", lambda self: Availability(True, "99.0"))
            assert not keys(solver) & before
    before = keys("clarabel")
    monkeypatch.setattr(HiGHS, "availability", lambda self: Availability(True, "99.0"))
    assert keys("clarabel") == before


def test_tasks_of_an_earlier_run_are_reported(toy: DataSet, store: Path) -> None:
    assert "earlier run" not in str(run_evaluation(toy, store, "2x3"))
    assert f"6 of 9 tasks from an earlier run ({store})" in str(run_evaluation(toy, store, "3x3"))


def test_an_edited_file_of_a_user_is_another_model(toy: DataSet, store: Path, own_file: Path) -> None:
    def count_resumed(path: Path) -> int:
        return evaluate(toy, f"{path}:FailingModel", "3", settings={"C": 10.0}, grid={}, store=store).resumed

    assert count_resumed(own_file) == 0
    done = len(files(store))
    assert done > 0
    assert count_resumed(own_file) == done
    copy = own_file.with_name("elsewhere.py")
    copy.write_bytes(own_file.read_bytes())
    assert count_resumed(copy) == done
    own_file.write_text(own_file.read_text() + "\n# edited\n")
    assert count_resumed(own_file) == 0


def test_tasks_fail_if_the_file_of_their_model_changes_during_the_run(toy: DataSet, own_file: Path) -> None:
    def edit(done: int, total: int, outcome: object) -> None:
        own_file.write_text(own_file.read_text() + "\n# edited\n")

    report = evaluate(toy, f"{own_file}:SlowModel", "3", settings={"pause": 0.0}, grid={}, progress=edit)
    assert len(report.records) == 1
    assert all("start the evaluation again" in failure.reason for failure in report.failures)


def test_failures_are_not_stored(toy: DataSet, store: Path, own_file: Path) -> None:
    report = evaluate(toy, f"{own_file}:BrokenModel", "2", settings={"C": 1.0}, grid={}, store=store)
    assert len(report.failures) == 2
    assert files(store) == {}


def _other_number(text: bytes) -> bytes:
    held = json.loads(text)
    held["record"]["accuracy"] = 1.0 - held["record"]["accuracy"]
    return json.dumps(held).encode()


def _without_fits(text: bytes) -> bytes:
    held = json.loads(text)
    del held["record"]["fits"]
    return json.dumps(held).encode()


@pytest.mark.parametrize(
    "spoilt",
    [
        lambda text: b"",
        lambda text: text[: len(text) // 2],
        lambda text: b"\xff\xfe\x00",
        lambda text: b"[" * 100_000,
        lambda text: b"[1, 2]",
        lambda text: b'{"task": {}}',
        _other_number,
        _without_fits,
    ],
)
def test_a_damaged_file_gives_a_warning_and_its_task_is_run_again(toy: DataSet, store: Path, spoilt: object) -> None:
    whole = run_evaluation(toy, store)
    victim = sorted(store.iterdir())[0]
    text = victim.read_bytes()
    victim.write_bytes(spoilt(text))  # type: ignore[operator]  # one of the functions above
    with pytest.warns(MiloptWarning, match=f"{victim.name} does not contain the task .* is run again"):
        report = evaluate(toy, "set-kernel-svm", "3", settings={"C": 10.0}, grid={}, store=store)
    assert report.resumed == 2
    assert numbers(report) == numbers(whole)
    assert run_evaluation(toy, store).resumed == 3


def test_the_file_of_another_task_is_not_trusted(toy: DataSet, store: Path) -> None:
    run_evaluation(toy, store)
    first, second, _ = sorted(store.iterdir())
    first.write_bytes(second.read_bytes())
    with pytest.warns(MiloptWarning, match=first.name):
        evaluate(toy, "set-kernel-svm", "3", settings={"C": 10.0}, grid={}, store=store)


def test_a_folder_that_cannot_be_created_raises_an_error_before_any_task(toy: DataSet, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    for place in (str(tmp_path / "file"), "/proc"):
        with pytest.raises(ParameterError, match=rf"The results cannot be stored in {place}: .*\w\.$"):
            run_evaluation(toy, Path(place))


def test_no_partially_written_file_remains(toy: DataSet, store: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    done = run_evaluation(toy, None)
    plan = make_plan(toy, "set-kernel-svm", parse_protocol("3"), 0, "auto", {}, {"C": 10.0})

    def full(*paths: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "replace", full)
    kept = TaskStore(store)
    with pytest.raises(ParameterError, match=r"cannot be stored in .*: No space left on device\.$"):
        kept.save(plan.tasks[0], done.records[0])
    assert files(store) == {}


@pytest.mark.skipif(os.name == "nt", reason="Windows has neither these rights nor these locks")
def test_files_have_default_permissions_and_leftovers_are_removed(toy: DataSet, store: Path) -> None:
    store.mkdir(parents=True)
    (store / f"{TEMPORARY_FILE_PREFIX}0123456789abcdef.json").write_text("{")  # left by a killed process
    before = os.umask(0o027)
    try:
        run_evaluation(toy, store)
    finally:
        os.umask(before)
    assert {oct(path.stat().st_mode & 0o777) for path in store.iterdir()} == {"0o640"}
    assert len(files(store)) == 3


def test_a_task_is_plain_data(toy: DataSet) -> None:
    (task, *_) = make_plan(toy, "mi-svm", parse_protocol("3"), 0, "auto", {"C": (1, 2)}, None).tasks
    values = vars(task)
    assert (
        Task(**{name: tuple(v) if isinstance(v, list) else v for name, v in json.loads(json.dumps(values)).items()})
        == task
    )
