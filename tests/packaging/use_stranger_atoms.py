"""Check the installed atoms, solve a program with every solver that supports its cones, and print the results as JSON.

`python use_stranger_atoms.py` prints JSON. `tests/packaging/test_stranger_atoms.py` runs this file and reads it.
"""

from __future__ import annotations

import json
import sys

import milopt_stranger_atoms
import numpy as np
from milopt_stranger_atoms import peak, softplus

import milopt
from milopt.testing import check_atom


def program_of(atom: str) -> milopt.Program:
    """Return a convex program with an atom in the objective, in rows, and inside or around another atom."""
    random = np.random.default_rng(3)
    A, b = random.normal(size=(6, 2)), random.normal(size=6)
    program = milopt.Program(atom)
    x = program.variable("x", 2, lower=-3, upper=3)
    if atom == "peak":
        program.minimize(peak(A @ x - b) + 0.1 * x.sum())
        program.subject_to(peak(x) + peak(milopt.absolute(x - 1)) <= 2.5, name="box")
    else:
        program.minimize(softplus(A @ x - b, 2.0).sum() + 0.1 * milopt.norm1(x))
        program.subject_to(softplus(milopt.norm(x - 1), 0.5) <= 2.0, name="ball")
    return program


def main() -> None:
    x = milopt.Program().variable("x", 4)
    for atom in (peak(x), softplus(x), softplus(x, 3.0)):
        check_atom(atom)  # type: ignore[arg-type]
    facts: dict[str, object] = {"from": milopt_stranger_atoms.__file__}
    for name in ("peak", "softplus"):
        program = program_of(name)
        answers = {solver: milopt.solve(program, solver) for solver in milopt.explain(program).supporting_solvers}
        facts[name] = {
            "latex": program.to_latex(),
            "cbf": program.to_cbf(),
            "answers": {solver: [result.objective, str(result.point)] for solver, result in answers.items()},
        }
    json.dump(facts, sys.stdout)


if __name__ == "__main__":
    main()
