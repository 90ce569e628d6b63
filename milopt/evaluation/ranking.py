"""Ranking of models over data sets, with tests of the differences between mean ranks.

On each of n data sets, the k models get ranks from 1 (best) to k; tied models get the mean of their ranks. R_j is the
mean rank of model j. Friedman's test asks whether all models are equal. If one model is named as the control, the
Bonferroni-Dunn test compares every other model with it: z = (R_j - R_control) / sqrt(k(k+1)/6n) is compared with the
normal distribution at level alpha / (k - 1), on both sides. Without a control, the Nemenyi test compares all pairs by
the studentised range. Two models differ at level alpha if the difference of their mean ranks exceeds the critical
difference.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy import stats

from milopt.arrays import Floats
from milopt.declaration.checks import check_choice, check_open_fraction
from milopt.errors import ParameterError
from milopt.evaluation.rank_tests import critical_value, dunn_p_values, friedman_test, nemenyi_p_values
from milopt.evaluation.record import Plain, as_plain
from milopt.evaluation.scores import ReportLike, gather_scores
from milopt.evaluation.summary import EXACT_DECIMALS
from milopt.html import notes, view
from milopt.name_suggestions import unknown_name_error
from milopt.table import Table, to_data_frame

if TYPE_CHECKING:
    import pandas

RANKING_MEASURES = ("accuracy", "balanced_accuracy", "auc")
"""Measures by which models can be ranked."""


@dataclass(frozen=True, eq=False)
class Ranking:
    """Mean ranks of models over data sets, and tests of their differences.

    Returned by `milopt.rank`. `print` shows it as a table, `to_frame` returns the table as a data frame, and `as_dict`
    returns JSON data.

    Parameters
    ----------
    data : tuple of str
        Names of the data sets.
    models : tuple of str
        Names of the models, from the best to the worst mean rank.
    measure : str
        Measure by which the models are ranked.
    values : ndarray of shape (n_data, n_models)
        Values of the measure, rounded to 9 decimal places.
    ranks : ndarray of shape (n_models,)
        Mean rank of each model.
    friedman : float
        Statistic of Friedman's test. If all models are equal, its distribution is chi-squared with k - 1 degrees of
        freedom.
    p_value : float
        P-value of Friedman's test.
    alpha : float
        Level of significance.
    control : str or None
        Model with which all others are compared; None if all pairs are compared.
    p_values : ndarray of shape (n_models, n_models)
        P-values of the Bonferroni-Dunn test against the control (NaN for pairs without it), or of the Nemenyi test for
        all pairs.
    critical_difference : float
        Difference of mean ranks above which two models differ at level `alpha`.
    """

    data: tuple[str, ...]
    models: tuple[str, ...]
    measure: str
    values: Floats = field(repr=False)
    ranks: Floats
    friedman: float
    p_value: float
    alpha: float
    control: str | None
    p_values: Floats = field(repr=False)
    critical_difference: float

    @property
    def test(self) -> str:
        """Name of the test of the differences: "Nemenyi" or "Bonferroni-Dunn"."""
        return "Nemenyi" if self.control is None else "Bonferroni-Dunn"

    def p_values_against_control(self) -> dict[str, float]:
        """Return the p-value of each other model against the control, times the number of other models, at most 1.

        Raise `ParameterError` if the ranking has no control.
        """
        if self.control is None:
            raise ParameterError("This ranking has no control: give control to `rank`.")
        row = self.p_values[self.models.index(self.control)]
        return {name: float(p) for name, p in zip(self.models, row, strict=True) if name != self.control}

    def as_dict(self) -> dict[str, Plain]:
        """Return the ranking as JSON data."""
        return {
            "measure": self.measure,
            "data": list(self.data),
            "models": [
                {
                    "model": name,
                    "mean_rank": float(self.ranks[k]),
                    "values": as_plain(self.values[:, k].tolist()),
                    "wins_ties_losses": as_plain(self._counts_in_table(name)),
                    "p_value": None if self.control in (None, name) else self.p_values_against_control()[name],
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

    @classmethod
    def from_dict(cls, plain: Mapping[str, Any]) -> Ranking:
        """Return the ranking for JSON data of `as_dict`.

        Parameters
        ----------
        plain : mapping
            JSON data. Other keys are ignored.

        Returns
        -------
        Ranking
            The ranking.
        """
        models = plain["models"]
        return cls(
            data=tuple(plain["data"]),
            models=tuple(model["model"] for model in models),
            measure=plain["measure"],
            values=np.array([model["values"] for model in models], dtype=np.float64).T,
            ranks=np.array([model["mean_rank"] for model in models], dtype=np.float64),
            friedman=plain["friedman"]["statistic"],
            p_value=plain["friedman"]["p_value"],
            alpha=plain["alpha"],
            control=plain["control"],
            # NaN, which JSON does not have, is null there.
            p_values=np.array(plain["p_values"], dtype=np.float64),
            critical_difference=plain["critical_difference"],
        )

    def wins_ties_losses(self, model: str, other: str | None = None) -> tuple[int, int, int]:
        """Count the data sets on which a model is better than, equal to, and worse than another model.

        Parameters
        ----------
        model : str
            Name of the model.
        other : str or None, default=None
            Name of the model that it is compared with. None adds the counts over all other models.

        Returns
        -------
        tuple of int
            Numbers of wins, ties and losses.
        """
        for name in (model,) if other is None else (model, other):
            if name not in self.models:
                raise unknown_name_error("model", name, list(self.models), " in the ranking")
        own = self.values[:, [self.models.index(model)]]
        others = [k for k, name in enumerate(self.models) if name != model and other in (None, name)]
        difference = own - self.values[:, others]
        return int((difference > 0).sum()), int((difference == 0).sum()), int((difference < 0).sum())

    def rows(self) -> list[dict[str, object]]:
        """Return one row per model, with numbers that are not rounded."""
        against = {} if self.control is None else self.p_values_against_control()
        rows: list[dict[str, object]] = []
        for k, name in enumerate(self.models):
            wins, ties, losses = self._counts_in_table(name) or (None, None, None)
            values = dict(zip(self.data, self.values[:, k].tolist(), strict=True))
            rows.append(
                {"model": name, **values, "mean_rank": float(self.ranks[k])}
                | {"wins": wins, "ties": ties, "losses": losses}
                | ({"p_value": against.get(name)} if against else {})
            )
        return rows

    def to_frame(self) -> pandas.DataFrame:
        """Return one row per model as a data frame of pandas: values, mean rank, wins, ties, losses and p-value."""
        return to_data_frame(self.rows())

    def table(self) -> Table:
        """Return the values and mean ranks as a table, one row per model.

        Returns
        -------
        Table
            Table whose text is the first part of the printed ranking.
        """
        against = {} if self.control is None else self.p_values_against_control()
        counts = "wins/ties/losses"
        numeric = (*self.data, "mean rank", counts, "p against control")
        rows = tuple(
            (
                name + (" (control)" if name == self.control else ""),
                *(f"{value:.3f}" for value in self.values[:, k]),
                f"{self.ranks[k]:.2f}",
                "/".join(map(str, self._counts_in_table(name) or ())),
                f"{against[name]:.2g}" if name in against else "",
            )
            for k, name in enumerate(self.models)
        )
        title = f"{self.measure.replace('_', ' ')} on {len(self.data)} data sets, and mean ranks (1 is best)"
        return Table(title, ("model", *numeric), rows, frozenset(numeric))

    def conclusions(self) -> list[str]:
        """Return the results of the tests, one sentence per test.

        Returns
        -------
        list of str
            What wins, ties and losses refer to, the Friedman test, and the critical difference of mean ranks.
        """
        verdict = "are not all equal" if self.p_value < self.alpha else "may all be equal"
        pairs = f"{self.test}: models differ at level {self.alpha:g} if their mean ranks differ by more than"
        others = "all other models" if self.control is None else f"the control {self.control}"
        return [
            f"Wins, ties and losses are counted against {others}, over the data sets.",
            f"Friedman: chi-squared {self.friedman:.3f}, p = {self.p_value:.2g}: the models {verdict}.",
            f"{pairs} {self.critical_difference:.3f}.",
        ]

    def _counts_in_table(self, model: str) -> tuple[int, int, int] | None:
        """Return wins, ties and losses against the control, or against all others; None for the control itself."""
        return None if model == self.control else self.wins_ties_losses(model, self.control)

    def __str__(self) -> str:
        """Format the ranking as a table, followed by the results of the tests."""
        return "\n".join([str(self.table()), *self.conclusions()])

    def __repr__(self) -> str:
        """Return the models with their mean ranks in one line."""
        ranks = ", ".join(f"{name} {rank:.2f}" for name, rank in zip(self.models, self.ranks, strict=True))
        return f"Ranking({self.measure} on {len(self.data)} data sets: {ranks})"

    def _repr_html_(self) -> str:
        """Return the table and the results of the tests for a notebook."""
        return view(self.table().html(), notes(self.conclusions()))


def rank(
    evaluations: Sequence[ReportLike] | Mapping[str, Sequence[ReportLike]],
    *,
    control: str | None = None,
    measure: str = "accuracy",
    alpha: float = 0.05,
) -> Ranking:
    """Rank models by their results on several data sets, and test the differences.

    Needs scikit-posthocs (`pip install 'milopt[stats]'`).

    Parameters
    ----------
    evaluations : sequence of EvaluationReport or dict, or mapping of str to such a sequence
        Results of `milopt.evaluate`, or the JSON data of `milopt evaluate --json`: one or a list of them. A mapping
        gives its names to evaluations of one model each, for example of one model with different settings.
    control : str or None, default=None
        Model with which all others are compared. None compares all pairs.
    measure : {"accuracy", "balanced_accuracy", "auc"}, default="accuracy"
        Measure by which the models are ranked.
    alpha : float, default=0.05
        Level of significance.

    Returns
    -------
    Ranking
        Mean ranks, p-values and the critical difference.

    Raises
    ------
    ParameterError
        If there are fewer than 3 models or 2 data sets, if a value is missing, or if models were evaluated on different
        splits.
    MiloptError
        If scikit-posthocs is not installed.

    Examples
    --------
    >>> import milopt
    >>> def evaluation(data, values):
    ...     table = [{"model": model, "accuracy": value} for model, value in values.items()]
    ...     return {"data": data, "protocol": "1x10", "seed": 0, "digest": data, "table": table}
    >>> ranking = milopt.rank(
    ...     [
    ...         evaluation("musk1", {"miles": 0.85, "mi-svm": 0.80, "ls-svm": 0.75}),
    ...         evaluation("musk2", {"miles": 0.87, "mi-svm": 0.82, "ls-svm": 0.81}),
    ...     ]
    ... )
    >>> ranking.models
    ('miles', 'mi-svm', 'ls-svm')
    >>> ranking.ranks
    array([1., 2., 3.])
    """
    check_choice("measure", measure, RANKING_MEASURES)
    check_open_fraction("alpha", alpha)
    scores = gather_scores(evaluations, measure)
    # Rounded, because means of the same numbers in another order are ties, but differ by rounding errors.
    scores = replace(scores, values=np.round(scores.values, EXACT_DECIMALS))
    if control is not None and not isinstance(control, str):
        raise ParameterError(f"control must be the name of a model, not {control!r}.")
    if control is not None and control not in scores.models:
        raise unknown_name_error("model", control, list(scores.models), " among those that were evaluated")
    count, k = scores.values.shape
    if k < 3 or count < 2:
        raise ParameterError(
            f"There are {k} models on {count} data sets: ranking needs at least 3 models and 2 data sets."
        )
    all_ranks = stats.rankdata(-scores.values, axis=1)
    order = np.argsort(all_ranks.mean(axis=0), kind="stable")
    values, ranks = scores.values[:, order], all_ranks.mean(axis=0)[order]
    models = tuple(scores.models[j] for j in order)
    statistic, p_value = friedman_test(values)
    standard_error = math.sqrt(k * (k + 1) / (6 * count))
    return Ranking(
        data=scores.data,
        models=models,
        measure=measure,
        values=values,
        ranks=ranks,
        friedman=statistic,
        p_value=p_value,
        alpha=alpha,
        control=control,
        p_values=dunn_p_values(scores, models, control) if control is not None else nemenyi_p_values(scores, models),
        critical_difference=standard_error * critical_value(alpha, k, control is not None),
    )
