"""
Times and performance profiles of solvers
=========================================

The times of all solvers of a comparison, and below them how often each solver is within a factor of the fastest one.
"""

import milopt
from milopt.data import toy_bags
from milopt.display import PerformanceProfileDisplay, SolverTimesDisplay

data = toy_bags("clusters", bags=30)
comparison = milopt.compare(
    data, ["set-kernel-svm", "miles", "ls-svm"], ["highs", "clarabel", "native"], folds=2, n_jobs=1
)
times = SolverTimesDisplay.from_comparison(comparison)

# %%
# A solver that does not support a program has not solved it, so its profile ends below 1.

profile = PerformanceProfileDisplay.from_comparisons([comparison])
