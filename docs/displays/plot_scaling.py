"""
Time against size
=================

CPU time of fits to growing parts of the bags, with the exponent of the power law that fits best. At sizes as small as
here, most of the time is a constant overhead, so the exponents are small.
"""

from milopt.data import toy_bags
from milopt.display import ScalingDisplay
from milopt.models import LSSVM, MILES

data = toy_bags("clusters", bags=160)
models = {"LS-SVM": LSSVM(), "MILES": MILES(solver="highs")}
display = ScalingDisplay.from_estimators(models, data.bags, data.labels, [20, 40, 80, 160], repeats=2)
