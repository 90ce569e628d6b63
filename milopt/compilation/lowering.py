"""From a program to its evaluation form, part by part: the objective, and each constraint block."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import replace

import numpy as np
import scipy.sparse as sp

from milopt.compilation.cones import Cones, plain, wrong_side
from milopt.compilation.evaluation_form import Block, EvaluationForm, Objective, Space, Square
from milopt.compilation.linear import Linear
from milopt.compilation.maxima import Maxima
from milopt.compilation.selection import Witnesses
from milopt.compilation.streamed import is_large, stream
from milopt.cones import NONNEGATIVE, ZERO
from milopt.declaration.expression import Constraint
from milopt.declaration.leaves import Atom, BagMax, FunctionNormSquared, InnerAtom, QuadForm
from milopt.declaration.program import Program, leaves
from milopt.declaration.sparse import picked
from milopt.errors import ConvexityError


class Lowering:
    """Lowers one program; keeps its columns and points, so that parts can be lowered again when they change."""

    def __init__(self, program: Program, witnesses: Witnesses | None = None, both_sides: bool = False) -> None:
        self.program = program
        self.linear = Linear(program)
        for witness in (witnesses or {}).values():
            self.linear.register_witness(witness)
        self.maxima = Maxima(self.linear, witnesses or {}, both_sides)
        self.cones = Cones(self.linear)

    def form(self) -> EvaluationForm:
        """Everything, at the current witnesses and parameter values."""
        objective = self.objective()
        return self.assemble(objective, [self.block(name, c) for name, c in self.program.constraints.items()])

    def assemble(self, objective: Objective, blocks: list[Block]) -> EvaluationForm:
        """Parts that were lowered one by one, brought to one width; auxiliary rows come last."""
        linear = self.linear
        return EvaluationForm(
            self.program.name,
            tuple(linear.columns),
            np.concatenate([np.zeros(0), *linear.lower]),
            np.concatenate([np.zeros(0), *linear.upper]),
            np.concatenate([np.zeros(0, dtype=bool), *linear.integer]),
            tuple(Space(f, tuple(linear.points_of(f))) for f in linear.free_functions),
            tuple(block.widened(linear.width, linear.point_counts) for block in (*blocks, *self.auxiliary)),
            objective.widened(linear.width, linear.point_counts),
            self.program.maximizes,
        )

    @property
    def auxiliary(self) -> list[Block]:
        """Rows that no one declared: epigraphs and cones behind auxiliary columns."""
        return [*self.maxima.auxiliary, *self.cones.auxiliary]

    def refresh_auxiliary(self, touched: Collection[int]) -> list[str]:
        """Lower the auxiliary rows of atoms that hold a touched leaf again; return the names of their blocks.

        `touched` holds the ids of the leaves.
        """

        def has_changed(atom: Atom) -> bool:
            if not isinstance(atom, (BagMax, InnerAtom)):
                return False
            return any(id(leaf) in touched for leaf in leaves(atom.inner))

        return [*self.maxima.refresh(has_changed), *self.cones.refresh(has_changed)]

    def objective(self) -> Objective:
        """The objective as a minimisation."""
        rows, atoms = self.linear.split(self.program.minimized())
        ridge = np.zeros(len(self.linear.free_functions))
        squares: list[Square] = []
        large: list[tuple[QuadForm, float]] = []
        for atom, coefficient in atoms:
            if isinstance(atom, BagMax):
                rows = self.maxima.in_objective(rows, atom, coefficient)
                continue
            matrix = coefficient.value()
            weight = float(matrix.toarray()[0, 0])
            place = self.linear.place_of(atom.function) if isinstance(atom, FunctionNormSquared) else None
            if weight == 0:
                continue
            if isinstance(atom, QuadForm) and is_large(atom):
                large.append((atom, 2 * weight))
            elif isinstance(atom, QuadForm):
                squares.append(Square(self.linear.inner(atom), 2 * weight * atom.weight, atom.describe()))
            elif isinstance(atom, FunctionNormSquared) and place is None:
                squares.append(self.linear.dictionary_square(atom.function, 2 * weight))
            elif place is not None:
                ridge[place] += 2 * weight
            elif weight < 0:
                raise ConvexityError(wrong_side(atom, "the objective"))
            else:
                rows = self.cones.through_column(rows, atom, matrix)
        for streamed in stream(self.linear, large):
            squares.append(streamed.square)
            rows = rows.plus(streamed.linear)
        p = tuple(np.asarray(e.toarray()).ravel() for e in rows.E)
        return Objective(np.asarray(rows.A.toarray()).ravel(), p, tuple(ridge), tuple(squares), float(rows.g[0]))

    def block(self, name: str, constraint: Constraint) -> Block:
        """The rows of one declared block."""
        rows, atoms = self.linear.split(constraint.expression)
        if constraint.equality:
            if atoms:
                raise ConvexityError(
                    f"Constraint {name!r} equates {atoms[0][0].describe()}, which is not affine; "
                    "an equality may hold affine expressions only."
                )
            return plain(name, ZERO, rows)
        if not atoms:
            return plain(name, NONNEGATIVE, rows)
        scalars = [(atom, c) for atom, c in atoms if not isinstance(atom, BagMax)]
        rows, convex, kept = self.maxima.in_constraint(rows, [(a, c) for a, c in atoms if isinstance(a, BagMax)])
        if not scalars:
            return self.maxima.block(name, rows, convex, kept)
        if kept.size < rows.count:
            # Rows with an open witness are left out; the atoms of the others stay.
            rows, convex = rows.take(kept), [(atom, sp.csr_array(c[kept])) for atom, c in convex]
            pick = picked(kept, constraint.expression.size)
            scalars = [(atom, coefficient.left(pick)) for atom, coefficient in scalars]
            if not kept.size:
                return plain(name, NONNEGATIVE, rows)
        for atom, coefficient in convex:
            rows = self.maxima.through_columns(rows, atom, coefficient)
        block = self.cones.in_constraint(name, rows, scalars)
        return replace(block, declared=kept[block.declared])
