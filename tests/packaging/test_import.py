"""`import milopt` is light, and every name it promises is there when touched."""

from __future__ import annotations

import json
import subprocess
import sys

import pytest

import milopt

HEAVY = {"cvxpy", "pyomo", "sklearn", "numba", "highspy", "clarabel", "ecos", "matplotlib"}


def modules_after(statement: str) -> set[str]:
    code = f"import json, sys; {statement}; print(json.dumps([*sys.modules]))"
    return set(json.loads(run(code)))


def run(code: str) -> str:
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_importing_milopt_imports_no_solver_and_no_array_library() -> None:
    loaded = modules_after("import milopt")
    assert "milopt" in loaded
    assert (HEAVY | {"numpy", "scipy", "milopt.models", "milopt.solvers"}).isdisjoint(loaded)


def test_declaring_a_program_imports_no_solver() -> None:
    assert HEAVY.isdisjoint(modules_after("import milopt; milopt.Program"))


def test_every_exported_name_is_what_its_home_says_even_when_all_homes_are_loaded() -> None:
    # A home called like the name it exports would take the name's place in the package once it is imported.
    run(
        "import importlib, milopt, types\n"
        "homes = {name: importlib.import_module(home) for name, home in milopt._HOME.items()}\n"
        "for name, home in homes.items():\n"
        "    assert getattr(milopt, name) is getattr(home, name), name\n"
        "    assert not isinstance(getattr(milopt, name), types.ModuleType), name\n"
        "assert isinstance(milopt.models, types.ModuleType)\n"
    )


def test_a_name_milopt_does_not_have_is_an_attribute_error() -> None:
    with pytest.raises(AttributeError, match="module 'milopt' has no attribute 'bagmax'"):
        getattr(milopt, "bagmax")  # noqa: B009 -- written as an attribute, type checkers refuse it


def test_dir_lists_the_lazy_names() -> None:
    assert {"Program", "bag_max", "models", "__version__"} <= set(dir(milopt))
