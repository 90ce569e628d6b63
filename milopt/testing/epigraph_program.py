"""Solution of  minimise weights't  over the epigraph of an atom at a fixed argument e, by Clarabel.

    rows = T t + E e + U u + constant in K,    u >= lower

Here u are the auxiliary variables of the epigraph, and K is a product of cones. The matrices T, E and U are read from
the expressions of the memberships (rows in a cone) that `Atom.epigraph` returns. With multipliers z of the rows, T'z
are the weights, and -E'z / T'z (elementwise) are slopes of the atom at e.
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

SOLVER_ATTEMPTS = ((1e-10, 0.99), (1e-8, 0.9))
"""Pairs (tolerance, maximum step fraction) for the solver; the second one is used if the first one fails."""


@dataclass(frozen=True)
class EpigraphMinimum:
    """Solution of the program: the minimal t, and the slopes -E'z / T'z given by the multipliers z."""

    t: Vector
    slopes: Vector


class EpigraphProgram:
    """Epigraph of some runs of an atom, as the matrices of the program in the module docstring.

    Parameters
    ----------
    atom : Atom
        The atom. An error is raised if its memberships contain leaves or cones that are not allowed.
    at : Segments
        The runs.
    """

    def __init__(self, atom: Atom, at: Segments) -> None:
        self.atom, self.at = atom, at
        self._t, self._e = new_variable("t", at.count), new_variable("e", at.entry_count)
        self._new: list[Variable] = []
        self._memberships = atom.epigraph(self._t, self._e, at, self._new_variable)
        if not self._memberships:
            fail(atom, "epigraph returns no memberships.")
        columns: list[Leaf] = [self._t, self._e, *self._new]
        blocks = [self._extract_matrices(membership, columns) for membership in self._memberships]
        stacked = [sp.vstack(parts, format="csr") for parts in zip(*blocks, strict=True)]
        self.T, self.E = stacked[0], stacked[1]
        self.U = sp.hstack([sp.csr_array((self.T.shape[0], 0)), *stacked[2:]], format="csr")
        self.constant = np.concatenate([membership.rows.constant for membership in self._memberships])
        self.lower = np.concatenate([np.zeros(0), *(column.lower for column in self._new)])
        self._check_lazy_rows()

    def minimise(
        self, e: Vector, weights: Vector, *, at_least: Vector | None = None, fixed: tuple[Index, Vector] | None = None
    ) -> EpigraphMinimum | str:
        """Return the solution at e, or the status of the solver as text if there is none.

        Parameters
        ----------
        e : array
            Argument of the atom.
        weights : array
            Objective, one number per entry of t.
        at_least : array, optional
            Lower bounds of t.
        fixed : tuple of arrays, optional
            Indices of fixed entries of t, and their values.

        Returns
        -------
        EpigraphMinimum or str
            Solution, or status of the solver.
        """
        runs, width = self.at.count, self.U.shape[1]
        rows, right = [sp.hstack([self.T, self.U])], [self.E @ e + self.constant]
        cones = [cone for entry in self._memberships for cone in _clarabel_cones(entry.cone, entry.sizes)]
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
        x, z, status = _solve_with_clarabel(objective, sp.csc_array(-sp.vstack(rows)), np.concatenate(right), cones)
        if status not in ("Solved", "AlmostSolved"):
            return status
        z = z[: self.T.shape[0]]
        with np.errstate(divide="ignore", invalid="ignore"):
            slopes = -(self.E.T @ z) / (self.T.T @ z)[self.at.run_of_entry]
        return EpigraphMinimum(x[:runs], slopes)

    def _new_variable(self, name: str, count: int, lower: float = -np.inf) -> Leaf:
        """Return a new variable, and add it to the auxiliary variables u."""
        self._new.append(new_variable(name, count, lower))
        return self._new[-1]

    def _extract_matrices(self, membership: Membership, columns: list[Leaf]) -> list[sp.csr_array]:
        """Return the matrix of each variable of `columns` in the rows of a membership.

        An error is raised if the membership is not valid: an undeclared cone, wrong sizes, other leaves or a function.
        """
        name, cone, rows = membership.name, membership.cone, membership.rows
        if cone.name not in self.atom.cones:
            fail(self.atom, f"the membership {name!r} is in the cone {cone.name!r}, which `cones` does not declare.")
        try:
            cone.factor_sizes(rows.size, membership.sizes, name)
        except UnsupportedError as error:
            fail(self.atom, f"the membership {name!r} does not fit its cones: {error}")
        matrices = {id(leaf): coefficient.value() for leaf, coefficient in rows.terms}
        known = {id(column) for column in columns}
        others = [leaf.describe() for leaf, _ in rows.terms if id(leaf) not in known]
        if others:
            fail(self.atom, f"the membership {name!r} contains {others[0]}, which is neither t, e nor a new variable.")
        if membership.ends_in_function:
            fail(self.atom, f"the membership {name!r} ends in a function, but the argument is an expression.")
        return [matrices.get(id(column), sp.csr_array((rows.size, column.size))) for column in columns]

    def _check_lazy_rows(self) -> None:
        """Raise an error unless every lazy row is a lower bound of one entry of t.

        Solvers may get lazy rows only when a solution violates them, so these rows must not define anything else.
        """
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
    """Return a variable with a lower bound; the variable does not belong to a program."""
    return Variable(name, (count,), np.full(count, float(lower)), np.full(count, np.inf), False)


def _solve_with_clarabel(q: Vector, A: sp.csc_array, b: Vector, cones: list[object]) -> tuple[Vector, Vector, str]:
    """Minimise q'x subject to b - Ax in the cones by Clarabel, and return x, the multipliers and the status."""
    settings = clarabel.DefaultSettings()
    settings.verbose = False
    for tolerance, settings.max_step_fraction in SOLVER_ATTEMPTS:
        settings.tol_feas = settings.tol_gap_abs = settings.tol_gap_rel = tolerance
        solution = clarabel.DefaultSolver(sp.csc_array((q.size, q.size)), q, A, b, cones, settings).solve()
        if str(solution.status) not in ("NumericalError", "InsufficientProgress", "MaxIterations"):
            break
    return np.asarray(solution.x), np.asarray(solution.z), str(solution.status)


def _clarabel_cones(cone: Cone, sizes: Index) -> list[object]:
    """Return the Clarabel cones of one membership."""
    if cone.name == "zero":
        return [clarabel.ZeroConeT(int(sizes.sum()))]
    if cone.name == "nonnegative":
        return [clarabel.NonnegativeConeT(int(sizes.sum()))]
    if cone.name == "second-order":
        return [clarabel.SecondOrderConeT(int(size)) for size in sizes]
    if cone.name == "exponential":
        return [clarabel.ExponentialConeT() for _ in sizes]
    raise UnsupportedError(f"check_atom cannot solve a program with a {cone.display_name}.")
