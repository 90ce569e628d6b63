"""Wilcoxon's signed-rank test between models over data sets, with Holm's correction for several comparisons.

The values of two models on n data sets are compared by the ranks of their absolute differences. Holm's procedure sorts
the m p-values, multiplies the i-th smallest by m - i + 1, and makes the products increasing; a comparison is
significant if its product is below the level. The smallest possible p-value is 2^(1 - n), on both sides, so that few
data sets cannot show a difference.
"""

from __future__ import annotations

from itertools import combinations

import numpy as np

from milopt.arrays import Floats


def wilcoxon_holm_p_values(values: Floats, control: int | None = None) -> Floats:
    """Return the corrected p-values of all pairs of models, or of the pairs with the control.

    Parameters
    ----------
    values : ndarray of shape (n_data, n_models)
        Values of a measure.
    control : int or None, default=None
        Index of the control. None compares all pairs.

    Returns
    -------
    ndarray of shape (n_models, n_models)
        Corrected p-values, 1 on the diagonal, and NaN for pairs that are not compared.
    """
    from scipy.stats import wilcoxon

    k = values.shape[1]
    pairs = [pair for pair in combinations(range(k), 2) if control is None or control in pair]
    raw = np.array(
        [
            # The test is not defined if two models have equal values on all data sets.
            1.0 if (values[:, a] == values[:, b]).all() else float(wilcoxon(values[:, a], values[:, b]).pvalue)
            for a, b in pairs
        ]
    )
    order = np.argsort(raw, kind="stable")
    corrected = np.empty_like(raw)
    corrected[order] = np.minimum(1.0, np.maximum.accumulate(raw[order] * np.arange(raw.size, 0, -1)))
    matrix = np.full((k, k), np.nan)
    np.fill_diagonal(matrix, 1.0)
    for (a, b), p in zip(pairs, corrected, strict=True):
        matrix[a, b] = matrix[b, a] = p
    return matrix


def can_be_significant(n_data: int, n_pairs: int, alpha: float) -> bool:
    """Return True if the smallest possible p-value over `n_data` data sets, corrected for `n_pairs`, is below alpha."""
    return n_pairs * 2.0 ** (1 - n_data) < alpha
