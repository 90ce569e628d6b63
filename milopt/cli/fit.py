"""`milopt fit`: fit one model with one solver to one data set."""

from __future__ import annotations

from itertools import count
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from milopt.cli import arguments
from milopt.cli.failures import INTERRUPTED_EXIT_CODE
from milopt.cli.output import print_json, recorded_command
from milopt.cli.pictures import check_picture, write_picture
from milopt.cli.progress import show_progress
from milopt.cli.tables import OutputFormat, print_listing

if TYPE_CHECKING:
    from milopt.data.data_set import DataSet
    from milopt.estimator.report import Report
    from milopt.outcome.result import Result, Step


def fit(
    data: arguments.DataArgument,
    model: arguments.ModelOption,
    solver: arguments.SolverOption = "auto",
    settings: arguments.SettingsOption = None,
    scheme: Annotated[
        str | None,
        typer.Option(
            metavar="NAME",
            help="Algorithm that solves the program (see `milopt schemes`), such as ccp, representatives or exact.",
            autocompletion=arguments.complete_scheme,
        ),
    ] = None,
    time_limit: arguments.TimeLimitOption = None,
    tolerance: arguments.ToleranceOption = 1e-6,
    threads: arguments.ThreadsOption = 1,
    save: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Save the fitted model, for `milopt predict`.")
    ] = None,
    plot: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Plot the objective and its bounds by step to an image file.")
    ] = None,
    verbose: Annotated[
        bool,
        typer.Option("--verbose", "-v", help="Print objective, bound, gap and residual of every step to stderr."),
    ] = False,
    positive: arguments.PositiveOption = None,
    seed: arguments.SeedOption = 0,
    window: arguments.WindowOption = "0.2",
    stride: arguments.StrideOption = 1,
    znormalise: arguments.ZnormaliseOption = False,
    bag: arguments.BagColumnOption = "bag",
    label: arguments.LabelColumnOption = "label",
    features: arguments.FeatureColumnsOption = None,
    data_dir: arguments.DataDirOption = None,
    as_json: arguments.JsonOption = False,
    table_format: arguments.TableFormatOption = OutputFormat.text,
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
    data_set = arguments.read_data(
        data, window, stride, znormalise, data_dir, arguments.TableColumnNames(bag, label, features)
    )
    if positive is not None:
        estimator.set_params(positive=arguments.parse_label(positive, data_set))
    if verbose:
        estimator.set_params(verbose=True).fit(data_set.bags, data_set.labels)
    else:
        activity = f"fitting {model} to {data_set.name}"
        with show_progress(activity) as line:
            steps = count(1)
            estimator.fit(
                data_set.bags,
                data_set.labels,
                on_step=lambda step: line.update(f"{activity}: step {next(steps)}, {format_step(step)}"),
            )
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
        notes = []
        if test is not None and data_set.test is not None:
            notes.append(f"accuracy on the test part, {len(data_set.test.bags)} bags: {test:.4f}")
        print_report(report, notes, table_format)
    if code := _exit_code(estimator.results_):
        raise typer.Exit(code)


def format_step(step: Step) -> str:
    """Return objective and gap of a step as text."""
    from milopt.schemes.step_progress import relative_gap

    gap = relative_gap(step)
    return f"objective {step.objective:.6g}" + ("" if gap is None else f", gap {gap:.1e}")


def print_report(report: Report, notes: list[str], table_format: OutputFormat) -> None:
    """Print the report of a fit, as text or as a table with one row per entry, and the notes below it."""
    if table_format is OutputFormat.text:
        typer.echo("\n".join([str(report), *notes]))
    else:
        entries = [(name.strip(), text) for name, text in report.entries()]
        print_listing(("entry", "value"), entries, notes, table_format, values=report.rows())


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
