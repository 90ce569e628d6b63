"""
The style of a paper
====================

``style`` leaves out titles and notes, and sets the width to that of a column. ``display.save("file.pdf")`` embeds
TrueType fonts.
"""

from milopt.data import toy_bags
from milopt.display import BagScoresDisplay, style
from milopt.models import SetKernelSVM

data = toy_bags("spanning", bags=120)
model = SetKernelSVM(solver="clarabel").fit(data.bags[:60], data.labels[:60])
with style(titles=False, notes=False, width=3.3):
    BagScoresDisplay.from_estimator(model, data.bags[60:], data.labels[60:])
