"""What a command says when it cannot go on: one sentence on stderr, and the exit code that belongs to it."""

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

INTERRUPTED = 130
"""As a shell reports a program that Ctrl-C ended."""
CUT_SHORT = "Interrupted before the end: there is no result."
PIPE_CLOSED = 141
"""As a shell reports a program whose reader went away (`milopt models | head -1`)."""
TRACEBACK = "MILOPT_TRACEBACK"
"""The environment variable that asks for the traceback of any failure."""
FULL = {errno.ENOSPC, errno.EFBIG, errno.EIO, getattr(errno, "EDQUOT", errno.ENOSPC)}
"""What the system answers where a stream takes nothing more."""
PRINTERS = {"typer", "click", "rich"}
"""Packages through which the command line prints."""


def guarded(command: Callable[P, None]) -> Callable[P, None]:
    """The command, with every failure told in one line and turned into an exit code."""

    @functools.wraps(command)
    def run(*args: P.args, **kwargs: P.kwargs) -> None:
        with warnings.catch_warnings():
            warnings.showwarning = _told_warning
            # A process that grew, as by compiling, is replaced by a new one between two tasks: nothing to act on.
            warnings.filterwarnings("ignore", message="A worker stopped while some jobs")
            try:
                command(*args, **kwargs)
                # Here rather than when the interpreter ends, where nobody could answer for a closed pipe.
                sys.stdout.flush()
            except (typer.Exit, typer.Abort, typer.BadParameter):
                raise
            except KeyboardInterrupt:
                _told(CUT_SHORT)
                raise typer.Exit(INTERRUPTED) from None
            except BrokenPipeError:
                _close_pipe()
                raise typer.Exit(PIPE_CLOSED) from None
            except MiloptError as error:
                _told(str(error))
                raise typer.Exit(error.exit_code) from None
            except Exception as error:
                if is_interrupt(error):
                    _told(CUT_SHORT)
                    raise typer.Exit(INTERRUPTED) from None
                raise typer.Exit(_disk_full(error) if _is_full(error) else _crashed(error)) from None

    return run


@contextmanager
def any_streams() -> Iterator[None]:
    """Closed streams are taken as open ones that nobody reads; where stdout is full, even help ends in a sentence."""
    # Opened, a stream also takes the place of the closed one, which the next file would have: solvers write there.
    for name in ("stdout", "stderr"):
        if getattr(sys, name) is None:
            setattr(sys, name, os.fdopen(os.open(os.devnull, os.O_WRONLY), "w"))
    try:
        yield
    except OSError as error:
        if not _is_full(error):
            raise
        sys.exit(_disk_full(error))


def _is_full(error: Exception) -> bool:
    """Whether a stream or a disk took nothing more."""
    return isinstance(error, OSError) and error.errno in FULL


def _disk_full(error: Exception) -> int:
    """Report what could not be written, stdout or a file; return the exit code."""
    reason = getattr(error, "strerror", None) or error
    if _wrote_to_stdout(error):
        _close_pipe()
        _told(f"The result cannot be written to stdout: {reason}.")
    else:
        name = getattr(error, "filename", None) or "a file that the work needs, such as a temporary one"
        _told(f"milopt cannot write {name}: {reason}.")
    return MiloptError.exit_code


def _wrote_to_stdout(error: Exception) -> bool:
    """Whether the call that failed was made by code that prints: the error itself does not name the stream."""
    if getattr(error, "filename", None) is not None:
        return False
    *_, (frame, _) = traceback.walk_tb(error.__traceback__)
    package = str(frame.f_globals.get("__name__", ""))
    return package.partition(".")[0] in PRINTERS or package.startswith("milopt.cli.")


def _crashed(error: Exception) -> int:
    """Tell what nobody foresaw; the exit code."""
    if isinstance(error, MemoryError):
        said = " ".join(str(error).split()).rstrip(".")
        _told(f"There is not enough memory{said and f' ({said})'}: take fewer or smaller bags, atoms or landmarks.")
        return MiloptError.exit_code
    what = " ".join(f"{type(error).__name__}: {error}".split()).rstrip(".")
    _told(f"milopt ran into an error of its own, {what}; set {TRACEBACK}=1 to see where.")
    return 1


def _told(sentence: str) -> None:
    if os.environ.get(TRACEBACK):
        traceback.print_exc()
    # Where stderr is full too, the exit code has to do.
    with suppress(OSError):
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
