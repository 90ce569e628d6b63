"""The convex step of a weak learner over the 1-norm ball, as a linear program in HiGHS with generated rows and columns.

    min  F(a) = sum_{i in I-} d_i t_i - c'a   s.t.  t_i >= k_x'a  for all x in B_i,   ||a||_1 <= 1

I- are the bags with negative weight -d_i, B_i are the instances of bag i, and k_x has the similarities of instance x to
the atoms z of the dictionary. c is the linear term: the sum of w_i k_x over the bags i with positive weight w_i, each
at its witness x. A signed atom is a unit vector e_z or -e_z.

Only a few instances and a few signed atoms matter at the optimum. After each solve the model is extended

    by columns of the signed atoms with the largest |w_z|,  w = sum_x mu_x k_x - c  for the multipliers mu of the rows,
    by a row for each bag whose t_i is too small, at its instance with the largest k_x'a.

Rows and columns do not depend on d or c. Between the steps of a descent, and between rounds of column generation, only
the costs change, so the last basis stays feasible. The optimum is at most F(a) for an a of 1-norm 1 (or 0), and at
least -max_z |w_z| for multipliers that sum to d_i in each bag.
"""

from __future__ import annotations

from itertools import compress
from typing import Any

import numpy as np

from milopt.arrays import Matrix, Vector
from milopt.solvers.highs.model import DUAL_SIMPLEX, PRIMAL_SIMPLEX, check_options
from milopt.solvers.native.l1_ball.game import GAP_CLOSED, GAP_OPEN
from milopt.solvers.native.l1_ball.similarities import Index, Similarities
from milopt.solving.options import Options

GAP_TOLERANCE = 1e-8
"""Difference of the bounds, relative to the largest |w_z|, at which the search stops.

If nothing can be added or MAX_GENERATION_ROUNDS is reached, 100 times this difference is accepted.
"""
MAX_GENERATION_ROUNDS = 500
"""Maximum number of solves with generation of rows and columns."""
MAX_ATOMS_PER_ROUND = 4
"""Maximum number of atoms that are added after one solve."""
MAX_IDLE_GAMES = 3
"""Rows and columns that were unused in more than this number of consecutive convex steps may be removed."""
MIN_IDLE_FRACTION = 0.25
"""Fraction of unused rows and columns above which they are removed; removing a few costs more than it saves."""


class HighsMatrixGame:
    """Linear program of the convex step (see the module docstring), with the rows and columns generated so far.

    Rows and columns that were unused in several convex steps may be removed.
    """

    def __init__(self, similarities: Similarities, options: Options) -> None:
        import highspy

        self._similarities = similarities
        m, k = similarities.offsets.size - 1, similarities.K.shape[0]
        self._highs: Any = highspy.Highs()
        check_options(options.extra, "HiGHS")
        for name, value in {
            "output_flag": False,
            "threads": int(options.threads),
            "presolve": "off",
            "primal_feasibility_tolerance": 1e-9,
            "dual_feasibility_tolerance": 1e-9,
            "small_matrix_value": 1e-12,
            **options.extra,
        }.items():
            self._highs.setOptionValue(name, value)
        no_entries, free = (np.zeros(0, dtype=np.int32), np.zeros(0)), np.full(m, np.inf)
        self._highs.addCols(m, np.zeros(m), -free, free, 0, np.zeros(m, dtype=np.int32), *no_entries)
        self._highs.addRows(1, np.array([-np.inf]), np.ones(1), 0, np.zeros(1, dtype=np.int32), *no_entries)
        self._m, self._k = m, k
        largest_similarity = float(np.abs(similarities.K).max(initial=0.0))
        self._unit = 2.0 ** np.round(np.log2(largest_similarity)) if largest_similarity > 0.0 else 1.0
        """Power of two by which similarities and maxima are divided, because HiGHS rejects entries of 1e15."""
        self._instances = np.zeros(0, dtype=np.int64)
        self._rows = np.zeros((0, k))
        self._atoms = np.zeros(0, dtype=np.int64)
        """Signed atoms of the columns: z for e_z, ~z for -e_z."""
        self._bag_of = np.repeat(np.arange(m), np.diff(similarities.offsets))
        self._idle_rows, self._idle_atoms = np.zeros(0, dtype=np.int64), np.zeros(0, dtype=np.int64)
        """Number of convex steps since each row and each column was last used."""
        self._d = np.zeros(m)

    def values(self, a: Vector) -> Vector:
        """Return u(x) = k_x'a at all instances x."""
        used = np.flatnonzero(a)
        return np.asarray(a[used] @ self._similarities.K[used])

    def start_descent(self, d: Vector, z: int) -> None:
        """Prepare the convex steps of a descent with the weights d that starts at the signed atom z.

        Idle rows and columns are removed (see `_remove_idle_rows_and_columns`). Each bag with d_i > 0 that has no row
        gets one, and a column is added for the signed atom if it has none. z stands for e_z if z < k, and for -e_(z -
        k) otherwise, where k is the number of atoms.
        """
        self._d = d
        self._remove_idle_rows_and_columns()
        has_row = np.zeros(self._m, dtype=bool)
        has_row[self._bag_of[self._instances]] = True
        self._add_rows(self._similarities.witness[(d > 0.0) & ~has_row, z])
        atom = z if z < self._k else ~(z - self._k)
        if atom not in self._atoms:
            self._add_atoms(np.array([atom]))

    def solve(self, c: Vector) -> tuple[int, Vector, float, float]:
        """Solve the convex step for the linear term c.

        Returns
        -------
        end : int
            `GAP_CLOSED` if the bounds have met, else `GAP_OPEN`.
        a : ndarray of shape (n_atoms,)
            Best point, of 1-norm 1 or 0.
        upper : float
            F(a).
        lower : float
            Lower bound on the optimal value.
        """
        m, d, offsets = self._m, self._d, self._similarities.offsets
        active = np.flatnonzero(d > 0.0)
        largest = self._estimate_largest_payoff(c)
        scale = 2.0 ** -np.round(np.log2(largest)) if largest > 0.0 else 1.0
        self._set_costs(scale * d, scale * c)
        upper, lower, best, method = 0.0, -np.inf, np.zeros(self._k), PRIMAL_SIMPLEX
        tolerance = GAP_TOLERANCE / scale
        for _ in range(MAX_GENERATION_ROUNDS):
            self._highs.setOptionValue("simplex_strategy", method)
            self._highs.run()
            if self._highs.getModelStatus().name != "kOptimal":
                return GAP_OPEN, best, upper, lower
            solution = self._highs.getSolution()
            x, multipliers = np.array(solution.col_value), np.array(solution.row_dual)
            w = self._payoffs(np.maximum(multipliers[1:], 0.0), c)
            lower = max(lower, -float(np.abs(w).max()))
            a = self._normalised_coefficients(np.maximum(x[m:], 0.0))
            values = self.values(a)
            bag_maxima = np.maximum.reduceat(values, offsets[:-1])
            value = float(d @ bag_maxima - c @ a)
            if value < upper:
                upper, best = value, a
            if upper - lower <= tolerance:
                self._idle_rows = np.where(multipliers[1:] > 0.0, 0, self._idle_rows + 1)
                self._idle_atoms = np.where(x[m:] > 0.0, 0, self._idle_atoms + 1)
                return GAP_CLOSED, best, upper, lower
            price = max(0.0, -multipliers[0]) / scale
            atoms = self._select_new_atoms(w, price + 0.1 * tolerance)
            violated = active[bag_maxima[active] > self._unit * (x[active] + 1e-9)]
            rows = np.array(
                [offsets[i] + int(np.argmax(values[offsets[i] : offsets[i + 1]])) for i in violated], dtype=int
            )
            rows = np.setdiff1d(rows, self._instances)
            if not atoms.size and not rows.size:
                break
            self._add_atoms(atoms, -scale * _signed_entries(c, atoms))
            self._add_rows(rows)
            method = DUAL_SIMPLEX if rows.size else PRIMAL_SIMPLEX
        return (GAP_CLOSED if upper - lower <= 100 * tolerance else GAP_OPEN), best, upper, lower

    # -- helpers -------------------------------------------------------------------------------------------------

    def _estimate_largest_payoff(self, c: Vector) -> float:
        """Return an estimate of max_z |w_z|: its value if the first row of each bag i has the multiplier d_i."""
        first = self._first_row_of_each_bag()
        w = self._d[self._bag_of[self._instances[first]]] @ self._rows[first] - c
        return float(np.abs(w).max())

    def _first_row_of_each_bag(self) -> Index:
        """Return the index of the first generated row of each bag that has rows."""
        return np.unique(self._bag_of[self._instances], return_index=True)[1]

    def _payoffs(self, mu: Vector, c: Vector) -> Vector:
        """Return  w = sum_x mu_x k_x - c  for the multipliers mu, rescaled so that they sum to d_i in each bag.

        After the rescaling, -max_z |w_z| is a valid lower bound for any mu >= 0. The rescaled multipliers
        are not stored in `mu`; but if all multipliers of a bag are 0, that of its first row is set to 1 in `mu`.
        """
        bag, first = self._bag_of[self._instances], self._first_row_of_each_bag()
        empty = first[np.bincount(bag, mu, minlength=self._m)[bag[first]] <= 0.0]
        mu[empty] = 1.0
        total = np.bincount(bag, mu, minlength=self._m)
        return np.asarray((mu * self._d[bag] / total[bag]) @ self._rows - c)

    def _normalised_coefficients(self, x: Vector) -> Vector:
        """Return the coefficients a that the weights x of the signed atoms give, scaled to 1-norm 1, or 0 if a is 0."""
        up = self._atoms >= 0
        a = np.zeros(self._k)
        np.add.at(a, np.where(up, self._atoms, ~self._atoms), np.where(up, x, -x))
        norm = float(np.abs(a).sum())
        return a / norm if norm > 1e-12 else np.zeros(self._k)

    def _select_new_atoms(self, w: Vector, price: float) -> Index:
        """Return signed atoms outside the model with |w_z| > `price`, largest first, at most MAX_ATOMS_PER_ROUND."""
        order = np.argsort(-np.abs(w))[: 2 * MAX_ATOMS_PER_ROUND]
        order = order[np.abs(w[order]) > price]
        atoms = np.where(w[order] < 0.0, order, ~order)
        return np.asarray(atoms[~np.isin(atoms, self._atoms)][:MAX_ATOMS_PER_ROUND])

    def _set_costs(self, d: Vector, c: Vector) -> None:
        """Set the costs of the columns t_i (from d) and of the signed atoms (from c)."""
        costs = np.concatenate([self._unit * d, -_signed_entries(c, self._atoms)])
        self._highs.changeColsCost(costs.size, np.arange(costs.size, dtype=np.int32), costs)

    def _add_rows(self, instances: Index) -> None:
        """Add the row  t_i - k_x'a >= 0  for each of these instances x, where i is the bag of x."""
        count = instances.size
        if not count:
            return
        rows = np.ascontiguousarray(self._similarities.K[:, instances].T)
        width = 1 + self._atoms.size
        values = np.hstack([np.ones((count, 1)), -_signed_entries(rows, self._atoms) / self._unit])
        places = np.empty((count, width), dtype=np.int32)
        places[:, 0] = self._bag_of[instances]
        places[:, 1:] = self._m + np.arange(self._atoms.size)
        starts = width * np.arange(count, dtype=np.int32)
        zero, infinite = np.zeros(count), np.full(count, np.inf)
        self._highs.addRows(count, zero, infinite, values.size, starts, places.ravel(), values.ravel())
        self._instances = np.concatenate([self._instances, instances])
        self._rows = np.vstack([self._rows, rows])
        self._idle_rows = np.concatenate([self._idle_rows, np.zeros(count, dtype=np.int64)])

    def _add_atoms(self, atoms: Index, costs: Vector | None = None) -> None:
        """Add the columns of these signed atoms (z for e_z, ~z for -e_z), with these costs or with costs 0."""
        count = atoms.size
        if not count:
            return
        height = 1 + self._instances.size
        values = np.hstack([np.ones((count, 1)), -_signed_entries(self._rows, atoms).T / self._unit])
        places = np.tile(np.arange(height, dtype=np.int32), count)
        starts = height * np.arange(count, dtype=np.int32)
        zero, infinite = np.zeros(count), np.full(count, np.inf)
        cost = zero if costs is None else costs
        self._highs.addCols(count, cost, zero, infinite, values.size, starts, places, values.ravel())
        self._atoms = np.concatenate([self._atoms, atoms])
        self._idle_atoms = np.concatenate([self._idle_atoms, np.zeros(count, dtype=np.int64)])

    def _remove_idle_rows_and_columns(self) -> None:
        """Remove rows and columns that were unused in more than `MAX_IDLE_GAMES` consecutive convex steps.

        The basis of the remaining rows and columns is kept. Nothing is removed if the unused rows and columns are at
        most the fraction MIN_IDLE_FRACTION of all generated rows and columns.
        """
        rows, atoms = self._idle_rows > MAX_IDLE_GAMES, self._idle_atoms > MAX_IDLE_GAMES
        if rows.sum() + atoms.sum() <= MIN_IDLE_FRACTION * (rows.size + atoms.size):
            return
        basis = self._highs.getBasis()
        kept_rows, kept_columns = np.r_[True, ~rows], np.r_[np.ones(self._m, dtype=bool), ~atoms]
        gone_rows, gone_columns = np.flatnonzero(~kept_rows), np.flatnonzero(~kept_columns)
        self._highs.deleteRows(gone_rows.size, gone_rows.astype(np.int32))
        self._highs.deleteCols(gone_columns.size, gone_columns.astype(np.int32))
        # HiGHS repairs the basis if a basic row or column was removed.
        basis.alien = True
        basis.row_status = list(compress(basis.row_status, kept_rows))
        basis.col_status = list(compress(basis.col_status, kept_columns))
        self._highs.setBasis(basis)
        self._instances, self._rows, self._idle_rows = self._instances[~rows], self._rows[~rows], self._idle_rows[~rows]
        self._atoms, self._idle_atoms = self._atoms[~atoms], self._idle_atoms[~atoms]


def _signed_entries(values: Matrix, atoms: Index) -> Matrix:
    """Return values[..., z] for each signed atom e_z (given as z), and -values[..., z] for each -e_z (given as ~z)."""
    up = atoms >= 0
    return np.asarray(np.where(up, 1.0, -1.0) * values[..., np.where(up, atoms, ~atoms)])
