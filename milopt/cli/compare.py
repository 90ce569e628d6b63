"""`milopt compare`: the same problem, formulation by formulation and solver by solver."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from milopt.cli import arguments as given
from milopt.cli.output import page_width, print_json
from milopt.cli.progress import Progress, progress

if TYPE_CHECKING:
    from milopt.comparison.cell import Cell
    from milopt.comparison.layout import Layout


def compare(
    data: given.Data = "musk1",
    models: Annotated[
        list[str] | None,
        typer.Option(
            metavar="A,B",
            help="Models (see `milopt models`), separated by commas; repeat.",
            show_default="a few that are quick",
            autocompletion=given.complete_model,
        ),
    ] = None,
    solvers: Annotated[
        list[str] | None,
        typer.Option(
            metavar="X,Y",
            help="Solvers, separated by commas; repeat.",
            show_default="all installed, and cvxpy:SCS",
            autocompletion=given.complete_solver,
        ),
    ] = None,
    settings: Annotated[
        list[str] | None,
        typer.Option(
            "--set", metavar="NAME=VALUE", help="A hyper-parameter of those models that have it, such as C=100; repeat."
        ),
    ] = None,
    folds: Annotated[int, typer.Option(metavar="N", min=2, help="Of the cross-validated accuracy.")] = 5,
    jobs: given.Jobs = 2,
    time_limit: given.TimeLimit = None,
    positive: given.Positive = None,
    seed: given.Seed = 0,
    window: given.Window = "0.2",
    stride: given.Stride = 1,
    znormalise: given.Znormalise = False,
    data_dir: given.DataDir = None,
    as_json: given.Json = False,
) -> None:
    """Compare formulations and solvers: objective, certificate, seconds, cross-validated accuracy, agreement."""
    from milopt.comparison.compare import compare as compared
    from milopt.comparison.formulation import checked_solvers, default_models, default_solvers
    from milopt.comparison.layout import Layout
    from milopt.solving.options import Options

    solver_names = checked_solvers(given.names_of(",".join(solvers)) if solvers else default_solvers())
    model_list = list(dict.fromkeys(given.names_of(",".join(models)) if models else default_models()))
    values = _settings(model_list, settings or [])
    found = given.read_data(data, window, stride, znormalise, data_dir)
    if positive is not None:
        values["positive"] = given.label_of(positive, found)
    order = [(model, solver) for model in model_list for solver in solver_names]
    layout = Layout(model_list, solver_names, page_width())
    with progress(f"comparing on {found.name}", total=len(order)) as shown:
        printed = Printed(order, layout, shown, quiet=as_json)
        result = compared(
            found,
            model_list,
            solver_names if solvers else None,
            folds=folds,
            seed=seed,
            n_jobs=jobs,
            settings=values,
            options=Options(time_limit=time_limit),
            on_cell=printed.add,
        )
        # After Ctrl-C, what is finished but waited for its turn in the table's order.
        printed.rest()
    if as_json:
        print_json(result.as_dict())
    else:
        for line in (*layout.remarks(result.cells), result.closing()):
            typer.echo(line)
    if result.exit_code:
        raise typer.Exit(result.exit_code)


def _settings(models: list[str], items: list[str]) -> dict[str, object]:
    """Values by hyper-parameter, each read as the models that have it read it."""
    from milopt.errors import ParameterError
    from milopt.model_registry import get_model, parse_settings
    from milopt.model_registry.settings import fields_of

    found: dict[str, object] = {}
    for cls in map(get_model, models):
        found |= parse_settings(cls, [item for item in items if item.partition("=")[0].strip() in fields_of(cls)])
    if taken := sorted(set(found) & {"solver", "options", "random_state", "positive"}):
        raise ParameterError(f'"{taken[0]}" is not set by --set: it has an option of its own.')
    for item in items:
        if item.partition("=")[0].strip() not in found:
            # No model has it: the first one says which names are near.
            parse_settings(get_model(models[0]), [item])
    return found


class Printed:
    """Rows on stdout in the table's order, each as soon as all before it are there."""

    def __init__(self, order: list[tuple[str, str]], layout: Layout, shown: Progress, *, quiet: bool) -> None:
        self._order, self._layout, self._shown, self._quiet = order, layout, shown, quiet
        self._waiting: dict[tuple[str, str], Cell] = {}
        self._done: list[Cell] = []

    def add(self, cell: Cell) -> None:
        """Take a finished cell, and print what can be."""
        self._waiting[cell.model, cell.solver] = cell
        self._shown.update(done=len(self._done) + len(self._waiting))
        while self._order and self._order[0] in self._waiting:
            self._print(self._waiting.pop(self._order.pop(0)))

    def rest(self) -> None:
        """Print the finished cells that stand behind unfinished ones."""
        for key in [key for key in self._order if key in self._waiting]:
            self._order.remove(key)
            self._print(self._waiting.pop(key))

    def _print(self, cell: Cell) -> None:
        from milopt.comparison.agreement import agreement

        self._done.append(cell)
        if self._quiet:
            return
        if len(self._done) == 1:
            # Not before: until a cell is there, the input may be found wanting.
            self._say(self._layout.header())
        self._say(self._layout.row(cell))
        if all(model != cell.model for model, _ in self._order):
            cells = [one for one in self._done if one.model == cell.model]
            self._say(self._layout.verdict(agreement(cell.model, cells)))

    def _say(self, lines: list[str]) -> None:
        for line in lines:
            self._shown.say(line)
