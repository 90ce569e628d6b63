"""Locations of the modules of a checkout, and copies of the checkout to build from."""

from __future__ import annotations

import shutil
import tomllib
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())
SETUPTOOLS = PROJECT["tool"]["setuptools"]


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
    """Copy the project's files, links as links; without build/ and egg-info, which would end up in a wheel."""
    leave = shutil.ignore_patterns(".*", "__pycache__", "*.egg-info", "build", "dist")
    shutil.copytree(ROOT, target, symlinks=True, ignore=leave)
