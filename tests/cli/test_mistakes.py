"""A person's mistakes: one sentence on stderr that says what to do, the exit code that belongs to it, no traceback."""

from __future__ import annotations

import errno
import subprocess
import sys
from pathlib import Path

import pytest
import typer

from milopt.cli.failures import guarded


@pytest.mark.parametrize(
    ("arguments", "code", "words"),
    [
        (["--model", "mi-svm", "--solver", "ecso"], 2, 'did you mean "ecos"'),
        (["--model", "misvm"], 2, 'did you mean "mi-svm"'),
        (["--model", "mi-svm", "--set", "c=1"], 2, 'did you mean "C"'),
        (["--model", "mi-svm", "--set", "C=-1"], 2, "C"),
        (["--model", "mi-svm", "--set", "C"], 2, "name=value"),
        (["--model", "mi-svm", "--scheme", "cpc"], 2, 'did you mean "ccp"'),
        (["--model", "mi-svm", "--tolerance", "2"], 2, "tolerance"),
        (["--model", "mi-svm", "--time-limit", "-1"], 2, "time_limit"),
        (["--model", "mi-svm", "--window", "wide"], 2, "--window"),
        (["--model", "mi-svm", "--solver", ","], 2, "separated by commas"),
        (["--model", "mi-svm", "--solver", "cvxpy"], 2, "cvxpy:NAME"),
        (["--model", "nowhere.py:Model"], 2, "no file"),
        (["--model", "mi-svm", "--solver", "libsvm"], 2, "could take it"),
        (["--model", "mi-svm", "--save", "/nowhere/model.milopt"], 2, "/nowhere/model.milopt"),
        (
            ["--model", "mi-svm", "--set", "scheme=representatives"],
            2,
            '"scheme" is not set by --set: milopt fit has --scheme for it.',
        ),
        (
            ["--model", "mi-svm", "--set", "random_state=3"],
            2,
            '"random_state" is not set by --set: milopt fit has --seed for it.',
        ),
    ],
)
def test_a_mistake_in_an_argument_is_one_sentence(run, small_csv: Path, arguments, code, words) -> None:
    outcome = run("fit", small_csv, *arguments)
    assert outcome.code == code
    assert words in outcome.sentence()


def test_an_unknown_data_set_gets_near_names(run) -> None:
    outcome = run("fit", "musk", "--model", "mi-svm")
    assert outcome.code == 2
    assert '"musk1"' in outcome.sentence()


def test_highs_refuses_an_socp_and_says_who_takes_it(run, own_models: Path, small_csv: Path) -> None:
    outcome = run("fit", small_csv, "--model", f"{own_models}:Ball", "--solver", "highs")
    assert outcome.code == 2
    sentence = outcome.sentence()
    assert "SOCP" in sentence
    assert "second-order cones" in sentence
    assert "clarabel" in sentence.partition("could take it")[0].rpartition(";")[2]


def test_a_missing_solver_exits_4_with_the_command_that_installs_it(run, small_csv: Path, monkeypatch) -> None:
    from milopt.solvers.ecos.solver import ECOS
    from milopt.solving.solver import Availability

    monkeypatch.setattr(ECOS, "availability", lambda self: Availability(False, None, "pip install ecos"))
    outcome = run("fit", small_csv, "--model", "mi-svm", "--solver", "ecos")
    assert outcome.code == 4
    assert "pip install ecos" in outcome.sentence()


def test_a_nan_is_found_at_its_line(run, tmp_path: Path) -> None:
    lines = ["bag,label,f0"] + [f"{k // 2},{k // 2 % 2},{k}.5" for k in range(20)]
    lines[16] = "7,1,nan"
    file = tmp_path / "broken.csv"
    file.write_text("\n".join(lines))
    outcome = run("fit", file, "--model", "mi-svm")
    assert outcome.code == 2
    assert "line 17" in outcome.sentence()


def test_a_failure_of_another_kind_exits_1_and_tells_how_to_see_where(run, own_models, small_csv, monkeypatch) -> None:
    outcome = run("fit", small_csv, "--model", f"{own_models}:Broken")
    assert outcome.code == 1
    sentence = outcome.sentence()
    assert "ZeroDivisionError: nothing can be divided by nothing" in sentence
    assert "MILOPT_TRACEBACK=1" in sentence
    monkeypatch.setenv("MILOPT_TRACEBACK", "1")
    assert "Traceback" in run("fit", small_csv, "--model", f"{own_models}:Broken").err


@pytest.mark.parametrize("arguments", [["fit"], ["fti"], ["fit", "musk1"], ["fit", "musk1", "--modle", "mi-svm"]])
def test_a_mistake_in_usage_exits_2(run, arguments) -> None:
    outcome = run(*arguments)
    assert outcome.code == 2
    assert "Usage" in outcome.err


def test_a_closed_pipe_ends_quietly() -> None:
    command = f"{sys.executable} -m milopt.cli models --json | head -1"
    done = subprocess.run(command, shell=True, capture_output=True, text=True, timeout=60, check=False)
    assert done.stdout == "{\n"
    assert done.stderr == ""


def test_a_pipe_closed_before_the_first_line_ends_quietly(start) -> None:
    process = start("models")
    assert process.stdout is not None
    process.stdout.close()
    assert process.wait(60) == 141
    assert process.stderr is not None
    assert process.stderr.read() == ""
    process.stderr.close()


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="the system has no device that is always full")
@pytest.mark.parametrize("arguments", ["models mi-svm", "data --no-sizes --json", "--help", "fit --help", "--version"])
def test_a_full_stdout_is_told_in_one_sentence(arguments: str) -> None:
    command = f"{sys.executable} -m milopt.cli {arguments} >/dev/full"
    done = subprocess.run(command, shell=True, stderr=subprocess.PIPE, text=True, timeout=60, check=False)
    assert done.stderr == "Error: The result cannot be written to stdout: No space left on device.\n"
    assert done.returncode == 2


def test_a_full_disk_is_not_taken_for_a_full_stdout(capsys: pytest.CaptureFixture[str]) -> None:
    """The error of a full disk does not say whether stdout was meant; who wrote does."""
    for name, said in (("/tmp/cache", "/tmp/cache"), (None, "a file that the work needs, such as a temporary one")):

        @guarded
        def command(name: str | None = name) -> None:
            raise OSError(errno.ENOSPC, "No space left on device", name)

        with pytest.raises(typer.Exit) as ended:
            command()
        assert ended.value.exit_code == 2
        assert capsys.readouterr().err == f"Error: milopt cannot write {said}: No space left on device.\n"


@pytest.mark.skipif(sys.platform == "win32", reason="its shell cannot close a stream")
@pytest.mark.parametrize("arguments", ["fit {} -m set-kernel-svm", "models mi-svm", "data --no-sizes", "--help"])
def test_closed_streams_are_no_crash(small_csv: Path, arguments: str) -> None:
    command = f"{sys.executable} -m milopt.cli {arguments.format(small_csv)}"
    done = subprocess.run(f"{command} >&-", shell=True, stderr=subprocess.PIPE, text=True, timeout=60, check=False)
    assert (done.returncode, done.stderr) == (0, "")
    assert subprocess.run(f"{command} >&- 2>&-", shell=True, timeout=60, check=False).returncode == 0


def test_ctrl_c_during_an_import_is_no_crash(run, own_models: Path, small_csv: Path) -> None:
    own_models.write_text(
        own_models.read_text().replace(
            'raise ZeroDivisionError("nothing can be divided by nothing")',
            'raise ImportError("initialization failed") from KeyboardInterrupt()',
        )
    )
    outcome = run("fit", small_csv, "--model", f"{own_models}:Broken")
    assert outcome.code == 130
    assert outcome.sentence() == "Interrupted before the end: there is no result."


def test_ctrl_c_before_there_is_anything_to_keep_is_told(run, small_csv: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupted(*arguments: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("milopt.models.shapelet_boost.ShapeletBoost.declare", interrupted)
    outcome = run("fit", small_csv, "--model", "shapelet-boost")
    assert outcome.code == 130
    assert outcome.sentence() == "Interrupted before the end: there is no result."


def test_too_little_memory_is_told(run, own_models: Path, small_csv: Path) -> None:
    broken = 'raise ZeroDivisionError("nothing can be divided by nothing")'
    own_models.write_text(own_models.read_text().replace(broken, 'raise MemoryError("Unable to allocate 9 TiB")'))
    outcome = run("fit", small_csv, "--model", f"{own_models}:Broken")
    assert outcome.code == 2
    assert outcome.sentence() == (
        "There is not enough memory (Unable to allocate 9 TiB): take fewer or smaller bags, atoms or landmarks."
    )


def test_the_version(run) -> None:
    import milopt

    assert run("--version").out == f"milopt {milopt.__version__}\n"
