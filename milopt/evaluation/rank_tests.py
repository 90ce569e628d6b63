"""Tests of the differences between mean ranks: Friedman, Bonferroni-Dunn and Nemenyi (see `ranking`)."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from scipy import stats

from milopt.arrays import Floats
from milopt.errors import MiloptError
from milopt.evaluation.scores import ScoreTable


def friedman_test(values: Floats) -> tuple[float, float]:
    """Return the statistic and the p-value of Friedman's test; (0, 1) if all models have equal values."""
    if (values == values[:, :1]).all():
        return 0.0, 1.0
    statistic, p_value = stats.friedmanchisquare(*values.T)
    return float(statistic), float(p_value)


def critical_value(alpha: float, k: int, has_control: bool) -> float:
    """Return the critical difference of mean ranks divided by their standard error sqrt(k(k+1)/6n).

    The test is that of Bonferroni-Dunn if `has_control`, otherwise that of Nemenyi.
    """
    if has_control:
        return float(stats.norm.isf(alpha / (2 * (k - 1))))
    return float(stats.studentized_range.isf(alpha, k, np.inf) / math.sqrt(2))


def dunn_p_values(scores: ScoreTable, models: tuple[str, ...], control: str) -> Floats:
    """Return the matrix of p-values against the control, multiplied by k - 1; NaN for pairs without the control."""
    posthocs = _import_posthocs()
    pairs = posthocs.posthoc_siegel_friedman(_as_data_frame(scores)).loc[list(models), list(models)].to_numpy()
    row, k = models.index(control), len(models)
    result = np.full((k, k), np.nan)
    np.fill_diagonal(result, 1.0)
    result[row] = result[:, row] = np.minimum(1.0, (k - 1) * pairs[row])
    return result


def nemenyi_p_values(scores: ScoreTable, models: tuple[str, ...]) -> Floats:
    """Return the p-values of the Nemenyi test for all pairs."""
    pairs = _import_posthocs().posthoc_nemenyi_friedman(_as_data_frame(scores)).loc[list(models), list(models)]
    return np.asarray(pairs.to_numpy(), dtype=np.float64)


def _as_data_frame(scores: ScoreTable) -> Any:
    """Return the values as a data frame with one column per model."""
    import pandas

    return pandas.DataFrame(scores.values, columns=list(scores.models))


def _import_posthocs() -> Any:
    """Import scikit-posthocs, or raise an error that states how to install it."""
    try:
        import scikit_posthocs
    except ImportError as missing:
        raise MiloptError("Tests of ranks need scikit-posthocs; run: pip install 'milopt[stats]'") from missing
    return scikit_posthocs
