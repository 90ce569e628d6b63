"""Build the wheel and the source archive, install each in a fresh environment, and try it there.

`python tests/packaging/archives.py [PYTHON ...]` works in a temporary folder, away from the checkout. It needs the
package `build`. For every PYTHON (an executable; by default the one that runs this file) and for each of the two
archives, it makes a virtual environment, installs the archive, runs `milopt compare`, installs the extras of pictures
and ranks, and runs smoke.py. With `--output FOLDER`, the archives are copied to that folder if all of this worked.
"""

from __future__ import annotations

import argparse
import os
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from source_tree import ROOT, copy_checkout, machine_paths_in

SCRIPTS = "Scripts" if os.name == "nt" else "bin"


def build_archives(scratch: Path) -> list[Path]:
    """Build the source archive of a copy of the checkout, and the wheel from it; search both for local paths."""
    copy, folder = scratch / "checkout", scratch / "dist"
    copy_checkout(copy)
    subprocess.run([sys.executable, "-m", "build", "--outdir", str(folder), str(copy)], cwd=scratch, check=True)
    archives = sorted(folder.iterdir())
    found = [path for archive in archives for path in machine_paths_in(archive, scratch)]
    if found:
        raise SystemExit("The archives contain paths of this machine:\n" + "\n".join(found))
    return archives


def try_archive(archive: Path, python: str, environment: Path) -> None:
    """Install an archive in a new environment, and run `milopt compare` and smoke.py in an empty folder."""
    subprocess.run([python, "-m", "venv", str(environment)], check=True)
    scripts, empty = environment / SCRIPTS, environment / "empty"
    empty.mkdir()
    # Nothing but the environment may be found: neither the checkout nor packages of the user.
    variables = {name: value for name, value in os.environ.items() if not name.startswith(("PYTHON", "MILOPT"))}
    commands = (
        [str(scripts / "python"), "-m", "pip", "install", "--quiet", str(archive)],
        [str(scripts / "milopt"), "compare"],
        [str(scripts / "python"), "-m", "pip", "install", "--quiet", f"{archive}[plot,stats]"],
        [str(scripts / "python"), str(ROOT / "tests" / "packaging" / "smoke.py")],
    )
    for command in commands:
        start = time.monotonic()
        subprocess.run(command, cwd=empty, env=variables, check=True)
        print(f"--- {archive.name}, {python}: {Path(command[0]).name} {command[-1]}: {time.monotonic() - start:.0f} s")


def main() -> None:
    parser = argparse.ArgumentParser(description="Build the archives, and try each in fresh environments.")
    parser.add_argument("pythons", nargs="*", default=[sys.executable], metavar="PYTHON", help="executable to try")
    parser.add_argument("--output", type=Path, metavar="FOLDER", help="folder for the archives, if all of them work")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        scratch = Path(folder).resolve()
        archives = build_archives(scratch)
        for python in arguments.pythons:
            for archive in archives:
                with tempfile.TemporaryDirectory() as environment:
                    try_archive(archive, python, Path(environment).resolve())
        if arguments.output is not None:
            arguments.output.mkdir(parents=True, exist_ok=True)
            for archive in archives:
                shutil.copy(archive, arguments.output)
    print("The wheel and the source archive work.")


if __name__ == "__main__":
    main()
