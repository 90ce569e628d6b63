"""`milopt rank`: models over several data sets, their mean ranks, and which differences are more than chance."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from milopt.cli import arguments as given
from milopt.cli.output import print_json

if TYPE_CHECKING:
    from milopt.evaluation.ranking import Ranking


def rank(
    files: Annotated[
        list[str],
        typer.Argument(
            metavar="[NAME=]FILE...",
            help="What `milopt evaluate --json` printed; NAME is another name for the one model of its file.",
        ),
    ],
    control: Annotated[
        str | None, typer.Option(metavar="MODEL", help="Test all others against it; without one, all pairs.")
    ] = None,
    measure: Annotated[str, typer.Option(metavar="NAME", help="accuracy, balanced_accuracy or auc.")] = "accuracy",
    alpha: Annotated[float, typer.Option(metavar="X", help="The level of the tests.")] = 0.05,
    plot: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Draw the critical-difference diagram to a picture.")
    ] = None,
    as_json: given.Json = False,
) -> None:
    """Rank models over data sets: Friedman's test, Bonferroni-Dunn against a control, critical differences."""
    from milopt.evaluation.ranking import rank as ranked
    from milopt.files import check_place
    from milopt.inspection.sparsity import check_picture

    if plot is not None:
        check_picture(plot)
        check_place(plot, "The picture")
    found = ranked([_read(text) for text in files], control=control, measure=measure, alpha=alpha)
    if plot is not None:
        _draw(found, plot)
    if as_json:
        print_json(found.as_dict())
    else:
        typer.echo(str(found))


def _read(text: str) -> dict[str, Any]:
    """The evaluation that a file holds, its one model called as the text says."""
    import json

    from milopt.errors import DataError, ParameterError

    name, equals, path = text.rpartition("=")
    if equals and Path(text).exists():
        name, path = "", text
    try:
        plain = json.loads(Path(path).read_text(encoding="utf-8"))
    except OSError as error:
        raise DataError(f"{path} cannot be read: {error.strerror}.") from None
    except ValueError:
        raise DataError(f"{path} is no JSON: give what `milopt evaluate --json` printed.") from None
    if not isinstance(plain, dict):
        raise DataError(f"{path} is no evaluation: give what `milopt evaluate --json` printed.")
    if not name:
        return plain
    table = plain.get("table")
    if not isinstance(table, list) or len(table) != 1 or not isinstance(table[0], dict):
        raise ParameterError(f"{path} is no evaluation of one model, and so cannot be called {name!r}.")
    return {**plain, "table": [{**table[0], "model": name}]}


def _draw(found: Ranking, path: Path) -> None:
    from matplotlib.figure import Figure

    from milopt.display.critical_difference import CriticalDifferenceDisplay
    from milopt.files import write_whole

    figure = Figure(figsize=(7.2, 1.4 + 0.28 * len(found.models)), layout="constrained")
    CriticalDifferenceDisplay.from_ranking(found, ax=figure.add_subplot())
    write_whole(path, lambda beside: figure.savefig(beside, dpi=150))
