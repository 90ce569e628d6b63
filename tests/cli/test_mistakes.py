"""Mistakes of users: one sentence on stderr with a remedy, an exit code, and no traceback."""

from __future__ import annotations

import errno
import subprocess
import sys
from pathlib import Path

import pytest
import typer

from milopt.cli.failures import exit_on_failure


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
        (["--model", "mi-svm", "--solver", "libsvm"], 2, "; use "),
        (["--model", "mi-svm", "--save", "/nowhere/model.milopt"], 2, "/nowhere/model.milopt"),
        (
            ["--model", "mi-svm", "--set", "scheme=representatives"],
            2,
            '"scheme" is not set by --set: use --scheme of milopt fit.',
        ),
        (
            ["--model", "mi-svm", "--set", "random_state=3"],
            2,
            '"random_state" is not set by --set: use --seed of milopt fit.',
        ),
    ],
)
def test_a_wrong_argument_gives_one_sentence(run, small_csv: Path, arguments, code, words) -> None:
    outcome = run("fit", small_csv, *arguments)
    assert outcome.code == code
    assert words in outcome.sentence()


def test_an_unknown_data_set_suggests_similar_names(run) -> None:
    outcome = run("fit", "musk", "--model", "mi-svm")
    assert outcome.code == 2
    assert '"musk1"' in outcome.sentence()


def test_an_unsupported_program_names_the_solvers_that_support_it(run, own_models: Path, small_csv: Path) -> None:
    outcome = run("fit", small_csv, "--model", f"{own_models}:BallModel", "--solver", "highs")
    assert outcome.code == 2
    sentence = outcome.sentence()
    assert "SOCP" in sentence
    assert "second-order cones" in sentence
    assert "clarabel" in sentence.partition("; use ")[2]


def test_a_missing_solver_exits_with_4_and_the_install_command(run, small_csv: Path, monkeypatch) -> None:
    from milopt.solvers.ecos.solver import ECOS
    from milopt.solving.solver import Availability

    monkeypatch.setattr(ECOS, "availability", lambda self: Availability(False, None, "pip install ecos"))
    outcome = run("fit", small_csv, "--model", "mi-svm", "--solver", "ecos")
    assert outcome.code == 4
    assert "pip install ecos" in outcome.sentence()


def test_a_nan_is_reported_with_its_line(run, tmp_path: Path) -> None:
    lines = ["bag,label,f0"] + [f"{k // 2},{k // 2 % 2},{k}.5" for k in range(20)]
    lines[16] = "7,1,nan"
    file = tmp_path / "broken.csv"
    file.write_text("\n".join(lines))
    outcome = run("fit", file, "--model", "mi-svm")
    assert outcome.code == 2
    assert "line 17" in outcome.sentence()


def test_an_unexpected_error_exits_with_1_and_mentions_the_traceback(run, own_models, small_csv, monkeypatch) -> None:
    outcome = run("fit", small_csv, "--model", f"{own_models}:Broken")
    assert outcome.code == 1
    sentence = outcome.sentence()
    assert "ZeroDivisionError: nothing can be divided by nothing" in sentence
    assert "MILOPT_TRACEBACK=1" in sentence
    monkeypatch.setenv("MILOPT_TRACEBACK", "1")
    assert "Traceback" in run("fit", small_csv, "--model", f"{own_models}:Broken").err


@pytest.mark.parametrize("arguments", [["fit"], ["fti"], ["fit", "musk1"], ["fit", "musk1", "--modle", "mi-svm"]])
def test_wrong_usage_exits_with_2(run, arguments) -> None:
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
def test_a_full_stdout_gives_one_sentence(arguments: str) -> None:
    command = f"{sys.executable} -m milopt.cli {arguments} >/dev/full"
    done = subprocess.run(command, shell=True, stderr=subprocess.PIPE, text=True, timeout=60, check=False)
    assert done.stderr == "Error: The result cannot be written to stdout: No space left on device.\n"
    assert done.returncode == 2


def test_a_full_disk_is_distinguished_from_a_full_stdout(capsys: pytest.CaptureFixture[str]) -> None:
    """Decide by the code that wrote, because the error of a full disk does not name the stream."""
    for name, words in (("/tmp/cache", "/tmp/cache"), (None, "a file that it needs, such as a temporary file")):

        @exit_on_failure
        def command(name: str | None = name) -> None:
            raise OSError(errno.ENOSPC, "No space left on device", name)

        with pytest.raises(typer.Exit) as ended:
            command()
        assert ended.value.exit_code == 2
        assert capsys.readouterr().err == f"Error: milopt cannot write {words}: No space left on device.\n"


@pytest.mark.skipif(sys.platform == "win32", reason="its shell cannot close a stream")
@pytest.mark.parametrize("arguments", ["fit {} -m set-kernel-svm", "models mi-svm", "data --no-sizes", "--help"])
def test_closed_streams_do_not_crash(small_csv: Path, arguments: str) -> None:
    command = f"{sys.executable} -m milopt.cli {arguments.format(small_csv)}"
    done = subprocess.run(f"{command} >&-", shell=True, stderr=subprocess.PIPE, text=True, timeout=60, check=False)
    assert (done.returncode, done.stderr) == (0, "")
    assert subprocess.run(f"{command} >&- 2>&-", shell=True, timeout=60, check=False).returncode == 0


def test_ctrl_c_during_an_import_is_reported_as_interrupt(run, own_models: Path, small_csv: Path) -> None:
    own_models.write_text(
        own_models.read_text().replace(
            'raise ZeroDivisionError("nothing can be divided by nothing")',
            'raise ImportError("initialization failed") from KeyboardInterrupt()',
        )
    )
    outcome = run("fit", small_csv, "--model", f"{own_models}:Broken")
    assert outcome.code == 130
    assert outcome.sentence() == "Interrupted: there is no result."


def test_ctrl_c_before_the_first_result_is_reported(run, small_csv: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupted(*arguments: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("milopt.models.shapelet_boost.ShapeletBoost.declare", interrupted)
    outcome = run("fit", small_csv, "--model", "shapelet-boost")
    assert outcome.code == 130
    assert outcome.sentence() == "Interrupted: there is no result."


def test_too_little_memory_is_reported(run, own_models: Path, small_csv: Path) -> None:
    broken = 'raise ZeroDivisionError("nothing can be divided by nothing")'
    own_models.write_text(own_models.read_text().replace(broken, 'raise MemoryError("Unable to allocate 9 TiB")'))
    outcome = run("fit", small_csv, "--model", f"{own_models}:Broken")
    assert outcome.code == 2
    assert outcome.sentence() == (
        "There is not enough memory (Unable to allocate 9 TiB): use fewer or smaller bags, atoms or landmarks."
    )


def test_version_is_printed(run) -> None:
    import milopt

    assert run("--version").out == f"milopt {milopt.__version__}\n"
