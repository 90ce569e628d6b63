"""Time of declaring and compiling a program relative to the time of HiGHS, in processor seconds.

One CCP step of MI-SVM on Musk1 and Musk2, and MILES on Musk1. The time of HiGHS is that of its calls: passing the
model, which every user of HiGHS needs, and solving it; both fractions are printed. Kernel values (computed when they
are first needed) and the proof (evaluation of all rows, certificate, polish) are counted separately. The rest is
declaring and compiling, and should be less than 20 %. All numbers are medians. Needs MILOPT_DATA.
"""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from unittest.mock import patch

import highspy
from data_sets import Array, data_set
from timing import single_thread, table

import milopt
from milopt import RBF, BagClassifier, Kernel
from milopt.arrays import Floats, Points
from milopt.compilation.minorant import mean_minorant
from milopt.compilation.status import PointStatus
from milopt.models.mi_svm import MISVM
from milopt.models.miles import MILES
from milopt.solvers.highs.solver import HighsEngine
from milopt.solving import proof
from milopt.solving.options import Options
from milopt.solving.step_session import StepSession

PARTS = ("kernel", "pass", "solve", "proof")
PASSING = ("addCols", "addRows", "passHessian")


@dataclass
class Parts:
    """Processor seconds by part; the time of a nested part is not counted in the outer one."""

    seconds: dict[str, float] = field(default_factory=lambda: dict.fromkeys(PARTS, 0.0))
    open: list[str] = field(default_factory=list)

    def counting(self, part: str, run: Callable[..., object]) -> Callable[..., object]:
        """Wrap a function so that its time is added to a part."""

        def run_and_count(*args: object, **kwargs: object) -> object:
            began = time.process_time()
            self.open.append(part)
            try:
                return run(*args, **kwargs)
            finally:
                spent = time.process_time() - began
                self.open.pop()
                self.seconds[part] += spent
                if self.open:
                    self.seconds[self.open[-1]] -= spent

        return run_and_count


class TimedKernel(Kernel):
    """Kernel that adds the time of its evaluations to the parts."""

    def __init__(self, kernel: Kernel, parts: Parts) -> None:
        self.kernel = kernel
        self.parts = parts

    def fitted(self, instances: object) -> Kernel:
        """Return the fitted kernel, which is measured too."""
        return TimedKernel(self.kernel.fitted(instances), self.parts)

    def latex(self) -> str:
        """Return the LaTeX of the kernel."""
        return self.kernel.latex()

    def _gram(self, A: Points, B: Points) -> Floats:
        gram: Floats = self.parts.counting("kernel", self.kernel._gram)(A, B)  # type: ignore[assignment]  # as wrapped
        return gram

    def _diagonal(self, A: Points) -> Floats:
        return self.kernel._diagonal(A)


def measure(model: Callable[[Kernel], BagClassifier], bags: list[Array], y: Array) -> dict[str, float]:
    """Return the parts of one solve of a new program, in milliseconds."""
    parts = Parts()
    copied_bags = [bag.copy() for bag in bags]
    with (
        patch("milopt.solving.solve_run.recover_candidate", parts.counting("proof", proof.recover_candidate)),
        patch.object(proof.Certifier, "certify_answer", parts.counting("proof", proof.Certifier.certify_answer)),
        patch.object(HighsEngine, "solve", parts.counting("solve", HighsEngine.solve)),
        patch.multiple(
            highspy.Highs, **{name: parts.counting("pass", getattr(highspy.Highs, name)) for name in PASSING}
        ),
    ):
        began = time.process_time()
        program = model(TimedKernel(RBF(), parts)).program(copied_bags, y)
        declared = time.process_time() - began - parts.seconds["kernel"]
        means = {atom: mean_minorant(atom) for atom in program.maxima()}
        with StepSession(program, milopt.get_solver("highs"), Options(), witnesses=means) as session:
            outcome = session.solve()
        total = time.process_time() - began
    assert outcome.status is PointStatus.CERTIFIED, outcome.message
    compiled = total - declared - sum(parts.seconds.values())
    return {k: 1e3 * v for k, v in {"declare": declared, "compile": compiled, **parts.seconds}.items()}


def results() -> Iterator[tuple[object, ...]]:
    """Yield one row per model and data set."""
    musk1, musk2 = data_set("musk1"), data_set("musk2")
    for name, model, (bags, y), runs in (
        ("MI-SVM step, Musk1", lambda kernel: MISVM(C=1.0, kernel=kernel, scale="none"), musk1, 5),
        ("MI-SVM step, Musk2", lambda kernel: MISVM(C=1.0, kernel=kernel, scale="none"), musk2, 3),
        ("MILES, Musk1", lambda kernel: MILES(lam=0.02, kernel=kernel, scale="none"), musk1, 5),
    ):
        measure(model, bags, y)
        rounds = [measure(model, bags, y) for _ in range(runs)]
        part = {key: statistics.median(seconds_by_key[key] for seconds_by_key in rounds) for key in rounds[0]}
        ours, solve = part["declare"] + part["compile"], part["solve"]
        yield name, *part.values(), f"{100 * ours / (part['pass'] + solve):.1f} %", f"{100 * ours / solve:.1f} %"


def main() -> None:
    """Print the table with times in milliseconds."""
    single_thread()
    table(["HiGHS", "declare", "compile", *PARTS, "of HiGHS", "of solve alone"], results())


if __name__ == "__main__":
    main()
