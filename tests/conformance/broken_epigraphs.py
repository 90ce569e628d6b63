"""Programs with one atom whose epigraph may be broken on purpose, and the verdict on an answer.

Every program is feasible and has an optimum. Rows with the atom are active at the optimum in most programs.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from zlib import crc32

import numpy as np

import milopt
from milopt import RBF, Program, Result, maximum, sum_squares
from milopt.compilation.status import PointStatus, Termination
from milopt.declaration.atoms import Atom, exp, logistic, norm, norm1, square
from milopt.declaration.programs.expression import Expression
from milopt.declaration.programs.program import leaves
from tests.declaration.atoms.cases import CASES, atom_of
from tests.testing.mutants import mutants

Change = Callable[[Atom], Atom]
"""Function that returns an atom, or a broken copy of the atom."""
TOLERANCE = 2e-5
"""Twenty times the tolerance of certificates; the errors of mutants are far larger."""
COLUMNS = 3


class AtomPrograms:
    """Programs of one atom, drawn by a seed.

    Parameters
    ----------
    name : str
        A key of `CASES`.
    seed : int
        Equal seeds give equal programs.
    change : callable
        Applied to the atom.
    """

    def __init__(self, name: str, seed: int, change: Change) -> None:
        self.random = np.random.default_rng([crc32(name.encode()), seed])
        self.pattern, self.change = atom_of(CASES[name]()), change
        at = self.pattern.segments
        e = 0.8 * self.random.normal(size=at.entry_count)
        self.e0 = e if np.array_equal(self.pattern.nearest(e, at), e) else np.abs(e) + 0.3

    def atom(self, argument: Expression) -> Atom:
        """Return the (broken) atom of an argument."""
        scalar = not self.pattern.argument.shape
        return self.change(self.pattern.with_argument(argument[0] if scalar else argument))

    def affine(self, program: Program) -> tuple[Expression, Expression]:
        """Return a variable, and an affine argument that equals e0 at a random point of the variable."""
        x = program.variable("x", COLUMNS)
        A = self.random.normal(size=(self.e0.size, COLUMNS))
        return x, A @ (x - 0.5 * self.random.normal(size=COLUMNS)) + self.e0

    def evaluations(self, program: Program) -> tuple[Expression, Expression]:
        """Return the squared norm of a function, and an argument that equals e0 at the function 0."""
        points = self.random.normal(size=(self.e0.size, 2))
        f = program.function("f", RBF(1.0))
        return f.norm_squared(), f(points) + self.e0

    def top(self, share: float) -> np.ndarray:
        """Return the values at e0, plus the fraction `share` of their size."""
        value = self.pattern.value(self.e0, self.pattern.segments)
        return value + share * (0.5 + np.abs(value))

    def weights(self, count: int) -> np.ndarray:
        """Return positive weights."""
        return self.random.uniform(0.5, 2.0, count)

    # -- the programs --------------------------------------------------------------------------------------------

    def in_an_objective(self) -> Program:
        """Return min c'phi(Ax + b) + ||x - x0||^2 / 4."""
        program = Program("in an objective")
        x, e = self.affine(program)
        atom = self.atom(e)
        program.minimize(self.weights(atom.size) @ vector(atom) + 0.25 * sum_squares(x - self.random.normal(size=3)))
        return program

    def in_a_row(self) -> Program:
        """Return min q'x + ||x||^2 / 20  s.t.  w phi(Ax + b) <= r, with the epigraph written into the row."""
        program = Program("in a row")
        x, e = self.affine(program)
        atom = self.atom(e)
        w = self.weights(atom.size)
        program.subject_to(w * vector(atom) <= w * self.top(0.2), name="held")
        program.minimize(self.random.normal(size=COLUMNS) @ x + 0.05 * sum_squares(x))
        return program

    def in_two_rows(self) -> Program:
        """Return the program of `in_a_row` with two blocks of rows, so that every entry of the atom has a column."""
        program = Program("in two rows")
        x, e = self.affine(program)
        atom = self.atom(e)
        s = program.variable("s", lower=0)
        program.subject_to(vector(atom) <= self.top(0.5), name="held")
        program.subject_to(self.weights(atom.size) @ vector(atom) <= s + 0.1, name="total")
        program.minimize(s + self.random.normal(size=COLUMNS) @ x + 0.05 * sum_squares(x))
        return program

    def inside_another(self) -> Program:
        """Return min sum logistic(phi) + exp(phi_0 / 4)  s.t.  max(phi, 0) <= r, with the atom inside three others."""
        program = Program("inside another")
        x, e = self.affine(program)
        atom = vector(self.atom(e))
        program.subject_to(maximum(atom, self.top(-0.3)) <= self.top(0.6), name="held")
        program.minimize(
            logistic(atom).sum() + exp(0.25 * atom[:1]).sum() + self.random.normal(size=3) @ x + 0.1 * sum_squares(x)
        )
        return program

    def over_a_function(self) -> Program:
        """Return min ||f||^2 / 2 + p'e + c'phi(e)  s.t.  phi(e) <= r  with e = f(points) + b."""
        program = Program("over a function")
        squared_norm, e = self.evaluations(program)
        atom = self.atom(e)
        program.subject_to(vector(atom) <= self.top(0.1), name="held")
        pull = self.random.normal(size=self.e0.size) @ e
        program.minimize(0.5 * squared_norm + pull + 0.5 * self.weights(atom.size) @ vector(atom))
        return program

    def around_another(self) -> Program | None:
        """Return min c'phi(inner) + ||x||^2 / 4 with squares or norms as argument; None if phi is not increasing."""
        size = self.e0.size
        if not (self.pattern.monotone(np.zeros(size), np.full(size, 9.0), self.pattern.segments) > 0).all():
            return None
        program = Program("around another")
        x, e = self.affine(program)
        inner = 0.3 * square(e - self.e0) + 0.1 * norm1(x) + 0.2 * norm(x - 1.0)
        atom = self.atom(inner)
        program.subject_to(vector(atom) <= 3 + 3 * self.top(1.0), name="held")
        program.minimize(self.weights(atom.size) @ vector(atom) + self.random.normal(size=3) @ x)
        return program


PLACES: dict[str, Callable[[AtomPrograms], Program | None]] = {
    "in an objective": AtomPrograms.in_an_objective,
    "in a row": AtomPrograms.in_a_row,
    "in two rows": AtomPrograms.in_two_rows,
    "inside another": AtomPrograms.inside_another,
    "over a function": AtomPrograms.over_a_function,
    "around another": AtomPrograms.around_another,
}


def vector(expression: Expression) -> Expression:
    """Return a scalar as a vector with one entry."""
    return expression if expression.shape else np.ones(1) * expression


@dataclass(frozen=True)
class RowVerdict:
    """Verdict on the answer to a program with a broken epigraph."""

    is_wrong: bool
    """Whether the point violates a declared row or is not optimal, or the reported objective is not the optimum."""
    is_certified: bool
    claims: str = ""
    """`infeasible` or `unbounded` if the result has that termination, otherwise empty."""


def program_of(name: str, place: str, seed: int, change: Change = lambda atom: atom) -> Program | None:
    """Return a program of `PLACES`; None if the atom cannot occur there."""
    return PLACES[place](AtomPrograms(name, seed, change))


def break_epigraph(mutation: str, seed: int) -> Change:
    """Return the function that breaks the epigraph of an atom by a mutation."""
    return lambda atom: dict(mutants(atom, seed))[mutation]


def verdict(program: Program, optimum: float, solver: str) -> RowVerdict:
    """Solve a program with a broken epigraph, and compare the point with the optimum of the unbroken one."""
    result = milopt.solve(program, solver)
    certified = result.point is PointStatus.CERTIFIED
    if result.termination in (Termination.INFEASIBLE, Termination.UNBOUNDED):
        return RowVerdict(True, certified, str(result.termination))
    if not result.values and not result.functions:
        return RowVerdict(True, certified)
    return RowVerdict(is_wrong(result, optimum), certified)


def is_wrong(result: Result, optimum: float) -> bool:
    """Return True if a result is not optimal or not feasible, according to the values of the declared atoms."""
    scale = TOLERANCE * (1 + abs(optimum))
    program = result.program
    with np.errstate(over="ignore", invalid="ignore"):
        objective = float(result.value(program.objective))
        rows = [result.value(constraint.expression) for constraint in program.constraints.values()]
    off = max(abs(objective - optimum), abs(result.objective - optimum))
    violation = max((float(np.max(-row, initial=0.0)) for row in rows), default=0.0)
    return not (off <= scale and violation <= TOLERANCE * 10 and domain_violation(result) <= TOLERANCE)


def domain_violation(result: Result) -> float:
    """Return how far arguments lie outside the domains of their atoms."""
    program, worst = result.program, 0.0
    for expression in (program.objective, *(c.expression for c in program.constraints.values())):
        for leaf in leaves(expression):
            if isinstance(leaf, Atom) and leaf.function is None:
                e = result.value(leaf.argument)
                worst = max(worst, float(np.max(np.abs(e - leaf.nearest(e, leaf.segments)), initial=0.0)))
    return worst
