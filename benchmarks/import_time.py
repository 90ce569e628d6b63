"""Time of `import milopt` relative to `import scipy.sparse`: `python benchmarks/import_time.py`.

Each statement runs in a new interpreter. The statements alternate, so that a busy machine slows all of them equally;
the minimum of the rounds is used, and the start of the interpreter is measured and subtracted.
"""

from __future__ import annotations

import subprocess
import sys
import time

ROUNDS = 7
START = "pass"
REFERENCE = "import scipy.sparse"
STATEMENTS = (START, REFERENCE, "import milopt", "import milopt; milopt.Program")


def seconds(statement: str) -> float:
    """Return the wall-clock seconds of one run in a new interpreter."""
    start = time.perf_counter()
    subprocess.run([sys.executable, "-c", statement], check=True)
    return time.perf_counter() - start


def main() -> None:
    """Print the times and their ratios to the reference."""
    best = dict.fromkeys(STATEMENTS, float("inf"))
    for _ in range(ROUNDS):
        for statement in STATEMENTS:
            best[statement] = min(best[statement], seconds(statement))
    for statement in STATEMENTS[1:]:
        ratio = best[statement] / best[REFERENCE]
        net = (best[statement] - best[START]) / (best[REFERENCE] - best[START])
        print(f"{statement:32} {best[statement] * 1e3:7.1f} ms   ratio {ratio:5.2f}   without the start {net:5.2f}")


if __name__ == "__main__":
    main()
