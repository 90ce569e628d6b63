"""`milopt predict`: a fitted model's labels and scores for new bags, as CSV."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from milopt.cli import arguments as given
from milopt.cli.output import print_json
from milopt.cli.progress import progress

if TYPE_CHECKING:
    from milopt.data.data_set import DataSet
    from milopt.estimator import BagClassifier


class Part(StrEnum):
    """Which bags of a data set that comes in two parts."""

    train = "train"
    test = "test"


_Window = Annotated[
    str | None,
    typer.Option(
        "--window",
        metavar="LENGTH",
        help="Samples, a fraction of the shortest series, or none; as the model was fitted by default.",
        rich_help_panel=given.SERIES,
    ),
]
_Stride = Annotated[
    int | None,
    typer.Option(
        "--stride", metavar="N", min=1, help="As the model was fitted by default.", rich_help_panel=given.SERIES
    ),
]
_Znormalise = Annotated[
    bool | None,
    typer.Option(
        "--znormalise/--no-znormalise",
        help="As the model was fitted by default.",
        show_default=False,
        rich_help_panel=given.SERIES,
    ),
]


def predict(
    file: Annotated[Path, typer.Argument(metavar="FILE", help="A model that `milopt fit --save` wrote.")],
    data: given.Data,
    instances: Annotated[bool, typer.Option("--instances", help="Scores of single instances instead of bags.")] = False,
    part: Annotated[
        Part | None,
        typer.Option(help="Of data with an official split; the test part by default.", show_default=False),
    ] = None,
    own: Annotated[
        str | None,
        typer.Option(
            "--model", "-m", metavar="NAME", help="The class, path/file.py:Class, where the model is one of your own."
        ),
    ] = None,
    window: _Window = None,
    stride: _Stride = None,
    znormalise: _Znormalise = None,
    data_dir: given.DataDir = None,
    as_json: given.Json = False,
) -> None:
    """Label bags with a fitted model: CSV with the bag, its predicted label and its score.

    Of two classes, positive scores speak for the positive class, which is the last column.
    """
    from milopt.estimator import load_model
    from milopt.model_registry import get_model

    with progress(f"reading {file}"):
        model = load_model(file, None if own is None else get_model(own))
    found = _chosen(_read(model, data, (window, stride, znormalise), data_dir), part)
    with progress(f"predicting {len(found.bags)} bags"):
        rows = _instance_rows(model, found) if instances else _bag_rows(model, found)
    if as_json:
        key = "instances" if instances else "bags"
        about = {"model": str(file), "data": found.name, "classes": model.classes_}
        print_json({**about, "positive_label": model.positive_label_, key: rows})
        return
    named = {} if model.positive_label_ is None else {"positive_label": model.positive_label_}
    _print_csv(row | named for row in rows)


def _read(
    model: BagClassifier, data: str, asked: tuple[str | None, int | None, bool | None], data_dir: Path | None
) -> DataSet:
    """The data, labelled or not, with the features of the model.

    Series are cut as those were that it was fitted on, and asking otherwise is a mistake.
    """
    from milopt.data.formats import OPEN_ENDED, ending
    from milopt.data.windows import Cut, Windows
    from milopt.errors import ParameterError

    window, stride, znormalise = asked
    kept = model.windows_in_
    fitted = "0.2" if kept is None else "none" if kept.length == 1 else str(kept.length)
    usual = kept or Cut(0, 1, False)
    found = given.read_data(
        data,
        window or fitted,
        stride or usual.stride,
        usual.znormalise if znormalise is None else znormalise,
        data_dir,
        labelled=False,
    )
    if kept and isinstance(found.bags, Windows) and found.bags.cut != kept:
        raise ParameterError(
            f"The model was fitted on {kept}, but these are {found.bags.cut}: leave --window, --stride and "
            "--znormalise away."
        )
    names = getattr(model, "feature_names_in_", None)
    found = found.arranged(None if names is None else names.tolist())
    return found.padded(model.n_features_in_) if ending(found.source) in OPEN_ENDED else found


def _chosen(data: DataSet, part: Part | None) -> DataSet:
    from milopt.errors import ParameterError

    if data.test is None:
        if part is Part.test:
            raise ParameterError(f"{data.name} has no test part: leave --part away.")
        return data
    return data if part is Part.train else data.test


def _bag_rows(model: BagClassifier, data: DataSet) -> list[dict[str, object]]:
    labels, scores = model.predict(data.bags).tolist(), model.decision_function(data.bags)
    return [
        {"bag": bag, "predicted": label, **_named("score", score, model)}
        for bag, label, score in zip(data.ids, labels, scores.tolist(), strict=True)
    ]


def _instance_rows(model: BagClassifier, data: DataSet) -> list[dict[str, object]]:
    return [
        {"bag": bag, "instance": k, **_named("score", score, model)}
        for bag, scores in zip(data.ids, model.instance_scores(data.bags), strict=True)
        for k, score in enumerate(scores.tolist())
    ]


def _named(name: str, score: float | Sequence[float], model: BagClassifier) -> dict[str, object]:
    """Name one score, which speaks for the positive class, or one score per class if there are more than two."""
    if isinstance(score, float):
        return {name: score if model.positive_label_ == model.classes_[1] else -score}
    return {f"{name}_{label}": value for label, value in zip(model.classes_.tolist(), score, strict=True)}


def _print_csv(rows: Iterable[dict[str, object]]) -> None:
    import csv
    import sys

    writer: csv.DictWriter[str] | None = None
    for row in rows:
        if writer is None:
            writer = csv.DictWriter(sys.stdout, list(row), lineterminator="\n")
            writer.writeheader()
        writer.writerow(row)
