"""Check that an installed milopt works with the versions of its dependencies that are installed with it.

`python smoke.py` needs only milopt; pictures and ranks are tried if their extras are installed. Every solver solves the
small programs below that it supports, every model is fitted and predicts, and every command of the command line runs.
The exit status is 0 only if all of this works.
`tests/packaging/oldest.py` runs this file with the oldest versions that pyproject.toml allows.
"""

from __future__ import annotations

import contextlib
import importlib.util
import json
import os
import subprocess
import sys
import tempfile
import time
import warnings
from collections.abc import Callable, Iterator
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from pathlib import Path

import numpy as np

import milopt
from milopt.errors import MiloptWarning, UnsupportedError
from milopt.solving import registry

COMMANDS = (
    *("compare", "fit", "predict", "evaluate", "rank", "inspect"),
    *("models", "solvers", "schemes", "data", "warmup"),
)
MILOPT = [sys.executable, "-m", "milopt.cli"]

NEED_LATER_CVXPY = ("cvxpy:PIQP", "cvxpy:SCIP")
"""Solvers that fail with the oldest cvxpy: it has an earlier interface of PIQP, and no bound of SCIP."""


def toy_bags() -> tuple[list[np.ndarray], np.ndarray]:
    """Return twenty bags in the plane; a bag is positive if one of its instances is near (2, 2)."""
    rng, labels = np.random.default_rng(0), np.arange(20) % 2
    return [np.vstack([rng.normal(0, 0.5, (3, 2)), rng.normal(2 * label, 0.3, (1, 2))]) for label in labels], labels


def linear_program() -> tuple[milopt.Program, float]:
    program = milopt.Program("linear")
    x = program.variable("x", 2, lower=0)
    program.minimize(np.array([1.0, 2.0]) @ x)
    program.subject_to(x.sum() >= 1, name="cover")
    return program, 1.0


def quadratic_program() -> tuple[milopt.Program, float]:
    program = milopt.Program("quadratic")
    x = program.variable("x", 2, lower=0)
    program.minimize(milopt.sum_squares(x - np.array([2.0, 1.0])))
    program.subject_to(x.sum() <= 2, name="budget")
    return program, 0.5


def box_program() -> tuple[milopt.Program, float]:
    program = milopt.Program("box")
    x = program.variable("x", 2, lower=0, upper=1)
    program.minimize(milopt.sum_squares(x - np.array([2.0, 0.5])))
    return program, 1.0


def integer_program() -> tuple[milopt.Program, float]:
    program = milopt.Program("integer")
    x = program.variable("x", 2, lower=0, integer=True)
    program.minimize(x.sum())
    program.subject_to(np.array([2.0, 3.0]) @ x >= 7, name="cover")
    return program, 3.0


def support_vector_machine() -> tuple[milopt.Program, float]:
    bags, labels = toy_bags()
    program = milopt.models.SetKernelSVM().program(bags, labels)
    return program, milopt.solve(program, "clarabel").objective


PROGRAMS: tuple[Callable[[], tuple[milopt.Program, float]], ...] = (
    linear_program,
    quadratic_program,
    box_program,
    integer_program,
    support_vector_machine,
)


def solver_names() -> list[str]:
    """Return every solver that is installed, those of cvxpy and Pyomo included."""
    names = [solver.name for solver in registry.installed_solvers()]
    families = [name.partition(":")[0] for name in registry.solver_names() if name.endswith(":NAME")]
    variants = [variant for family in families for variant in registry.family_variants(family)]
    return [*names, *(variant for variant in variants if variant not in NEED_LATER_CVXPY)]


def check_solvers() -> None:
    names = solver_names()
    missing = {"highs", "clarabel", "native", "libsvm", "cvxpy:SCS", "pyomo:highs", "pyomo:appsi_highs"} - {*names}
    assert not missing, missing
    solved = dict.fromkeys(names, 0)
    wrong = []
    for make in PROGRAMS:
        program, optimum = make()
        for name in names:
            try:
                result = milopt.solve(program, name)
            except UnsupportedError:
                continue
            except Exception as error:  # of any solver's own library
                wrong.append(f"{name}, {program.name}: {type(error).__name__}: {error}")
                continue
            solved[name] += 1
            certified = (str(result.termination), str(result.point)) == ("optimal", "certified")
            if not certified or abs(result.objective - optimum) > 1e-4 * (1 + abs(optimum)):
                wrong.append(f"{name}, {program.name}: {result.termination}, {result.objective}; {result.message}")
    print(f"  number of programs that each solver supports: {solved}")
    wrong += [f"{name} supports no program" for name, count in solved.items() if not count]
    assert not wrong, "\n".join(["", *wrong])


def check_models() -> None:
    # Models that compile most come first, because two processes share the work.
    names = sorted(registry.model_names(), key=lambda name: name not in ("shapelet-boost", "box-svm"))
    with ProcessPoolExecutor(2, mp_context=get_context("spawn")) as pool:
        for line in pool.map(check_model, names):
            print(f"  {line}", flush=True)


def check_model(name: str) -> str:
    bags, labels = toy_bags()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", MiloptWarning)  # a cycle is reported by the line below
        model = registry.model_class(name)().fit(bags, labels)
    accuracy = float(np.mean(model.predict(bags) == labels))
    assert accuracy >= 0.9, (name, accuracy)
    return f"{name}: {model.result_.termination}, accuracy {accuracy:.2f}"


def run(*arguments: str, where: str) -> str:
    done = subprocess.run([*MILOPT, *arguments], cwd=where, capture_output=True, text=True, check=False)
    assert done.returncode == 0, f"milopt {' '.join(arguments)}: {done.stdout}{done.stderr}"
    return done.stdout


def check_command_line() -> None:
    with tempfile.TemporaryDirectory() as scratch:
        for command in COMMANDS:
            assert "--json" in run(command, "--help", where=scratch), command
        compiled = json.loads(run("warmup", "--json", where=scratch))["parts"]
        assert len(compiled) >= 5, compiled
        forgotten = subprocess.run([*MILOPT, "fit"], cwd=scratch, capture_output=True, text=True, check=False)
        assert forgotten.returncode == 2, forgotten.stderr
        assert "Missing argument 'DATA'" in forgotten.stderr, forgotten.stderr
        bags, labels = toy_bags()
        rows = [[str(i), str(labels[i]), *map(str, row)] for i, bag in enumerate(bags) for row in bag]
        for name, chosen in {"toy.csv": rows, "part.csv": rows[: 16 * 4]}.items():
            lines = [",".join(row) for row in [["bag", "label", "f0", "f1"], *chosen]]
            Path(scratch, name).write_text("\n".join(lines))
        for command in ("models", "solvers", "schemes", "data"):
            run(command, "--json", where=scratch)
        for solver in ("highs", "cvxpy:HIGHS", "pyomo:highs"):
            # The library of a solver must not print into the JSON document.
            json.loads(run("fit", "toy.csv", "--model", "mi-svm", "--solver", solver, "--json", where=scratch))
        picture = ["--plot", "steps.png"] if importlib.util.find_spec("matplotlib") else []
        run("fit", "toy.csv", "--model", "mi-svm", "--save", "saved", *picture, where=scratch)
        run("predict", "saved", "toy.csv", where=scratch)
        Path(scratch, "fit.json").write_text(run("fit", "toy.csv", "--model", "miles", "--json", where=scratch))
        run("inspect", "toy.csv", "--model", "miles", where=scratch)
        compared = run("compare", "toy.csv", "--models", "miles,set-kernel-svm", "--folds", "2", where=scratch)
        assert "solvers agree" in compared, compared
        models = ["--model", "miles,set-kernel-svm,ls-svm", "--protocol", "1x2", "--no-store", "--json"]
        Path(scratch, "evaluate.json").write_text(run("evaluate", "toy.csv", "part.csv", *models, where=scratch))
        results = ["fit.json", "evaluate.json"]
        if importlib.util.find_spec("scikit_posthocs"):
            Path(scratch, "rank.json").write_text(run("rank", "evaluate.json", "--json", where=scratch))
            results.append("rank.json")
        run("report", *results, "--output", "report.html", where=scratch)
        assert Path(scratch, "report.html").read_text(encoding="utf-8").count("<table") >= 3


@contextlib.contextmanager
def print_time(title: str) -> Iterator[None]:
    """Print a title and the time of the block."""
    print(f"{title}:", flush=True)
    start = time.monotonic()
    yield
    print(f"{title}: {time.monotonic() - start:.0f} s", flush=True)


def main() -> None:
    os.environ.setdefault("OMP_NUM_THREADS", "1")
    print(f"milopt {milopt.__version__} in {Path(milopt.__file__).parent}")
    for title, check in {
        "solvers": check_solvers,
        "models": check_models,
        "command line": check_command_line,
    }.items():
        with print_time(title):
            check()


if __name__ == "__main__":
    main()
