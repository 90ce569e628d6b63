"""Lowering: the compilation of a declared program to its evaluation form, part by part (objective, constraint blocks).

In the objective, quadratic atoms become squared terms (`stays_quadratic`). Any other atom of which the program needs an
upper bound (on its convex side) is replaced by its epigraph (`epigraphs`, `expansion`). An atom of which the program
needs a lower bound (on its other side) is replaced by a stand-in: usually an affine minorant, otherwise an expression
(`stand_ins`). Atoms inside atoms follow the same rules (`arguments`).
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import replace
from typing import Any

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from milopt.arrays import Index
from milopt.compilation.affine_lowering import AffineLowering
from milopt.compilation.arguments import argument_directions, has_affine_argument, stays_quadratic
from milopt.compilation.entry_sides import ABOVE, BELOW, keep_entries
from milopt.compilation.entry_uses import EntryUses, find_entry_uses
from milopt.compilation.epigraphs import Epigraphs, LoweredEpigraph, inlined_epigraph_block, multiply_rows
from milopt.compilation.evaluation_form import EvaluationForm, FunctionSpace, LoweredBlock, Objective, SquaredTerm
from milopt.compilation.expansion import AtomEntries, RowExpansion, expand_rows
from milopt.compilation.minorant import Minorant, StandIns
from milopt.compilation.rows import Rows
from milopt.compilation.stand_ins import OtherSideStandIns
from milopt.compilation.streamed_squares import should_stream, stream_squares
from milopt.cones import NONNEGATIVE, ZERO, Cone
from milopt.declaration.atoms.atom import Atom
from milopt.declaration.programs.coefficient import Coefficient
from milopt.declaration.programs.expression import Constraint, Expression
from milopt.declaration.programs.program import Program, leaves
from milopt.declaration.programs.sparse import multiply, row_lengths, selection_matrix, widen, zeros
from milopt.errors import ConvexityError


class Lowering:
    """Lowering of one program; columns and points are stored, so that only changed parts are compiled again."""

    def __init__(self, program: Program, stand_ins: StandIns | None = None, both_sides: bool = False) -> None:
        self.program = program
        self.affine = AffineLowering(program)
        self.other_side = OtherSideStandIns(stand_ins or {}, both_sides)
        for stand_in in self.other_side.stand_ins.values():
            self.affine.register_stand_in_points(stand_in)
        self.epigraphs = Epigraphs(self.affine, lambda atom, index: self.argument_rows(atom, ABOVE, index))
        self.inlined: dict[str, list[LoweredEpigraph]] = {}
        """Per declared block, the epigraphs that were written into its rows."""
        self._expansions: dict[str, RowExpansion] = {}
        """Last expansion of each block; it contains no minorants, so it stays valid if minorants change."""
        self._uses: dict[Atom, EntryUses] | None = None

    def form(self) -> EvaluationForm:
        """Return the evaluation form of the whole program at the present stand-ins and parameter values."""
        objective = self.lower_objective()
        return self.assemble(objective, [self.lower_block(name, c) for name, c in self.program.constraints.items()])

    def assemble(self, objective: Objective, blocks: list[LoweredBlock]) -> EvaluationForm:
        """Return the evaluation form of an objective and declared blocks, to which the auxiliary rows are appended."""
        return self.assemble_without_auxiliary_rows(objective, [*blocks, *self.auxiliary_blocks])

    def assemble_without_auxiliary_rows(self, objective: Objective, blocks: list[LoweredBlock]) -> EvaluationForm:
        """Return the evaluation form of an objective and blocks of rows, without auxiliary rows."""
        linear = self.affine
        return EvaluationForm(
            name=self.program.name,
            columns=tuple(linear.columns),
            lower=np.concatenate([np.zeros(0), *linear.lower]),
            upper=np.concatenate([np.zeros(0), *linear.upper]),
            integer=np.concatenate([np.zeros(0, dtype=bool), *linear.integer]),
            spaces=tuple(FunctionSpace(f, tuple(linear.evaluation_points(f))) for f in linear.free_functions),
            blocks=tuple(block.widen(linear.width, linear.point_counts) for block in blocks),
            objective=objective.widen(linear.width, linear.point_counts),
            maximize=self.program.maximizes,
        )

    @property
    def auxiliary_blocks(self) -> list[LoweredBlock]:
        """Auxiliary rows, which are epigraphs t >= atom with auxiliary columns t."""
        return self.epigraphs.blocks

    def drop_blocks(self, names: Collection[str]) -> None:
        """Remove the cached data of the declared blocks `names`, which were deleted from the program."""
        for name in names:
            self.inlined.pop(name, None)
            self._expansions.pop(name, None)

    def refresh_auxiliary(self, touched: Collection[int]) -> list[str]:
        """Recompute the auxiliary rows of all atoms whose argument contains a changed leaf.

        `touched` contains the ids of the changed leaves. Atoms of a function, such as ||f||, are skipped. Return the
        names of the recomputed blocks.
        """
        return self.epigraphs.refresh_blocks(
            lambda atom: atom.function is None and any(id(leaf) in touched for leaf in leaves(atom.argument))
        )

    # -- the objective -------------------------------------------------------------------------------------------

    def lower_objective(self) -> Objective:
        """Compile the minimised objective; atoms that do not become squared terms may add auxiliary columns."""
        rows, atoms = self.affine.separate_atoms(self.program.minimized_objective())
        ridge = np.zeros(len(self.affine.free_functions))
        squares: list[SquaredTerm] = []
        large: list[tuple[Atom, float]] = []
        for atom, coefficient in atoms:
            if not self.stays_quadratic(atom, coefficient):
                rows = self._add_atom(rows, atom, coefficient)
                continue
            weights = np.asarray(coefficient.value().toarray()).ravel()
            place = None if atom.function is None else self.affine.free_function_index(atom.function)
            if not weights.any():
                continue
            if place is not None:
                ridge[place] += 2 * float(weights[0])
            elif atom.function is not None:
                squares.append(self.affine.dictionary_square(atom.function, 2 * float(weights[0])))
            elif should_stream(atom):
                large.append((atom, 2 * float(weights[0])))
            else:
                side = BELOW if (weights < 0).any() else ABOVE
                weight = atom.quadratic(2 * weights)
                assert weight is not None
                squares.append(SquaredTerm(self.argument_rows(atom, side), weight, atom.describe()))
        for streamed in stream_squares(self.affine, large):
            squares.append(streamed.square)
            rows = rows.plus(streamed.linear)
        p = tuple(np.asarray(e.toarray()).ravel() for e in rows.E)
        return Objective(np.asarray(rows.A.toarray()).ravel(), p, tuple(ridge), tuple(squares), float(rows.g[0]))

    def _add_atom(self, rows: Rows, atom: Atom, coefficient: Coefficient) -> Rows:
        """Return rows + coefficient @ atom, where `rows` is the affine row of the minimised objective."""
        both = self.other_side.split_by_side(atom, coefficient, ABOVE)
        rows = self._add_stand_in(rows, atom, both.below)
        ceiling = self.other_side.ceiling_of_open_terms(atom, both.below)
        if ceiling:
            rows = Rows(rows.A, rows.E, rows.g + ceiling)
        return self._add_convex_side(rows, atom, both.above)

    def stays_quadratic(self, atom: Atom, coefficient: Coefficient) -> bool:
        """Return True if the atom becomes a squared term of the objective, without an epigraph or a stand-in."""
        return stays_quadratic(atom, coefficient)

    def _add_convex_side(self, rows: Rows, atom: Atom, coefficient: sp.csr_array) -> Rows:
        """Return rows + coefficient @ t, with auxiliary columns t >= atom, for atom entries on the convex side."""
        return self.epigraphs.add_with_columns(rows, atom, coefficient)

    # -- constraint blocks ---------------------------------------------------------------------------------------

    def lower_block(self, name: str, constraint: Constraint) -> LoweredBlock:
        """Compile one declared constraint block.

        Rows with an open entry (an entry of an atom that has no minorant, see `Minorant.is_open`) are omitted. Raise a
        `ConvexityError` if an equality contains an atom.
        """
        rows, atoms = self.affine.separate_atoms(constraint.expression)
        self.inlined.pop(name, None)
        if constraint.equality:
            if atoms:
                raise ConvexityError(
                    f"Constraint {name!r} equates {atoms[0][0].describe()}, which is not affine; "
                    "an equality may contain affine expressions only."
                )
            return block_without_epigraphs(name, ZERO, rows)
        if not atoms:
            return block_without_epigraphs(name, NONNEGATIVE, rows)
        kept = np.ones(rows.count, dtype=bool)
        above: AtomEntries = []
        for atom, coefficient in atoms:
            both = self.other_side.split_by_side(atom, coefficient, BELOW)
            is_open = self.other_side.open_entries(atom)
            if is_open.any():
                used = abs(both.below)
                kept &= np.asarray(used @ is_open.astype(float)) == 0
            rows = self._add_stand_in(rows, atom, both.below)
            if both.above.nnz:
                above.append((atom, both.above))
        stays = np.flatnonzero(kept)
        if stays.size < rows.count:
            rows, above = rows.take(stays), [(atom, sp.csr_array(c[stays])) for atom, c in above]
        block = self._epigraph_block(name, rows, [(atom, c) for atom, c in above if c.nnz])
        return block if stays.size == kept.size else replace(block, declared=stays[block.declared])

    def _epigraph_block(self, name: str, rows: Rows, above: AtomEntries) -> LoweredBlock:
        """Return the block of the constraint `rows` + `above` >= 0, where `above` are entries on the convex side.

        If an entry is used only once, its epigraph is written into its row if possible. Other entries get auxiliary
        columns.
        """
        counts = np.zeros(rows.count, dtype=np.intp)
        for _, coefficient in above:
            counts += row_lengths(coefficient)
        if len(above) == 1 and (counts == 1).all() and rows.count:
            block = self._inlined_epigraph_block(name, rows, *above[0])
            if block is not None:
                return block
        single: AtomEntries = []
        for atom, coefficient in above:
            owner = np.repeat(np.arange(rows.count), row_lengths(coefficient))
            inline = (counts[owner] == 1) & self._is_used_once(atom, coefficient.indices)
            if inline.any() and not self._has_one_t_per_row(atom, coefficient.indices[inline]):
                inline[:] = False
            if inline.all():
                single.append((atom, coefficient))
                continue
            rows = self._add_convex_side(rows, atom, keep_entries(coefficient, ~inline))
            if inline.any():
                single.append((atom, keep_entries(coefficient, inline)))
        if not single:
            return block_without_epigraphs(name, NONNEGATIVE, rows)
        known = self._expansions.get(name)
        if known is None or not known.matches(single, rows.count):
            fixed = all(self.affine.has_cached_argument(atom) for atom, _ in single)
            known = self._expansions[name] = expand_rows(
                single, rows.count, self.epigraphs.get_template, lambda a, i: self.argument_rows(a, ABOVE, i), fixed
            )
        self.inlined[name] = known.lowered
        total = known.apply(rows, self.affine.width, self.affine.point_counts)
        return LoweredBlock(
            name,
            NONNEGATIVE,
            total,
            origin=name,
            declared=known.declared,
            instance=known.instance,
            group=known.group,
        )

    def _inlined_epigraph_block(
        self, name: str, rows: Rows, atom: Atom, coefficient: sp.csr_array
    ) -> LoweredBlock | None:
        """Return a block with the epigraph t >= atom, for rows with one atom entry each; the rest of a row serves as t.

        Return None if the epigraph has further columns, several parts or one copy of t per row (`_has_one_t_per_row`),
        if an entry of the atom is also used elsewhere, or if a coefficient is zero at present.
        """
        entries = coefficient.indices.astype(np.intp)
        if not self._is_used_once(atom, entries).all() or not (coefficient.data < 0).all():
            return None
        at, index, template = self.epigraphs.resolve_template(atom, entries)
        if template.new or len(template.parts) != 1 or template.parts[0].has_one_t_per_row:
            return None
        part, weights = template.parts[0], -coefficient.data
        e, space = self.epigraphs.argument_rows_or_function(atom, index)
        total = self.epigraphs.part_rows(part, multiply_rows(rows, 1.0 / weights), e, ())
        self.inlined[name] = [LoweredEpigraph(atom, entries, at, index, template)]
        return inlined_epigraph_block(name, part, total, weights, space)

    def _has_one_t_per_row(self, atom: Atom, entries: npt.NDArray[np.integer[Any]]) -> bool:
        """Return True if the epigraph of these entries has one part, with `TemplatePart.has_one_t_per_row`.

        A copy of the declared row can then replace t in each row of the part.
        """
        _, _, template = self.epigraphs.resolve_template(atom, entries.astype(np.intp))
        return len(template.parts) == 1 and template.parts[0].has_one_t_per_row

    def _is_used_once(self, atom: Atom, entries: npt.NDArray[np.integer[Any]]) -> npt.NDArray[np.bool_]:
        """Return, per entry, True if an upper bound of it is needed in at most one declared row and nowhere else."""
        if self._uses is None:
            self._uses = find_entry_uses(self.program, self.other_side)
        uses = self._uses.get(atom)
        return np.ones(entries.size, dtype=bool) if uses is None else uses.are_in_one_row(entries)

    @property
    def has_epigraphs(self) -> bool:
        """True if the parts compiled so far contain the epigraph of an atom."""
        return bool(self.epigraphs.lowered) or any(self.inlined.values())

    # -- arguments and stand-ins ---------------------------------------------------------------------------------

    def argument_rows(self, atom: Atom, side: int, index: Index | None = None) -> Rows:
        """Return the affine rows of an atom's argument, or of the entries `index` of the argument.

        `side` is `ABOVE` if the program needs an upper bound of the atom, and `BELOW` if it needs a lower bound. It
        determines whether inner atoms are replaced by upper or lower bounds.
        """
        if has_affine_argument(atom):
            rows = self.affine.affine_argument(atom)
            return rows if index is None else rows.take(index)
        chosen = np.arange(atom.segments.entry_count) if index is None else index
        directions = argument_directions(atom, side)[chosen]
        rows, children = self.affine.separate_atoms(atom.argument)
        rows, pick = rows.take(chosen), selection_matrix(chosen, atom.segments.entry_count)
        for child, coefficient in children:
            both = self.other_side.split_by_side(child, coefficient.premultiply(pick), directions)
            rows = self._add_stand_in(rows, child, both.below)
            rows = self._add_convex_side(rows, child, both.above)
        return rows

    def _add_stand_in(self, rows: Rows, atom: Atom, coefficient: sp.csr_array) -> Rows:
        """Return rows + coefficient @ s, where the stand-in s of the atom is a minorant or an expression."""
        if not coefficient.nnz:
            return rows
        added = self._stand_in_rows(atom, coefficient)
        width, points = self.affine.width, self.affine.point_counts
        return rows.widen(width, points).plus(added.widen(width, points))

    def _stand_in_rows(self, atom: Atom, coefficient: sp.csr_array) -> Rows:
        """Return coefficient @ s, where the stand-in s of the atom is a minorant or an expression."""
        chosen = self.other_side.stand_in_of(atom)
        if isinstance(chosen, Expression):
            return self.affine.separate_atoms(chosen)[0].left_multiply(coefficient)
        return self._minorant_rows(atom, coefficient, chosen, BELOW)

    def _minorant_rows(self, atom: Atom, coefficient: sp.csr_array, minorant: Minorant, side: int) -> Rows:
        """Return coefficient @ minorant; `side` is `ABOVE` or `BELOW` as in `argument_rows`."""
        rows = self._slope_rows(atom, coefficient, multiply(coefficient, minorant.slopes), side)
        if not minorant.constants.any():
            return rows
        return Rows(rows.A, rows.E, rows.g + coefficient @ minorant.constants)

    def _slope_rows(self, atom: Atom, coefficient: sp.csr_array, slopes: sp.csr_array, side: int) -> Rows:
        """Return slopes @ e for the argument e of an atom; `slopes` is `coefficient` times the slopes of a minorant.

        If e contains atoms, only those entries of e are computed on which the atom entries in `coefficient` depend, so
        that inner atoms at other entries need no stand-in.
        """
        if has_affine_argument(atom) and atom.function is None:
            return self.argument_rows(atom, side).left_multiply(slopes)
        if atom.function is None:
            index = np.flatnonzero(np.isin(atom.segments.run_of_entry, coefficient.indices))
            return self.argument_rows(atom, side, index).left_multiply(sp.csr_array(slopes[:, index]))
        place = self.affine.free_function_index(atom.function)
        if place is None:
            return self.affine.dictionary_rows(atom.function).left_multiply(slopes)
        counts = self.affine.point_counts
        E = tuple(widen(slopes, n) if k == place else zeros(slopes.shape[0], n) for k, n in enumerate(counts))
        return Rows(zeros(slopes.shape[0], self.affine.width), E, np.zeros(slopes.shape[0]))


def block_without_epigraphs(name: str, cone: Cone, rows: Rows) -> LoweredBlock:
    """Return affine rows as a block without epigraphs; row k belongs to entry k of the declared block."""
    none = np.full(rows.count, -1, dtype=np.intp)
    return LoweredBlock(name, cone, rows, origin=name, declared=np.arange(rows.count), instance=none, group=none)
