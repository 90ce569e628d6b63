"""`milopt compare`: a table of models and solvers on one data set."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from milopt.cli import arguments
from milopt.cli.output import page_width, print_json, recorded_command
from milopt.cli.pictures import check_picture, plot_comparison
from milopt.cli.progress import ProgressLine, show_progress
from milopt.cli.tables import OutputFormat, print_formatted

if TYPE_CHECKING:
    from milopt.comparison.cell import ComparisonCell
    from milopt.comparison.layout import ComparisonLayout


def compare(
    data: arguments.DataArgument = "musk1",
    models: Annotated[
        list[str] | None,
        typer.Option(
            metavar="A,B",
            help="Models (see `milopt models`), separated by commas. May be given several times.",
            show_default="six fast models",
            autocompletion=arguments.complete_model,
        ),
    ] = None,
    solvers: Annotated[
        list[str] | None,
        typer.Option(
            metavar="X,Y",
            help="Solvers (see `milopt solvers`), separated by commas. May be given several times. By default, solvers "
            "that are too slow for a model are skipped.",
            show_default="all installed, and cvxpy:SCS",
            autocompletion=arguments.complete_solver,
        ),
    ] = None,
    settings: Annotated[
        list[str] | None,
        typer.Option(
            "--set",
            metavar="NAME=VALUE",
            help="Hyper-parameter of all models that have it, such as C=100. May be given several times.",
        ),
    ] = None,
    folds: Annotated[int, typer.Option(metavar="N", min=2, help="Number of cross-validation folds.")] = 5,
    jobs: arguments.JobsOption = 2,
    time_limit: arguments.TimeLimitOption = None,
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
        Path | None,
        typer.Option(
            metavar="FILE", help="Plot the times of the solvers and the accuracies of the models to an image file."
        ),
    ] = None,
    as_json: arguments.JsonOption = False,
    table_format: arguments.TableFormatOption = OutputFormat.text,
) -> None:
    """Compare models and solvers: objective, certificate, time, cross-validated accuracy, agreement."""
    from milopt.comparison.compare import compare as compare_models
    from milopt.comparison.comparison_view import cell_notes, cells_table
    from milopt.comparison.formulation import (
        default_models,
        default_solvers,
        missing_solvers_note,
        resolve_solver_names,
    )
    from milopt.comparison.layout import ComparisonLayout
    from milopt.errors import ParameterError
    from milopt.model_registry import get_model
    from milopt.solving.options import Options

    check_picture(plot)
    solver_names = resolve_solver_names(arguments.split_names(",".join(solvers)) if solvers else default_solvers())
    model_names = list(dict.fromkeys(arguments.split_names(",".join(models)) if models else default_models()))
    values = arguments.parse_common_settings(list(map(get_model, model_names)), settings or ())
    if reserved := sorted(set(values) & {"solver", "options", "random_state", "positive"}):
        raise ParameterError(f'"{reserved[0]}" is not set by --set: use the option for it.')
    data_set = arguments.read_data(
        data, window, stride, znormalise, data_dir, arguments.TableColumnNames(bag, label, features)
    )
    if positive is not None:
        values["positive"] = arguments.parse_label(positive, data_set)
    order = [(model, solver) for model in model_names for solver in solver_names]
    layout = ComparisonLayout(model_names, solver_names, page_width())
    with show_progress(f"comparing on {data_set.name}", total=len(order)) as line:
        printer = RowPrinter(order, layout, line, quiet=as_json or table_format is not OutputFormat.text)
        result = compare_models(
            data_set,
            model_names,
            solver_names if solvers else None,
            folds=folds,
            seed=seed,
            n_jobs=jobs,
            settings=values,
            options=Options(time_limit=time_limit),
            on_cell=printer.add,
        )
        # After Ctrl-C, finished cells may still wait for unfinished cells that come before them in the table.
        printer.print_remaining()
    missing = "" if solvers else missing_solvers_note()
    closing = [missing, *result.closing_lines()] if missing else result.closing_lines()
    if as_json:
        print_json(result.as_dict() | {"command": recorded_command()})
    elif table_format is not OutputFormat.text:
        agreements = [f"{agreement.model}: {agreement}" for agreement in result.agreements]
        notes = [*agreements, *cell_notes(result.cells), *closing]
        print_formatted(cells_table("", result.cells), result.rows(), notes, table_format)
    else:
        for text in (*layout.notes(result.cells), *closing):
            typer.echo(text)
    if plot is not None:
        plot_comparison(result, plot)
    if result.exit_code:
        raise typer.Exit(result.exit_code)


class RowPrinter:
    """Printer of the rows of a table in the given order, each as soon as all rows before it are printed.

    `order` has the pairs (model, solver) of the rows. If `quiet`, nothing is printed, and cells are only counted.
    """

    def __init__(
        self, order: list[tuple[str, str]], layout: ComparisonLayout, line: ProgressLine, *, quiet: bool
    ) -> None:
        self._order, self._layout, self._line, self._quiet = order, layout, line, quiet
        self._waiting: dict[tuple[str, str], ComparisonCell] = {}
        self._printed: list[ComparisonCell] = []

    def add(self, cell: ComparisonCell) -> None:
        """Add a finished cell, and print all rows whose turn it is."""
        self._waiting[cell.model, cell.solver] = cell
        self._line.update(done=len(self._printed) + len(self._waiting))
        while self._order and self._order[0] in self._waiting:
            self._print_row(self._waiting.pop(self._order.pop(0)))

    def print_remaining(self) -> None:
        """Print the finished cells that still wait for unfinished cells before them."""
        for key in [key for key in self._order if key in self._waiting]:
            self._order.remove(key)
            self._print_row(self._waiting.pop(key))

    def _print_row(self, cell: ComparisonCell) -> None:
        """Print the row of a cell, and after the last row of a model the line about the agreement of its solvers."""
        from milopt.comparison.agreement import compare_objectives

        self._printed.append(cell)
        if self._quiet:
            return
        if len(self._printed) == 1:
            # The header is printed only now, because an error in the input must not leave a header without rows.
            self._print_lines(self._layout.header())
        self._print_lines(self._layout.row(cell))
        if all(model != cell.model for model, _ in self._order):
            cells = [printed for printed in self._printed if printed.model == cell.model]
            self._print_lines(self._layout.summary(compare_objectives(cell.model, cells)))

    def _print_lines(self, lines: list[str]) -> None:
        for line in lines:
            self._line.print_result(line)
