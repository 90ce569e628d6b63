"""Boosted shapelets on time series: the windows that decide, the learned patterns, and three plots.

python examples/shapelets.py [FOLDER]
"""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path

from milopt import load_data
from milopt.display import ConvergenceDisplay, MaximisersDisplay, PatternsDisplay
from milopt.models import ShapeletBoost

folder = Path(sys.argv[1] if len(sys.argv) > 1 else tempfile.mkdtemp())
# Whole series: the model cuts windows itself, here of two lengths.
data = load_data("gunpoint", window=None)
assert data.test is not None
model = ShapeletBoost(window=(0.1, 0.2), random_state=0).fit(data.bags, data.labels)
print(f"GunPoint: accuracy on the official test part {model.score(data.test.bags, data.test.labels):.3f}")
print(f"sparsity: {model.report().as_dict()['sparsity']}")

series = data.test.bags[2]
maximisers, patterns = model.maximisers(series), model.patterns(series)
print(f"\n{maximisers}\n\n{patterns}\n\n{model.explain(series)}")
total = maximisers.contributions.sum() + maximisers.bias
assert abs(total - model.decision_function([series])[0]) < 1e-12

figures = {
    "maximisers": MaximisersDisplay.from_estimator(model, series).figure_,
    "patterns": PatternsDisplay.from_estimator(model, series).figure_,
    "convergence": ConvergenceDisplay.from_estimator(model).figure_,
}
for name, figure in figures.items():
    figure.savefig(folder / f"{name}.png", dpi=120)
print(f"\n{', '.join(f'{name}.png' for name in figures)} are in {folder}")
