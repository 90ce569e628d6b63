"""A nested evaluation of MI-SVM with an RBF kernel, with this checkout and with another one.

300 bags with 1,460 instances of 9 features: an outer cross-validation with 10 folds, and an inner one with 5 folds that
selects C and the width of the kernel from the grid of the model. The other checkout, if given, runs the same work in a
process of its own. Processor seconds of one thread, without the compilation of native code.

    python benchmarks/nested_evaluation.py [OTHER_CHECKOUT]
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
import warnings
from pathlib import Path

import numpy as np
from timing import single_thread, table

HERE = Path(__file__).resolve().parent.parent
BAGS, INSTANCES, FEATURES = 300, 1460, 9


def make_bags() -> tuple[list[np.ndarray], np.ndarray]:
    """Return bags of 2 to 8 instances with normal features; one instance of each positive bag is shifted."""
    rng = np.random.default_rng(0)
    sizes = np.full(BAGS, 2) + rng.multinomial(INSTANCES - 2 * BAGS, np.full(BAGS, 1 / BAGS))
    y = np.arange(BAGS) % 2
    bags = [rng.normal(size=(size, FEATURES)) for size in sizes]
    for bag, label in zip(bags, y, strict=True):
        bag[0, :3] += 1.5 * label
    return bags, y


def measure(checkout: str) -> None:
    """Print the seconds of the evaluation with one checkout, and its accuracy, as JSON."""
    sys.path.insert(0, checkout)
    import milopt
    from milopt.models import MISVM

    if not str(milopt.__file__).startswith(checkout):
        raise SystemExit(f"milopt was imported from {milopt.__file__}, not from {checkout}")
    warnings.simplefilter("ignore")
    bags, y = make_bags()
    MISVM().fit(bags[:40], y[:40])  # compile
    began = time.process_time()
    report = milopt.evaluate((bags, y), "mi-svm", "1x10")
    print(json.dumps([time.process_time() - began, report.table[0].accuracy]))


def main(others: list[str]) -> None:
    """Print one row per checkout."""
    single_thread()
    rows = []
    for checkout in (str(HERE), *(str(Path(other).resolve()) for other in others)):
        command = [sys.executable, __file__, "--measure", checkout]
        environment = os.environ | {"PYTHONPATH": checkout}
        reply = subprocess.run(command, env=environment, capture_output=True, text=True, check=True, cwd=checkout)
        seconds, accuracy = json.loads(reply.stdout.splitlines()[-1])
        rows.append([Path(checkout).name, f"{seconds:.3g}", f"{accuracy:.3f}"])
    table(["checkout", "CPU s", "accuracy"], rows, first=12)


if __name__ == "__main__":
    if sys.argv[1:2] == ["--measure"]:
        measure(sys.argv[2])
    else:
        main(sys.argv[1:])
