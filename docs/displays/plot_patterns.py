"""
Learned patterns
================

The patterns with the largest weights in the ensemble, each at the place of the series that is most similar to it.
"""

from milopt import load_data
from milopt.display import PatternsDisplay
from milopt.models import ShapeletBoost

data = load_data("gunpoint", window=None)
model = ShapeletBoost(ball="one-hot", window=0.2, atoms=40, solver="highs").fit(data.bags, data.labels)
PatternsDisplay.from_estimator(model, data.test.bags[2])
