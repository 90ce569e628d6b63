"""Classify time series: a series is the bag of its windows, and the scores of the windows show where it differs.

python examples/time_series.py
"""

from __future__ import annotations

import numpy as np

from milopt import from_series, load_data
from milopt.models import MILES

# The default window length is a fifth of the shortest series.
data = load_data("gunpoint", window=30)
assert data.test is not None
model = MILES(lam=0.01).fit(data.bags, data.labels)
print(f"GunPoint: {data.bags}, accuracy on the official test part {model.score(data.test.bags, data.test.labels):.3f}")

scores = model.instance_scores(data.test.bags[:1])[0]
print(f"the first test series is decided at sample {int(np.abs(scores - np.median(scores)).argmax())} of {scores.size}")

# Own series of any length: noise, with a bump of eight samples in the series of class 1.
rng, y = np.random.default_rng(0), np.arange(40) % 2
series = [rng.normal(0.0, 0.3, size=int(rng.integers(60, 90))) for _ in y]
for values, label in zip(series, y, strict=True):
    start = int(rng.integers(values.size - 8))
    values[start : start + 8] += 2.0 * label * np.hanning(8)
bags = from_series(series, length=8, stride=2)
bump_model = MILES(lam=0.01).fit(bags[:30], y[:30])
print(f"bumps: {bags}, accuracy on ten new series {bump_model.score(bags[30:], y[30:]):.2f}")
