"""
Scores of bags
==============

One point per bag, one row per class, and the threshold 0. Points on the wrong side of the threshold are
misclassified bags. The bags on this plot were not used for the fit.
"""

from milopt.data import toy_bags
from milopt.display import BagScoresDisplay
from milopt.models import SetKernelSVM

data = toy_bags("spanning", bags=120)
model = SetKernelSVM(solver="clarabel").fit(data.bags[:60], data.labels[:60])
BagScoresDisplay.from_estimator(model, data.bags[60:], data.labels[60:])
