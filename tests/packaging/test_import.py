"""`import milopt` loads no large package, and every exported name can be imported."""

from __future__ import annotations

import ast
import json
import pkgutil
import re
import subprocess
import sys
from pathlib import Path

import pytest

import milopt

ROOT = Path(__file__).resolve().parents[2]
LARGE_PACKAGES = {"cvxpy", "pyomo", "sklearn", "numba", "highspy", "clarabel", "ecos", "matplotlib"}


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
    assert (LARGE_PACKAGES | {"numpy", "scipy", "milopt.models", "milopt.solvers"}).isdisjoint(loaded)


def test_declaring_a_program_imports_no_solver() -> None:
    assert LARGE_PACKAGES.isdisjoint(modules_after("import milopt; milopt.Program"))


def test_every_exported_name_is_that_of_its_module_after_all_modules_are_imported() -> None:
    # A module with the name of its export would replace the export in the package once it is imported.
    run(
        "import importlib, milopt, types\n"
        "homes = {name: importlib.import_module(home) for name, home in milopt._MODULE_OF.items()}\n"
        "for name, home in homes.items():\n"
        "    assert getattr(milopt, name) is getattr(home, name), name\n"
        "    assert not isinstance(getattr(milopt, name), types.ModuleType), name\n"
        "assert isinstance(milopt.models, types.ModuleType)\n"
    )


@pytest.mark.parametrize("package", [milopt, milopt.models], ids=["milopt", "milopt.models"])
def test_the_stub_has_every_lazy_name_and_its_module(package) -> None:
    """Check the stub, because a missing name is an error in every typed program that uses it."""
    stub = ast.parse(Path(package.__file__).with_suffix(".pyi").read_text())
    modules = {
        alias.asname: statement.module
        for statement in stub.body
        if isinstance(statement, ast.ImportFrom)
        for alias in statement.names
    }
    homes = {name: home if "." in home else f"{package.__name__}.{home}" for name, home in package._MODULE_OF.items()}
    assert modules == homes | dict.fromkeys(getattr(package, "_SUBMODULES", ()), "milopt")


@pytest.mark.parametrize("name", milopt._SUBMODULES)
def test_a_submodule_is_available_after_import_milopt(name: str) -> None:
    assert run(f"import milopt; print(milopt.{name}.__name__)") == f"milopt.{name}\n"


def names_in(text: str) -> set[str]:
    """Return the dotted names in `milopt` that a text mentions, without `milopt.` itself."""
    names = {name.lstrip(".") for name in re.findall(r"\bmilopt((?:\.[a-zA-Z_]\w*)+)", text)}
    # These are groups of entry points.
    return names - {"solvers", "schemes"}


def test_every_name_of_milopt_in_the_documentation_exists() -> None:
    names = {name for page in [ROOT / "README.md", *ROOT.glob("docs/**/*.md")] for name in names_in(page.read_text())}
    assert {"compare", "display", "display.MarginsDisplay", "evaluate"} <= names
    run("import milopt\n" + "".join(f"milopt.{name}\n" for name in sorted(names)))


def test_every_name_of_milopt_in_the_changelog_exists() -> None:
    # The first column of its table has the names before they changed.
    lines = [re.sub(r"^\| [^|]* \|", "", line) for line in (ROOT / "CHANGELOG.md").read_text().splitlines()]
    names = names_in("\n".join(lines))
    assert {"get_solver", "available_solvers"} <= names
    for name in sorted(names):
        pkgutil.resolve_name(f"milopt.{name}")


def test_an_unknown_name_raises_attribute_error() -> None:
    with pytest.raises(AttributeError, match="module 'milopt' has no attribute 'bagmax'"):
        getattr(milopt, "bagmax")  # noqa: B009 -- written as an attribute, type checkers refuse it


def test_dir_lists_the_lazy_names() -> None:
    assert {"Program", "bag_max", "models", "__version__"} <= set(dir(milopt))
