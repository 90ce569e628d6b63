"""One, two and four workers give the same results; killed and interrupted runs keep the finished tasks."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import joblib
import pytest

from milopt.data.data_set import DataSet
from milopt.errors import DeclarationError
from milopt.evaluation.evaluate import evaluate
from milopt.evaluation.one_thread import limit_to_one_thread
from milopt.files import TEMPORARY_FILE_PREFIX

from .compared import numbers
from .conftest import toy_data

FIXED = {"C": 10.0}

SCRIPT = """
import json
import signal
import sys

sys.path.insert(0, {here!r})
from conftest import toy_data
from milopt.evaluation.evaluate import evaluate

if __name__ == "__main__":
    if {deaf}:
        signal.signal(signal.SIGINT, lambda number, frame: None)
    report = evaluate(
        toy_data(), ["set-kernel-svm", {model!r}], "4", settings={{"C": 10.0}}, grid={{}}, n_jobs={jobs},
        store={store!r},
        progress=lambda done, total, outcome: print(done, flush=True),
    )
    print(json.dumps({{"interrupted": report.interrupted, "code": report.exit_code, "text": str(report)}}))
"""


@pytest.fixture
def script(tmp_path: Path, own_file: Path) -> Iterator[Script]:
    started = Script(tmp_path, own_file)
    yield started
    started.end()


class Script:
    """An evaluation that runs in separate processes."""

    def __init__(self, folder: Path, own_file: Path) -> None:
        self.store = folder / "store"
        self.model = f"{own_file}:SlowModel"
        self.file = folder / "run.py"
        self.hold = own_file.with_name("hold")
        self.process: subprocess.Popen[str] | None = None

    def start(self, jobs: int, deaf: bool = False) -> subprocess.Popen[str]:
        """Start the run; two of its eight tasks wait until `hold` is removed. A deaf run ignores Ctrl-C."""
        self.hold.touch()
        here = str(Path(__file__).parent)
        text = SCRIPT.format(here=here, model=self.model, jobs=jobs, store=str(self.store), deaf=deaf)
        self.file.write_text(text)
        self.process = subprocess.Popen(
            [sys.executable, str(self.file)],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            start_new_session=True,
        )
        return self.process

    def end(self) -> None:
        """End all processes of the run."""
        if self.process is not None:
            with suppress(ProcessLookupError):
                os.killpg(self.process.pid, signal.SIGKILL)
            self.process.communicate()

    def records(self) -> dict[str, tuple[int, str]]:
        """Return the process and the date of every stored task."""
        held = {path.name: json.loads(path.read_text())["record"] for path in self.store.glob("*.json")}
        return {name: (record["pid"], record["finished"]) for name, record in held.items()}

    def wait_for(self, count: int) -> None:
        until = time.monotonic() + 300
        while sum(not path.name.startswith(TEMPORARY_FILE_PREFIX) for path in self.store.glob("*.json")) < count:
            assert time.monotonic() < until, "the run does not come on"
            time.sleep(0.02)


def unbroken(model: str) -> object:
    return numbers(evaluate(toy_data(), ["set-kernel-svm", model], "4", settings=FIXED, grid={}))


def test_one_two_and_four_workers_give_the_same_numbers(own_file: Path) -> None:
    data, models = toy_data(count=12), ["set-kernel-svm", "miles", "mi-svm", f"{own_file}:BrokenModel"]
    alone = evaluate(data, models, "2", grid={"scale": ("minmax01", "zscore")})
    for n_jobs in (2, 4):
        report = evaluate(data, models, "2", grid={"scale": ("minmax01", "zscore")}, n_jobs=n_jobs)
        assert report.failures == alone.failures
        assert numbers(report) == numbers(alone)
        assert len({record.pid for record in report.records} - {os.getpid()}) > 1


def test_no_more_processes_than_tasks_are_started(toy: DataSet, monkeypatch: pytest.MonkeyPatch) -> None:
    import joblib

    class CountingParallel(joblib.Parallel):  # type: ignore[misc]  # joblib comes without types
        def __init__(self, n_jobs: int, **keywords: object) -> None:
            asked.append(n_jobs)
            super().__init__(n_jobs, **keywords)

    asked: list[int] = []
    monkeypatch.setattr(joblib, "Parallel", CountingParallel)
    for n_jobs in (64, -1):
        evaluate(toy, "set-kernel-svm", "2", settings=FIXED, grid={}, n_jobs=n_jobs)
    assert asked == [2, -1]


def test_a_killed_run_is_resumed_without_repeating_tasks(script: Script) -> None:
    process = script.start(jobs=2)
    script.wait_for(5)
    os.killpg(process.pid, signal.SIGKILL)
    process.communicate()
    script.hold.unlink()
    kept = script.records()
    assert 5 <= len(kept) < 8
    again = evaluate(
        toy_data(), ["set-kernel-svm", script.model], "4", settings=FIXED, grid={}, n_jobs=2, store=script.store
    )
    assert again.resumed == len(kept)
    after = script.records()
    assert len(after) == 8
    assert {name: after[name] for name in kept} == kept
    assert process.pid not in {pid for name, (pid, _) in after.items() if name not in kept}
    assert numbers(again) == unbroken(script.model)


@pytest.mark.thorough(unless={"jobs": [2]})
@pytest.mark.parametrize("jobs", [1, 2])
def test_ctrl_c_keeps_only_the_finished_tasks(script: Script, jobs: int) -> None:
    process = script.start(jobs)
    script.wait_for(5)
    # Send the signal to the run and to its workers, as a terminal does.
    os.killpg(process.pid, signal.SIGINT)
    output, errors = process.communicate(timeout=300)
    script.hold.unlink()
    assert process.returncode == 0, errors
    assert errors == ""
    output_data = json.loads(output.splitlines()[-1])
    done = len(script.records())
    assert 5 <= done < 8
    assert output_data["interrupted"]
    assert output_data["code"] == 130
    assert (
        f"Interrupted: {done} of 8 tasks are done; run it again with the same store to resume." in output_data["text"]
    )
    again = evaluate(toy_data(), ["set-kernel-svm", script.model], "4", settings=FIXED, grid={}, store=script.store)
    assert again.resumed == done
    assert numbers(again) == unbroken(script.model)


def test_ctrl_c_during_a_fit_ends_the_run_and_not_only_the_fit(toy: DataSet, tmp_path: Path) -> None:
    (tmp_path / "own.py").write_text(
        "import pathlib, signal\nfrom milopt.models import SetKernelSVM\n\n\nclass Asked(SetKernelSVM):\n"
        "    def declare(self, bags, y, weight):\n"
        "        marks = pathlib.Path(__file__).with_name('marks')\n"
        "        marks.open('a').write('.')\n"
        "        try:\n"
        "            signal.raise_signal(signal.SIGINT) if len(marks.read_text()) > 2 else None\n"
        "        except KeyboardInterrupt:\n"
        "            pass  # as a solver does, which ends with the best point so far\n"
        "        return super().declare(bags, y, weight)\n"
    )
    report = evaluate(toy, f"{tmp_path}/own.py:Asked", "4", settings=FIXED, grid={}, store=tmp_path / "store")
    assert report.interrupted
    assert len(report.records) == len(list((tmp_path / "store").iterdir())) == 1
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler
    nowhere = evaluate(toy, f"{tmp_path}/own.py:Asked", "4", settings=FIXED, grid={})
    assert "Interrupted: 0 of 4 tasks are done.\n" in str(nowhere) + "\n"


def test_workers_ignore_ctrl_c(script: Script) -> None:
    process = script.start(jobs=2, deaf=True)
    script.wait_for(5)
    os.killpg(process.pid, signal.SIGINT)
    script.hold.unlink()
    output, errors = process.communicate(timeout=300)
    assert errors == ""
    assert not json.loads(output.splitlines()[-1])["interrupted"]
    kept = evaluate(toy_data(), ["set-kernel-svm", script.model], "4", settings=FIXED, grid={}, store=script.store)
    assert kept.resumed == 8
    assert numbers(kept) == unbroken(script.model)


def test_tasks_fail_with_a_reason_if_their_worker_dies(toy: DataSet, tmp_path: Path) -> None:
    (tmp_path / "dying.py").write_text(
        "import os, signal\nfrom milopt.models import SetKernelSVM\n\n\nclass Dying(SetKernelSVM):\n"
        f"    def declare(self, bags, y, weight):\n        if os.getpid() != {os.getpid()}:\n"
        "            os.kill(os.getpid(), signal.SIGKILL)\n        return super().declare(bags, y, weight)\n"
    )
    report = evaluate(
        toy, ["set-kernel-svm", f"{tmp_path}/dying.py:Dying"], "2", settings={"C": 1.0}, grid={}, n_jobs=2
    )
    assert {failure.model for failure in report.failures} >= {f"{tmp_path}/dying.py:Dying"}
    assert "a worker process died" in str(report)


UNGUARDED = """
import sys
sys.path.insert(0, {here!r})
from conftest import toy_data
import milopt
from milopt.models import SetKernelSVM

print("begins", flush=True)


class ScriptModel(SetKernelSVM):
    pass


print(milopt.evaluate(toy_data(), ScriptModel, "2", settings={{"C": 1.0}}, grid={{}}, n_jobs={jobs}))
"""


@pytest.mark.thorough(unless={"jobs": [2]})
@pytest.mark.parametrize("jobs", [1, 2])
def test_a_script_without_a_main_guard_runs_once_or_raises_a_helpful_error(tmp_path: Path, jobs: int) -> None:
    script = tmp_path / "plain.py"
    script.write_text(UNGUARDED.format(here=str(Path(__file__).parent), jobs=jobs))
    command = [sys.executable, str(script)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=300, check=False)
    message = f'{script} starts a run while its model is imported: put the run under `if __name__ == "__main__":`.'
    assert done.returncode == 0, done.stderr
    assert done.stdout.count("The same table") + done.stdout.count("protocol 1x2") == 1
    assert (message in done.stdout) == (jobs > 1)
    if jobs == 1:
        assert done.stdout.count("begins") == 1
    with pytest.raises(DeclarationError) as caught:
        evaluate(toy_data(), f"{script}:ScriptModel", "2")
    assert str(caught.value) == message


def test_the_limit_of_one_thread_ends_when_the_last_thread_leaves() -> None:
    import scipy.linalg  # noqa: F401 -- for its library
    from threadpoolctl import threadpool_info, threadpool_limits

    def threads() -> set[int]:
        return {library["num_threads"] for library in threadpool_info() if library["user_api"] == "blas"}

    with threadpool_limits(limits=2, user_api="blas"):
        before = threads()  # not {2} everywhere: a library may be restricted to one thread
        first, second = limit_to_one_thread(), limit_to_one_thread()
        first.__enter__()
        second.__enter__()
        assert threads() == {1}
        first.__exit__(None, None, None)
        assert threads() == {1}
        second.__exit__(None, None, None)
        assert threads() == before


def test_processes_of_a_run_do_not_warn_about_resources_of_killed_workers(
    toy: DataSet, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Ctrl-C kills workers; the resource tracker then reports their locks, which the user cannot change."""
    monkeypatch.delenv("PYTHONWARNINGS", raising=False)
    filters: list[str | None] = []
    parallel = joblib.Parallel

    class RecordingParallel(parallel):  # type: ignore[misc, valid-type]
        def __call__(self, tasks: object) -> object:
            filters.append(os.environ.get("PYTHONWARNINGS"))
            return super().__call__(tasks)

    monkeypatch.setattr(joblib, "Parallel", RecordingParallel)
    evaluate(toy, "set-kernel-svm", "2", settings=FIXED, grid={}, n_jobs=2)
    assert filters == ["ignore:resource_tracker:UserWarning"]
    assert "PYTHONWARNINGS" not in os.environ
