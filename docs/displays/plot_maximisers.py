"""
Windows that decided a label
============================

The score of a series is a sum: each column of the ensemble contributes its largest value over the windows of the
series. The picture shows where these windows are, and whether they speak for one class or for the other.
"""

from milopt import load_data
from milopt.display import MaximisersDisplay
from milopt.models import ShapeletBoost

data = load_data("gunpoint", window=None)
model = ShapeletBoost(ball="one-hot", window=0.2, atoms=40, solver="highs").fit(data.bags, data.labels)
MaximisersDisplay.from_estimator(model, data.test.bags[2])
