"""
Accuracy of every fold
======================

One strip per model: a point per fold, the mean, and its standard error. All models are tested on the same folds.
"""

import milopt
from milopt.data import toy_bags
from milopt.display import AccuracyStripsDisplay

data = toy_bags("spanning", bags=60, across=0.5)
report = milopt.evaluate(data, ["ls-svm", "miles", "set-kernel-svm"], "2x5", solver="clarabel", grid={})
AccuracyStripsDisplay.from_report(report)
