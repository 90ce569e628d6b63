"""A program's forms kept in step with its changes: each change lowers only what it touches and says what is different.

It stands between a session's verbs, which speak expressions, and an engine, which is told `Change`s: the evaluation
form, the rows of it that are handed over (all, or lazily), and the flat form made of them.
"""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from milopt.arrays import Index
from milopt.compilation.compiled import Compiled
from milopt.compilation.coordinates import Coordinates
from milopt.compilation.dual import Dual, dual_refusal
from milopt.compilation.evaluation_form import EvaluationForm
from milopt.compilation.features import Feature
from milopt.compilation.kernel_space import KernelSpace, Whitening
from milopt.compilation.lowered_program import LoweredProgram
from milopt.compilation.standard_form import StandardForm
from milopt.cones import Cone
from milopt.declaration.programs.leaves import Variable
from milopt.declaration.programs.sparse import same_entries
from milopt.errors import UnsupportedError
from milopt.solving.engine import Change, What
from milopt.solving.lazy import LazyRows
from milopt.solving.options import Options
from milopt.solving.solver import Solver

EVERYTHING = Change(What.EVERYTHING)


class LiveForm:
    """The evaluation form of a program and the flat form that an engine has of it."""

    def __init__(
        self, lowered: LoweredProgram, options: Options, solver: Solver, before: LiveForm | None = None
    ) -> None:
        """`before`: of a program that may evaluate its functions at the same points; kernel values are then kept."""
        self.lowering = lowered.lowering
        self.options = options
        self._objective, self._blocks, self.form = lowered.objective, dict(lowered.blocks), lowered.form
        self._whole_up_to = solver.whole_up_to
        self._takes_saddles = Feature.NONCONVEX in solver.features
        self.rows = self._lazy_rows()
        self.spaces: list[KernelSpace] = []
        self.whitenings: list[Whitening] = []
        self._renew_spaces(before)
        self.uses_dual = self._chooses_dual(solver.prefers)
        self._compiled: Compiled | None = None

    @property
    def compiled(self) -> Compiled:
        """The flat form of the rows that are handed over, made when first asked for."""
        if self._compiled is None:
            make = self._dual if self.uses_dual else self.coordinates
            self._compiled = make()
        return self._compiled

    def coordinates(self) -> Coordinates:
        """The flat form by coordinates, whatever the session uses."""
        return Coordinates(self.form, self.whitenings, self.rows.active)

    def pattern(self) -> StandardForm:
        """A flat form with the pattern of the whole program, for a solver to say whether it takes it."""
        if not self.rows.lazy:
            return self.compiled.form
        rows = LazyRows.sample(self.form)
        if self.uses_dual:
            return self._dual(rows).form
        # Copies: the compiled form does not have the coordinates of the points in the sample.
        return Coordinates(self.form, [whitening.copy() for whitening in self.whitenings], rows).form

    def _dual(self, rows: Index | None = None) -> Dual:
        return Dual(self.form, self.spaces, self.rows.active if rows is None else rows)

    # -- changes -------------------------------------------------------------------------------------------------

    def refresh_objective(self) -> Change:
        """The objective was declared anew, or a parameter or witness in it changed."""
        before, linear = self.form, self.lowering.linear
        self._objective = self.lowering.objective()
        if linear.width != before.n or linear.point_counts != before.point_counts:
            self.form = self._assembled()
            return self.start_again()
        self.form = before.with_objective(self.lowering.assemble(self._objective, []).objective)
        compiled = self._compiled
        if isinstance(compiled, Coordinates) and self._same_curvature(before) and self._is_touched():
            compiled.change_objective(self.form)
            return Change(What.LINEAR)
        return self._compile_again()

    def refresh_blocks(self, names: Iterable[str], auxiliary: Iterable[str] = ()) -> Change | None:
        """Constraint blocks were replaced, or a parameter or witness in them changed; None when there are none.

        `auxiliary` names the auxiliary blocks that were lowered again.
        """
        declared = list(names)
        changed = [*declared, *auxiliary]
        if not changed:
            return None
        constraints = self.lowering.program.constraints
        for name in declared:
            self._blocks[name] = self.lowering.block(name, constraints[name])
        before, self.form = self.form, self._assembled()
        same = self.form.n == before.n and self.form.point_counts == before.point_counts
        if not same or _cones(before) != _cones(self.form) or not np.array_equal(self.form.group, before.group):
            return self.start_again()
        if not self.is_flat:
            return self._compile_again(more=0)
        if self.rows.lazy and self.form.conic:
            # Lazy rows were appended after the cones; a form that is made again has them before.
            return self._compile_again()
        rows = np.flatnonzero(np.isin(self._names_of(self.form, self.rows.active), changed))
        self._compiled = self.coordinates()
        if same_entries(self.form.rows.A, before.rows.A):
            return Change(What.OFFSET)
        return Change(What.ROWS_REPLACED, rows)

    def append_block(self, name: str) -> Change:
        """A constraint block was added."""
        before, linear = self.form, self.lowering.linear
        block = self._blocks[name] = self.lowering.block(name, self.lowering.program.constraints[name])
        same = linear.width == before.n and linear.point_counts == before.point_counts
        # Auxiliary rows end a form, and lazy ones join it by choice: then a new block is not simply its last rows.
        if not same or not self.is_flat or self.rows.lazy or self.lowering.auxiliary or (block.group >= 0).any():
            self.form = self._assembled()
            return self.start_again()
        self.form = before.with_block(block)
        return self.hand_over(np.arange(before.rows.count, self.form.rows.count))

    def append_columns(self, names: Iterable[str]) -> Change:
        """A variable block was added to the objective and to these constraint blocks."""
        before = self.form
        self._objective = self.lowering.objective()
        for name in names:
            self._blocks[name] = self.lowering.block(name, self.lowering.program.constraints[name])
        self.form = self._assembled()
        if not self.is_flat:
            return self.start_again()
        self._compiled = self.coordinates()
        return Change(What.COLUMNS_ADDED, np.arange(before.n, self.form.n))

    def change_bounds(self, variable: Variable) -> Change:
        """A variable has other bounds."""
        linear = self.lowering.linear
        linear.change_bounds(variable)
        self.form = self.form.with_bounds(np.concatenate(linear.lower), np.concatenate(linear.upper))
        if not isinstance(self._compiled, Coordinates):
            return self._compile_again()
        self._compiled.change_bounds(self.form)
        return Change(What.BOUNDS, linear.columns_of(variable))

    def delete_blocks(self, names: Iterable[str]) -> Change:
        """Constraint blocks are gone."""
        chosen = list(dict.fromkeys(names))
        before, gone = self.form, np.flatnonzero(np.isin(self._names_of(self.form, self.rows.active), chosen))
        for name in chosen:
            del self._blocks[name]
        self.lowering.forget(chosen)
        self.form = self._assembled()
        if not self.is_flat or self.rows.lazy:
            return self.start_again()
        kept = np.delete(self.rows.active, gone)
        missing = np.flatnonzero(np.isin(self._names_of(before, np.arange(before.rows.count)), chosen))
        # The engine keeps its own order of rows; each is named by its place in the new form.
        self.rows.active = kept - np.searchsorted(missing, kept)
        self._compiled = self.coordinates()
        return Change(What.ROWS_DELETED, gone)

    def hand_over(self, rows: Index) -> Change:
        """More rows of the form go to the engine."""
        self.rows.add(rows)
        if self.is_flat and isinstance(self._compiled, Coordinates):
            self._compiled.append(self.form, rows)
            return Change(What.ROWS_ADDED)
        return self._compile_again(more=rows.size)

    def hand_over_all(self) -> Change:
        """Every row goes to the engine."""
        self.rows.everything(self.form)
        return self._compile_again()

    def use_coordinates(self) -> Change:
        """Leave the dual: its own infeasibility would leave open what the program is."""
        self.uses_dual = False
        return self._compile_again()

    def start_again(self) -> Change:
        """Rows or columns are not what they were."""
        if tuple(space.count for space in self.spaces) != self.form.point_counts:
            self._renew_spaces()
        self.rows = self._lazy_rows()
        return self._compile_again()

    # -- pieces --------------------------------------------------------------------------------------------------

    @property
    def is_flat(self) -> bool:
        """No function of a kernel's space: rows and columns come and go without new coordinates."""
        return not self.spaces and not self.uses_dual

    def _assembled(self) -> EvaluationForm:
        return self.lowering.assemble(self._objective, list(self._blocks.values()))

    def _lazy_rows(self) -> LazyRows:
        return LazyRows(self.form, self.options.lazy, self._whole_up_to)

    def _renew_spaces(self, before: LiveForm | None = None) -> None:
        known = before.spaces if before is not None else []
        if before is not None and len(known) == len(self.form.spaces):
            pairs = zip(known, self.form.spaces, strict=True)
            if all(mine.serves(its) for mine, its in pairs):
                self.spaces, self.whitenings = before.spaces, before.whitenings
                return
        self.spaces = [KernelSpace(space) for space in self.form.spaces]
        self.whitenings = [Whitening(space) for space in self.spaces]

    def _compile_again(self, more: int | None = None) -> Change:
        """Nothing of the flat form stays; where only `more` rows joined, a dual's columns still have their places."""
        before, self._compiled = self._compiled, None
        if more is None or not isinstance(before, Dual):
            return EVERYTHING
        places = np.arange(before.form.n)
        places[before.active.size :] += more
        return Change(What.EVERYTHING, places)

    def _chooses_dual(self, prefers: str) -> bool:
        wish = self.options.form
        if wish == "coordinates" or (wish == "auto" and not self.form.spaces):
            return False
        reason = dual_refusal(self.form, self._takes_saddles)
        if reason is not None and wish == "dual":
            raise UnsupportedError(reason)
        if reason is not None or wish == "dual" or prefers == "dual":
            return reason is None
        touched = sum(np.unique(e.indices).size for e in self.form.rows.take(self.rows.active).E)
        # Coordinates over many more points than rows would cost a factorisation that the dual does without.
        return touched > 2 * self.rows.active.size

    def _same_curvature(self, before: EvaluationForm) -> bool:
        old, new = before.objective, self.form.objective
        return old.ridge == new.ridge and len(old.squares) == len(new.squares) and not old.squares

    def _is_touched(self) -> bool:
        """Whether every point in the objective has its coordinates already."""
        return all(
            bool((w.place[np.flatnonzero(p)] >= 0).all())
            for w, p in zip(self.whitenings, self.form.objective.p, strict=True)
        )

    @staticmethod
    def _names_of(form: EvaluationForm, rows: Index) -> np.ndarray[tuple[int], np.dtype[np.str_]]:
        names = np.array([block.name for block in form.blocks], dtype=np.str_)
        return names[np.searchsorted(form.starts, rows, side="right") - 1] if rows.size else names[:0]


def _cones(form: EvaluationForm) -> list[tuple[Cone, int, tuple[int, ...] | None]]:
    """Return the cone of each block with rows, its number of rows and their sizes if it is not polyhedral."""
    return [
        (block.cone, block.count, None if block.cone.is_polyhedral else tuple(block.cone_sizes.tolist()))
        for block in form.blocks
        if block.count
    ]
