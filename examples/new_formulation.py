"""How do I write a formulation of my own? Declare it once; solvers, certificates, inspection and an estimator follow.

A bag is judged by its most positive instance and, a little, by its average one: share * max + (1 - share) * mean. The
function is a combination of prototypes with a small 1-norm, so that few of them are used. A linear DC program.

    python examples/new_formulation.py
"""

from __future__ import annotations

import numpy as np

from milopt import RBF, BagClassifier, Kernel, Program, bag_max, bag_mean, norm1, solve
from milopt.declaration.bags import Bags, Signs, Weights


class PeakAndMean(BagClassifier):
    """Sparse separation of bags by the peak and the mean of one function."""

    C: float = 1.0
    share: float = 0.7
    kernel: Kernel = RBF()

    def declare(self, bags: Bags, y: Signs, weight: Weights) -> Program:
        """min ||a||_1 + C w'slack  s.t.  y (share max f + (1 - share) mean f + b) >= 1 - slack."""
        program = Program("peak and mean")
        f = program.function("f", self.kernel, dictionary=bags.instances)
        b = program.variable("b")
        slack = program.variable("slack", len(bags), lower=0)
        program.minimize(norm1(f.coefficients) + self.C * (weight @ slack))
        blend = self.share * bag_max(f(bags)) + (1 - self.share) * bag_mean(f(bags))
        program.subject_to(y * (blend + b) >= 1 - slack, name="margin")
        program.score(lambda new: self.share * bag_max(f(new)) + (1 - self.share) * bag_mean(f(new)) + b)
        return program


def planted_bags(seed: int, count: int = 30) -> tuple[list[np.ndarray[tuple[int, ...], np.dtype[np.float64]]], Signs]:
    """Bags of noise; the positive ones have an instance near (2, 2)."""
    rng = np.random.default_rng(seed)
    y = np.where(np.arange(count) % 2, -1.0, 1.0)
    bags = [rng.normal(0, 0.8, size=(int(rng.integers(2, 6)), 2)) for _ in y]
    for bag in (bag for bag, sign in zip(bags, y, strict=True) if sign > 0):
        bag[0] = rng.normal(2, 0.4, size=2)
    return bags, y


if __name__ == "__main__":
    bags, y = planted_bags(seed=0)
    program = PeakAndMean(kernel=RBF(s=0.5)).program(bags, y)
    print(program.summary())
    for solver in ("highs", "clarabel", "ecos"):
        result = solve(program, solver)
        print(f"{solver:9} {result.termination}, objective {result.objective:.6f}, certificate: {result.certificate}")

    model = PeakAndMean(kernel=RBF(s=0.5), solver="highs").fit(bags, y)
    weights = model.result_.values["f.coefficients"]
    print(f"{np.count_nonzero(np.abs(weights) > 1e-8)} of {weights.size} prototypes are used:")
    for z in np.flatnonzero(np.abs(weights) > 1e-8):
        print(f"  {weights[z]:+.3f} at {np.concatenate(bags)[z].round(2)}")
    new, labels = planted_bags(seed=1)
    print("labels of new bags:", model.predict(new)[:8].astype(int), f"accuracy {model.score(new, labels):.2f}")
