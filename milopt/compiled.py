"""Functions compiled by numba, and kept on disk; importing this imports numba, which takes a second.

Who waits at a terminal is told when there is something to compile, which happens once and may take a minute.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from functools import partial
from typing import TypeVar, cast

import numba
from numba.core import event

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
    try:
        return cast(Function, make(cache=True)(function))
    except RuntimeError:
        # numba finds neither __pycache__ nor a user-wide cache writable: compile for this process only.
        return cast(Function, make()(function))


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


event.register("numba:compile", Notice())
