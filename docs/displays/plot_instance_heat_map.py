"""
Instance scores on the patches of an image
==========================================

A bag is an image, and its instances are the patches of a grid. The images are noise; those of the positive class have
one bright spot. The heat map shows which patches speak for the positive class.
"""

import numpy as np

import milopt
from milopt.display import InstanceHeatMapDisplay
from milopt.models import MISVM

SIZE, PATCH = 48, 8
corners = [(row, column) for row in range(0, SIZE, PATCH) for column in range(0, SIZE, PATCH)]
rng = np.random.default_rng(0)
images, bags, labels = [], [], np.arange(30) % 2
for label in labels:
    image = rng.normal(0, 0.3, (SIZE, SIZE))
    row, column = rng.integers(8, SIZE - 8, 2)
    rows, columns = np.mgrid[:SIZE, :SIZE]
    image += 2 * label * np.exp(-((rows - row) ** 2 + (columns - column) ** 2) / 30)
    images.append(image)
    bags.append(np.array([image[i : i + PATCH, j : j + PATCH].ravel() for i, j in corners]))

model = MISVM(kernel=milopt.Linear(), positive=1, solver="clarabel").fit(bags, labels)
centres = [(column + (PATCH - 1) / 2, row + (PATCH - 1) / 2) for row, column in corners]
display = InstanceHeatMapDisplay.from_estimator(model, bags[1], centres, image=images[1])
