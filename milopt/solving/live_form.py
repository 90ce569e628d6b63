"""Forms of a program that are kept up to date: each change compiles only the affected parts and returns a `Change`.

A live form lies between the methods of a session, which work on expressions, and an engine, which gets a `Change`. It
has the evaluation form, the active rows (all rows, or lazy rows), and the flat form of the active rows.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

import numpy as np

from milopt.arrays import Index
from milopt.compilation.compiled_form import CompiledForm
from milopt.compilation.dual_form import DualForm
from milopt.compilation.evaluation_form import EvaluationForm
from milopt.compilation.form_choice import FormChoice, choose_form
from milopt.compilation.kernel_space import Coordinates, KernelSpace
from milopt.compilation.lowered_program import LoweredProgram
from milopt.compilation.primal_form import PrimalForm
from milopt.compilation.standard_form import StandardForm
from milopt.cones import Cone
from milopt.declaration.programs.leaves import Variable
from milopt.declaration.programs.sparse import have_same_entries
from milopt.solving.engine import Change, ChangeKind
from milopt.solving.lazy import LazyRows
from milopt.solving.options import Options
from milopt.solving.solver import Solver, form_request

FULL_CHANGE = Change(ChangeKind.EVERYTHING)
"""Change after which nothing of the old flat form can be reused."""


class LiveForm:
    """Evaluation form of a program, and the flat form (vectors and matrices) that an engine gets, kept up to date."""

    def __init__(
        self, lowered: LoweredProgram, options: Options, solver: Solver, before: LiveForm | None = None
    ) -> None:
        """Compile a lowered program for a solver.

        `before` is the live form of an earlier program. If that program evaluates its functions at the same points, its
        kernel values are reused.
        """
        self.lowering = lowered.lowering
        self.options = options
        self._objective, self._blocks, self.form = lowered.objective, dict(lowered.blocks), lowered.form
        self._max_eager_rows = solver.max_eager_rows
        self._solver = solver
        self.rows = self._make_lazy_rows()
        self.spaces: list[KernelSpace] = []
        self.coordinates: list[Coordinates] = []
        self.choice = self._update_spaces(before)
        """Form chosen for the solver, with the reason."""
        self.uses_dual = self.choice.uses_dual
        self._compiled: CompiledForm | None = None

    @property
    def compiled(self) -> CompiledForm:
        """The flat form of the active rows, compiled on first use."""
        if self._compiled is None:
            make = self._dual_form if self.uses_dual else self.primal_form
            self._compiled = make()
        return self._compiled

    def primal_form(self) -> PrimalForm:
        """Return the primal form of the active rows, even if the session uses the dual form."""
        return PrimalForm(self.form, self.coordinates, self.rows.active)

    def pattern_form(self) -> StandardForm:
        """Return a flat form with the pattern (kinds of rows and columns) of the whole program, for support checks.

        With lazy rows, the active rows may hide the pattern, so a sample of all rows is compiled; the session's own
        forms do not change.
        """
        if not self.rows.is_lazy:
            return self.compiled.form
        rows = LazyRows.pattern_sample(self.form)
        if self.uses_dual:
            return self._dual_form(rows).form
        # Work on copies, because the compiled form does not contain the coordinates of the sampled points.
        return PrimalForm(self.form, [coordinates.copy() for coordinates in self.coordinates], rows).form

    def _dual_form(self, rows: Index | None = None) -> DualForm:
        """Return the dual form with the given rows; None selects the active rows."""
        return DualForm(self.form, self.spaces, self.rows.active if rows is None else rows)

    # -- changes -------------------------------------------------------------------------------------------------

    def refresh_objective(self) -> Change:
        """Compile the objective again, and return the change for the engine.

        It is called after the objective, a parameter in it, or a minorant in it has changed.
        """
        before, linear = self.form, self.lowering.affine
        self._objective = self.lowering.lower_objective()
        if linear.width != before.n or linear.point_counts != before.point_counts:
            self.form = self._assemble()
            return self.rebuild()
        self.form = before.with_objective(self.lowering.assemble(self._objective, []).objective)
        compiled = self._compiled
        if isinstance(compiled, PrimalForm) and self._has_same_curvature(before) and self._has_all_coordinates():
            compiled.change_objective(self.form)
            return Change(ChangeKind.LINEAR)
        return self._discard_flat_form()

    def refresh_blocks(self, names: Iterable[str], auxiliary: Iterable[str] = ()) -> Change | None:
        """Compile the constraint blocks `names` again, and return the change for the engine; None for no blocks.

        It is called after the blocks, parameters in them, or minorants in them have changed. `auxiliary`: names of the
        auxiliary blocks (epigraphs of atoms) that the caller has compiled again already.
        """
        declared = list(names)
        changed = [*declared, *auxiliary]
        if not changed:
            return None
        constraints = self.lowering.program.constraints
        for name in declared:
            self._blocks[name] = self.lowering.lower_block(name, constraints[name])
        before, self.form = self.form, self._assemble()
        same = self.form.n == before.n and self.form.point_counts == before.point_counts
        if (
            not same
            or _cone_layout(before) != _cone_layout(self.form)
            or not np.array_equal(self.form.maximum_of_row, before.maximum_of_row)
        ):
            return self.rebuild()
        if not self.is_primal_without_functions:
            return self._discard_flat_form(added_rows=0)
        if self.rows.is_lazy and self.form.conic_blocks:
            # Lazy rows were appended after the cones, but in a recompiled form they come before the cones.
            return self._discard_flat_form()
        rows = np.flatnonzero(np.isin(self._block_names(self.form, self.rows.active), changed))
        self._compiled = self.primal_form()
        if have_same_entries(self.form.rows.A, before.rows.A):
            return Change(ChangeKind.OFFSET)
        return Change(ChangeKind.ROWS_REPLACED, rows)

    def append_block(self, name: str) -> Change:
        """Compile a constraint block that was added to the program, and return the change for the engine."""
        before, linear = self.form, self.lowering.affine
        block = self._blocks[name] = self.lowering.lower_block(name, self.lowering.program.constraints[name])
        same = linear.width == before.n and linear.point_counts == before.point_counts
        # Auxiliary rows come last in a form, and lazy rows are only partly active. In both cases the rows of the new
        # block are not simply the last rows of the flat form.
        if (
            not same
            or not self.is_primal_without_functions
            or self.rows.is_lazy
            or self.lowering.auxiliary_blocks
            or (block.group >= 0).any()
        ):
            self.form = self._assemble()
            return self.rebuild()
        self.form = before.with_block(block)
        return self.activate_rows(np.arange(before.rows.count, self.form.rows.count))

    def append_columns(self, names: Iterable[str]) -> Change:
        """Add the columns of a new variable, and return the change for the engine.

        `names`: the constraint blocks in which the variable occurs. They and the objective are compiled again.
        """
        before = self.form
        self._objective = self.lowering.lower_objective()
        for name in names:
            self._blocks[name] = self.lowering.lower_block(name, self.lowering.program.constraints[name])
        self.form = self._assemble()
        if not self.is_primal_without_functions:
            return self.rebuild()
        self._compiled = self.primal_form()
        return Change(ChangeKind.COLUMNS_ADDED, np.arange(before.n, self.form.n))

    def change_bounds(self, variable: Variable) -> Change:
        """Copy the new bounds of a variable into the forms, and return the change for the engine."""
        linear = self.lowering.affine
        linear.change_bounds(variable)
        self.form = self.form.with_bounds(np.concatenate(linear.lower), np.concatenate(linear.upper))
        if not isinstance(self._compiled, PrimalForm):
            return self._discard_flat_form()
        self._compiled.change_bounds(self.form)
        return Change(ChangeKind.BOUNDS, linear.columns_of(variable))

    def delete_blocks(self, names: Iterable[str]) -> Change:
        """Delete constraint blocks from the forms, and return the change for the engine."""
        chosen = list(dict.fromkeys(names))
        before, deleted = self.form, np.flatnonzero(np.isin(self._block_names(self.form, self.rows.active), chosen))
        for name in chosen:
            del self._blocks[name]
        self.lowering.drop_blocks(chosen)
        self.form = self._assemble()
        if not self.is_primal_without_functions or self.rows.is_lazy:
            return self.rebuild()
        remaining = np.delete(self.rows.active, deleted)
        missing = np.flatnonzero(np.isin(self._block_names(before, np.arange(before.rows.count)), chosen))
        # The engine keeps its own order of rows; `active` contains their indices in the new form.
        self.rows.active = remaining - np.searchsorted(missing, remaining)
        self._compiled = self.primal_form()
        return Change(ChangeKind.ROWS_DELETED, deleted)

    def activate_rows(self, rows: Index) -> Change:
        """Make further rows of the form active, and return the change for the engine."""
        self.rows.activate(rows)
        if self.is_primal_without_functions and isinstance(self._compiled, PrimalForm):
            self._compiled.append_rows(self.form, rows)
            return Change(ChangeKind.ROWS_ADDED)
        return self._discard_flat_form(added_rows=rows.size)

    def activate_all_rows(self) -> Change:
        """Make all rows active, without lazy rows from now on, and return the change for the engine."""
        self.rows.activate_all(self.form)
        return self._discard_flat_form()

    def use_primal(self) -> Change:
        """Use the primal form from now on, and return the change for the engine.

        It is called if a solve in the dual form fails, or ends as infeasible or unbounded. If the dual form is
        infeasible, the program may be infeasible or unbounded, and only the primal form shows which.
        """
        self.uses_dual = False
        self.choice = replace(self.choice, uses_dual=False, reason=self.choice.without_dual_reason())
        return self._discard_flat_form()

    def rebuild(self) -> Change:
        """Update kernel spaces, lazy rows and the flat form after a change of rows, columns, cones or points."""
        self.rows = self._make_lazy_rows()
        if tuple(space.count for space in self.spaces) != self.form.point_counts:
            self._update_spaces()
        return self._discard_flat_form()

    # -- internals -----------------------------------------------------------------------------------------------

    @property
    def is_primal_without_functions(self) -> bool:
        """Whether the form is primal and has no function of a kernel space, so that no change needs new coordinates."""
        return not self.spaces and not self.uses_dual

    def _assemble(self) -> EvaluationForm:
        """Return the evaluation form of the current objective and blocks."""
        return self.lowering.assemble(self._objective, list(self._blocks.values()))

    def _make_lazy_rows(self) -> LazyRows:
        """Return the initial state of the lazy rows."""
        return LazyRows(self.form, self.options.lazy, self._max_eager_rows)

    def _update_spaces(self, before: LiveForm | None = None) -> FormChoice:
        """Create the kernel spaces and coordinates, or reuse those of `before` if the points are equal.

        Return the form that is chosen with them.
        """
        earlier = before.spaces if before is not None else []
        pairs = list(zip(earlier, self.form.spaces, strict=False))
        known = len(earlier) == len(self.form.spaces) and all(mine.matches(its) for mine, its in pairs)
        self.spaces = earlier if known else [KernelSpace(space) for space in self.form.spaces]
        request = form_request(self._solver, self.form, self.options.form)
        choice = choose_form(self.form, self.rows.active, request)
        if before is not None and known and choice.uses_features == before.choice.uses_features:
            self.coordinates = before.coordinates
        else:
            self.coordinates = choice.coordinates(self.spaces)
        return choice

    def _discard_flat_form(self, added_rows: int | None = None) -> Change:
        """Discard the flat form, which is compiled again when it is needed, and return the change for the engine.

        If only `added_rows` rows were added to a dual form, all its old columns remain, and the change contains their
        new positions.
        """
        before, self._compiled = self._compiled, None
        if added_rows is None or not isinstance(before, DualForm):
            return FULL_CHANGE
        places = np.arange(before.form.n)
        places[before.active.size :] += added_rows
        return Change(ChangeKind.EVERYTHING, places)

    def _has_same_curvature(self, before: EvaluationForm) -> bool:
        """Return True if the quadratic part of the objective is known to be the same as in the form `before`.

        That is the case if the weights of all ||f||^2 are equal and there are no other quadratic terms.
        """
        old, new = before.objective, self.form.objective
        return old.ridge == new.ridge and len(old.squares) == len(new.squares) and not old.squares

    def _has_all_coordinates(self) -> bool:
        """Return True if every point in the objective already has coordinates in the primal form."""
        return all(
            w.has_coordinates(np.flatnonzero(p)) for w, p in zip(self.coordinates, self.form.objective.p, strict=True)
        )

    @staticmethod
    def _block_names(form: EvaluationForm, rows: Index) -> np.ndarray[tuple[int], np.dtype[np.str_]]:
        """Return, for each of the given rows of a form, the name of its block."""
        names = np.array([block.name for block in form.blocks], dtype=np.str_)
        return names[np.searchsorted(form.block_starts, rows, side="right") - 1] if rows.size else names[:0]


def _cone_layout(form: EvaluationForm) -> list[tuple[Cone, int, tuple[int, ...] | None]]:
    """Return (cone, number of rows, sizes of its cones, None if polyhedral) of each non-empty block of rows."""
    return [
        (block.cone, block.count, None if block.cone.is_polyhedral else tuple(block.cone_sizes.tolist()))
        for block in form.blocks
        if block.count
    ]
