"""Functions compiled by numba, and kept on disk; importing this imports numba, which takes a second."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import TypeVar, cast

import numba

Function = TypeVar("Function", bound=Callable[..., object])


def njit(function: Function) -> Function:
    """Compile on first use, and keep it on disk; sums may be reordered, infinities mean what they mean."""
    return _compiled(function, inner=False)


def njit_inner(function: Function) -> Function:
    """The same for what only compiled code calls: without the way in from Python, which takes long to compile."""
    return _compiled(function, inner=True)


def _compiled(function: Function, inner: bool) -> Function:
    make = partial(
        numba.njit,
        fastmath={"reassoc", "contract", "nsz"},
        error_model="numpy",
        no_cfunc_wrapper=True,
        no_cpython_wrapper=inner,
    )
    try:
        return cast(Function, make(cache=True)(function))
    except RuntimeError:
        # numba finds neither __pycache__ nor a user-wide cache writable: compile for this process only.
        return cast(Function, make()(function))
