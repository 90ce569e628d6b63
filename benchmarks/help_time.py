"""How long `milopt --help` takes beside `python -c "import numpy"`: `python benchmarks/help_time.py`.

Each command runs in a fresh interpreter, the two taking turns so that a busy machine slows both alike; the minimum of
the rounds is kept. The claim is a ratio of at most 3.
"""

from __future__ import annotations

import subprocess
import sys
import time

ROUNDS = 9
YARDSTICK = 'python -c "import numpy"'
COMMANDS = {
    YARDSTICK: [sys.executable, "-c", "import numpy"],
    "milopt --help": [sys.executable, "-m", "milopt.cli", "--help"],
    "milopt fit --help": [sys.executable, "-m", "milopt.cli", "fit", "--help"],
    "milopt --version": [sys.executable, "-m", "milopt.cli", "--version"],
}


def seconds(command: list[str]) -> float:
    """Wall-clock seconds of one run."""
    start = time.perf_counter()
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
    return time.perf_counter() - start


def main() -> None:
    """Print each command's time and its ratio to the yardstick."""
    best = dict.fromkeys(COMMANDS, float("inf"))
    for _ in range(ROUNDS):
        for name, command in COMMANDS.items():
            best[name] = min(best[name], seconds(command))
    for name, least in best.items():
        print(f"{name:28} {least * 1e3:7.1f} ms   ratio {least / best[YARDSTICK]:5.2f}")


if __name__ == "__main__":
    main()
