"""Decorators that compile functions with numba and cache them on disk.

Importing this module imports numba, which takes about a second. Before the first compilation, which may take a minute,
a line is printed to stderr if stderr is a terminal or belongs to a notebook.
"""

from __future__ import annotations

import sys
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from functools import partial
from typing import Any, ClassVar, TypeVar, cast

import numba
from numba.core import event
from numba.core.caching import FunctionCache

from milopt.errors import MiloptWarning
from milopt.jit_time import JIT_TIMER
from milopt.notebook import is_stream_watched

Function = TypeVar("Function", bound=Callable[..., object])
"""Type of the decorated function."""
COMPILED_FUNCTIONS: list[Any] = []
"""Compiled functions that Python calls, of all modules that were imported; for `milopt warmup` and its tests."""


def njit(function: Function) -> Function:
    """Compile a function with numba on first use and cache it on disk.

    Floating-point sums may be reassociated. NaN and infinity keep their meaning (no ``nnan``, no ``ninf``).
    """
    return _compile(function, inner=False)


def njit_threaded(function: Function) -> Function:
    """Compile like `njit`; the compiled function releases the GIL, so that several threads can run it in parallel."""
    return _compile(function, inner=False, nogil=True)


def njit_inner(function: Function) -> Function:
    """Compile like `njit`, for functions that are called only from compiled code.

    No Python wrapper is built, so that the compilation takes less time.
    """
    return _compile(function, inner=True)


def njit_inlined(function: Function) -> Function:
    """Compile like `njit_inner`, and always inline the function.

    Use it for short functions in inner loops, for which passing the arguments takes longer than the function itself.
    """
    return _compile(function, inner=True, forceinline=True)


def _compile(function: Function, inner: bool, nogil: bool = False, forceinline: bool = False) -> Function:
    """Return the function compiled with numba and cached on disk; if `inner`, only compiled code can call it."""
    compiler = partial(
        numba.njit,
        fastmath={"reassoc", "contract", "nsz"},
        error_model="numpy",
        no_cfunc_wrapper=True,
        no_cpython_wrapper=inner,
        nogil=nogil,
        forceinline=forceinline,
    )
    dispatcher = compiler()(function)
    # If numba finds neither __pycache__ nor a user-wide cache writable, compile for this process only.
    with suppress(RuntimeError):
        dispatcher._cache = DiskCache(function)
    if not inner:
        COMPILED_FUNCTIONS.append(dispatcher)
    return cast(Function, dispatcher)


class DiskCache(FunctionCache):  # type: ignore[misc]  # numba comes without types
    """Disk cache of compiled functions that does not raise if a file cannot be read or written.

    The cache of numba raises an exception if one of its files cannot be used: on a full disk, or if a killed process
    left a truncated file, at which all later processes would fail too. `DiskCache` ignores files that cannot be read.
    If a file cannot be written, it warns once per process.
    """

    _warned: ClassVar[bool] = False

    def load_overload(self, sig: object, target_context: object) -> object:
        """Return compiled code from disk, or None if there is none, so that numba compiles the function."""
        try:
            return super().load_overload(sig, target_context)
        except Exception:  # unpickling a damaged file may raise anything
            # If the index cannot be read, no code can be added to it: delete it.
            with suppress(OSError):
                self.flush()
            return None

    def save_overload(self, sig: object, data: object) -> None:
        """Write compiled code to disk; if that fails, warn (once per process) and disable the cache of the function."""
        try:
            super().save_overload(sig, data)
        except OSError as error:
            self.disable()
            if not DiskCache._warned:
                DiskCache._warned = True
                warnings.warn(
                    f"Compiled code cannot be cached in {self.cache_path} ({error.strerror or error}): the next "
                    "process compiles it again. Free some space there, or set NUMBA_CACHE_DIR to another folder.",
                    MiloptWarning,
                    stacklevel=2,
                )


class CompilationNotice(event.Listener):  # type: ignore[misc]  # numba comes without types
    """Listener that prints one line before the first compilation of a function of milopt, in a terminal or notebook.

    Loading compiled code from disk is not a compilation.
    """

    def __init__(self) -> None:
        self.was_printed = False

    def on_start(self, event: event.Event) -> None:
        """Print the line at the first compilation of a function of milopt, in a terminal or a notebook."""
        module = event.data["dispatcher"].py_func.__module__
        if self.was_printed or not module.startswith(f"{__package__}."):
            return
        self.was_printed = True
        if is_stream_watched(sys.stderr):
            sys.stderr.write("milopt: compiling native algorithms, once; this may take a minute.\n")
            sys.stderr.flush()

    def on_end(self, event: event.Event) -> None:
        """Do nothing at the end of a compilation; numba requires this method."""


class CompilationTimeListener(event.Listener):  # type: ignore[misc]  # numba comes without types
    """Listener that measures compilations with the timer of `jit_time`; loading from disk is not measured."""

    def on_start(self, event: event.Event) -> None:
        """Start the timer."""
        JIT_TIMER.start()

    def on_end(self, event: event.Event) -> None:
        """Stop the timer, also if the compilation failed."""
        JIT_TIMER.stop()


class CompilationWatcher(event.Listener):  # type: ignore[misc]  # numba comes without types
    """Listener that calls a function with the name of every function of milopt whose compilation begins."""

    def __init__(self, on_compile: Callable[[str], object]) -> None:
        self._on_compile = on_compile

    def on_start(self, event: event.Event) -> None:
        """Call the function with the name of the function that is compiled, if it belongs to milopt."""
        function = event.data["dispatcher"].py_func
        if function.__module__.startswith(f"{__package__}."):
            self._on_compile(function.__name__)

    def on_end(self, event: event.Event) -> None:
        """Do nothing at the end of a compilation; numba requires this method."""


@contextmanager
def watch_compilation(on_compile: Callable[[str], object]) -> Iterator[None]:
    """Call `on_compile` during the block, with the name of every function of milopt whose compilation begins."""
    with event.install_listener("numba:compile", CompilationWatcher(on_compile)):
        yield


event.register("numba:compile", CompilationNotice())
event.register("numba:compile", CompilationTimeListener())
