"""`milopt evaluate`: accuracy by nested cross-validation; each fold selects hyper-parameters on its training bags."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Annotated

import typer

from milopt.cli import arguments
from milopt.cli.output import print_json
from milopt.cli.pictures import check_picture, write_picture
from milopt.cli.progress import show_progress


def evaluate(
    data: arguments.Data,
    models: Annotated[
        list[str],
        typer.Option(
            "--model",
            "-m",
            metavar="A,B",
            help="Models (see `milopt models`), separated by commas. May be given several times.",
            autocompletion=arguments.complete_model,
        ),
    ],
    protocol: Annotated[
        str,
        typer.Option(
            metavar="PROTOCOL", help="Splits: 10-fold, 10x10 (repeats x folds), 20x80/20, train/test or 5xtrain/test."
        ),
    ] = "1x10",
    solver: arguments.Solver = "auto",
    settings: Annotated[
        list[str] | None,
        typer.Option(
            "--set",
            metavar="NAME=VALUE",
            help="Hyper-parameter with a fixed value, such as C=10; the others are selected from the model's grid. "
            "May be given several times.",
        ),
    ] = None,
    grid: Annotated[
        list[str] | None,
        typer.Option(
            "--grid",
            metavar="NAME=A,B",
            help="Candidates instead of the model's grid, such as C=0.1,1,10. May be given several times.",
        ),
    ] = None,
    inner_repeats: Annotated[
        int,
        typer.Option(
            "--inner-repeats", metavar="N", min=1, help="Number of repetitions of the inner 5-fold cross-validation."
        ),
    ] = 1,
    jobs: arguments.Jobs = 1,
    dask: Annotated[
        str | None, typer.Option(metavar="ADDRESS", help="Address of a Dask scheduler that runs the tasks.")
    ] = None,
    store: Annotated[
        Path, typer.Option(metavar="DIR", help="Directory for finished tasks; rerun the command to resume.")
    ] = Path("milopt-results"),
    no_store: Annotated[bool, typer.Option("--no-store", help="Do not store finished tasks.")] = False,
    positive: arguments.Positive = None,
    seed: arguments.Seed = 0,
    window: arguments.Window = "0.2",
    stride: arguments.Stride = 1,
    znormalise: arguments.Znormalise = False,
    data_dir: arguments.DataDir = None,
    plot: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Plot the accuracy of every fold to an image file.")
    ] = None,
    as_json: arguments.Json = False,
) -> None:
    """Estimate accuracy by nested cross-validation (resumable; processes or Dask)."""
    from milopt.errors import ParameterError
    from milopt.evaluation.evaluate import evaluate as evaluate_models
    from milopt.model_registry import get_model, parse_grid, parse_settings

    check_picture(plot)
    names = arguments.split_names(",".join(models))
    classes = [get_model(name) for name in names]
    arguments.check_solvers_installed(solver)
    # Parse for every model, because every model must have these hyper-parameters. The parsed values are the same for
    # all models, so those of the first model are used.
    fixed, *_ = [parse_settings(cls, settings or ()) for cls in classes]
    candidates, *_ = [parse_grid(cls, grid or ()) for cls in classes]
    if "positive" in {*fixed, *candidates}:
        raise ParameterError('"positive" is set neither by --set nor by --grid: use --positive.')
    data_set = arguments.read_data(data, window, stride, znormalise, data_dir)
    if positive is not None:
        fixed["positive"] = arguments.parse_label(positive, data_set)
    with show_progress(f"evaluating on {data_set.name}", total=0) as line:
        result = evaluate_models(
            data_set,
            names,
            protocol,
            seed=seed,
            solver=arguments.parse_solver(solver),
            grid=candidates or None,
            settings=fixed or None,
            inner_repeats=inner_repeats,
            n_jobs=jobs,
            dask=dask,
            store=None if no_store else store,
            progress=lambda done, total, outcome: line.update(done=done, total=total),
        )
    reading = arguments.format_reading_options(window, stride, znormalise, data_dir)
    if result.command and reading:
        result = replace(result, command=f"{result.command} {reading}")
    if as_json:
        print_json(result.as_dict())
    else:
        typer.echo(str(result))
    if plot is not None:
        from milopt.display.accuracy_strips import AccuracyStripsDisplay

        rows = len(result.table)
        write_picture(plot, 6.4, 0.9 + 0.42 * rows, lambda axes: AccuracyStripsDisplay.from_report(result, ax=axes))
    if result.exit_code:
        raise typer.Exit(result.exit_code)
