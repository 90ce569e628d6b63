"""Install milopt with the oldest versions of its dependencies that pyproject.toml allows, and run smoke.py there.

`python tests/packaging/oldest.py` works in a temporary folder. It needs a Python for which
these versions have wheels.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
import tempfile
import venv
from pathlib import Path

from source_tree import PROJECT, ROOT, copy_checkout

EXTRAS = ("plot", "dask", "stats", "piqp", "scip")
LAST_PYTHON = (3, 12)
"""The last Python for which numpy 1.26 and numba 0.60 have wheels; pip chooses later ones for a later Python."""


def oldest(requirements: list[str]) -> list[str]:
    """Turn lower bounds into pip's constraints: 'highspy[extras]>=1.15' into 'highspy==1.15'."""
    return [_oldest(requirement) for requirement in requirements]


def _oldest(requirement: str) -> str:
    match = re.fullmatch(r"([\w.-]+)(\[[\w,]+\])?>=([\w.]+)(;.*)?", requirement.replace(" ", ""))
    if match is None:
        raise ValueError(f"{requirement!r} in pyproject.toml is not a single lower bound, NAME>=VERSION.")
    # A constraint may not name extras; its marker needs the spaces, which pyproject has.
    _, semicolon, marker = requirement.partition(";")
    return f"{match[1]}=={match[3]}{semicolon}{marker}"


def requirements() -> list[str]:
    """Return the requirements of users: the dependencies, and those of the extras that are not for development."""
    project = PROJECT["project"]
    optional = project["optional-dependencies"]
    return [*project["dependencies"], *(requirement for extra in EXTRAS for requirement in optional[extra])]


def main() -> None:
    if sys.version_info[:2] > LAST_PYTHON:
        print("The oldest versions have no wheels for this Python: not tested.")
        return
    with tempfile.TemporaryDirectory() as scratch:
        folder = Path(scratch)
        copy_checkout(folder / "milopt")
        (folder / "constraints.txt").write_text("\n".join(oldest(requirements())))
        venv.create(folder / "venv", with_pip=True)
        python = str(folder / "venv" / ("Scripts" if os.name == "nt" else "bin") / "python")
        wanted = f"{folder / 'milopt'}[{','.join(EXTRAS)}]"
        install = ["-m", "pip", "install", "--quiet", "--constraint", str(folder / "constraints.txt"), wanted]
        for command in (install, [str(ROOT / "tests" / "packaging" / "smoke.py")]):
            subprocess.run([python, *command], cwd=scratch, check=True)


if __name__ == "__main__":
    main()
