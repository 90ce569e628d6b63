"""
Times of solvers
================

The time of each solver for each formulation, from a comparison. Solvers that do not support a formulation have no
marker.
"""

import milopt
from milopt.data import toy_bags
from milopt.display import SolverTimesDisplay

data = toy_bags("clusters", bags=40)
solvers = ["highs", "clarabel", "cvxpy:SCS"]
comparison = milopt.compare(data, ["miles", "set-kernel-svm", "safe"], solvers, folds=2, n_jobs=1)
SolverTimesDisplay.from_comparison(comparison)
