"""Does the solver matter? One model, several solvers: the same optimum, each with milopt's own certificate.

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
        except MiloptError as refusal:
            print(f"  {solver:15} {refusal}")
        else:
            print(f"  {solver:15} {result.objective:.8f}  {result.certificate}  {result.seconds.total:.3f} s")

# An order of preference: the next is asked only where one cannot take the program, or cannot prove its answer.
result = solve(program, ("native", "highs"))
for attempt in result.attempts:
    print(f"{attempt.solver}: {attempt.termination}. {attempt.message}".rstrip())
