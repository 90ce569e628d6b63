"""The import contract of the layers detects an import from a higher layer."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]


def contract_holds(tree: Path) -> subprocess.CompletedProcess[str]:
    """Run import-linter on the package in a folder."""
    code = "import sys; sys.path.insert(0, '.'); from importlinter.cli import lint_imports; sys.exit(lint_imports())"
    command = [sys.executable, "-P", "-c", code]
    return subprocess.run(command, cwd=tree, capture_output=True, text=True, timeout=300)


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    """Return a copy of the package and its configuration."""
    shutil.copy(ROOT / "pyproject.toml", tmp_path)
    skipped = shutil.ignore_patterns("__pycache__", "embedded", "schemas")
    shutil.copytree(ROOT / "milopt", tmp_path / "milopt", ignore=skipped)
    return tmp_path


@pytest.mark.parametrize(
    ("module", "line", "reported"),
    [
        ("milopt/outcome/outcome.py", "", ""),
        ("milopt/errors.py", "import milopt.cones", "milopt.errors is not allowed to import milopt.cones"),
        (
            "milopt/compilation/quadratic.py",
            "from milopt.solving import registry",
            "milopt.compilation is not allowed to import milopt.solving",
        ),
        ("milopt/models/miles.py", "import milopt.solvers.clarabel", "milopt.models is not allowed to import"),
        ("milopt/new_module.py", '"""New."""', "milopt.new_module"),
    ],
    ids=["as it is", "errors", "compilation", "models", "a module without a layer"],
)
def test_every_package_imports_only_from_the_layers_below(tree: Path, module: str, line: str, reported: str) -> None:
    path = tree / module
    path.write_text((path.read_text(encoding="utf-8") if path.exists() else "") + f"\n{line}\n", encoding="utf-8")
    done = contract_holds(tree)
    words = " ".join((done.stdout + done.stderr).split())
    assert (done.returncode == 0) == (not reported), words
    assert reported in words
