"""`milopt fit`: fit one model with one solver to one data set."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from milopt.cli import arguments
from milopt.cli.failures import INTERRUPTED_EXIT_CODE
from milopt.cli.output import print_json, recorded_command
from milopt.cli.pictures import check_picture, write_picture
from milopt.cli.progress import show_progress

if TYPE_CHECKING:
    from milopt.data.data_set import DataSet
    from milopt.outcome.result import Result


def fit(
    data: arguments.Data,
    model: arguments.Model,
    solver: arguments.Solver = "auto",
    settings: arguments.Settings = None,
    scheme: Annotated[
        str | None,
        typer.Option(
            metavar="NAME",
            help="Algorithm that solves the program (see `milopt schemes`), such as ccp, representatives or exact.",
            autocompletion=arguments.complete_scheme,
        ),
    ] = None,
    time_limit: arguments.TimeLimit = None,
    tolerance: arguments.Tolerance = 1e-6,
    threads: arguments.Threads = 1,
    save: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Save the fitted model, for `milopt predict`.")
    ] = None,
    plot: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Plot the objective and its bounds by step to an image file.")
    ] = None,
    positive: arguments.Positive = None,
    seed: arguments.Seed = 0,
    window: arguments.Window = "0.2",
    stride: arguments.Stride = 1,
    znormalise: arguments.Znormalise = False,
    data_dir: arguments.DataDir = None,
    as_json: arguments.Json = False,
) -> None:
    """Fit a model and print a report; save it with --save."""
    import numpy as np

    from milopt.archive import check_model_writable
    from milopt.solving.options import Options

    if save is not None:
        check_model_writable(save)
    check_picture(plot)
    requested = Options(time_limit=time_limit, tolerance=tolerance, threads=threads)
    options = None if requested == Options() else requested
    estimator = arguments.make_estimator(model, settings, solver=solver, scheme=scheme, options=options, seed=seed)
    data_set = arguments.read_data(data, window, stride, znormalise, data_dir)
    if positive is not None:
        estimator.set_params(positive=arguments.parse_label(positive, data_set))
    with show_progress(f"fitting {model} to {data_set.name}"):
        estimator.fit(data_set.bags, data_set.labels)
    if data_set.features is not None:
        # Bags have no feature names, so those of the data set are stored as in scikit-learn, for `milopt predict`.
        vars(estimator)["feature_names_in_"] = np.array(data_set.features, dtype=object)
    if save is not None:
        estimator.save(save)
    if plot is not None:
        from milopt.display.convergence import ConvergenceDisplay

        write_picture(plot, 6.4, 3.4, lambda axes: ConvergenceDisplay.from_estimator(estimator, ax=axes))
    report = estimator.report()
    test = None if data_set.test is None else float(estimator.score(data_set.test.bags, data_set.test.labels))
    if as_json:
        content = report.as_dict()
        print_json(
            {**content, "data": {**describe_source(data_set), **content["data"]}, "test_accuracy": test, "saved": save}
            | {"command": recorded_command()}
        )
    else:
        typer.echo(str(report))
        if test is not None and data_set.test is not None:
            typer.echo(f"accuracy on the test part, {len(data_set.test.bags)} bags: {test:.4f}")
    if code := _exit_code(estimator.results_):
        raise typer.Exit(code)


def describe_source(data: DataSet) -> dict[str, object]:
    """Return name, source, hash and number of test bags of a data set as JSON data."""
    return {
        "name": data.name,
        "source": data.source,
        "digest": data.digest,
        "test_bags": None if data.test is None else len(data.test.bags),
    }


def _exit_code(results: tuple[Result, ...]) -> int:
    """Return 130 if Ctrl-C ended a fit that is not successful, otherwise the largest exit code of the results."""
    if any("Interrupted" in result.message and result.exit_code for result in results):
        return INTERRUPTED_EXIT_CODE
    return max(result.exit_code for result in results)
