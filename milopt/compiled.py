"""Functions compiled by numba, and kept on disk; importing this imports numba, which takes a second.

Who waits at a terminal is told when there is something to compile, which happens once and may take a minute.
"""

from __future__ import annotations

import sys
import warnings
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from typing import ClassVar, TypeVar, cast

import numba
from numba.core import event
from numba.core.caching import FunctionCache

from milopt.errors import MiloptWarning
from milopt.jit_time import TIMER

Function = TypeVar("Function", bound=Callable[..., object])


def njit(function: Function) -> Function:
    """Compile on first use, and keep it on disk; sums may be reordered, infinities mean what they mean."""
    return _compiled(function, inner=False)


def njit_threaded(function: Function) -> Function:
    """The same for what runs long: it lets go of the interpreter, so that threads run such functions at once."""
    return _compiled(function, inner=False, nogil=True)


def njit_inner(function: Function) -> Function:
    """The same for what only compiled code calls: without the way in from Python, which takes long to compile."""
    return _compiled(function, inner=True)


def njit_inlined(function: Function) -> Function:
    """The same for a line or two within a loop: a call hands over every array of its arguments, which takes longer."""
    return _compiled(function, inner=True, forceinline=True)


def _compiled(function: Function, inner: bool, nogil: bool = False, forceinline: bool = False) -> Function:
    make = partial(
        numba.njit,
        fastmath={"reassoc", "contract", "nsz"},
        error_model="numpy",
        no_cfunc_wrapper=True,
        no_cpython_wrapper=inner,
        nogil=nogil,
        forceinline=forceinline,
    )
    dispatcher = make()(function)
    # If numba finds neither __pycache__ nor a user-wide cache writable, compile for this process only.
    with suppress(RuntimeError):
        dispatcher._cache = DiskCache(function)
    return cast(Function, dispatcher)


class DiskCache(FunctionCache):  # type: ignore[misc]  # numba comes without types
    """Compiled code on disk, without which everything works, only more slowly.

    numba raises whatever goes wrong with the files of its cache: a full disk, or a file that a killed process or a full
    disk left cut short, which would stop every later process too. Here a file that cannot be read is one that is not
    there, and one that cannot be written is not written, with one warning per process.
    """

    _warned: ClassVar[bool] = False

    def load_overload(self, sig: object, target_context: object) -> object:
        """Load compiled code, or return None, which makes numba compile it."""
        try:
            return super().load_overload(sig, target_context)
        except Exception:  # unpickling a damaged file may raise anything
            # An index that cannot be read could not be added to either.
            with suppress(OSError):
                self.flush()
            return None

    def save_overload(self, sig: object, data: object) -> None:
        """Write compiled code, or warn once that it cannot be written."""
        try:
            super().save_overload(sig, data)
        except OSError as error:
            self.disable()
            if not DiskCache._warned:
                DiskCache._warned = True
                warnings.warn(
                    f"Compiled code cannot be kept in {self.cache_path} ({error.strerror or error}): the next process "
                    "compiles it again. Make room there, or set NUMBA_CACHE_DIR to another folder.",
                    MiloptWarning,
                    stacklevel=2,
                )


class Notice(event.Listener):  # type: ignore[misc]  # numba comes without types
    """One line on stderr before milopt's first compilation; what is loaded from disk is none."""

    def __init__(self) -> None:
        self.told = False

    def on_start(self, event: event.Event) -> None:
        """Say it once."""
        module = event.data["dispatcher"].py_func.__module__
        if self.told or not module.startswith(f"{__package__}."):
            return
        self.told = True
        if sys.stderr.isatty():
            sys.stderr.write("milopt: compiling native algorithms, once; this may take a minute.\n")
            sys.stderr.flush()

    def on_end(self, event: event.Event) -> None:
        """Nothing to say."""


class TimedCompilation(event.Listener):  # type: ignore[misc]  # numba comes without types
    """Tell `jit_time` when a compilation begins and when it ends; a load from disk is no compilation."""

    def on_start(self, event: event.Event) -> None:
        """Start the timer."""
        TIMER.start()

    def on_end(self, event: event.Event) -> None:
        """Stop the timer, whether the compilation failed or not."""
        TIMER.stop()


event.register("numba:compile", Notice())
event.register("numba:compile", TimedCompilation())
