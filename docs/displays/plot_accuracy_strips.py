"""
Accuracy of every fold
======================

One strip per model, one point per fold, and the mean with its standard error. Without titles and at the width of a
column, as for a paper.
"""

import milopt
from milopt.data import toy_bags
from milopt.display import AccuracyStripsDisplay, style

data = toy_bags("spanning", bags=40, across=0.5)
report = milopt.evaluate(data, ["set-kernel-svm", "ls-svm", "miles"], "3x5", solver="clarabel", grid={})
with style(titles=False, width=5.0):
    display = AccuracyStripsDisplay.from_report(report)
