"""The evaluation form of a program where it costs little, and the reason in words where it cannot be had."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from milopt.arrays import Index
from milopt.compilation.evaluation_form import EvaluationForm
from milopt.compilation.lowered_program import LoweredProgram, lower
from milopt.compilation.minorant import Minorant, StandIns, one_hot_selection, tangent
from milopt.compilation.sides import on_other_side
from milopt.declaration.atoms.atom import Atom, Selecting
from milopt.declaration.programs.leaves import Evaluation, Function
from milopt.declaration.programs.program import Program, leaves
from milopt.declaration.programs.sparse import zeros
from milopt.errors import MiloptError, ParameterError

LARGEST_KERNEL = 4_000_000
"""Entries of a kernel over a dictionary up to which looking at a program computes it."""


@dataclass(frozen=True)
class Lowered:
    """A lowered program, or the reason why there is none."""

    whole: LoweredProgram | None
    reason: str = ""
    is_possible: bool = True
    """Not possible at all when the program is at fault; else only a value is missing, or it would cost much."""

    @property
    def form(self) -> EvaluationForm | None:
        """The evaluation form, if there is one."""
        return None if self.whole is None else self.whole.form


def lowered(program: Program, witnesses: StandIns | None = None) -> Lowered:
    """The program at some witnesses, the bags' means where none are given."""
    reason = _too_large(program)
    if reason:
        return Lowered(None, reason)
    try:
        return Lowered(lower(program, witnesses))
    except ParameterError as error:
        return Lowered(None, str(error))
    except MiloptError as error:
        return Lowered(None, str(error), is_possible=False)


def sample(program: Program) -> Lowered:
    """The program at the first instance of each bag: `LazyRows.sample` has rows of it that touch few points."""
    return lowered(program, {atom: _first(atom) for atom in on_other_side(program)})


def _first(atom: Atom) -> Minorant:
    """Return a minorant that touches few points: the first entry of each run of a maximum, or a tangent at 1."""
    if isinstance(atom, Selecting):
        return one_hot_selection(atom, atom.segments.offsets[:-1])
    if atom.function is not None:
        return Minorant(zeros(1, 0), np.zeros(1))
    return tangent(atom, np.ones(atom.segments.total))


def touched_points(form: EvaluationForm, active: Index | None = None) -> int:
    """At how many points these rows, the cones and the objective evaluate functions."""
    rows = form.rows if active is None else form.rows.take(active)
    total = 0
    for k in range(len(form.spaces)):
        used = [rows.E[k].indices.astype(np.intp), np.flatnonzero(form.objective.p[k])]
        used += [square.rows.E[k].indices.astype(np.intp) for square in form.objective.squares]
        total += int(np.unique(np.concatenate(used)).size)
    return total


def evaluated_points(program: Program, function: Function) -> int:
    """At how many points a program evaluates a function, the same array counted once."""
    arrays = {}
    for expression in (program.objective, *(c.expression for c in program.constraints.values())):
        for leaf in leaves(expression):
            if isinstance(leaf, Evaluation) and leaf.function is function:
                arrays[id(leaf.points)] = leaf.points.shape[0]
    return sum(arrays.values())


def _too_large(program: Program) -> str:
    for function in program.functions.values():
        if function.dictionary is not None:
            size, points = function.dictionary.shape[0], evaluated_points(program, function)
            if size * max(points, size) > LARGEST_KERNEL:
                return (
                    f"the kernel of {function.name} between {points} points and {size} dictionary atoms is large, "
                    "and computed only to solve"
                )
    return ""
