"""Error handling of all commands: one sentence on stderr, and an exit code."""

from __future__ import annotations

import errno
import functools
import os
import sys
import traceback
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from typing import ParamSpec, TextIO

import typer

from milopt.errors import MiloptError
from milopt.interrupt import is_interrupt

P = ParamSpec("P")

INTERRUPTED_EXIT_CODE = 130
"""Exit code that a shell reports for a program that Ctrl-C ended."""
INTERRUPTED_MESSAGE = "Interrupted: there is no result."
PIPE_CLOSED_EXIT_CODE = 141
"""Exit code that a shell reports for a program whose reader closed the pipe (`milopt models | head -1`)."""
TRACEBACK_VARIABLE = "MILOPT_TRACEBACK"
"""Environment variable that requests the traceback of every failure."""
NO_SPACE_ERRORS = {errno.ENOSPC, errno.EFBIG, errno.EIO, getattr(errno, "EDQUOT", errno.ENOSPC)}
"""Numbers of the operating-system errors that mean that nothing more can be written, such as a full disk."""
PRINTING_PACKAGES = {"typer", "click", "rich"}
"""Packages that print the output of the command line."""


def exit_on_failure(command: Callable[P, None]) -> Callable[P, None]:
    """Wrap a command so that every failure prints one line and sets the exit code, and warnings are one line, too."""

    @functools.wraps(command)
    def run(*args: P.args, **kwargs: P.kwargs) -> None:
        with warnings.catch_warnings():
            warnings.showwarning = _print_warning
            # loky replaces a worker process whose memory has grown, for example by compilation; the user need not know.
            warnings.filterwarnings("ignore", message="A worker stopped while some jobs")
            try:
                command(*args, **kwargs)
                # Flushed here, because an error of a closed pipe could not be handled when the interpreter ends.
                sys.stdout.flush()
            except (typer.Exit, typer.Abort, typer.BadParameter):
                raise
            except KeyboardInterrupt:
                _print_error(INTERRUPTED_MESSAGE)
                raise typer.Exit(INTERRUPTED_EXIT_CODE) from None
            except BrokenPipeError:
                _redirect_stdout_to_null_device()
                raise typer.Exit(PIPE_CLOSED_EXIT_CODE) from None
            except MiloptError as error:
                _print_error(str(error))
                raise typer.Exit(error.exit_code) from None
            except Exception as error:
                if is_interrupt(error):
                    _print_error(INTERRUPTED_MESSAGE)
                    raise typer.Exit(INTERRUPTED_EXIT_CODE) from None
                raise typer.Exit(
                    _report_no_space(error) if _is_no_space_error(error) else _report_crash(error)
                ) from None

    return run


@contextmanager
def replace_closed_streams() -> Iterator[None]:
    """Replace stdout and stderr by the null device if they are closed; end with an error if stdout cannot be written.

    The context manager is entered around the whole application, because help texts are printed outside the commands.
    """
    # The null device gets the file descriptor of the closed stream (1 or 2). Otherwise the next file that is opened
    # would get it, and solvers that print to this descriptor would write into that file.
    for name in ("stdout", "stderr"):
        if getattr(sys, name) is None:
            setattr(sys, name, os.fdopen(os.open(os.devnull, os.O_WRONLY), "w"))
    try:
        yield
    except OSError as error:
        if not _is_no_space_error(error):
            raise
        sys.exit(_report_no_space(error))


def _is_no_space_error(error: Exception) -> bool:
    """Return True if an error means that nothing more can be written to a stream or a disk (NO_SPACE_ERRORS)."""
    return isinstance(error, OSError) and error.errno in NO_SPACE_ERRORS


def _report_no_space(error: Exception) -> int:
    """Print whether stdout or a file could not be written, and return the exit code."""
    reason = getattr(error, "strerror", None) or error
    if _wrote_to_stdout(error):
        _redirect_stdout_to_null_device()
        _print_error(f"The result cannot be written to stdout: {reason}.")
    else:
        name = getattr(error, "filename", None) or "a file that it needs, such as a temporary file"
        _print_error(f"milopt cannot write {name}: {reason}.")
    return MiloptError.exit_code


def _wrote_to_stdout(error: Exception) -> bool:
    """Return True if a write error comes from printing: it names no file, and a package that prints raised it."""
    if getattr(error, "filename", None) is not None:
        return False
    *_, (frame, _) = traceback.walk_tb(error.__traceback__)
    package = str(frame.f_globals.get("__name__", ""))
    return package.partition(".")[0] in PRINTING_PACKAGES or package.startswith("milopt.cli.")


def _report_crash(error: Exception) -> int:
    """Print an unexpected error in one line; return exit code 1, or that of bad input if memory ran out."""
    if isinstance(error, MemoryError):
        details = " ".join(str(error).split()).rstrip(".")
        _print_error(
            f"There is not enough memory{details and f' ({details})'}: use fewer or smaller bags, atoms or landmarks."
        )
        return MiloptError.exit_code
    details = " ".join(f"{type(error).__name__}: {error}".split()).rstrip(".")
    _print_error(f"Internal error of milopt: {details}; set {TRACEBACK_VARIABLE}=1 to see the traceback.")
    return 1


def _print_error(sentence: str) -> None:
    """Print an error to stderr, with its traceback if the user requested it."""
    if os.environ.get(TRACEBACK_VARIABLE):
        traceback.print_exc()
    # If stderr cannot be written either, only the exit code reports the error.
    with suppress(OSError):
        typer.secho("Error: ", fg=typer.colors.RED, bold=True, err=True, nl=False)
        typer.echo(sentence, err=True)


def _print_warning(
    message: Warning | str,
    category: type[Warning],
    filename: str,
    lineno: int,
    file: TextIO | None = None,
    line: str | None = None,
) -> None:
    """Print a warning to stderr in one line; replaces `warnings.showwarning`."""
    typer.secho("Warning: ", fg=typer.colors.YELLOW, err=True, nl=False)
    typer.echo(str(message), err=True)


def _redirect_stdout_to_null_device() -> None:
    """Redirect stdout to the null device, so that its buffer causes no error when the interpreter ends."""
    try:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    except (OSError, ValueError):
        # stdout has no file descriptor, so nothing is flushed when the interpreter ends.
        return
