"""`milopt predict`: labels and scores of new bags by a saved model, as CSV."""

from __future__ import annotations

from collections.abc import Sequence
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from milopt.cli import arguments
from milopt.cli.output import print_json
from milopt.cli.progress import show_progress
from milopt.cli.tables import OutputFormat, print_listing

if TYPE_CHECKING:
    from milopt.data.data_set import DataSet
    from milopt.estimator import BagClassifier


class DataPart(StrEnum):
    """Parts of a data set with an official split."""

    train = "train"
    test = "test"


_PredictWindowOption = Annotated[
    str | None,
    typer.Option(
        "--window",
        metavar="LENGTH",
        help="Window length: samples, a fraction of the shortest series, or none. Default: as in the fit.",
        rich_help_panel=arguments.TIME_SERIES_PANEL,
    ),
]
_PredictStrideOption = Annotated[
    int | None,
    typer.Option(
        "--stride",
        metavar="N",
        min=1,
        help="Number of samples from one window to the next. Default: as in the fit.",
        rich_help_panel=arguments.TIME_SERIES_PANEL,
    ),
]
_PredictZnormaliseOption = Annotated[
    bool | None,
    typer.Option(
        "--znormalise/--no-znormalise",
        help="Scale each window to mean 0 and standard deviation 1. Default: as in the fit.",
        show_default=False,
        rich_help_panel=arguments.TIME_SERIES_PANEL,
    ),
]


def predict(
    file: Annotated[Path, typer.Argument(metavar="FILE", help="Model file that `milopt fit --save` wrote.")],
    data: arguments.DataArgument,
    instances: Annotated[bool, typer.Option("--instances", help="Print scores of instances instead of bags.")] = False,
    part: Annotated[
        DataPart | None,
        typer.Option(help="Which part of a data set with an official split (default: test).", show_default=False),
    ] = None,
    model_class: Annotated[
        str | None,
        typer.Option("--model", "-m", metavar="NAME", help="Class of a model of your own: path/file.py:Class."),
    ] = None,
    window: _PredictWindowOption = None,
    stride: _PredictStrideOption = None,
    znormalise: _PredictZnormaliseOption = None,
    dask: Annotated[
        str | None, typer.Option(metavar="ADDRESS", help="Address of a Dask scheduler that scores blocks of bags.")
    ] = None,
    bag: arguments.BagColumnOption = "bag",
    label: arguments.LabelColumnOption = "label",
    features: arguments.FeatureColumnsOption = None,
    data_dir: arguments.DataDirOption = None,
    as_json: arguments.JsonOption = False,
    table_format: arguments.TableFormatOption = OutputFormat.csv,
) -> None:
    """Label bags with a saved model; print bag, predicted label and score.

    With two classes, a positive score means the positive class, which the last column of the output names.
    """
    from milopt.estimator import load_model
    from milopt.model_registry import get_model

    with show_progress(f"reading {file}"):
        model = load_model(file, None if model_class is None else get_model(model_class))
    columns = arguments.TableColumnNames(bag, label, features)
    data_set = _choose_data_part(_read_data_set(model, data, (window, stride, znormalise), data_dir, columns), part)
    with show_progress(f"predicting {len(data_set.bags)} bags"):
        rows = (_instance_rows if instances else _bag_rows)(model, data_set, dask)
    if as_json:
        key = "instances" if instances else "bags"
        header = {"model": str(file), "data": data_set.name, "classes": model.classes_}
        print_json({**header, "positive_label": model.positive_label_, key: rows})
        return
    positive = {} if model.positive_label_ is None else {"positive_label": model.positive_label_}
    labelled = [row | positive for row in rows]
    numeric = [name for name, value in labelled[0].items() if isinstance(value, (int, float))]
    cells = [
        tuple(f"{value:.6g}" if isinstance(value, float) else str(value) for value in row.values()) for row in labelled
    ]
    print_listing(tuple(labelled[0]), cells, [], table_format, numeric, values=labelled)


def _read_data_set(
    model: BagClassifier,
    data: str,
    requested: tuple[str | None, int | None, bool | None],
    data_dir: Path | None,
    columns: arguments.TableColumnNames,
) -> DataSet:
    """Read data with or without labels, with the features in the order of the model.

    Time series are cut into the same windows as in the fit. `requested` has the options --window, --stride and
    --znormalise, None if they are not given; raise ParameterError if they give other windows than in the fit.
    """
    from milopt.data.formats import FORMATS_OF_UNKNOWN_WIDTH, format_ending
    from milopt.data.windows import Windows, WindowSettings
    from milopt.errors import ParameterError

    window, stride, znormalise = requested
    fitted = model.windows_in_
    length = "0.2" if fitted is None else "none" if fitted.length == 1 else str(fitted.length)
    default = fitted or WindowSettings(0, 1, False)
    data_set = arguments.read_data(
        data,
        window or length,
        stride or default.stride,
        default.znormalise if znormalise is None else znormalise,
        data_dir,
        columns,
        labelled=False,
    )
    if fitted and isinstance(data_set.bags, Windows) and data_set.bags.window_settings != fitted:
        raise ParameterError(
            f"The model was fitted on {fitted}, but these are {data_set.bags.window_settings}: leave out --window, "
            "--stride and --znormalise."
        )
    names = getattr(model, "feature_names_in_", None)
    data_set = data_set.select_features(None if names is None else names.tolist())
    return (
        data_set.pad_features(model.n_features_in_)
        if format_ending(data_set.source) in FORMATS_OF_UNKNOWN_WIDTH
        else data_set
    )


def _choose_data_part(data: DataSet, part: DataPart | None) -> DataSet:
    """Return the requested part of a data set; by default its test part if it has one."""
    from milopt.errors import ParameterError

    if data.test is None:
        if part is DataPart.test:
            raise ParameterError(f"{data.name} has no test part: leave out --part.")
        return data
    return data if part is DataPart.train else data.test


def _bag_rows(model: BagClassifier, data: DataSet, dask: str | None) -> list[dict[str, object]]:
    """Return one row per bag: name, predicted label and score."""
    from milopt.evaluation.prediction import score_bags

    scores = score_bags(model, data.bags, dask=dask)
    return [
        {"bag": bag, "predicted": label, **_score_columns("score", score, model)}
        for bag, label, score in zip(data.ids, model.labels(scores).tolist(), scores.tolist(), strict=True)
    ]


def _instance_rows(model: BagClassifier, data: DataSet, dask: str | None) -> list[dict[str, object]]:
    """Return one row per instance: name of the bag, index of the instance in the bag, and score."""
    from milopt.evaluation.prediction import score_instances

    return [
        {"bag": bag, "instance": k, **_score_columns("score", score, model)}
        for bag, scores in zip(data.ids, score_instances(model, data.bags, dask=dask), strict=True)
        for k, score in enumerate(scores.tolist())
    ]


def _score_columns(name: str, score: float | Sequence[float], model: BagClassifier) -> dict[str, object]:
    """Return the score of the positive class by its column name; for more than two classes, one score per class."""
    if isinstance(score, float):
        return {name: score if model.positive_label_ == model.classes_[1] else -score}
    return {f"{name}_{label}": value for label, value in zip(model.classes_.tolist(), score, strict=True)}
