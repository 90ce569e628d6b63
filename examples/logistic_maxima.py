"""Logistic regression on the maxima of bags: nested atoms, solved by the convex-concave procedure.

python examples/logistic_maxima.py
"""

import numpy as np

from milopt import RBF, BagClassifier, Bags, Kernel, Program, Signs, Weights, bag_max, load_data, logistic, solve


class LogisticMaxima(BagClassifier):
    """Logistic regression of the largest instance score of each bag.

    min  lam/2 ||f||^2 + sum_i w_i log(1 + exp(-y_i (max_{x in B_i} f(x) + b)))
    """

    lam: float = 1.0
    kernel: Kernel = RBF(s="median")

    def declare(self, bags: Bags, y: Signs, weight: Weights) -> Program:
        """Return the DC program of the class; the loss is concave in the maxima of positive bags."""
        program = Program("logistic maxima")
        f = program.function("f", self.kernel)
        b = program.variable("b")
        program.minimize(0.5 * self.lam * f.norm_squared() + weight @ logistic(-y * (bag_max(f(bags)) + b)))
        program.score(lambda new: bag_max(f(new)) + b)
        return program


def load_musk(count: int = 30) -> tuple[Bags, np.ndarray]:
    """Return `count` random bags of Musk1 with labels -1 and +1."""
    data = load_data("musk1")
    chosen = np.random.default_rng(0).permutation(len(data.labels))[:count]
    return data.bags[chosen], np.where(data.labels[chosen] > 0, 1.0, -1.0)


if __name__ == "__main__":
    program = LogisticMaxima().program(*load_musk())
    for solver in ("clarabel", "ecos", "cvxpy:SCS"):
        print(solve(program, solver, scheme="ccp"))
