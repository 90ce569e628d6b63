"""The application with all commands. A command imports its libraries when it runs, so that `milopt --help` is fast."""

from __future__ import annotations

from typing import Annotated, Any

import typer
from typer.core import TyperCommand, TyperGroup

import milopt
from milopt.cli.compare import compare
from milopt.cli.data import data
from milopt.cli.evaluate import evaluate
from milopt.cli.failures import exit_on_failure, replace_closed_streams
from milopt.cli.fit import fit
from milopt.cli.inspect import inspect
from milopt.cli.models import models
from milopt.cli.output import RECORDED_ARGUMENTS
from milopt.cli.predict import predict
from milopt.cli.rank import rank
from milopt.cli.report import report
from milopt.cli.schemes import schemes
from milopt.cli.solvers import solvers
from milopt.cli.warmup import warmup


class FlagsWithoutType:
    """Mixin of a command whose help shows flags such as `--json` without a type, as they do not have a value."""

    def get_params(self, ctx: Any) -> list[Any]:
        """Return the parameters of the command, flags with an empty name of their value."""
        parameters: list[Any] = super().get_params(ctx)  # type: ignore[misc]  # the other base has it
        for parameter in parameters:
            if getattr(parameter, "is_flag", False):
                parameter.metavar = ""
        return parameters


class Command(FlagsWithoutType, TyperCommand):
    """Command of the application."""


class RecordingGroup(FlagsWithoutType, TyperGroup):
    """Group of commands that records its arguments, so that a result can state the command that made it."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Parse the arguments as usual, after recording them."""
        RECORDED_ARGUMENTS.set(tuple(args))
        return super().parse_args(ctx, args)


class Application(typer.Typer):
    """Typer application that also works if stdout or stderr is closed."""

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Run the command that the arguments name."""
        with replace_closed_streams():
            return super().__call__(*args, **kwargs)


app = Application(
    name="milopt",
    cls=RecordingGroup,
    no_args_is_help=True,
    # `exit_on_failure` prints one sentence for a user's mistake, and one line for a crash.
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)

for command in (compare, fit, predict, evaluate, rank, report, inspect, models, schemes, solvers, data, warmup):
    app.command(command.__name__, cls=Command)(exit_on_failure(command))


def _print_version(requested: bool) -> None:
    """Print the version and exit, if requested."""
    if requested:
        typer.echo(f"milopt {milopt.__version__}")
        raise typer.Exit


@app.callback()
def root_command(
    version: Annotated[
        bool, typer.Option("--version", callback=_print_version, is_eager=True, help="Show the version and exit.")
    ] = False,
) -> None:
    """Train, compare and inspect optimisation-based models for multiple-instance learning.

    Start with: milopt compare. Results go to stdout, progress to stderr.

    Exit codes: 0 success, 1 crash, 2 bad input, 3 no certificate, 4 solver not installed.
    """
