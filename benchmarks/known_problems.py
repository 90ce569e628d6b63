"""Public problems with known answers: netlib and MIPLIB files, and quadratic programs of Maros and Meszaros.

They are read from the folder `problems` in MILOPT_DATA. Its README.md has a table of names and answers.
Files (`.mps`) are read by `milopt.read_program`; programs of arrays (`.mat`),

    min 1/2 x'Px + q'x + r   s.t.   l <= A x <= u,

are declared from the arrays.
"""

from __future__ import annotations

import os
import re
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import scipy.io
import scipy.sparse as sp

import milopt

INFINITE = 1e20
_ROW = re.compile(r"\| (?P<name>\w+) \((?P<kind>LP|MIP|QP)\) \|.*\| (?P<answer>\S+) \|$")


@dataclass(frozen=True)
class KnownProblem:
    """A problem with its optimum or its status."""

    name: str
    kind: str
    answer: float | str
    path: Path

    def program(self) -> milopt.Program:
        """Return the problem as a program."""
        return milopt.read_program(self.path) if self.path.suffix == ".mps" else from_arrays(self.path)

    def verdict(self, result: milopt.Result, tolerance: float) -> str:
        """Return "ok", "WRONG: ..." if a false result is certified, or the status of an uncertified result."""
        proved = result.point == "certified" or result.termination in ("infeasible", "unbounded")
        if not proved:
            return f"{result.termination}, {result.point}"
        if isinstance(self.answer, str):
            return "ok" if result.termination == self.answer else f"WRONG: {result.termination}"
        apart = abs(result.objective - self.answer) / max(1.0, abs(self.answer))
        return "ok" if result.termination == "optimal" and apart <= tolerance else f"WRONG: {result.objective!r}"


def known_problems() -> list[KnownProblem]:
    """Return the problems of the table whose files exist; none without the folder."""
    folder = Path(os.environ.get("MILOPT_DATA", "")) / "problems"
    table = folder / "README.md"
    problems = []
    for line in table.read_text(encoding="utf-8").splitlines() if table.is_file() else ():
        row = _ROW.match(line.strip())
        if row is None:
            continue
        path = folder / f"{row['name']}.{'mat' if row['kind'] == 'QP' else 'mps'}"
        answer: float | str = row["answer"] if row["answer"].isalpha() else float(row["answer"])
        if path.is_file():
            problems.append(KnownProblem(row["name"], row["kind"], answer, path))
    return problems


def from_arrays(path: Path) -> milopt.Program:
    """Declare the quadratic program of a .mat file."""
    arrays = scipy.io.loadmat(path)
    q, low, high = (np.asarray(arrays[name], dtype=float).ravel() for name in ("q", "l", "u"))
    A = sp.csr_array(arrays["A"])
    program = milopt.Program(path.stem)
    x = program.variable("x", q.size)
    program.minimize(0.5 * milopt.quad_form(x, sp.csr_array(arrays["P"])) + q @ x + float(np.squeeze(arrays["r"])))
    equal = low == high
    below, above = ~equal & (low > -INFINITE), ~equal & (high < INFINITE)
    if equal.any():
        program.subject_to(A[equal] @ x == low[equal], "equal")
    if below.any():
        program.subject_to(A[below] @ x >= low[below], "below")
    if above.any():
        program.subject_to(A[above] @ x <= high[above], "above")
    return program
