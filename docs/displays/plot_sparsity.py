"""
Sparsity pattern of a program
=============================

The rows and columns of a program as a solver gets them: every dot is a coefficient. This is a transportation problem
with four factories and six customers: a row per factory, a row per customer, and a column per pair.
"""

import matplotlib.pyplot as plt
import numpy as np

import milopt

cost = np.random.default_rng(0).uniform(1.0, 9.0, size=(4, 6))
program = milopt.Program("transportation")
X = program.variable("X", (4, 6), lower=0)
program.minimize((cost * X).sum())
program.subject_to(X.sum(axis=1) <= 30, name="supply")
program.subject_to(X.sum(axis=0) == 15, name="demand")
figure, axes = plt.subplots(figsize=(7, 3.5), layout="constrained")
program.spy(axes)
