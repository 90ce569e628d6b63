"""Plots of fitted models, like the displays of scikit-learn.

`XDisplay.from_estimator(model, ...)` computes and draws; `display.plot(ax=...)` draws again. matplotlib is imported
only when something is drawn.
"""

from milopt.display.convergence import ConvergenceDisplay
from milopt.display.critical_difference import CriticalDifferenceDisplay
from milopt.display.instances import BagScoresDisplay, InstanceClustersDisplay
from milopt.display.margins import MarginsDisplay
from milopt.display.maximisers import MaximisersDisplay
from milopt.display.patterns import PatternsDisplay
from milopt.display.sensitivity import SensitivityDisplay

__all__ = [
    "BagScoresDisplay",
    "ConvergenceDisplay",
    "CriticalDifferenceDisplay",
    "InstanceClustersDisplay",
    "MarginsDisplay",
    "MaximisersDisplay",
    "PatternsDisplay",
    "SensitivityDisplay",
]
