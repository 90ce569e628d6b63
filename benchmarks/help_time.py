"""Time of `milopt --help` relative to `python -c "import numpy"`: `python benchmarks/help_time.py`.

Each command runs in a new interpreter. The two commands alternate, so that a busy machine slows both equally; the
minimum of the rounds is used. The ratio should be at most 3.
"""

from __future__ import annotations

import subprocess
import sys
import time

ROUNDS = 9
REFERENCE = 'python -c "import numpy"'
COMMANDS = {
    REFERENCE: [sys.executable, "-c", "import numpy"],
    "milopt --help": [sys.executable, "-m", "milopt.cli", "--help"],
    "milopt fit --help": [sys.executable, "-m", "milopt.cli", "fit", "--help"],
    "milopt --version": [sys.executable, "-m", "milopt.cli", "--version"],
}


def seconds(command: list[str]) -> float:
    """Return the wall-clock seconds of one run in a new interpreter."""
    start = time.perf_counter()
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
    return time.perf_counter() - start


def main() -> None:
    """Print the times and their ratios to the reference."""
    best = dict.fromkeys(COMMANDS, float("inf"))
    for _ in range(ROUNDS):
        for name, command in COMMANDS.items():
            best[name] = min(best[name], seconds(command))
    for name, least in best.items():
        print(f"{name:28} {least * 1e3:7.1f} ms   ratio {least / best[REFERENCE]:5.2f}")


if __name__ == "__main__":
    main()
