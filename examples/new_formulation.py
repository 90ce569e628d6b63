"""A new formulation: bags are scored by a mixture of the maximum and the mean of one sparse function.

python examples/new_formulation.py
"""

import numpy as np

from milopt import RBF, BagClassifier, Bags, Kernel, Program, Signs, Weights, bag_max, bag_mean, norm1, solve


class PeakAndMean(BagClassifier):
    """Sparse classifier that scores a bag by the maximum and the mean of a function over its instances.

    min  ||a||_1 + C w'slack   s.t.  y (share max f + (1 - share) mean f + b) >= 1 - slack,   f = sum_z a_z K(z, .)
    """

    C: float = 1.0
    share: float = 0.7
    kernel: Kernel = RBF(s="median")

    def declare(self, bags: Bags, y: Signs, weight: Weights) -> Program:
        """Return the DC program of the class; its convex steps are LPs."""
        program = Program("peak and mean")
        f = program.function("f", self.kernel, dictionary=bags.instances)
        b = program.variable("b")
        slack = program.variable("slack", len(bags), lower=0)
        program.minimize(norm1(f.coefficients) + self.C * (weight @ slack))
        blend = self.share * bag_max(f(bags)) + (1 - self.share) * bag_mean(f(bags))
        program.subject_to(y * (blend + b) >= 1 - slack, name="margin")
        program.score(lambda new: self.share * bag_max(f(new)) + (1 - self.share) * bag_mean(f(new)) + b)
        return program


if __name__ == "__main__":
    rng, y = np.random.default_rng(0), np.where(np.arange(40) % 2, 1, -1)
    bags = [np.vstack([rng.normal(0, 0.8, (4, 2)), rng.normal(2 * (sign > 0), 0.4, (1, 2))]) for sign in y]
    program = PeakAndMean().program(bags[:30], y[:30])
    print(program.summary())
    for solver in ("highs", "clarabel", "cvxpy:HIGHS"):
        print(solve(program, solver))
    model = PeakAndMean(solver="highs").fit(bags[:30], y[:30])
    weights = model.result_.values["f.coefficients"]
    print("weights:", {int(z): round(float(weights[z]), 3) for z in np.flatnonzero(abs(weights) > 1e-8)})
    print("ten new bags:", model.predict(bags[30:]), "accuracy", model.score(bags[30:], y[30:]))
