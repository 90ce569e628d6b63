"""Table of one value per data set and model, from evaluations that all use the same splits of a data set."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from math import isfinite
from numbers import Real
from typing import TypeAlias

import numpy as np

from milopt.arrays import Floats
from milopt.errors import ParameterError
from milopt.evaluation.summary import EvaluationReport

ReportLike: TypeAlias = EvaluationReport | Mapping[str, object]
"""Report of an evaluation, or its JSON data."""


@dataclass(frozen=True)
class ScoreTable:
    """Values of a measure, one row per data set and one column per model."""

    data: tuple[str, ...]
    models: tuple[str, ...]
    values: Floats


def gather_scores(evaluations: Sequence[ReportLike] | Mapping[str, Sequence[ReportLike]], measure: str) -> ScoreTable:
    """Return the value of `measure` for every model on every data set.

    A mapping renames models: each of its evaluations has one model, which gets the key as its name. Raise
    `ParameterError` if a value is missing or occurs twice, or if a data set was split in different ways.
    """
    values: dict[tuple[str, str], float] = {}
    splits: dict[str, tuple[object, ...]] = {}
    for name, plain in _named_reports(evaluations):
        try:
            data, table = str(plain["data"]), plain["table"]
            split = (plain["protocol"], plain["seed"], plain["digest"])
            assert isinstance(table, list)
            rows = [(str(row["model"]), row[measure]) for row in table]
        except (KeyError, TypeError, AssertionError):
            raise ParameterError(
                "Only evaluations can be ranked: give the output of `milopt evaluate --json`."
            ) from None
        if splits.setdefault(data, split) != split:
            (old, before, _), (new, now, _) = splits[data], split
            raise ParameterError(
                f"{data} was evaluated by {old} with seed {before} and by {new} with seed {now}, or the data "
                "differ: models can only be ranked on the same splits."
            )
        if name is not None and len(rows) != 1:
            raise ParameterError(
                f"{name!r} names an evaluation of {len(rows)} models: a name must stand for one model."
            )
        for model, value in rows:
            key = (data, name or model)
            if key in values:
                raise ParameterError(f"{key[1]} was evaluated twice on {data}: give each evaluation its own name.")
            if value is None:
                raise ParameterError(f"{key[1]} has no {measure} on {data}: its evaluation is not finished.")
            if isinstance(value, bool) or not isinstance(value, Real) or not isfinite(value):
                raise ParameterError(f"The {measure} of {key[1]} on {data} must be a number, not {value!r}.")
            values[key] = float(value)
    sets, models = (tuple(dict.fromkeys(key[side] for key in values)) for side in (0, 1))
    missing = [(data, model) for data in sets for model in models if (data, model) not in values]
    if missing:
        raise ParameterError(f"{missing[0][1]} was not evaluated on {missing[0][0]}: every model needs every data set.")
    table = np.array([[values[data, model] for model in models] for data in sets]).reshape(len(sets), len(models))
    return ScoreTable(sets, models, table)


def _named_reports(
    evaluations: Sequence[ReportLike] | Mapping[str, Sequence[ReportLike]],
) -> Iterator[tuple[str | None, Mapping[str, object]]]:
    """Yield the name and the JSON data of each evaluation: the key of the mapping, or None without a mapping.

    The JSON output of `milopt evaluate` itself is a mapping too, with a list of evaluations or with the table of one.
    """
    if isinstance(evaluations, Mapping) and {"table", "data"} <= evaluations.keys():
        evaluations = [evaluations]
    elif isinstance(evaluations, Mapping) and {"evaluations", "command"} <= evaluations.keys():
        evaluations = evaluations["evaluations"]
    lists = evaluations.values() if isinstance(evaluations, Mapping) else [evaluations]
    if not all(isinstance(several, Iterable) for several in lists):
        raise ParameterError("Only evaluations can be ranked: give a list of evaluations, or one such list per name.")
    if isinstance(evaluations, Mapping):
        pairs = [(name, report) for name, several in evaluations.items() for report in several]
    else:
        pairs = [(None, report) for report in evaluations]  # type: ignore[misc]  # None is a name that was not given
    for name, report in pairs:
        if not isinstance(report, (EvaluationReport, Mapping)):
            raise ParameterError(f"Only evaluations can be ranked, not {type(report).__name__}.")
        yield name, report.as_dict() if isinstance(report, EvaluationReport) else report
