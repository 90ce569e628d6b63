"""
Scores of image patches
=======================

The scores of the patches of an image, each at its place. The bag is a synthetic image of 24 x 24 pixels with a bright
cross; an instance is a patch of 4 x 4 pixels. The frame is around the witness, the patch with the largest score.
"""

import numpy as np

from milopt.display import InstanceHeatMapDisplay
from milopt.models import MISVM

rng, labels = np.random.default_rng(0), np.arange(40) % 2
images = rng.normal(0.0, 0.25, size=(40, 24, 24))
for image in images[labels == 1]:
    row, column = rng.integers(1, 18, size=2)
    image[row + 2, column : column + 5] += 1.0
    image[row : row + 5, column + 2] += 1.0

corners = [(row, column) for row in range(0, 24, 4) for column in range(0, 24, 4)]
bags = [np.sort([image[r : r + 4, c : c + 4].ravel() for r, c in corners], axis=1) for image in images]
model = MISVM(solver="clarabel").fit(bags[:30], labels[:30])
centres = [(column + 1.5, row + 1.5) for row, column in corners]
InstanceHeatMapDisplay.from_estimator(model, bags[39], centres, image=images[39])
