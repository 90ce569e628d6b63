"""`import milopt` is light, and every name it promises is there when touched."""

from __future__ import annotations

import ast
import json
import re
import subprocess
import sys
from pathlib import Path

import pytest

import milopt

ROOT = Path(__file__).resolve().parents[2]
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


@pytest.mark.parametrize("package", [milopt, milopt.models], ids=["milopt", "milopt.models"])
def test_type_checkers_are_told_of_every_lazy_name_and_its_home(package) -> None:
    """A name that is missing in the stub is an error in every typed program that uses it."""
    stub = ast.parse(Path(package.__file__).with_suffix(".pyi").read_text())
    told = {
        alias.asname: statement.module
        for statement in stub.body
        if isinstance(statement, ast.ImportFrom)
        for alias in statement.names
    }
    homes = {name: home if "." in home else f"{package.__name__}.{home}" for name, home in package._HOME.items()}
    assert told == homes | dict.fromkeys(getattr(package, "_SUBMODULES", ()), "milopt")


@pytest.mark.parametrize("name", milopt._SUBMODULES)
def test_a_submodule_is_there_after_import_milopt_alone(name: str) -> None:
    assert run(f"import milopt; print(milopt.{name}.__name__)") == f"milopt.{name}\n"


def test_every_name_of_milopt_in_the_texts_for_users_exists() -> None:
    texts = [ROOT / "README.md", ROOT / "CHANGELOG.md", *ROOT.glob("docs/*.md")]
    names = {name for text in texts for name in re.findall(r"\bmilopt((?:\.[a-zA-Z_]\w*)+)", text.read_text())}
    # `milopt.solvers` is a group of entry points there.
    names = {name.lstrip(".") for name in names} - {"solvers"}
    assert {"compare", "display", "display.MarginsDisplay", "evaluate"} <= names
    run("import milopt\n" + "".join(f"milopt.{name}\n" for name in sorted(names)))


def test_a_name_milopt_does_not_have_is_an_attribute_error() -> None:
    with pytest.raises(AttributeError, match="module 'milopt' has no attribute 'bagmax'"):
        getattr(milopt, "bagmax")  # noqa: B009 -- written as an attribute, type checkers refuse it


def test_dir_lists_the_lazy_names() -> None:
    assert {"Program", "bag_max", "models", "__version__"} <= set(dir(milopt))
