"""Plots of fitted models, like the displays of scikit-learn.

`XDisplay.from_estimator(model, ...)` computes and draws; `display.plot(ax=...)` draws again, and `display.save(file)`
saves the picture with TrueType fonts. `style` leaves out titles or sets the width, for a paper. matplotlib is imported
only when something is drawn.
"""

from milopt.display.accuracy_strips import AccuracyStripsDisplay
from milopt.display.convergence import ConvergenceDisplay
from milopt.display.critical_difference import CriticalDifferenceDisplay
from milopt.display.instance_heat_map import InstanceHeatMapDisplay
from milopt.display.instances import BagScoresDisplay, InstanceClustersDisplay
from milopt.display.margins import MarginsDisplay
from milopt.display.maximisers import MaximisersDisplay
from milopt.display.patterns import PatternsDisplay
from milopt.display.performance_profile import PerformanceProfileDisplay
from milopt.display.scaling import ScalingDisplay
from milopt.display.sensitivity import SensitivityDisplay
from milopt.display.solver_times import SolverTimesDisplay
from milopt.picture_style import style

__all__ = [
    "AccuracyStripsDisplay",
    "BagScoresDisplay",
    "ConvergenceDisplay",
    "CriticalDifferenceDisplay",
    "InstanceClustersDisplay",
    "InstanceHeatMapDisplay",
    "MarginsDisplay",
    "MaximisersDisplay",
    "PatternsDisplay",
    "PerformanceProfileDisplay",
    "ScalingDisplay",
    "SensitivityDisplay",
    "SolverTimesDisplay",
    "style",
]
