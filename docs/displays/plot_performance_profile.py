"""
Performance profiles
====================

For each solver, the share of problems that it solves within a factor of the fastest one. A problem here is a
program of :class:`~milopt.models.MILES` for one of six data sets.
"""

import milopt
from milopt.data import toy_bags
from milopt.display import PerformanceProfileDisplay
from milopt.models import MILES

solvers = ("highs", "clarabel", "cvxpy:SCS")
seconds = {name: [] for name in solvers}
for seed in range(6):
    data = toy_bags("clusters", bags=30, seed=seed)
    program = MILES().program(data.bags, data.labels)
    for name in solvers:
        seconds[name].append(milopt.solve(program, name).seconds.total)
PerformanceProfileDisplay.from_seconds(seconds)
