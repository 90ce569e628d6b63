"""
Time against size
=================

CPU time of fits to growing parts of a data set, with the exponent of the power law that fits best. Such small sizes
measure the overhead more than the growth; give sizes that span a factor of 10 or more.
"""

from milopt import Linear
from milopt.data import toy_bags
from milopt.display import ScalingDisplay
from milopt.models import MISVM, SetKernelSVM

data = toy_bags("clusters", bags=320)
models = {
    "MI-SVM, RBF": MISVM(positive=1, solver="clarabel"),
    "set kernel, linear": SetKernelSVM(kernel=Linear(), solver="clarabel"),
}
ScalingDisplay.from_estimators(models, data.bags, data.labels, [20, 40, 80, 160, 320])
