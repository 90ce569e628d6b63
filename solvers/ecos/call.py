"""One call of ECOS: the program in ECOS's own form, and the reply."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from milopt.arrays import Vector
from milopt.interrupt import delay_interrupts
from milopt.solving.capture import capture_output


@dataclass(frozen=True)
class ConeProgram:
    """A program in ECOS's form.

    min c'x  s.t.  A x = b,  h - G x in K

    K is the product of R_+^linear, the second-order cones and the exponential cones, in this order. ECOS orders the
    three rows of an exponential cone (x, z, y), where milopt has (x, y, z).
    """

    c: Vector
    G: sp.csc_matrix
    h: Vector
    A: sp.csc_matrix
    b: Vector
    linear: int
    """Number of non-negative rows, which come first in G."""
    cones: npt.NDArray[np.int64]
    """Number of rows of each second-order cone."""
    exponential: int = 0
    """Number of exponential cones."""


@dataclass(frozen=True)
class EcosReply:
    """Reply of ECOS: exit flag, its description, point x, multipliers y of A and z of G, iteration count, and log."""

    flag: int
    text: str
    x: Vector
    y: Vector
    z: Vector
    iterations: int
    log: str = ""


def call_ecos(program: ConeProgram, settings: Mapping[str, object]) -> EcosReply:
    """Call ECOS and return its reply, with the log if `settings["verbose"]`. Ctrl-C is delayed until ECOS has ended."""
    import ecos

    # ECOS requires None instead of empty matrices, and fails on matrices without stored entries.
    G, h = (None, None) if program.h.size == 0 else (_ensure_stored_entry(program.G), program.h)
    A, b = (None, None) if program.b.size == 0 else (_ensure_stored_entry(program.A), program.b)
    dims = {"l": program.linear, "q": program.cones.tolist(), "e": program.exponential}

    def call_uninterrupted() -> dict[str, object]:
        with delay_interrupts():
            solution: dict[str, object] = ecos.solve(program.c, G, h, dims, A, b, **settings)
        return solution

    solution, log = capture_output(call_uninterrupted) if settings.get("verbose") else (call_uninterrupted(), "")
    info = solution["info"]
    assert isinstance(info, dict)
    x, y, z = (np.asarray(solution[key], dtype=np.float64) for key in "xyz")
    return EcosReply(int(info["exitFlag"]), str(info["infostring"]), x, y, z, int(info["iter"]), log)


def _ensure_stored_entry(matrix: sp.csc_matrix) -> sp.csc_matrix:
    """Return the matrix, with one explicitly stored zero if it has no stored entries."""
    if matrix.nnz:
        return matrix
    return sp.csc_matrix((np.zeros(1), ([0], [0])), shape=matrix.shape)
