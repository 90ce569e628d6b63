"""Noisy-or model: instances are positive independently, and a bag is positive if one of its instances is positive.

python examples/noisy_or.py
"""

import numpy as np

from milopt import BagClassifier, Bags, Kernel, Linear, Program, Signs, Weights, bag_sum, log1mexp, logistic, solve


class NoisyOr(BagClassifier):
    """Maximum-likelihood classifier of the noisy-or model.

    min  lam/2 ||f||^2 + sum_{y_i < 0} s_i - sum_{y_i > 0} log(1 - exp(-s_i)),   s_i = sum_x log(1 + exp(f(x) + b))

    An instance is negative with probability 1 / (1 + exp(f + b)), so a bag is negative with probability exp(-s_i).
    """

    lam: float = 1.0
    kernel: Kernel = Linear()

    def declare(self, bags: Bags, y: Signs, weight: Weights) -> Program:
        """Return the DC program of the class; the objective is concave in s_i of positive bags."""
        program = Program("noisy-or")
        f = program.function("f", self.kernel)
        b = program.variable("b")
        negative, positive = np.flatnonzero(y < 0), np.flatnonzero(y > 0)
        s = bag_sum(logistic(f(bags) + b))
        loss = weight[negative] @ s[negative] - weight[positive] @ log1mexp(s[positive])
        program.minimize(0.5 * self.lam * f.norm_squared() + loss)
        program.score(lambda new: bag_sum(logistic(f(new) + b)) - np.log(2))  # positive if P(positive) > 1/2
        return program


if __name__ == "__main__":
    rng, y = np.random.default_rng(0), np.where(np.arange(24) % 2, 1, -1)
    bags = [np.vstack([rng.normal(-1, 1, (3, 2)), rng.normal(sign, 0.7, (1, 2))]) for sign in y]
    program = NoisyOr().program(bags, y)
    for solver in ("clarabel", "ecos", "cvxpy:SCS"):
        print(solve(program, solver, scheme="ccp"))
    print("accuracy", NoisyOr(solver="clarabel").fit(bags, y).score(bags, y))
