"""How long `import milopt` takes beside `import scipy.sparse`: `python benchmarks/import_time.py`.

Each statement runs in a fresh interpreter, the statements taking turns so that a busy machine slows all of them alike;
the minimum of the rounds is kept, and the bare interpreter's own start is measured and taken off both sides.
"""

from __future__ import annotations

import subprocess
import sys
import time

ROUNDS = 7
START = "pass"
YARDSTICK = "import scipy.sparse"
STATEMENTS = (START, YARDSTICK, "import milopt", "import milopt; milopt.Program")


def seconds(statement: str) -> float:
    """Wall-clock seconds of one interpreter that runs the statement."""
    start = time.perf_counter()
    subprocess.run([sys.executable, "-c", statement], check=True)
    return time.perf_counter() - start


def main() -> None:
    """Print each statement's time and its ratio to the yardstick."""
    best = dict.fromkeys(STATEMENTS, float("inf"))
    for _ in range(ROUNDS):
        for statement in STATEMENTS:
            best[statement] = min(best[statement], seconds(statement))
    for statement in STATEMENTS[1:]:
        ratio = best[statement] / best[YARDSTICK]
        net = (best[statement] - best[START]) / (best[YARDSTICK] - best[START])
        print(f"{statement:32} {best[statement] * 1e3:7.1f} ms   ratio {ratio:5.2f}   without the start {net:5.2f}")


if __name__ == "__main__":
    main()
