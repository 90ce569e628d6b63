"""`milopt fit`: one model, one solver, one data set; the proof, and a file to predict with."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from milopt.cli import arguments as given
from milopt.cli.failures import INTERRUPTED
from milopt.cli.output import print_json
from milopt.cli.progress import progress

if TYPE_CHECKING:
    from milopt.data.data_set import DataSet
    from milopt.estimator.classifier import BagClassifier
    from milopt.outcome.result import Result


def fit(
    data: given.Data,
    model: given.Model,
    solver: given.Solver = "auto",
    settings: given.Settings = None,
    scheme: Annotated[
        str | None,
        typer.Option(
            metavar="NAME",
            help="How the program is solved (see `milopt schemes`), such as ccp, representatives or exact.",
            autocompletion=given.complete_scheme,
        ),
    ] = None,
    time_limit: given.TimeLimit = None,
    tolerance: given.Tolerance = 1e-6,
    threads: given.Threads = 1,
    save: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Write the fitted model, for `milopt predict`.")
    ] = None,
    plot: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Draw the objective and its bounds, step by step, to a picture.")
    ] = None,
    positive: given.Positive = None,
    seed: given.Seed = 0,
    window: given.Window = "0.2",
    stride: given.Stride = 1,
    znormalise: given.Znormalise = False,
    data_dir: given.DataDir = None,
    as_json: given.Json = False,
) -> None:
    """Fit a model: status, objective, certificate, seconds, accuracy; and a file to predict with."""
    import numpy as np

    from milopt.archive import check_writable
    from milopt.files import check_place
    from milopt.inspection.sparsity import check_picture
    from milopt.solving.options import Options

    if save is not None:
        check_writable(save)
    if plot is not None:
        check_picture(plot)
        check_place(plot, "The picture")
    asked = Options(time_limit=time_limit, tolerance=tolerance, threads=threads)
    options = None if asked == Options() else asked
    estimator = given.estimator(model, settings, solver=solver, scheme=scheme, options=options, seed=seed)
    found = given.read_data(data, window, stride, znormalise, data_dir)
    if positive is not None:
        estimator.set_params(positive=given.label_of(positive, found))
    with progress(f"fitting {model} to {found.name}"):
        estimator.fit(found.bags, found.labels)
    if found.features is not None:
        # Bags carry no names; scikit-learn keeps them so, and `predict` finds the features by them.
        vars(estimator)["feature_names_in_"] = np.array(found.features, dtype=object)
    if save is not None:
        estimator.save(save)
    if plot is not None:
        _draw(estimator, plot)
    report = estimator.report()
    test = None if found.test is None else float(estimator.score(found.test.bags, found.test.labels))
    if as_json:
        about = report.as_dict()
        print_json({**about, "data": {**described(found), **about["data"]}, "test_accuracy": test, "saved": save})
    else:
        typer.echo(str(report))
        if test is not None and found.test is not None:
            typer.echo(f"accuracy on the test part, {len(found.test.bags)} bags: {test:.4f}")
    if code := _exit_code(estimator.results_):
        raise typer.Exit(code)


def _draw(estimator: BagClassifier, path: Path) -> None:
    from matplotlib.figure import Figure

    from milopt.display.convergence import ConvergenceDisplay
    from milopt.files import write_whole

    figure = Figure(figsize=(6.4, 3.8), layout="constrained")
    ConvergenceDisplay.from_estimator(estimator, ax=figure.add_subplot())
    write_whole(path, lambda beside: figure.savefig(beside, dpi=150))


def described(data: DataSet) -> dict[str, object]:
    """What a result says about where its data come from."""
    return {
        "name": data.name,
        "source": data.source,
        "digest": data.digest,
        "test_bags": None if data.test is None else len(data.test.bags),
    }


def _exit_code(results: tuple[Result, ...]) -> int:
    """0 for certified points; after Ctrl-C, when the best point is kept, as after Ctrl-C anywhere."""
    if any("Interrupted" in one.message and one.exit_code for one in results):
        return INTERRUPTED
    return max(one.exit_code for one in results)
