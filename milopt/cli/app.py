"""The commands by name. Each imports what it works with when it runs, so that `milopt --help` is quick."""

from __future__ import annotations

from typing import Annotated, Any

import typer

import milopt
from milopt.cli.compare import compare
from milopt.cli.data import data
from milopt.cli.evaluate import evaluate
from milopt.cli.failures import any_streams, guarded
from milopt.cli.fit import fit
from milopt.cli.inspect import inspect
from milopt.cli.models import models
from milopt.cli.predict import predict
from milopt.cli.rank import rank
from milopt.cli.schemes import schemes
from milopt.cli.solvers import solvers


class Application(typer.Typer):
    """The commands, whatever their streams are."""

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Run the command that the arguments name."""
        with any_streams():
            return super().__call__(*args, **kwargs)


app = Application(
    name="milopt",
    no_args_is_help=True,
    # A person's mistake is one sentence (`failures`), and a crash a line that tells how to see where.
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)

for command in (compare, fit, predict, evaluate, rank, inspect, models, schemes, solvers, data):
    app.command(command.__name__)(guarded(command))


def _version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"milopt {milopt.__version__}")
        raise typer.Exit


@app.callback()
def milopt_(
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Show the version and exit.")
    ] = False,
) -> None:
    """Optimisation models of multiple-instance learning: declared once, solved anywhere, proved.

    Results go to stdout, progress to stderr. To begin with: milopt compare

    Exit codes: 0 ok, 1 crash, 2 bad input, 3 no certificate, 4 solver missing.
    """
