"""Models ranked over data sets, and which differences of ranks are more than chance.

On each of n data sets the k models get ranks 1 (best) to k, ties their mean; R_j is the mean rank of model j. The test
of Friedman asks whether all are alike. Against a control, Bonferroni and Dunn compare
z = (R_j - R_control) / sqrt(k(k+1)/6n)  with the normal law at alpha / (k - 1); without one, Nemenyi compares all pairs
by the studentised range. Two models whose ranks are further apart than the critical difference are different at alpha.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from scipy import stats

from milopt.arrays import Floats
from milopt.declaration.checks import fraction, one_of
from milopt.errors import MiloptError, ParameterError
from milopt.evaluation.record import Plain, as_plain
from milopt.evaluation.scores import Evaluated, Scores, gathered
from milopt.names import unknown
from milopt.table import Table

MEASURES = ("accuracy", "balanced_accuracy", "auc")
DIGITS = 9
"""Of means that are compared."""


@dataclass(frozen=True, eq=False)
class Ranking:
    """Mean ranks and what they prove; `str()` is for people, `as_dict()` is plain JSON data."""

    data: tuple[str, ...]
    models: tuple[str, ...]
    """From the best mean rank to the worst."""
    measure: str
    values: Floats = field(repr=False)
    """Data sets by models."""
    ranks: Floats
    """The mean rank of each model."""
    friedman: float
    """Friedman's statistic, chi-squared with k - 1 degrees of freedom where all models are alike."""
    p_value: float
    """Of Friedman's test."""
    alpha: float
    control: str | None
    p_values: Floats = field(repr=False)
    """Models by models: Bonferroni-Dunn's against the control (NaN for other pairs), or Nemenyi's."""
    critical_difference: float

    @property
    def test(self) -> str:
        """What the differences were judged by."""
        return "Nemenyi" if self.control is None else "Bonferroni-Dunn"

    def against_control(self) -> dict[str, float]:
        """The p-value of each other model against the control, corrected for their number."""
        if self.control is None:
            raise ParameterError("These ranks have no control: give one to `rank`.")
        row = self.p_values[self.models.index(self.control)]
        return {name: float(p) for name, p in zip(self.models, row, strict=True) if name != self.control}

    def as_dict(self) -> dict[str, Plain]:
        """Everything as plain JSON data."""
        return {
            "measure": self.measure,
            "data": list(self.data),
            "models": [
                {
                    "model": name,
                    "mean_rank": float(self.ranks[k]),
                    "values": as_plain(self.values[:, k].tolist()),
                    "p_value": None if self.control in (None, name) else self.against_control()[name],
                }
                for k, name in enumerate(self.models)
            ],
            "friedman": {"statistic": as_plain(self.friedman), "p_value": as_plain(self.p_value)},
            "test": self.test,
            "control": self.control,
            "alpha": self.alpha,
            "critical_difference": self.critical_difference,
            "p_values": as_plain(self.p_values.tolist()),
        }

    def __str__(self) -> str:
        numeric = (*self.data, "mean rank", "p against control")
        against = {} if self.control is None else self.against_control()
        rows = tuple(
            (
                name + (" (control)" if name == self.control else ""),
                *(f"{value:.3f}" for value in self.values[:, k]),
                f"{self.ranks[k]:.2f}",
                f"{against[name]:.2g}" if name in against else "",
            )
            for k, name in enumerate(self.models)
        )
        title = f"{self.measure.replace('_', ' ')} on {len(self.data)} data sets, and mean ranks (1 is best)"
        table = Table(title, ("model", *numeric), rows, frozenset(numeric))
        verdict = "are not all alike" if self.p_value < self.alpha else "may all be alike"
        found = f"Friedman: chi-squared {self.friedman:.3f}, p = {self.p_value:.2g}: the models {verdict}."
        apart = f"{self.test}: different at level {self.alpha:g} where ranks differ by more than"
        return f"{table}\n{found}\n{apart} {self.critical_difference:.3f}."


def rank(
    evaluations: Sequence[Evaluated] | Mapping[str, Sequence[Evaluated]],
    *,
    control: str | None = None,
    measure: str = "accuracy",
    alpha: float = 0.05,
) -> Ranking:
    """Rank models by what they reached on the same data sets.

    `evaluations` are those of `milopt.evaluate`, or what `milopt evaluate --json` printed; a mapping gives names of its
    own to evaluations of one model each, such as one model with two settings. `control` is the model against which all
    others are tested. Needs scikit-posthocs (`pip install 'milopt[stats]'`).
    """
    one_of("measure", measure, MEASURES)
    fraction("alpha", alpha)
    found = gathered(evaluations, measure)
    # Means of the same numbers in another order differ by rounding, and would no longer tie.
    found = replace(found, values=np.round(found.values, DIGITS))
    if control is not None and not isinstance(control, str):
        raise ParameterError(f"control must be the name of a model, not {control!r}.")
    if control is not None and control not in found.models:
        raise unknown("model", control, list(found.models), " among those that were evaluated")
    count, k = found.values.shape
    if k < 3 or count < 2:
        raise ParameterError(
            f"There are {k} models on {count} data sets: ranks are tested for at least 3 models on at least 2."
        )
    places = stats.rankdata(-found.values, axis=1)
    order = np.argsort(places.mean(axis=0), kind="stable")
    values, ranks = found.values[:, order], places.mean(axis=0)[order]
    models = tuple(found.models[j] for j in order)
    statistic, p_value = _friedman(values)
    unit = math.sqrt(k * (k + 1) / (6 * count))
    return Ranking(
        data=found.data,
        models=models,
        measure=measure,
        values=values,
        ranks=ranks,
        friedman=statistic,
        p_value=p_value,
        alpha=alpha,
        control=control,
        p_values=_dunn(found, models, control) if control is not None else _nemenyi(found, models),
        critical_difference=unit * _quantile(alpha, k, control is not None),
    )


def _friedman(values: Floats) -> tuple[float, float]:
    """(statistic, p-value); nothing speaks against models that are equal everywhere."""
    if (values == values[:, :1]).all():
        return 0.0, 1.0
    statistic, p_value = stats.friedmanchisquare(*values.T)
    return float(statistic), float(p_value)


def _quantile(alpha: float, k: int, has_control: bool) -> float:
    if has_control:
        return float(stats.norm.isf(alpha / (2 * (k - 1))))
    return float(stats.studentized_range.isf(alpha, k, np.inf) / math.sqrt(2))


def _dunn(found: Scores, models: tuple[str, ...], control: str) -> Floats:
    """z-tests of mean ranks, those against the control times k - 1."""
    posthocs = _posthocs()
    pairs = posthocs.posthoc_siegel_friedman(_frame(found)).loc[list(models), list(models)].to_numpy()
    place, k = models.index(control), len(models)
    result = np.full((k, k), np.nan)
    np.fill_diagonal(result, 1.0)
    result[place] = result[:, place] = np.minimum(1.0, (k - 1) * pairs[place])
    return result


def _nemenyi(found: Scores, models: tuple[str, ...]) -> Floats:
    pairs = _posthocs().posthoc_nemenyi_friedman(_frame(found)).loc[list(models), list(models)]
    return np.asarray(pairs.to_numpy(), dtype=np.float64)


def _frame(found: Scores) -> Any:
    import pandas

    return pandas.DataFrame(found.values, columns=list(found.models))


def _posthocs() -> Any:
    try:
        import scikit_posthocs
    except ImportError as missing:
        raise MiloptError("Tests of ranks need scikit-posthocs; run: pip install 'milopt[stats]'") from missing
    return scikit_posthocs
