"""The convex step of a weak learner over the 1-norm ball as a linear program in HiGHS that grows where it must.

    min  F(a) = sum_{I-} d_i t_i - c'a   s.t.  t_i >= k_x'a  (x in B_i),   ||a||_1 <= 1

Few instances x and few atoms +-e_z matter. Rows and columns join as a solution asks for them: the atoms of the largest
|w_z|, w = sum_x mu_x k_x - c for the rows' multipliers mu, and the largest instance of each bag whose t_i is too small.
Neither depends on d or c, so from step to step and from round to round only costs change, and the last basis stays
feasible. Both bounds are computed at normalised points: F(a), and -max |w_z|.
"""

from __future__ import annotations

from itertools import compress
from typing import Any

import numpy as np

from milopt.arrays import Matrix, Vector
from milopt.solvers.highs.model import DUAL, PRIMAL, check_options
from milopt.solvers.native.l1_ball.game import CLOSED, OPEN
from milopt.solvers.native.l1_ball.similarities import Index, Similarities
from milopt.solving.options import Options

GAP = 1e-8
"""Distance of the bounds, over the largest payoff, at which they have met."""
TURNS = 500
AT_ONCE = 4
"""Atoms that join together."""
IDLE = 3
"""Games in which a row or a column was of no use before it may go,"""
IDLE_SHARE = 0.25
"""once these are so many of all: taking out a few costs more than they do."""


class HighsGame:
    """The linear program, the part of it that HiGHS has."""

    def __init__(self, similar: Similarities, options: Options) -> None:
        import highspy

        self._similar = similar
        m, k = similar.offsets.size - 1, similar.K.shape[0]
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
        largest = float(np.abs(similar.K).max(initial=0.0))
        self._unit = 2.0 ** np.round(np.log2(largest)) if largest > 0.0 else 1.0
        """HiGHS has similarities and maxima in this unit: it refuses entries of 1e15."""
        self._instances = np.zeros(0, dtype=np.int64)
        self._rows = np.zeros((0, k))
        self._atoms = np.zeros(0, dtype=np.int64)
        """z for e_z, ~z for -e_z."""
        self._bag_of = np.repeat(np.arange(m), np.diff(similar.offsets))
        self._idle_rows, self._idle_atoms = np.zeros(0, dtype=np.int64), np.zeros(0, dtype=np.int64)
        """Games since they were of use."""
        self._d = np.zeros(m)

    def values(self, a: Vector) -> Vector:
        """u(x) at all instances."""
        used = np.flatnonzero(a)
        return np.asarray(a[used] @ self._similar.K[used])

    def begin(self, d: Vector, z: int) -> None:
        """Other d; each of their bags has a row at least, and the signed atom z, of `Similarities`, is in the game."""
        self._d = d
        self._drop()
        has_row = np.zeros(self._m, dtype=bool)
        has_row[self._bag_of[self._instances]] = True
        self._add_rows(self._similar.witness[(d > 0.0) & ~has_row, z])
        atom = z if z < self._k else ~(z - self._k)
        if atom not in self._atoms:
            self._add_atoms(np.array([atom]))

    def play(self, c: Vector) -> tuple[int, Vector, float, float]:
        """(end, a, upper bound F(a), lower bound) of the convex step with this c; a has norm 1 or 0."""
        m, d, offsets = self._m, self._d, self._similar.offsets
        active = np.flatnonzero(d > 0.0)
        newest = self._largest_payoff(c)
        scale = 2.0 ** -np.round(np.log2(newest)) if newest > 0.0 else 1.0
        self._set_costs(scale * d, scale * c)
        upper, lower, best, method = 0.0, -np.inf, np.zeros(self._k), PRIMAL
        tolerance = GAP / scale
        for _ in range(TURNS):
            self._highs.setOptionValue("simplex_strategy", method)
            self._highs.run()
            if self._highs.getModelStatus().name != "kOptimal":
                return OPEN, best, upper, lower
            solution = self._highs.getSolution()
            x, multipliers = np.array(solution.col_value), np.array(solution.row_dual)
            w = self._payoffs(np.maximum(multipliers[1:], 0.0), c)
            lower = max(lower, -float(np.abs(w).max()))
            a = self._point(np.maximum(x[m:], 0.0))
            values = self.values(a)
            tops = np.maximum.reduceat(values, offsets[:-1])
            worth = float(d @ tops - c @ a)
            if worth < upper:
                upper, best = worth, a
            if upper - lower <= tolerance:
                self._idle_rows = np.where(multipliers[1:] > 0.0, 0, self._idle_rows + 1)
                self._idle_atoms = np.where(x[m:] > 0.0, 0, self._idle_atoms + 1)
                return CLOSED, best, upper, lower
            price = max(0.0, -multipliers[0]) / scale
            atoms = self._new_atoms(w, price + 0.1 * tolerance)
            low = active[tops[active] > self._unit * (x[active] + 1e-9)]
            rows = np.array([offsets[i] + int(np.argmax(values[offsets[i] : offsets[i + 1]])) for i in low], dtype=int)
            rows = np.setdiff1d(rows, self._instances)
            if not atoms.size and not rows.size:
                break
            self._add_atoms(atoms, -scale * _signed(c, atoms))
            self._add_rows(rows)
            method = DUAL if rows.size else PRIMAL
        return (CLOSED if upper - lower <= 100 * tolerance else OPEN), best, upper, lower

    # -- pieces --------------------------------------------------------------------------------------------------

    def _largest_payoff(self, c: Vector) -> float:
        """About how large |w| is."""
        first = self._first_rows()
        w = self._d[self._bag_of[self._instances[first]]] @ self._rows[first] - c
        return float(np.abs(w).max())

    def _first_rows(self) -> Index:
        """A row of each bag that has one."""
        return np.unique(self._bag_of[self._instances], return_index=True)[1]

    def _payoffs(self, mu: Vector, c: Vector) -> Vector:
        """w at multipliers made to sum to d_i in each bag: then -max |w_z| is a lower bound, whatever they were."""
        bag, first = self._bag_of[self._instances], self._first_rows()
        empty = first[np.bincount(bag, mu, minlength=self._m)[bag[first]] <= 0.0]
        mu[empty] = 1.0
        total = np.bincount(bag, mu, minlength=self._m)
        return np.asarray((mu * self._d[bag] / total[bag]) @ self._rows - c)

    def _point(self, x: Vector) -> Vector:
        """Coefficients of norm 1, or 0 where there is nothing."""
        up = self._atoms >= 0
        a = np.zeros(self._k)
        np.add.at(a, np.where(up, self._atoms, ~self._atoms), np.where(up, x, -x))
        norm = float(np.abs(a).sum())
        return a / norm if norm > 1e-12 else np.zeros(self._k)

    def _new_atoms(self, w: Vector, price: float) -> Index:
        """The signed atoms that pay best and are not there."""
        order = np.argsort(-np.abs(w))[: 2 * AT_ONCE]
        order = order[np.abs(w[order]) > price]
        names = np.where(w[order] < 0.0, order, ~order)
        return np.asarray(names[~np.isin(names, self._atoms)][:AT_ONCE])

    def _set_costs(self, d: Vector, c: Vector) -> None:
        costs = np.concatenate([self._unit * d, -_signed(c, self._atoms)])
        self._highs.changeColsCost(costs.size, np.arange(costs.size, dtype=np.int32), costs)

    def _add_rows(self, instances: Index) -> None:
        """t_i - k_x'a >= 0 for these x."""
        count = instances.size
        if not count:
            return
        rows = np.ascontiguousarray(self._similar.K[:, instances].T)
        width = 1 + self._atoms.size
        values = np.hstack([np.ones((count, 1)), -_signed(rows, self._atoms) / self._unit])
        places = np.empty((count, width), dtype=np.int32)
        places[:, 0] = self._bag_of[instances]
        places[:, 1:] = self._m + np.arange(self._atoms.size)
        starts = width * np.arange(count, dtype=np.int32)
        zero, infinite = np.zeros(count), np.full(count, np.inf)
        self._highs.addRows(count, zero, infinite, values.size, starts, places.ravel(), values.ravel())
        self._instances = np.concatenate([self._instances, instances])
        self._rows = np.vstack([self._rows, rows])
        self._idle_rows = np.concatenate([self._idle_rows, np.zeros(count, dtype=np.int64)])

    def _add_atoms(self, names: Index, costs: Vector | None = None) -> None:
        """Columns of these signed atoms."""
        count = names.size
        if not count:
            return
        height = 1 + self._instances.size
        values = np.hstack([np.ones((count, 1)), -_signed(self._rows, names).T / self._unit])
        places = np.tile(np.arange(height, dtype=np.int32), count)
        starts = height * np.arange(count, dtype=np.int32)
        zero, infinite = np.zeros(count), np.full(count, np.inf)
        cost = zero if costs is None else costs
        self._highs.addCols(count, cost, zero, infinite, values.size, starts, places, values.ravel())
        self._atoms = np.concatenate([self._atoms, names])
        self._idle_atoms = np.concatenate([self._idle_atoms, np.zeros(count, dtype=np.int64)])

    def _drop(self) -> None:
        """Let rows and columns go that were of no use for long, where these are many; the basis stays."""
        rows, atoms = self._idle_rows > IDLE, self._idle_atoms > IDLE
        if rows.sum() + atoms.sum() <= IDLE_SHARE * (rows.size + atoms.size):
            return
        basis = self._highs.getBasis()
        kept_rows, kept_columns = np.r_[True, ~rows], np.r_[np.ones(self._m, dtype=bool), ~atoms]
        gone_rows, gone_columns = np.flatnonzero(~kept_rows), np.flatnonzero(~kept_columns)
        self._highs.deleteRows(gone_rows.size, gone_rows.astype(np.int32))
        self._highs.deleteCols(gone_columns.size, gone_columns.astype(np.int32))
        # Where a row or column of the basis went, HiGHS repairs it.
        basis.alien = True
        basis.row_status = list(compress(basis.row_status, kept_rows))
        basis.col_status = list(compress(basis.col_status, kept_columns))
        self._highs.setBasis(basis)
        self._instances, self._rows, self._idle_rows = self._instances[~rows], self._rows[~rows], self._idle_rows[~rows]
        self._atoms, self._idle_atoms = self._atoms[~atoms], self._idle_atoms[~atoms]


def _signed(values: Matrix, atoms: Index) -> Matrix:
    """The last axis' entries of signed atoms."""
    up = atoms >= 0
    return np.asarray(np.where(up, 1.0, -1.0) * values[..., np.where(up, atoms, ~atoms)])
