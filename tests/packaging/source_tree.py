"""Locations of the modules of a checkout, copies of the checkout to build from, and contents of archives."""

from __future__ import annotations

import shutil
import sys
import tarfile
import tomllib
import zipfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())
SETUPTOOLS = PROJECT["tool"]["setuptools"]

HIDDEN_FILES = (".ci", ".github", ".gitignore")
"""Hidden files of the project; all others belong to tools."""


def modules() -> dict[str, str]:
    """Return the path of every module in a wheel and in the checkout: 'milopt/models/odm.py' -> 'models/odm.py'."""
    return {
        f"{package.replace('.', '/')}/{path.relative_to(ROOT / folder).as_posix()}": path.relative_to(ROOT).as_posix()
        for package, folder in SETUPTOOLS["package-dir"].items()
        # Links to folders are not followed.
        for path in (ROOT / folder).rglob("*.py")
    }


def packages_on_disk() -> set[str]:
    """Return the dotted name of every folder that has a module."""
    return {name.rpartition("/")[0].replace("/", ".") for name in modules()}


def copy_checkout(target: Path) -> None:
    """Copy the project's files, links as links, without what tools and builds write: it might end up in an archive."""
    names = ("__pycache__", "*.egg-info", "build", "dist", "milopt-results", "_build", "gallery", "reference")
    written = shutil.ignore_patterns(*names)

    def ignored(folder: str, entries: list[str]) -> set[str]:
        hidden = {name for name in entries if name.startswith(".") and name not in HIDDEN_FILES}
        return hidden | written(folder, entries)

    shutil.copytree(ROOT, target, symlinks=True, ignore=ignored)


def read_archive(archive: Path) -> dict[str, bytes]:
    """Return the bytes of every file in a wheel, or in a source archive, by its name there."""
    if archive.suffix == ".whl":
        with zipfile.ZipFile(archive) as wheel:
            return {name: wheel.read(name) for name in wheel.namelist()}
    with tarfile.open(archive) as source:
        opened = {member.name: source.extractfile(member) for member in source.getmembers() if member.isfile()}
        return {name: file.read() for name, file in opened.items() if file is not None}


def machine_paths_in(archive: Path, *folders: Path) -> list[str]:
    """Return "FILE: PATH" per file with the path of the checkout, of Python, of the home or of one of `folders`."""
    paths = {str(path) for path in (ROOT, Path(sys.prefix), Path(sys.base_prefix), Path.home(), *folders)}
    # A path of one part, such as /root or /usr, is part of ordinary text.
    searched = sorted(path for path in paths if len(Path(path).parts) > 2)
    return [
        f"{name}: {path}" for name, data in read_archive(archive).items() for path in searched if path.encode() in data
    ]
