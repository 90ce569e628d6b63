"""Run all checks of the project: `python tests/all.py`, in an environment with the `dev` extra.

Slow tests that rarely find additional errors are left out; `python tests/all.py --thorough` runs them too.

All steps run, even if others fail; short steps run two at a time. The exit status is 0 only if all steps passed. The
tests run last, so that their summary is at the end of the output.
"""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
import sysconfig
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
EXAMPLES = sorted(str(path) for path in ROOT.glob("examples/*.py"))

CHECKS = {
    "lint": ["ruff", "check", "."],
    "format": ["ruff", "format", "--check", "."],
    "types": ["mypy", "-p", "milopt"],
    "import contracts": ["lint-imports", "--no-cache"],
}
if EXAMPLES:
    CHECKS["types of the examples"] = ["mypy", *EXAMPLES]
TESTS = ["pytest", "-n", "2", "--cov", "--cov-report=term", "--cov-fail-under=85"]
NUMERICAL = [
    "tests/conformance/test_solvers.py",
    "tests/conformance/test_duals.py",
    "tests/compilation",
    "tests/solvers/test_ecos.py",
    "tests/solvers/test_native.py",
    "tests/solvers/test_box_qp.py",
    "tests/solvers/test_symmetric.py",
]
"""Tests that are most sensitive to rounding; they run again with other BLAS kernels."""

ENVIRONMENT = os.environ | {
    "PATH": os.pathsep.join([sysconfig.get_path("scripts"), os.environ["PATH"]]),
    # Two workers on two cores: more threads would only slow them down.
    "OMP_NUM_THREADS": "1",
    "MPLBACKEND": "Agg",
}


def passes(step: str, command: list[str], where: Path = ROOT, **variables: str) -> bool:
    """Run one step and print its output after it has ended, because another step may run at the same time."""
    start = time.monotonic()
    done = subprocess.run(
        command,
        cwd=where,
        env=ENVIRONMENT | variables,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        errors="replace",
        check=False,
    )
    seconds, outcome = time.monotonic() - start, "passed" if done.returncode == 0 else "FAILED"
    print(f"--- {step}: {' '.join(command)}\n{done.stdout}--- {step}: {outcome}, {seconds:.0f} s", flush=True)
    return done.returncode == 0


def first_command(scratch: str) -> bool:
    """Run the first command of the README in a copy of the checkout, as on a new machine."""
    command = (ROOT / "README.md").read_text().partition("```sh\n")[2].partition("\n```")[0]
    copy = Path(scratch) / "checkout"
    # The documentation may be built meanwhile, which writes `docs/reference` and `docs/gallery`.
    generated = ("build", "reference", "gallery", "*.egg-info", "__pycache__", ".*_cache")
    unwanted = shutil.ignore_patterns(".venv", ".git", *generated)
    shutil.copytree(ROOT, copy, symlinks=True, ignore=unwanted)
    return passes("the README's first command", ["sh", "-c", command], copy)


def other_core_type() -> str:
    """Return a core type that OpenBLAS does not choose on this machine; it rounds otherwise."""
    import numpy as np
    from threadpoolctl import threadpool_info

    np.ones((2, 2)) @ np.ones((2, 2))
    own = {str(library.get("architecture", "")).lower() for library in threadpool_info()}
    return "Nehalem" if "nehalem" not in own else "Haswell"


def passes_on_another_core() -> bool:
    """Run the numerical tests as if the processor were another one."""
    core = other_core_type()
    return passes(f"rounding of {core}", ["pytest", "-q", "-n", "2", *NUMERICAL], OPENBLAS_CORETYPE=core)


def main(arguments: list[str]) -> int:
    if arguments not in ([], ["--thorough"]):
        print("usage: python tests/all.py [--thorough]", file=sys.stderr)
        return 2
    # A process in the background, and its children, ignore Ctrl-C; the tests of Ctrl-C need the default handler.
    signal.signal(signal.SIGINT, signal.default_int_handler)
    with tempfile.TemporaryDirectory() as scratch, ThreadPoolExecutor(2) as two_at_a_time:
        steps = {}
        for step, command in CHECKS.items():
            steps[step] = two_at_a_time.submit(passes, step, command)
        for example in EXAMPLES:
            step, command = f"example {Path(example).name}", [sys.executable, example]
            steps[step] = two_at_a_time.submit(passes, step, command, Path(scratch))
        site = [sys.executable, "-m", "sphinx", "-W", "--keep-going", "-q", "docs", str(Path(scratch) / "site")]
        steps["documentation"] = two_at_a_time.submit(passes, "documentation", site)
        steps["the README's first command"] = two_at_a_time.submit(first_command, scratch)
        failed = [step for step, passed in steps.items() if not passed.result()]
    failed += [] if passes_on_another_core() else ["the numerical tests on another core"]
    if failed:
        print(f"--- FAILED before the tests: {', '.join(failed)}", flush=True)
    command = [*TESTS, *arguments]
    tested = subprocess.run(command, cwd=ROOT, env=ENVIRONMENT, stdin=subprocess.DEVNULL, check=False).returncode
    return 1 if failed or tested else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
