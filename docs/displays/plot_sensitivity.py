"""
Accuracy over two hyper-parameters
==================================

Cross-validated accuracy of :class:`~milopt.models.SAFE` for pairs of ``rho`` and ``gamma`` on a third of Musk1.
Below the line, which the model computes from the data, the program is convex.
"""

import warnings

from milopt import load_data
from milopt.display import SensitivityDisplay
from milopt.models import SAFE

data = load_data("musk1")
bags, labels = data.bags[::3], data.labels[::3]
# Above the line, every fit warns that its solution is a saddle point.
with warnings.catch_warnings(action="ignore"):
    SensitivityDisplay.from_estimator(
        SAFE(solver="native"),
        bags,
        labels,
        ("rho", [0.01, 0.1, 1.0, 10.0, 100.0]),
        ("gamma", [0.1, 1.0, 10.0, 100.0, 1000.0]),
        limit=lambda model: model.largest_convex_gamma(bags, labels),
        folds=3,
    )
