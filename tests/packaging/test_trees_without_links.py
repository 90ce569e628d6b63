"""Installs from trees where the links milopt/models and milopt/solvers are plain files: a zip, and no `core.symlinks`.

Each must have every model and every solver, as each has in an ordinary checkout.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import sysconfig
import zipfile
from pathlib import Path

import pytest

from tests.packaging.source_tree import PROJECT, SETUPTOOLS, copy_checkout, packages_on_disk

LINKS = ("milopt/models", "milopt/solvers")
PIP = [sys.executable, "-m", "pip", "install", "--quiet", "--no-deps", "--no-index", "--no-build-isolation"]

FIND = """
import json, site, sys
site.addsitedir(sys.argv[1])
sys.path += sys.argv[2:]
from importlib.metadata import distributions
found = {}
for distribution in distributions(path=[sys.argv[1]]):
    for entry in distribution.entry_points:
        if entry.group in ("milopt.models", "milopt.schemes", "milopt.solvers"):
            loaded = entry.load()
            found[f"{entry.group}:{entry.name}"] = sys.modules[loaded.__module__].__file__
import milopt
print(json.dumps({"milopt": milopt.__file__, "found": found}))
"""
"""Load every model and solver that is installed in the folder of the first argument; print the file of each.

The other arguments are folders with dependencies. Their .pth files are not read: one of them is milopt's own.
"""


def git(*arguments: str, where: Path) -> None:
    author = {"GIT_AUTHOR_NAME": "a", "GIT_AUTHOR_EMAIL": "a", "GIT_COMMITTER_NAME": "a", "GIT_COMMITTER_EMAIL": "a"}
    # Without settings of the user or the machine, which might sign commits or change line ends.
    plain = {"GIT_CONFIG_GLOBAL": os.devnull, "GIT_CONFIG_NOSYSTEM": "1"}
    subprocess.run(["git", *arguments], cwd=where, env=os.environ | author | plain, check=True, capture_output=True)


@pytest.fixture(scope="module")
def repository(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a repository with one commit: the files of the checkout as they are now."""
    if shutil.which("git") is None:
        pytest.skip("needs git")
    folder = tmp_path_factory.mktemp("repository") / "milopt"
    copy_checkout(folder)
    for link in LINKS:
        if not (folder / link).is_symlink():
            pytest.skip("needs a checkout with links")
    git("init", "--quiet", where=folder)
    git("add", ".", where=folder)
    git("commit", "--quiet", "-m", "all", where=folder)
    return folder


@pytest.fixture(scope="module")
def archive(repository: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the repository as a zip, as hosts of repositories offer it for download."""
    file = tmp_path_factory.mktemp("download") / "milopt-main.zip"
    git("archive", "--format=zip", "--prefix=milopt-main/", "-o", str(file), "HEAD", where=repository)
    return file


@pytest.fixture(scope="module")
def clone(repository: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a clone with plain files instead of links, as on Windows."""
    folder = tmp_path_factory.mktemp("clone") / "milopt"
    git("clone", "--quiet", "--config", "core.symlinks=false", str(repository), str(folder), where=repository)
    assert [(folder / link).read_text() for link in LINKS] == ["../models", "../solvers"]
    return folder


def assert_complete(site: Path, sources: Path) -> None:
    """Check that milopt is in `site`, with every registered model and solver from files below `sources`."""
    dependencies = {sysconfig.get_path("purelib"), sysconfig.get_path("platlib")}
    command = [sys.executable, "-I", "-S", "-c", FIND, str(site), *dependencies]
    completed = subprocess.run(command, capture_output=True, text=True, check=False)
    assert completed.returncode == 0, completed.stderr
    answer = json.loads(completed.stdout)
    groups = PROJECT["project"]["entry-points"]
    assert set(answer["found"]) == {f"{group}:{name}" for group in groups for name in groups[group]}
    for file in [answer["milopt"], *answer["found"].values()]:
        assert Path(file).resolve().is_relative_to(sources.resolve())


def test_every_package_is_named_in_pyproject() -> None:
    assert set(SETUPTOOLS["packages"]) == packages_on_disk()


def test_an_install_from_a_zip_has_every_model_and_solver(archive: Path, tmp_path: Path) -> None:
    with zipfile.ZipFile(archive) as members:
        assert members.read("milopt-main/milopt/models") == b"../models"
    site = tmp_path / "site"
    subprocess.run([*PIP, "--target", str(site), str(archive)], check=True)
    assert_complete(site, site)


def test_an_install_from_a_clone_without_links_has_every_model_and_solver(clone: Path, tmp_path: Path) -> None:
    site = tmp_path / "site"
    subprocess.run([*PIP, "--target", str(site), str(clone)], check=True)
    assert_complete(site, site)


def test_an_editable_install_of_a_clone_without_links_has_every_model_and_solver(clone: Path, tmp_path: Path) -> None:
    code = "import sys, setuptools.build_meta as backend; print(backend.build_editable(sys.argv[1]))"
    done = subprocess.run([sys.executable, "-c", code, str(tmp_path)], cwd=clone, capture_output=True, check=False)
    assert done.returncode == 0, done.stderr.decode()
    with zipfile.ZipFile(next(tmp_path.glob("*.whl"))) as wheel:
        wheel.extractall(tmp_path / "site")
    assert_complete(tmp_path / "site", clone)
