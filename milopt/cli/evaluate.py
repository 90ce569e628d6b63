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
from milopt.cli.tables import OutputFormat, print_result


def evaluate(
    data: Annotated[
        list[str],
        typer.Argument(
            metavar="DATA...",
            help="Data sets: names (see `milopt data`) or files: .csv, .svm, .ts, .arff, .mat, .npz.",
            autocompletion=arguments.complete_data,
        ),
    ],
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
    solver: arguments.SolverOption = "auto",
    settings: Annotated[
        list[str] | None,
        typer.Option(
            "--set",
            metavar="NAME=VALUE",
            help="Hyper-parameter with a fixed value, such as C=10, of all models that have it; the others are "
            "selected from the model's grid. May be given several times.",
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
    jobs: arguments.JobsOption = 1,
    dask: Annotated[
        str | None, typer.Option(metavar="ADDRESS", help="Address of a Dask scheduler that runs the tasks.")
    ] = None,
    store: Annotated[
        Path, typer.Option(metavar="DIR", help="Directory for finished tasks; rerun the command to resume.")
    ] = Path("milopt-results"),
    no_store: Annotated[bool, typer.Option("--no-store", help="Do not store finished tasks.")] = False,
    positive: arguments.PositiveOption = None,
    seed: arguments.SeedOption = 0,
    window: arguments.WindowOption = "0.2",
    stride: arguments.StrideOption = 1,
    znormalise: arguments.ZnormaliseOption = False,
    bag: arguments.BagColumnOption = "bag",
    label: arguments.LabelColumnOption = "label",
    features: arguments.FeatureColumnsOption = None,
    data_dir: arguments.DataDirOption = None,
    plot: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Plot the accuracy of every fold to an image file, by data set.")
    ] = None,
    wide: Annotated[
        bool,
        typer.Option(
            "--wide", help="Print accuracies only: one row per data set, one column per model, the best in bold."
        ),
    ] = False,
    as_json: arguments.JsonOption = False,
    table_format: arguments.TableFormatOption = OutputFormat.text,
) -> None:
    """Estimate accuracy by nested cross-validation (resumable; processes or Dask)."""
    from milopt.errors import ParameterError
    from milopt.evaluation.evaluate import evaluate as evaluate_models
    from milopt.evaluation.wide_table import BOLD_NOTE
    from milopt.model_registry import get_model, parse_grid

    check_picture(plot)
    names = arguments.split_names(",".join(models))
    classes = [get_model(name) for name in names]
    arguments.check_solvers_installed(solver)
    fixed = arguments.parse_common_settings(classes, settings or ())
    # Parse for every model, because every model must have these hyper-parameters. The parsed values are the same for
    # all models, so those of the first model are used.
    candidates, *_ = [parse_grid(cls, grid or ()) for cls in classes]
    if "positive" in {*fixed, *candidates}:
        raise ParameterError('"positive" is set neither by --set nor by --grid: use --positive.')
    columns = arguments.TableColumnNames(bag, label, features)
    data_sets = [arguments.read_data(each, window, stride, znormalise, data_dir, columns) for each in data]
    if positive is not None:
        fixed["positive"] = arguments.parse_label(positive, data_sets[0])
    with show_progress(f"evaluating on {', '.join(each.name for each in data_sets)}", total=0, unit="fits") as line:
        evaluations = evaluate_models(
            data_sets,
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
            on_fit=lambda done, total: line.update(done=done, total=total),
        )
    reading = arguments.format_reading_options(window, stride, znormalise, data_dir, columns)
    if evaluations.command and reading:
        evaluations = evaluations.with_command(f"{evaluations.command} {reading}")
    # One data set has the output of a single evaluation, without a column for the data set.
    result = evaluations if len(data_sets) > 1 else replace(evaluations[0], command=evaluations.command)
    if as_json:
        print_json(result.as_dict())
    elif wide:
        shown = evaluations.with_command(f"{evaluations.command} --wide") if evaluations.command else evaluations
        table, notes = shown.accuracy_table(), [BOLD_NOTE, *shown.remarks()]
        print_result("\n".join([str(table), *notes]), table, shown.accuracy_rows(), notes, table_format)
    else:
        print_result(str(result), result.summary_table(), result.rows(), result.remarks(), table_format)
    if plot is not None:
        from milopt.display.accuracy_strips import AccuracyStripsDisplay, figure_size

        size = figure_size(len(evaluations), len(names))
        write_picture(plot, *size, lambda axes: AccuracyStripsDisplay.from_report(evaluations, ax=axes))
    if result.exit_code:
        raise typer.Exit(result.exit_code)
