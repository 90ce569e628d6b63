"""
Sparsity pattern of a program
=============================

The rows and columns of a program as a solver gets them: every dot is a coefficient. This is the linear program of
:class:`~milopt.models.MILES`.
"""

import matplotlib.pyplot as plt

from milopt.data import toy_bags
from milopt.models import MILES

data = toy_bags("clusters", bags=12)
figure, axes = plt.subplots(figsize=(8, 3), layout="constrained")
MILES().program(data.bags, data.labels).spy(axes)
