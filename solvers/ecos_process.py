"""One call of ECOS, here or in a process that can be ended: `python -m milopt.solvers.ecos_process` is that process.

Programs and replies cross the pipe as npz archives of plain arrays.
"""

from __future__ import annotations

import io
import json
import os
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from milopt.compilation.quadratic import Vector
from milopt.solving.capture import captured
from milopt.solving.interrupt import delayed_interrupt

READY = b"ready\n"


@dataclass(frozen=True)
class ConeProgram:
    """min c'x  s.t.  A x = b,  h - G x in  R_+^linear  x  second-order cones of the given sizes."""

    c: Vector
    G: sp.csc_matrix
    h: Vector
    A: sp.csc_matrix
    b: Vector
    linear: int
    cones: npt.NDArray[np.int64]


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


def solve_here(program: ConeProgram, settings: Mapping[str, object]) -> Reply:
    """Call ECOS in this process."""
    import ecos

    # ECOS wants None for no rows, and breaks on a matrix without entries.
    G, h = (None, None) if program.h.size == 0 else (_with_entry(program.G), program.h)
    A, b = (None, None) if program.b.size == 0 else (_with_entry(program.A), program.b)
    dims = {"l": program.linear, "q": program.cones.tolist()}

    def call() -> dict[str, object]:
        with delayed_interrupt():
            found: dict[str, object] = ecos.solve(program.c, G, h, dims, A, b, **settings)
        return found

    found, log = captured(call) if settings.get("verbose") else (call(), "")
    info = found["info"]
    assert isinstance(info, dict)
    x, y, z = (np.asarray(found[key], dtype=np.float64) for key in "xyz")
    return Reply(int(info["exitFlag"]), str(info["infostring"]), x, y, z, int(info["iter"]), log)


def solve_within(program: ConeProgram, settings: Mapping[str, object], seconds: float) -> Reply | None:
    """Call ECOS in a process of its own and end it after so many seconds, with None then; at Ctrl-C too."""
    environment = os.environ | {"PYTHONPATH": os.pathsep.join(entry for entry in sys.path if entry)}
    # -P: the folder of this file holds an `ecos.py` that must not hide the package.
    command = [sys.executable, "-P", "-m", "milopt.solvers.ecos_process"]
    pipe = subprocess.PIPE
    process = subprocess.Popen(command, stdin=pipe, stdout=pipe, stderr=pipe, env=environment)
    assert process.stdin is not None
    assert process.stderr is not None
    try:
        with process.stdin as program_pipe:
            program_pipe.write(_pack(program, settings))
        process.stdin = None
        # Readiness is told on standard error, so that no buffer here swallows the head of the reply.
        if not any(line == READY for line in process.stderr):
            return _broken(process)
        packed, _ = process.communicate(timeout=seconds)
        return _unpack(packed) if process.returncode == 0 else _broken(process)
    except BrokenPipeError:
        return _broken(process)
    except subprocess.TimeoutExpired:
        return None
    finally:
        process.kill()
        process.communicate()


def main() -> None:
    """Read a program from standard input, say on standard error when ready, write the reply to standard output."""
    import ecos  # noqa: F401 - loaded before the clock starts

    with np.load(io.BytesIO(sys.stdin.buffer.read()), allow_pickle=False) as file:
        matrices = [
            sp.csc_matrix(
                (file[k + "_data"], file[k + "_indices"], file[k + "_indptr"]), shape=tuple(file[k + "_shape"])
            )
            for k in "GA"
        ]
        program = ConeProgram(
            file["c"], matrices[0], file["h"], matrices[1], file["b"], int(file["linear"]), file["cones"]
        )
        settings = json.loads(str(file["settings"]))
    sys.stderr.buffer.write(READY)
    sys.stderr.flush()
    reply = solve_here(program, settings)
    archive = io.BytesIO()
    np.savez(
        archive,
        x=reply.x,
        y=reply.y,
        z=reply.z,
        numbers=np.array([reply.flag, reply.iterations]),
        texts=np.array([reply.text, reply.log]),
    )
    sys.stdout.buffer.write(archive.getvalue())
    sys.stdout.flush()


def _pack(program: ConeProgram, settings: Mapping[str, object]) -> bytes:
    matrices = {
        f"{name}_{part}": np.asarray(getattr(matrix, part))
        for name, matrix in (("G", program.G), ("A", program.A))
        for part in ("data", "indices", "indptr", "shape")
    }
    archive = io.BytesIO()
    np.savez(
        archive,
        allow_pickle=False,
        c=program.c,
        h=program.h,
        b=program.b,
        linear=np.array(program.linear),
        cones=program.cones,
        settings=np.array(json.dumps(dict(settings))),
        **matrices,
    )
    return archive.getvalue()


def _unpack(packed: bytes) -> Reply:
    with np.load(io.BytesIO(packed), allow_pickle=False) as file:
        flag, iterations = (int(number) for number in file["numbers"])
        text, log = (str(part) for part in file["texts"])
        return Reply(flag, text, file["x"], file["y"], file["z"], iterations, log)


def _broken(process: subprocess.Popen[bytes]) -> Reply:
    none = np.zeros(0)
    return Reply(-7, f"the process of ECOS ended with code {process.poll()}", none, none, none, 0)


def _with_entry(matrix: sp.csc_matrix) -> sp.csc_matrix:
    """The matrix, with one stored zero if it stores nothing."""
    if matrix.nnz:
        return matrix
    return sp.csc_matrix((np.zeros(1), ([0], [0])), shape=matrix.shape)


if __name__ == "__main__":
    main()
