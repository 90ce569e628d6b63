"""The source archive and the wheel contain models and solvers as folders, and no package besides milopt."""

from __future__ import annotations

import os
import stat
import subprocess
import sys
import tarfile
import zipfile
from email import message_from_bytes
from pathlib import Path

import pytest

import milopt
from tests.packaging.source_tree import PROJECT, ROOT, copy_checkout, machine_paths_in, modules, read_archive

VERSION = milopt.__version__


@pytest.fixture(scope="module")
def build_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder with the source archive of a copy of the checkout, and the wheel built from it."""
    copy = tmp_path_factory.mktemp("checkout") / "milopt"
    copy_checkout(copy)
    folder = copy / "dist"
    command = [sys.executable, "-m", "build", "--no-isolation", "--outdir", str(folder), str(copy)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    return folder


TOP_LEVEL_FILES = (
    *("ARCHITECTURE.md", "CHANGELOG.md", "CITATION.cff", "CONTRIBUTING.md", "LICENSE", "README.md"),
    *("MANIFEST.in", "pyproject.toml", ".gitignore"),
)
DATA_FILES = ("milopt/data/embedded/*", "milopt/cli/schemas/*.json", "milopt/reporting/report.*")


@pytest.fixture(scope="module")
def wheel(build_folder: Path) -> Path:
    return build_folder / f"milopt-{VERSION}-py3-none-any.whl"


def test_the_wheel_has_every_module_and_only_milopt(wheel: Path) -> None:
    with zipfile.ZipFile(wheel) as archive:
        names = set(archive.namelist())
        links = [info.filename for info in archive.infolist() if stat.S_ISLNK(info.external_attr >> 16)]
    assert {name for name in names if name.endswith(".py")} == set(modules())
    assert {"milopt/models/__init__.py", "milopt/solvers/__init__.py", "milopt/py.typed"} <= names
    beside = {path.relative_to(ROOT).as_posix() for pattern in DATA_FILES for path in ROOT.glob(pattern)}
    assert len(beside) >= 12
    assert beside <= names
    assert {name.partition("/")[0] for name in names} == {"milopt", f"milopt-{VERSION}.dist-info"}
    assert links == []


def test_the_source_archive_has_real_files(build_folder: Path) -> None:
    with tarfile.open(build_folder / f"milopt-{VERSION}.tar.gz") as archive:
        members = archive.getmembers()
    assert all(member.isfile() or member.isdir() for member in members)
    assert {member.name.partition("/")[0] for member in members} == {f"milopt-{VERSION}"}
    names = {member.name.partition("/")[2] for member in members if member.isfile()}
    assert {*modules().values(), "milopt/py.typed", *TOP_LEVEL_FILES} <= names


def test_the_source_archive_has_docs_examples_benchmarks_and_tests(build_folder: Path) -> None:
    names = {name.partition("/")[2] for name in read_archive(build_folder / f"milopt-{VERSION}.tar.gz")}
    for folder in ("docs", "examples", "benchmarks", "tests", "models", "solvers", ".ci", ".github"):
        expected = {
            path.relative_to(build_folder.parent).as_posix()
            for path in (build_folder.parent / folder).rglob("*")
            if path.is_file()
        }
        assert len(expected) >= 1, folder
        assert expected <= names, folder


def test_the_archives_have_no_path_of_this_machine(build_folder: Path, tmp_path: Path) -> None:
    for archive in build_folder.iterdir():
        assert machine_paths_in(archive, build_folder) == []
    leaking = tmp_path / "leaking.whl"
    with zipfile.ZipFile(leaking, "w") as wheel:
        wheel.writestr("milopt/built.py", f"FROM = {str(ROOT)!r}")
    assert machine_paths_in(leaking) == [f"milopt/built.py: {ROOT}"]


def test_the_metadata_name_authors_licence_and_python_versions(wheel: Path) -> None:
    stated = message_from_bytes(read_archive(wheel)[f"milopt-{VERSION}.dist-info/METADATA"])
    assert stated["Version"] == VERSION
    assert (stated["Author"], stated["Maintainer"]) == ("The milopt developers", "The milopt developers")
    assert (stated["License-Expression"], stated["License-File"]) == ("BSD-3-Clause", "LICENSE")
    assert stated.get_all("Classifier") == PROJECT["project"]["classifiers"]
    # The project has no public address yet.
    assert (stated["Home-page"], stated.get_all("Project-URL")) == (None, None)


def test_the_installed_wheel_imports_its_models_and_solvers(wheel: Path, tmp_path: Path) -> None:
    install = ["install", "--quiet", "--no-deps", "--no-index", "--target", str(tmp_path / "site"), str(wheel)]
    subprocess.run([sys.executable, "-m", "pip", *install], check=True)
    code = "import milopt.models as m, milopt.solvers as s; print(m.__file__, s.__file__, sep='\\n')"
    environment = os.environ | {"PYTHONPATH": str(tmp_path / "site")}
    paths = subprocess.run(
        [sys.executable, "-c", code], cwd=tmp_path, env=environment, capture_output=True, text=True, check=True
    ).stdout
    assert [Path(line).parent for line in paths.split()] == [
        tmp_path / "site" / "milopt" / "models",
        tmp_path / "site" / "milopt" / "solvers",
    ]
