"""How do I classify time series? A series is the bag of its windows; the windows that decide are where it differs.

python examples/time_series.py
"""

from __future__ import annotations

import numpy as np

from milopt import from_series, load_data
from milopt.models import MILES

# Known sets come as windows, a fifth of the series long unless something else is asked for.
data = load_data("gunpoint", window=30)
assert data.test is not None
model = MILES(lam=0.01).fit(data.bags, data.labels)
print(f"GunPoint: {data.bags}, accuracy on the official test part {model.score(data.test.bags, data.test.labels):.3f}")

scores = model.instance_scores(data.test.bags[:1])[0]
print(f"the first test series is decided at sample {int(np.abs(scores - np.median(scores)).argmax())} of {scores.size}")

# Series of one's own, of any lengths: a bump of eight samples somewhere in the noise, or none.
rng, y = np.random.default_rng(0), np.arange(40) % 2
series = [rng.normal(0.0, 0.3, size=int(rng.integers(60, 90))) for _ in y]
for one, label in zip(series, y, strict=True):
    start = int(rng.integers(one.size - 8))
    one[start : start + 8] += 2.0 * label * np.hanning(8)
bags = from_series(series, length=8, stride=2)
own = MILES(lam=0.01).fit(bags[:30], y[:30])
print(f"bumps: {bags}, accuracy on ten new series {own.score(bags[30:], y[30:]):.2f}")
