"""`milopt rank`: mean ranks of models over several data sets, with significance tests."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from milopt.cli import arguments
from milopt.cli.output import print_json, recorded_command
from milopt.cli.pictures import check_picture, write_picture
from milopt.cli.tables import OutputFormat, print_result

if TYPE_CHECKING:
    from milopt.evaluation.ranking import Ranking


def rank(
    files: Annotated[
        list[str],
        typer.Argument(
            metavar="[NAME=]FILE...",
            help="Output of `milopt evaluate --json`; NAME replaces the name of the model if the file has one model.",
        ),
    ],
    control: Annotated[
        str | None,
        typer.Option(
            metavar="MODEL", help="Model that all others are tested against; by default, all pairs are tested."
        ),
    ] = None,
    measure: Annotated[
        str, typer.Option(metavar="NAME", help="Measure: accuracy, balanced_accuracy or auc.")
    ] = "accuracy",
    alpha: Annotated[float, typer.Option(metavar="X", help="Significance level of the tests.")] = 0.05,
    plot: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Plot the critical-difference diagram to an image file.")
    ] = None,
    as_json: arguments.JsonOption = False,
    table_format: arguments.TableFormatOption = OutputFormat.text,
) -> None:
    """Rank models over several data sets: Friedman test, Bonferroni-Dunn test, critical differences."""
    from milopt.evaluation.ranking import rank as rank_models

    check_picture(plot)
    evaluations = [evaluation for text in files for evaluation in _read_evaluations(text)]
    ranking = rank_models(evaluations, control=control, measure=measure, alpha=alpha)
    if plot is not None:
        _plot_ranks(ranking, plot)
    if as_json:
        print_json(ranking.as_dict() | {"command": recorded_command()})
    else:
        print_result(str(ranking), ranking.table(), ranking.rows(), ranking.conclusions(), table_format)


def _read_evaluations(text: str) -> list[dict[str, Any]]:
    """Read the evaluations in the JSON file of `[NAME=]FILE`, one per data set.

    NAME replaces the name of the model in the file, of which there must be only one.
    """
    import json

    from milopt.errors import DataError

    name, equals, path = text.rpartition("=")
    if equals and Path(text).exists():
        name, path = "", text
    try:
        evaluation = json.loads(Path(path).read_text(encoding="utf-8"))
    except OSError as error:
        raise DataError(f"{path} cannot be read: {error.strerror}.") from None
    except ValueError:
        raise DataError(f"{path} is not JSON: give the output of `milopt evaluate --json`.") from None
    if not isinstance(evaluation, dict):
        raise DataError(f"{path} is not an evaluation: give the output of `milopt evaluate --json`.")
    # The output for several data sets has one evaluation per data set.
    evaluations = evaluation.get("evaluations", [evaluation])
    if not isinstance(evaluations, list) or not all(isinstance(each, dict) for each in evaluations):
        raise DataError(f"{path} is not an evaluation: give the output of `milopt evaluate --json`.")
    return [_rename_model(each, name, path) if name else each for each in evaluations]


def _rename_model(evaluation: dict[str, Any], name: str, path: str) -> dict[str, Any]:
    """Return an evaluation of one model with another name for it; `path` is the name of its file in the message."""
    from milopt.errors import ParameterError

    table = evaluation.get("table")
    if not isinstance(table, list) or len(table) != 1 or not isinstance(table[0], dict):
        raise ParameterError(f"{path} does not contain exactly one model, so the name {name!r} cannot be used.")
    return {**evaluation, "table": [{**table[0], "model": name}]}


def _plot_ranks(ranking: Ranking, path: Path) -> None:
    """Plot the critical-difference diagram to an image file."""
    from milopt.display.critical_difference import CriticalDifferenceDisplay

    display = CriticalDifferenceDisplay(ranking)
    write_picture(path, *display.figure_size(), display.plot)
