"""One call of ECOS: its own form of a program, and what it replies."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from milopt.arrays import Vector
from milopt.interrupt import delayed_interrupt
from milopt.solving.capture import captured


@dataclass(frozen=True)
class ConeProgram:
    """min c'x  s.t.  A x = b,  h - G x in  R_+^linear  x  second-order cones  x  exponential cones (x, z, y)."""

    c: Vector
    G: sp.csc_matrix
    h: Vector
    A: sp.csc_matrix
    b: Vector
    linear: int
    cones: npt.NDArray[np.int64]
    """The number of rows of each second-order cone."""
    exponential: int = 0
    """The number of exponential cones."""


@dataclass(frozen=True)
class Reply:
    """ECOS's exit flag and what it says of it, the point, the multipliers y of A and z of G."""

    flag: int
    text: str
    x: Vector
    y: Vector
    z: Vector
    iterations: int
    log: str = ""


def call_ecos(program: ConeProgram, settings: Mapping[str, object]) -> Reply:
    """Call ECOS and wait for its end."""
    import ecos

    # ECOS wants None for no rows, and breaks on a matrix without entries.
    G, h = (None, None) if program.h.size == 0 else (_with_entry(program.G), program.h)
    A, b = (None, None) if program.b.size == 0 else (_with_entry(program.A), program.b)
    dims = {"l": program.linear, "q": program.cones.tolist(), "e": program.exponential}

    def call() -> dict[str, object]:
        with delayed_interrupt():
            found: dict[str, object] = ecos.solve(program.c, G, h, dims, A, b, **settings)
        return found

    found, log = captured(call) if settings.get("verbose") else (call(), "")
    info = found["info"]
    assert isinstance(info, dict)
    x, y, z = (np.asarray(found[key], dtype=np.float64) for key in "xyz")
    return Reply(int(info["exitFlag"]), str(info["infostring"]), x, y, z, int(info["iter"]), log)


def _with_entry(matrix: sp.csc_matrix) -> sp.csc_matrix:
    """The matrix, with one stored zero if it stores nothing."""
    if matrix.nnz:
        return matrix
    return sp.csc_matrix((np.zeros(1), ([0], [0])), shape=matrix.shape)
