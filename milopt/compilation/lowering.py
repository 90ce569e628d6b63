"""From a program to its evaluation form, part by part: the objective, and each constraint block.

No atom is named here. On its convex side an atom becomes its epigraph (`epigraphs`, `expansion`), on its other side the
minorant that stands for it (`stand_ins`). Atoms inside atoms follow the same rule (`arguments`).
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import replace
from typing import Any

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from milopt.arrays import Index
from milopt.compilation.arguments import argument_directions, has_affine_argument, keeps_quadratic
from milopt.compilation.entry_sides import ABOVE, BELOW, only
from milopt.compilation.entry_uses import EntryUses, entry_uses
from milopt.compilation.epigraphs import Epigraphs, Lowered, conic_block, scaled
from milopt.compilation.evaluation_form import Block, EvaluationForm, Objective, Space, Square
from milopt.compilation.expansion import Entries, Expansion, expand
from milopt.compilation.linear import Linear
from milopt.compilation.minorant import Minorant, StandIns
from milopt.compilation.rows import Rows
from milopt.compilation.stand_ins import OtherSide
from milopt.compilation.streamed import is_large, stream
from milopt.cones import NONNEGATIVE, ZERO, Cone
from milopt.declaration.atoms.atom import Atom
from milopt.declaration.programs.coefficient import Coefficient
from milopt.declaration.programs.expression import Constraint, Expression
from milopt.declaration.programs.program import Program, leaves
from milopt.declaration.programs.sparse import picked, product, row_lengths, widened, zeros
from milopt.errors import ConvexityError


class Lowering:
    """Lowers one program; keeps its columns and points, so that parts can be lowered again when they change."""

    def __init__(self, program: Program, stand_ins: StandIns | None = None, both_sides: bool = False) -> None:
        self.program = program
        self.linear = Linear(program)
        self.other_side = OtherSide(stand_ins or {}, both_sides)
        for stand_in in self.other_side.stand_ins.values():
            self.linear.register_stand_in(stand_in)
        self.epigraphs = Epigraphs(self.linear, lambda atom, index: self.argument_rows(atom, ABOVE, index))
        self.inlined: dict[str, list[Lowered]] = {}
        """Per declared block, the atom entries that were written into its rows."""
        self._expansions: dict[str, Expansion] = {}
        """The last one of each block: new minorants leave what is on the convex side as it is."""
        self._uses: dict[Atom, EntryUses] | None = None

    def form(self) -> EvaluationForm:
        """Everything, at the current minorants and parameter values."""
        objective = self.objective()
        return self.assemble(objective, [self.block(name, c) for name, c in self.program.constraints.items()])

    def assemble(self, objective: Objective, blocks: list[Block]) -> EvaluationForm:
        """Parts that were lowered one by one, brought to one width; auxiliary rows come last."""
        return self.assemble_blocks(objective, [*blocks, *self.auxiliary])

    def assemble_blocks(self, objective: Objective, blocks: list[Block]) -> EvaluationForm:
        """Bring an objective and blocks of rows to one width, without any other rows."""
        linear = self.linear
        return EvaluationForm(
            name=self.program.name,
            columns=tuple(linear.columns),
            lower=np.concatenate([np.zeros(0), *linear.lower]),
            upper=np.concatenate([np.zeros(0), *linear.upper]),
            integer=np.concatenate([np.zeros(0, dtype=bool), *linear.integer]),
            spaces=tuple(Space(f, tuple(linear.points_of(f))) for f in linear.free_functions),
            blocks=tuple(block.widened(linear.width, linear.point_counts) for block in blocks),
            objective=objective.widened(linear.width, linear.point_counts),
            maximize=self.program.maximizes,
        )

    @property
    def auxiliary(self) -> list[Block]:
        """Rows that no one declared: epigraphs behind auxiliary columns."""
        return self.epigraphs.blocks

    def forget(self, names: Collection[str]) -> None:
        """Drop what is known of declared blocks that are gone."""
        for name in names:
            self.inlined.pop(name, None)
            self._expansions.pop(name, None)

    def refresh_auxiliary(self, touched: Collection[int]) -> list[str]:
        """Lower the auxiliary rows of atoms that hold a touched leaf again; return the names of their blocks.

        `touched` holds the ids of the leaves.
        """
        return self.epigraphs.refresh(
            lambda atom: atom.function is None and any(id(leaf) in touched for leaf in leaves(atom.argument))
        )

    # -- the objective -------------------------------------------------------------------------------------------

    def objective(self) -> Objective:
        """The objective as a minimisation."""
        rows, atoms = self.linear.split(self.program.minimized())
        ridge = np.zeros(len(self.linear.free_functions))
        squares: list[Square] = []
        large: list[tuple[Atom, float]] = []
        for atom, coefficient in atoms:
            if not self.keeps_quadratic(atom, coefficient):
                rows = self._with_atom(rows, atom, coefficient)
                continue
            weights = np.asarray(coefficient.value().toarray()).ravel()
            place = None if atom.function is None else self.linear.place_of(atom.function)
            if not weights.any():
                continue
            if place is not None:
                ridge[place] += 2 * float(weights[0])
            elif atom.function is not None:
                squares.append(self.linear.dictionary_square(atom.function, 2 * float(weights[0])))
            elif is_large(atom):
                large.append((atom, 2 * float(weights[0])))
            else:
                side = BELOW if (weights < 0).any() else ABOVE
                weight = atom.quadratic(2 * weights)
                assert weight is not None
                squares.append(Square(self.argument_rows(atom, side), weight, atom.describe()))
        for streamed in stream(self.linear, large):
            squares.append(streamed.square)
            rows = rows.plus(streamed.linear)
        p = tuple(np.asarray(e.toarray()).ravel() for e in rows.E)
        return Objective(np.asarray(rows.A.toarray()).ravel(), p, tuple(ridge), tuple(squares), float(rows.g[0]))

    def _with_atom(self, rows: Rows, atom: Atom, coefficient: Coefficient) -> Rows:
        """Add an atom to a minimised objective."""
        both = self.other_side.halves(atom, coefficient, ABOVE)
        rows = self._with_stand_in(rows, atom, both.below)
        ceiling = self.other_side.ceiling(atom, both.below)
        if ceiling:
            rows = Rows(rows.A, rows.E, rows.g + ceiling)
        return self._above(rows, atom, both.above)

    def keeps_quadratic(self, atom: Atom, coefficient: Coefficient) -> bool:
        """Return True if the objective keeps an atom as a quadratic."""
        return keeps_quadratic(atom, coefficient)

    def _above(self, rows: Rows, atom: Atom, coefficient: sp.csr_array) -> Rows:
        """Add coefficient @ atom to rows, for entries on their convex side that cannot be written into the rows."""
        return self.epigraphs.through_columns(rows, atom, coefficient)

    # -- constraint blocks ---------------------------------------------------------------------------------------

    def block(self, name: str, constraint: Constraint) -> Block:
        """The rows of one declared block."""
        rows, atoms = self.linear.split(constraint.expression)
        self.inlined.pop(name, None)
        if constraint.equality:
            if atoms:
                raise ConvexityError(
                    f"Constraint {name!r} equates {atoms[0][0].describe()}, which is not affine; "
                    "an equality may hold affine expressions only."
                )
            return plain(name, ZERO, rows)
        if not atoms:
            return plain(name, NONNEGATIVE, rows)
        kept = np.ones(rows.count, dtype=bool)
        above: Entries = []
        for atom, coefficient in atoms:
            both = self.other_side.halves(atom, coefficient, BELOW)
            is_open = self.other_side.is_open(atom)
            if is_open.any():
                used = abs(both.below)
                kept &= np.asarray(used @ is_open.astype(float)) == 0
            rows = self._with_stand_in(rows, atom, both.below)
            if both.above.nnz:
                above.append((atom, both.above))
        stays = np.flatnonzero(kept)
        if stays.size < rows.count:
            rows, above = rows.take(stays), [(atom, sp.csr_array(c[stays])) for atom, c in above]
        block = self._epigraph_block(name, rows, [(atom, c) for atom, c in above if c.nnz])
        return block if stays.size == kept.size else replace(block, declared=stays[block.declared])

    def _epigraph_block(self, name: str, rows: Rows, above: Entries) -> Block:
        """The rows of a block, with the epigraphs of its atoms in them where each occurs only once."""
        counts = np.zeros(rows.count, dtype=np.intp)
        for _, coefficient in above:
            counts += row_lengths(coefficient)
        if len(above) == 1 and (counts == 1).all() and rows.count:
            block = self._conic(name, rows, *above[0])
            if block is not None:
                return block
        single: Entries = []
        for atom, coefficient in above:
            owner = np.repeat(np.arange(rows.count), row_lengths(coefficient))
            inline = (counts[owner] == 1) & self._is_used_once(atom, coefficient.indices)
            if inline.any() and not self._copies_t(atom, coefficient.indices[inline]):
                inline[:] = False
            if inline.all():
                single.append((atom, coefficient))
                continue
            rows = self._above(rows, atom, only(coefficient, ~inline))
            if inline.any():
                single.append((atom, only(coefficient, inline)))
        if not single:
            return plain(name, NONNEGATIVE, rows)
        known = self._expansions.get(name)
        if known is None or not known.serves(single, rows.count):
            fixed = all(self.linear.is_fixed(atom) for atom, _ in single)
            known = self._expansions[name] = expand(
                single, rows.count, self.epigraphs.template, lambda a, i: self.argument_rows(a, ABOVE, i), fixed
            )
        self.inlined[name] = known.lowered
        total = known.applied(rows, self.linear.width, self.linear.point_counts)
        return Block(
            name,
            NONNEGATIVE,
            total,
            origin=name,
            declared=known.declared,
            instance=known.instance,
            group=known.group,
        )

    def _conic(self, name: str, rows: Rows, atom: Atom, coefficient: sp.csr_array) -> Block | None:
        """The epigraph of an atom with one entry per row, the rest of the row as t; None if it has other columns."""
        entries = coefficient.indices.astype(np.intp)
        if not self._is_used_once(atom, entries).all() or not (coefficient.data < 0).all():
            return None
        at, index, template = self.epigraphs.resolved(atom, entries)
        if template.new or len(template.parts) != 1 or template.parts[0].copies_t:
            return None
        part, weights = template.parts[0], -coefficient.data
        e, space = self.epigraphs.argument(atom, index)
        total = self.epigraphs.part_rows(part, scaled(rows, 1.0 / weights), e, ())
        self.inlined[name] = [Lowered(atom, entries, at, index, template)]
        return conic_block(name, part, total, weights, space)

    def _copies_t(self, atom: Atom, entries: npt.NDArray[np.integer[Any]]) -> bool:
        """Return True if declared rows can take the place of t in the epigraph of an atom, row by row."""
        _, _, template = self.epigraphs.resolved(atom, entries.astype(np.intp))
        return len(template.parts) == 1 and template.parts[0].copies_t

    def _is_used_once(self, atom: Atom, entries: npt.NDArray[np.integer[Any]]) -> npt.NDArray[np.bool_]:
        """Return per entry whether it occurs on its convex side in one declared row, and nowhere else."""
        if self._uses is None:
            self._uses = entry_uses(self.program, self.other_side)
        uses = self._uses.get(atom)
        return np.ones(entries.size, dtype=bool) if uses is None else uses.are_in_one_row(entries)

    @property
    def has_epigraphs(self) -> bool:
        """Return True if an atom stands on its convex side, other than as a quadratic of the objective."""
        return bool(self.epigraphs.lowered) or any(self.inlined.values())

    # -- arguments and stand-ins ---------------------------------------------------------------------------------

    def argument_rows(self, atom: Atom, side: int, index: Index | None = None) -> Rows:
        """The rows of (some entries of) the argument of an atom that is needed from above or from below."""
        if has_affine_argument(atom):
            rows = self.linear.inner(atom)
            return rows if index is None else rows.take(index)
        chosen = np.arange(atom.segments.total) if index is None else index
        directions = argument_directions(atom, side)[chosen]
        rows, children = self.linear.split(atom.argument)
        rows, pick = rows.take(chosen), picked(chosen, atom.segments.total)
        for child, coefficient in children:
            both = self.other_side.halves(child, coefficient.left(pick), directions)
            rows = self._with_stand_in(rows, child, both.below)
            rows = self._above(rows, child, both.above)
        return rows

    def _with_stand_in(self, rows: Rows, atom: Atom, coefficient: sp.csr_array) -> Rows:
        """Add coefficient @ atom to rows, with the atom's stand-in."""
        if not coefficient.nnz:
            return rows
        added = self._stand_in_rows(atom, coefficient)
        width, points = self.linear.width, self.linear.point_counts
        return rows.widened(width, points).plus(added.widened(width, points))

    def _stand_in_rows(self, atom: Atom, coefficient: sp.csr_array) -> Rows:
        chosen = self.other_side.of(atom)
        if isinstance(chosen, Expression):
            return self.linear.split(chosen)[0].left(coefficient)
        return self._minorant_rows(atom, coefficient, chosen, BELOW)

    def _minorant_rows(self, atom: Atom, coefficient: sp.csr_array, minorant: Minorant, side: int) -> Rows:
        """Return coefficient @ minorant, for an atom that is needed from a side."""
        rows = self._slope_rows(atom, coefficient, product(coefficient, minorant.slopes), side)
        if not minorant.constants.any():
            return rows
        return Rows(rows.A, rows.E, rows.g + coefficient @ minorant.constants)

    def _slope_rows(self, atom: Atom, coefficient: sp.csr_array, slopes: sp.csr_array, side: int) -> Rows:
        """Return slopes @ argument, from the entries of the argument that the entries in the coefficient read.

        Nothing need stand for atoms in other entries.
        """
        if has_affine_argument(atom) and atom.function is None:
            return self.argument_rows(atom, side).left(slopes)
        if atom.function is None:
            index = np.flatnonzero(np.isin(atom.segments.of, coefficient.indices))
            return self.argument_rows(atom, side, index).left(sp.csr_array(slopes[:, index]))
        place = self.linear.place_of(atom.function)
        if place is None:
            return self.linear.dictionary_rows(atom.function).left(slopes)
        counts = self.linear.point_counts
        E = tuple(widened(slopes, n) if k == place else zeros(slopes.shape[0], n) for k, n in enumerate(counts))
        return Rows(zeros(slopes.shape[0], self.linear.width), E, np.zeros(slopes.shape[0]))


def plain(name: str, cone: Cone, rows: Rows) -> Block:
    """Rows as they are, each its own declared entry."""
    none = np.full(rows.count, -1, dtype=np.intp)
    return Block(name, cone, rows, origin=name, declared=np.arange(rows.count), instance=none, group=none)
