"""The program  minimise weights't  over the epigraph of an atom at a fixed argument e, solved by Clarabel.

    rows = T t + E e + U u + constant in K,    u >= lower

The matrices are read off the expressions of the memberships. With multipliers z of the rows, T'z are the weights, and
-E'z / T'z are slopes of the atom at e.
"""

from __future__ import annotations

from dataclasses import dataclass

import clarabel
import numpy as np
import scipy.sparse as sp

from milopt.arrays import Index, Vector
from milopt.cones import Cone
from milopt.declaration.atoms.atom import Atom
from milopt.declaration.atoms.membership import Membership
from milopt.declaration.atoms.segments import Segments
from milopt.declaration.programs.expression import Leaf
from milopt.declaration.programs.leaves import Variable
from milopt.errors import UnsupportedError
from milopt.testing.atom_error import fail

ATTEMPTS = ((1e-10, 0.99), (1e-8, 0.9))
"""Tolerances and step fractions of the solver; the second pair is used if the solver fails with the first."""


@dataclass(frozen=True)
class LeastT:
    """The solution of the program: the least t, and the slopes that the multipliers give."""

    t: Vector
    slopes: Vector


class EpigraphProgram:
    """The epigraph of some runs of an atom, as matrices.

    Parameters
    ----------
    atom : Atom
        The atom; an error is raised if its memberships contain other leaves or cones than they may.
    at : Segments
        The runs.
    """

    def __init__(self, atom: Atom, at: Segments) -> None:
        self.atom, self.at = atom, at
        self._t, self._e = new_variable("t", at.count), new_variable("e", at.total)
        self._new: list[Variable] = []
        self._memberships = atom.epigraph(self._t, self._e, at, self._new_variable)
        if not self._memberships:
            fail(atom, "epigraph returns no memberships.")
        columns: list[Leaf] = [self._t, self._e, *self._new]
        blocks = [self._blocks(membership, columns) for membership in self._memberships]
        stacked = [sp.vstack(parts, format="csr") for parts in zip(*blocks, strict=True)]
        self.T, self.E = stacked[0], stacked[1]
        self.U = sp.hstack([sp.csr_array((self.T.shape[0], 0)), *stacked[2:]], format="csr")
        self.constant = np.concatenate([membership.rows.constant for membership in self._memberships])
        self.lower = np.concatenate([np.zeros(0), *(column.lower for column in self._new)])
        self._check_lazy_rows()

    def least(
        self, e: Vector, weights: Vector, *, at_least: Vector | None = None, fixed: tuple[Index, Vector] | None = None
    ) -> LeastT | str:
        """Return the solution at e, or the status of the solver as text if there is none.

        Parameters
        ----------
        e : array
            The argument.
        weights : array
            The objective, one number per entry of t.
        at_least : array, optional
            Lower bounds of t.
        fixed : tuple of arrays, optional
            Entries of t, and the numbers to which they are fixed.
        """
        runs, width = self.at.count, self.U.shape[1]
        rows, right = [sp.hstack([self.T, self.U])], [self.E @ e + self.constant]
        cones = [one for membership in self._memberships for one in _clarabel_cones(membership.cone, membership.sizes)]
        eye = sp.eye_array(runs + width, format="csr")
        bounded = np.flatnonzero(np.isfinite(self.lower))
        inequalities = [(eye[runs + bounded], -self.lower[bounded])]
        if at_least is not None:
            inequalities.append((eye[:runs], -at_least))
        for matrix, constant in inequalities:
            rows.append(matrix)
            right.append(constant)
            cones.append(clarabel.NonnegativeConeT(constant.size))
        if fixed is not None:
            rows.append(eye[fixed[0]])
            right.append(-fixed[1])
            cones.append(clarabel.ZeroConeT(fixed[0].size))
        objective = np.concatenate([weights, np.zeros(width)])
        x, z, status = _solved(objective, sp.csc_array(-sp.vstack(rows)), np.concatenate(right), cones)
        if status not in ("Solved", "AlmostSolved"):
            return status
        z = z[: self.T.shape[0]]
        with np.errstate(divide="ignore", invalid="ignore"):
            slopes = -(self.E.T @ z) / (self.T.T @ z)[self.at.of]
        return LeastT(x[:runs], slopes)

    def _new_variable(self, name: str, count: int, lower: float = -np.inf) -> Leaf:
        self._new.append(new_variable(name, count, lower))
        return self._new[-1]

    def _blocks(self, membership: Membership, columns: list[Leaf]) -> list[sp.csr_array]:
        """Return the matrix of each column in the rows of a membership, after checks."""
        name, cone, rows = membership.name, membership.cone, membership.rows
        if cone.name not in self.atom.cones:
            fail(self.atom, f"the membership {name!r} is in the cone {cone.name!r}, which `cones` does not declare.")
        try:
            cone.sizes_of(rows.size, membership.sizes, name)
        except UnsupportedError as error:
            fail(self.atom, f"the membership {name!r} does not fit its cones: {error}")
        found = {id(leaf): coefficient.value() for leaf, coefficient in rows.terms}
        known = {id(column) for column in columns}
        others = [leaf.describe() for leaf, _ in rows.terms if id(leaf) not in known]
        if others:
            fail(self.atom, f"the membership {name!r} contains {others[0]}, which is neither t, e nor a new variable.")
        if membership.ends_in_function:
            fail(self.atom, f"the membership {name!r} ends in a function, but the argument is an expression.")
        return [found.get(id(column), sp.csr_array((rows.size, column.size))) for column in columns]

    def _check_lazy_rows(self) -> None:
        """Raise an error unless every lazy row is a lower bound of one entry of t, and may be left out."""
        start = 0
        for membership in self._memberships:
            rows = self.T[start : start + membership.rows.size]
            start += membership.rows.size
            if not membership.lazy:
                continue
            bounds_one = (np.diff(rows.indptr) == 1).all() and (rows.data > 0).all()
            if not membership.cone.may_be_lazy or not bounds_one:
                fail(self.atom, f"the lazy rows {membership.name!r} are not lower bounds of one entry of t each.")


def new_variable(name: str, count: int, lower: float = -np.inf) -> Variable:
    """Return a variable with a lower bound that belongs to no program."""
    return Variable(name, (count,), np.full(count, float(lower)), np.full(count, np.inf), False)


def _solved(q: Vector, A: sp.csc_array, b: Vector, cones: list[object]) -> tuple[Vector, Vector, str]:
    """Return x, the multipliers and the status of Clarabel for: minimise q'x subject to b - Ax in the cones."""
    settings = clarabel.DefaultSettings()
    settings.verbose = False
    for tolerance, settings.max_step_fraction in ATTEMPTS:
        settings.tol_feas = settings.tol_gap_abs = settings.tol_gap_rel = tolerance
        solution = clarabel.DefaultSolver(sp.csc_array((q.size, q.size)), q, A, b, cones, settings).solve()
        if str(solution.status) not in ("NumericalError", "InsufficientProgress", "MaxIterations"):
            break
    return np.asarray(solution.x), np.asarray(solution.z), str(solution.status)


def _clarabel_cones(cone: Cone, sizes: Index) -> list[object]:
    """Return the cones of one membership."""
    if cone.name == "zero":
        return [clarabel.ZeroConeT(int(sizes.sum()))]
    if cone.name == "nonnegative":
        return [clarabel.NonnegativeConeT(int(sizes.sum()))]
    if cone.name == "second-order":
        return [clarabel.SecondOrderConeT(int(size)) for size in sizes]
    if cone.name == "exponential":
        return [clarabel.ExponentialConeT() for _ in sizes]
    raise UnsupportedError(f"check_atom cannot solve a program with a {cone.words}.")
