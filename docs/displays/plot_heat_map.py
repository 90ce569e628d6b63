"""
Scores of image patches
=======================

The scores of the patches of an image, each at its place. The bag is a synthetic image of 24 x 24 pixels with a
bright cross; an instance is a patch of 5 x 5 pixels, drawn as a cell of 3 x 3 in its middle. The frame is around
the witness, the patch with the largest score.
"""

import numpy as np

from milopt.display import InstanceHeatMapDisplay
from milopt.models import MISVM

rng, labels = np.random.default_rng(0), np.arange(40) % 2
images = rng.normal(0.0, 0.25, size=(40, 24, 24))
for k in np.flatnonzero(labels):
    row, column = rng.integers(1, 18, size=2)
    images[k, row + 2, column : column + 5] += 1.0
    images[k, row : row + 5, column + 2] += 1.0

corners = [(row, column) for row in range(0, 20, 3) for column in range(0, 20, 3)]
bags = [np.sort([image[r : r + 5, c : c + 5].ravel() for r, c in corners], axis=1) for image in images]
model = MISVM(solver="clarabel").fit(bags[:30], labels[:30])
centres = [(column + 2, row + 2) for row, column in corners]
InstanceHeatMapDisplay.from_estimator(model, bags[39], centres, cell=(3, 3), image=images[39])
