"""Boosted shapelets on the command line: errors in one sentence, and interrupted fits keep the best ensemble."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

FIT = ("fit", "gunpoint", "-m", "shapelet-boost", "--window", "0.4", "--stride", "5")

BENT = '''
"""Shapelets with a kernel that has no Hilbert space."""

from milopt.declaration.kernels.kernel import CallableKernel
from milopt.models import ShapeletBoost


def squared_distances(a, b):
    return ((a[:, None] - b) ** 2).sum(axis=2)


class Bent(ShapeletBoost):
    """Shapelets with the indefinite kernel ||x - z||^2."""

    kernel: CallableKernel = CallableKernel(squared_distances)
    ball: str = "hilbert"
'''


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        (["--window", "200"], "A window of 200 samples is longer than the series in"),
        (["--set", "nu=0"], "nu must be greater than 0 and at most 1, not 0.0."),
        (["--set", "nu=1.5"], "nu must be greater than 0 and at most 1, not 1.5."),
        (["--set", "ball=l2"], "ball must be one of"),
        (["--set", "ball=hilbert", "--solver", "highs"], "second-order cones"),
        (["--scheme", "exact"], "semi-infinite: its scheme is column-generation"),
    ],
)
def test_bad_input_gives_one_sentence(run, wrong: list[str], message: str) -> None:
    outcome = run(*FIT, *wrong)
    assert outcome.code == 2
    assert message in outcome.sentence()


@pytest.mark.parametrize("dictionary", ["all", "kmeans"])
def test_an_indefinite_kernel_has_no_hilbert_ball(run, tmp_path: Path, small_csv: Path, dictionary: str) -> None:
    (tmp_path / "bent.py").write_text(BENT)
    outcome = run("fit", small_csv, "-m", f"{tmp_path / 'bent.py'}:Bent", "--set", f"dictionary={dictionary}")
    assert outcome.code == 2
    assert "The kernel of 'u' is not positive semidefinite: smallest eigenvalue -" in outcome.sentence()


def test_data_of_one_class_is_an_error(run, tmp_path: Path) -> None:
    (tmp_path / "one.csv").write_text("bag,label,f0\na,1,0.5\nb,1,0.7\n")
    outcome = run("fit", tmp_path / "one.csv", "-m", "shapelet-boost")
    assert outcome.code == 2
    assert "to one class" in outcome.sentence()


def test_identical_bags_in_both_classes_are_degenerate(run, tmp_path: Path) -> None:
    lines = ["bag,label,f0", *(f"{bag},{k % 2},{value}" for k, bag in enumerate("abcd") for value in (0.5, 0.7))]
    (tmp_path / "same.csv").write_text("\n".join(lines) + "\n")
    outcome = run("fit", tmp_path / "same.csv", "-m", "shapelet-boost", "--json")
    document = outcome.json("fit")
    assert outcome.code == 3
    assert (document["status"], document["point"]) == ("stalled", "none")
    assert "Degenerate: at the first prices no column distinguishes the classes" in json.dumps(document)


def test_a_time_limit_keeps_the_best_ensemble(run, tmp_path: Path, monkeypatch) -> None:
    rounds = iter(range(1000))
    # The clock counts how often it is read (several times per round), so that the test does not depend on the machine.
    monkeypatch.setattr("milopt.solving.clock.Clock.is_over", lambda clock: next(rounds) > 12)
    outcome = run(*FIT, "--solver", "native", "--time-limit", "1000", "--save", tmp_path / "model", "--json")
    document = outcome.json("fit")
    assert outcome.code == 3
    assert (document["status"], document["point"]) == ("limit", "feasible")
    monkeypatch.undo()
    assert run("predict", tmp_path / "model", "gunpoint", "--window", "0.4", "--stride", "5").code == 0


INTERRUPTED = """
import runpy, sys
from milopt.schemes import generation

solved = generation.GenerationRun._solve_master

def announced(self):
    ended = solved(self)
    if len(self.history) == 3:
        print("three rounds", file=sys.stderr, flush=True)
    return ended

generation.GenerationRun._solve_master = announced
runpy.run_module("milopt.cli", run_name="__main__")
"""


@pytest.mark.skipif(os.name == "nt", reason="sends SIGINT to a process of its own")
def test_ctrl_c_keeps_the_best_ensemble(tmp_path: Path) -> None:
    """Interrupt after three rounds; with Clarabel there would be many more."""
    options = ("--set", "ball=hilbert", "--set", "nu=0.05", "--solver", "master=highs,oracle=clarabel")
    command = ("fit", "musk1", "-m", "shapelet-boost", *options, "--save", str(tmp_path / "model"), "--json")
    process = subprocess.Popen(
        [sys.executable, "-c", INTERRUPTED, *command],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env=os.environ | {"OMP_NUM_THREADS": "1"},
    )
    try:
        assert process.stderr is not None
        assert process.stderr.readline() == "three rounds\n"
        process.send_signal(signal.SIGINT)
        out, err = process.communicate(timeout=120)
    finally:
        if process.poll() is None:
            process.kill()
            process.wait()
    assert "Traceback" not in err
    assert process.returncode == 130, err
    document = json.loads(out)
    assert (document["status"], document["point"]) == ("limit", "feasible")
    assert "Interrupted; the best ensemble is kept." in err + out
    assert (tmp_path / "model").exists()
