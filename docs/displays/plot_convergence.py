"""
Convergence of a fit
====================

:class:`~milopt.models.MISVM` is fitted by the convex-concave procedure. A step solves a convex program with one
witness fixed per positive bag; the bars count the witnesses that changed, and the ring marks the step that is the
result.
"""

from milopt import load_data
from milopt.display import ConvergenceDisplay
from milopt.models import MISVM

data = load_data("musk1")
model = MISVM(solver="clarabel").fit(data.bags[::2], data.labels[::2])
ConvergenceDisplay.from_estimator(model)
