"""`milopt evaluate`: honest accuracy, hyper-parameters chosen inside the training part of each fold."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Annotated

import typer

from milopt.cli import arguments as given
from milopt.cli.output import print_json
from milopt.cli.progress import progress


def evaluate(
    data: given.Data,
    models: Annotated[
        list[str],
        typer.Option(
            "--model",
            "-m",
            metavar="A,B",
            help="Models (see `milopt models`), separated by commas; repeat.",
            autocompletion=given.complete_model,
        ),
    ],
    protocol: Annotated[
        str,
        typer.Option(metavar="PROTOCOL", help="10-fold, 10x10 (repeats x folds), 20x80/20, train/test, 5xtrain/test."),
    ] = "1x10",
    solver: given.Solver = "auto",
    settings: Annotated[
        list[str] | None,
        typer.Option(
            "--set",
            metavar="NAME=VALUE",
            help="A hyper-parameter to fix, such as C=10; the others of the model's own grid are chosen; repeat.",
        ),
    ] = None,
    grid: Annotated[
        list[str] | None,
        typer.Option(
            "--grid", metavar="NAME=A,B", help="Candidates instead of the model's own grid, as C=0.1,1,10; repeat."
        ),
    ] = None,
    inner_repeats: Annotated[
        int, typer.Option("--inner-repeats", metavar="N", min=1, help="How often the inner 5 folds are drawn.")
    ] = 1,
    jobs: given.Jobs = 1,
    dask: Annotated[
        str | None, typer.Option(metavar="ADDRESS", help="Of a Dask scheduler that gets the tasks.")
    ] = None,
    store: Annotated[
        Path, typer.Option(metavar="DIR", help="Keeps every finished task, so that the same command goes on.")
    ] = Path("milopt-results"),
    no_store: Annotated[bool, typer.Option("--no-store", help="Keep nothing.")] = False,
    positive: given.Positive = None,
    seed: given.Seed = 0,
    window: given.Window = "0.2",
    stride: given.Stride = 1,
    znormalise: given.Znormalise = False,
    data_dir: given.DataDir = None,
    as_json: given.Json = False,
) -> None:
    """Estimate accuracy honestly: nested cross-validation, resumable, in processes or on a Dask cluster."""
    from milopt.errors import ParameterError
    from milopt.evaluation.evaluate import evaluate as evaluated
    from milopt.model_registry import get_model, parse_grid, parse_settings

    names = given.names_of(",".join(models))
    classes = [get_model(name) for name in names]
    given.check_solvers(solver)
    # Every model must have the field, so that all are asked; what a text means is the same for all of them.
    fixed, *_ = [parse_settings(cls, settings or ()) for cls in classes]
    candidates, *_ = [parse_grid(cls, grid or ()) for cls in classes]
    if "positive" in {*fixed, *candidates}:
        raise ParameterError('"positive" is set neither by --set nor by --grid: it has an option of its own.')
    found = given.read_data(data, window, stride, znormalise, data_dir)
    if positive is not None:
        fixed["positive"] = given.label_of(positive, found)
    with progress(f"evaluating on {found.name}", total=0) as shown:
        result = evaluated(
            found,
            names,
            protocol,
            seed=seed,
            solver=given.solver_choice(solver),
            grid=candidates or None,
            settings=fixed or None,
            inner_repeats=inner_repeats,
            n_jobs=jobs,
            dask=dask,
            store=None if no_store else store,
            progress=lambda done, total, outcome: shown.update(done=done, total=total),
        )
    cut = given.reading_words(window, stride, znormalise, data_dir)
    if result.command and cut:
        result = replace(result, command=f"{result.command} {cut}")
    if as_json:
        print_json(result.as_dict())
    else:
        typer.echo(str(result))
    if result.exit_code:
        raise typer.Exit(result.exit_code)
