"""One number a data set and model, gathered from evaluations that can be compared: the same splits for every model."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from math import isfinite
from numbers import Real
from typing import TypeAlias

import numpy as np

from milopt.arrays import Floats
from milopt.errors import ParameterError
from milopt.evaluation.summary import Evaluation

Evaluated: TypeAlias = Evaluation | Mapping[str, object]
"""An evaluation, or the JSON data of one."""


@dataclass(frozen=True)
class Scores:
    """What models reached, data sets by models."""

    data: tuple[str, ...]
    models: tuple[str, ...]
    values: Floats


def gathered(evaluations: Sequence[Evaluated] | Mapping[str, Sequence[Evaluated]], measure: str) -> Scores:
    """Every model's value on every data set; what is missing, twice there or of other splits is told."""
    found: dict[tuple[str, str], float] = {}
    splits: dict[str, tuple[object, ...]] = {}
    for name, plain in _named(evaluations):
        try:
            data, table = str(plain["data"]), plain["table"]
            split = (plain["protocol"], plain["seed"], plain["digest"])
            assert isinstance(table, list)
            rows = [(str(row["model"]), row[measure]) for row in table]
        except (KeyError, TypeError, AssertionError):
            raise ParameterError(
                "What is ranked must be evaluations: give what `milopt evaluate --json` prints."
            ) from None
        if splits.setdefault(data, split) != split:
            (old, before, _), (new, now, _) = splits[data], split
            raise ParameterError(
                f"{data} was evaluated by {old} with seed {before} and by {new} with seed {now}, or is not the same "
                "data: models are ranked on the same splits."
            )
        if name is not None and len(rows) != 1:
            raise ParameterError(f"{name!r} names an evaluation of {len(rows)} models: a name is for one.")
        for model, value in rows:
            key = (data, name or model)
            if key in found:
                raise ParameterError(f"{key[1]} was evaluated twice on {data}: give each a name of its own.")
            if value is None:
                raise ParameterError(f"{key[1]} has no {measure} on {data}: its evaluation is not finished.")
            if isinstance(value, bool) or not isinstance(value, Real) or not isfinite(value):
                raise ParameterError(f"The {measure} of {key[1]} on {data} must be a number, not {value!r}.")
            found[key] = float(value)
    sets, models = (tuple(dict.fromkeys(key[side] for key in found)) for side in (0, 1))
    missing = [(data, model) for data in sets for model in models if (data, model) not in found]
    if missing:
        raise ParameterError(f"{missing[0][1]} was not evaluated on {missing[0][0]}: every model needs every data set.")
    values = np.array([[found[data, model] for model in models] for data in sets]).reshape(len(sets), len(models))
    return Scores(sets, models, values)


def _named(
    evaluations: Sequence[Evaluated] | Mapping[str, Sequence[Evaluated]],
) -> Iterator[tuple[str | None, Mapping[str, object]]]:
    """Each evaluation as JSON data, and the name that it was given."""
    each = evaluations.values() if isinstance(evaluations, Mapping) else [evaluations]
    if not all(isinstance(several, Iterable) for several in each):
        raise ParameterError("What is ranked must be a list of evaluations, or one such list a name.")
    if isinstance(evaluations, Mapping):
        pairs = [(name, one) for name, several in evaluations.items() for one in several]
    else:
        pairs = [(None, one) for one in evaluations]  # type: ignore[misc]  # None is a name that was not given
    for name, one in pairs:
        if not isinstance(one, (Evaluation, Mapping)):
            raise ParameterError(f"What is ranked must be evaluations, not {type(one).__name__}.")
        yield name, one.as_dict() if isinstance(one, Evaluation) else one
