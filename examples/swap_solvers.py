"""Swap solvers: one model with several solvers gives the same optimum, each with a certificate of milopt.

python examples/swap_solvers.py
"""

from __future__ import annotations

import numpy as np

from milopt import RBF, solve
from milopt.errors import MiloptError
from milopt.models.miles import MILES
from milopt.models.set_kernel_svm import SetKernelSVM

rng = np.random.default_rng(0)
y = np.where(np.arange(24) % 2, -1.0, 1.0)
bags = [rng.normal(0.3 * sign, 1.0, size=(int(rng.integers(2, 6)), 3)) for sign in y]

for model in (MILES(lam=0.3, kernel=RBF(s="median")), SetKernelSVM(C=10.0, kernel=RBF(s="median"))):
    program = model.program(bags, y)
    print(f"{program.name}, {program.kind}")
    for solver in ("highs", "clarabel", "ecos", "libsvm", "cvxpy:CLARABEL", "pyomo:highs"):
        try:
            result = solve(program, solver)
        except MiloptError as error:
            print(f"  {solver:15} {error}")
        else:
            print(f"  {solver:15} {result.objective:.8f}  {result.certificate}  {result.seconds.total:.3f} s")

# Solvers in order of preference: the next one is tried if a solver does not support the program or is not certified.
result = solve(program, ("native", "highs"))
for attempt in result.attempts:
    print(f"{attempt.solver}: {attempt.termination}. {attempt.message}".rstrip())
