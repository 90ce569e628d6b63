"""What a command says when it cannot go on: one sentence on stderr, and the exit code that belongs to it."""

from __future__ import annotations

import functools
import os
import sys
import warnings
from collections.abc import Callable
from typing import ParamSpec, TextIO

import typer

from milopt.errors import MiloptError

P = ParamSpec("P")

INTERRUPTED = 130
"""As a shell reports a program that Ctrl-C ended."""
PIPE_CLOSED = 141
"""As a shell reports a program whose reader went away (`milopt models | head -1`)."""
TRACEBACK = "MILOPT_TRACEBACK"
"""The environment variable that asks for the traceback of any failure."""


def guarded(command: Callable[P, None]) -> Callable[P, None]:
    """The command, with every failure told in one line and turned into an exit code."""

    @functools.wraps(command)
    def run(*args: P.args, **kwargs: P.kwargs) -> None:
        with warnings.catch_warnings():
            warnings.showwarning = _told_warning
            try:
                command(*args, **kwargs)
                # Here rather than when the interpreter ends, where nobody could answer for a closed pipe.
                sys.stdout.flush()
            except (typer.Exit, typer.Abort, typer.BadParameter):
                raise
            except KeyboardInterrupt:
                raise typer.Exit(INTERRUPTED) from None
            except BrokenPipeError:
                _close_pipe()
                raise typer.Exit(PIPE_CLOSED) from None
            except MiloptError as error:
                _told(str(error))
                raise typer.Exit(error.exit_code) from None
            except Exception as error:
                if _is_interrupt(error):
                    raise typer.Exit(INTERRUPTED) from None
                what = " ".join(f"{type(error).__name__}: {error}".split()).rstrip(".")
                _told(f"milopt ran into an error of its own, {what}; set {TRACEBACK}=1 to see where.")
                raise typer.Exit(1) from None

    return run


def _is_interrupt(error: BaseException) -> bool:
    """Whether Ctrl-C is behind an error: while a compiled module is imported, it becomes an ImportError."""
    seen: BaseException | None = error
    while seen is not None and not isinstance(seen, KeyboardInterrupt):
        seen = seen.__cause__ or seen.__context__
    return seen is not None


def _told(sentence: str) -> None:
    if os.environ.get(TRACEBACK):
        import traceback

        traceback.print_exc()
    typer.secho("Error: ", fg=typer.colors.RED, bold=True, err=True, nl=False)
    typer.echo(sentence, err=True)


def _told_warning(
    message: Warning | str,
    category: type[Warning],
    filename: str,
    lineno: int,
    file: TextIO | None = None,
    line: str | None = None,
) -> None:
    typer.secho("Warning: ", fg=typer.colors.YELLOW, err=True, nl=False)
    typer.echo(str(message), err=True)


def _close_pipe() -> None:
    """Send what is still in stdout's buffer nowhere, or the interpreter complains about it when it ends."""
    try:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    except (OSError, ValueError):
        # Stdout is no file of the system's: then nothing is flushed at the end either.
        return
