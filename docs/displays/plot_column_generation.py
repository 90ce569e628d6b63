"""
Convergence of column generation
================================

:class:`~milopt.models.ShapeletBoost` is fitted by column generation. The objective of the master is a lower bound
that rises with every new column. With ``ball="one-hot"`` the search for a column is exact, so that an upper bound
is proved too; the fit ends when both agree. With ``scale="log"`` the gap between them is drawn.
"""

import matplotlib.pyplot as plt

from milopt import load_data
from milopt.display import ConvergenceDisplay
from milopt.models import ShapeletBoost

data = load_data("gunpoint", window=None)
model = ShapeletBoost(ball="one-hot", window=0.2, atoms=40, solver="highs").fit(data.bags, data.labels)
figure, (left, right) = plt.subplots(1, 2, figsize=(9, 3.6), layout="constrained")
ConvergenceDisplay.from_estimator(model, ax=left)
ConvergenceDisplay.from_estimator(model, scale="log", ax=right)
