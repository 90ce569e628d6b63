"""Fits of bags that are large compared with memory: processor time and peak memory of MI-SVM with a linear kernel.

A bag has 10 instances with normal features, in float32, and one instance of each positive bag is shifted by 3. The
instances are written to a `.npy` file, block by block, and memory-mapped. Each fit runs in a separate process.

    whole            1,000,000 x 64, all steps of the scheme, to 1e-6
    step             100,000 x 4,096, one convex step at C = 0.1, to 1e-6
    hard             100,000 x 4,096, one convex step at C = 10, with a limit of 10 minutes: the gap that is reached
    large            500,000 x 4,096 (8.2 GB), one convex step at C = 0.1, to 1e-3

Anonymous memory is what the process allocates; resident memory also contains the pages of the file that are in memory,
which the system can reclaim. Both are peaks; that of anonymous memory is sampled 20 times per second.
The gap is that of the certificate. The witnesses of a single step are the instances with the largest inner product with
the difference of the class means.

    python benchmarks/memory.py [CASE ...] [--folder DIR] [--small]
"""

from __future__ import annotations

import argparse
import json
import resource
import subprocess
import sys
import tempfile
import threading
import time
import warnings
from collections.abc import Iterator
from pathlib import Path

import numpy as np
from timing import single_thread, table

from milopt import Bags, ConvexConcave, Linear, Options
from milopt.models import MISVM

CASES = {
    "whole": (1_000_000, 64, 10.0, 1e-6, None, False),
    "step": (100_000, 4096, 0.1, 1e-6, None, True),
    "hard": (100_000, 4096, 10.0, 1e-6, 600.0, True),
    "large": (500_000, 4096, 0.1, 1e-3, None, True),
}
"""Numbers of instances and features, C, tolerance, time limit in seconds, and whether only one step is made."""
BAG, SHIFT, BLOCK = 10, 3.0, 1000
SMALL_SHARE = 100
"""With `--small`, the number of instances is divided by this number."""


def write_instances(path: Path, count: int, width: int) -> None:
    """Write the instances to a file, in blocks of `BLOCK` instances."""
    rng = np.random.default_rng(0)
    direction = rng.normal(size=width)
    direction *= SHIFT / np.linalg.norm(direction)
    rows = np.lib.format.open_memmap(path, "w+", np.float32, (count, width))
    for start in range(0, count, BLOCK):
        block = rng.standard_normal((min(BLOCK, count - start), width), dtype=np.float32)
        block[BAG :: 2 * BAG] += direction.astype(np.float32)
        rows[start : start + BLOCK] = block
    rows.flush()


class MemoryWatch:
    """Largest anonymous memory of this process while the `with` block runs, in bytes."""

    def __enter__(self) -> MemoryWatch:
        self.peak, self._ended = 0, threading.Event()
        self._thread = threading.Thread(target=self._watch)
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._ended.set()
        self._thread.join()

    def _watch(self) -> None:
        """Read the anonymous memory 20 times per second."""
        while not self._ended.wait(0.05):
            status = Path("/proc/self/status").read_text(encoding="utf-8")
            line = next(line for line in status.splitlines() if line.startswith("RssAnon:"))
            self.peak = max(self.peak, 1024 * int(line.split()[1]))


def first_scores(bags: Bags, y: np.ndarray) -> np.ndarray:
    """Return the inner product of each instance with the difference of the class means."""
    sign = np.repeat(y / BAG, BAG)
    return np.asarray(bags.instances @ (bags.instances.T @ sign))


def measure(path: Path, case: str) -> dict[str, object]:
    """Fit one case in this process."""
    _, _, C, tolerance, limit, one_step = CASES[case]
    rows = np.load(path, mmap_mode="r")
    count = rows.shape[0] // BAG
    y = np.where(np.arange(count) % 2, 1, -1)
    rng = np.random.default_rng(0)
    with MemoryWatch() as watch, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        MISVM(kernel=Linear()).fit(Bags(rng.normal(size=(800, 4)), np.arange(101) * 8), np.arange(100) % 2)
        began, started = time.process_time(), time.perf_counter()
        bags = Bags(rows, np.arange(count + 1) * BAG)
        scheme = ConvexConcave(first_scores(bags, y), max_steps=1) if one_step else None
        options = Options(tolerance=tolerance, time_limit=limit)
        model = MISVM(C=C, kernel=Linear(), scheme=scheme, options=options).fit(bags, y)
        work, seconds = time.process_time() - began, time.perf_counter() - started
    result = model.result_
    return {
        "steps": len(result.history),
        "processor s": work,
        "seconds": seconds,
        "gap": result.certificate.gap if result.certificate else float("nan"),
        "residual": result.certificate.worst if result.certificate else float("nan"),
        "anonymous GB": watch.peak / 1e9,
        "resident GB": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024 / 1e9,
        "objective": result.objective,
    }


def results(cases: list[str], folder: Path, share: int) -> Iterator[tuple[object, ...]]:
    """Write the file of each case, fit it in a process of its own, and yield a row of the table."""
    for case in cases:
        count, width, C, *_ = CASES[case]
        with tempfile.TemporaryDirectory(dir=folder) as own:
            path = Path(own) / "instances.npy"
            write_instances(path, count // share, width)
            command = [sys.executable, "-W", "ignore", __file__, "--measure", str(path), case]
            ended = subprocess.run(command, capture_output=True, text=True, check=False)
        if ended.returncode:
            sys.exit(ended.stderr)
        yield case, f"{count // share} x {width}", C, *json.loads(ended.stdout).values()


def main() -> None:
    """Print the table; with `--measure`, fit one case."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("cases", nargs="*", choices=[[], *CASES], help="default: all")
    parser.add_argument("--folder", type=Path, default=None, help="folder for the files of instances, up to 8.2 GB")
    parser.add_argument("--small", action="store_true", help="a hundredth of the instances, to try the script")
    parser.add_argument("--measure", type=Path, help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.measure:
        print(json.dumps(measure(arguments.measure, arguments.cases[0])))
        return
    single_thread()
    heads = ["case", "size", "C", "steps", "processor s", "seconds", "gap", "residual", "anonymous GB", "resident GB"]
    rows = results(arguments.cases or list(CASES), arguments.folder, SMALL_SHARE if arguments.small else 1)
    table([*heads, "objective"], rows, first=8, least=10)


if __name__ == "__main__":
    main()
