"""Lowering of a program to its evaluation form if that is cheap, or the reason why there is no evaluation form."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from milopt.arrays import Index
from milopt.compilation.evaluation_form import EvaluationForm
from milopt.compilation.lowered_program import LoweredProgram, lower
from milopt.compilation.minorant import Minorant, StandIns, one_hot_minorant, tangent
from milopt.compilation.sides import other_side_atoms
from milopt.declaration.atoms.atom import Atom, SelectionAtom
from milopt.declaration.programs.leaves import Function, FunctionEvaluation
from milopt.declaration.programs.program import Program, leaves
from milopt.declaration.programs.sparse import zeros
from milopt.errors import MiloptError, ParameterError

MAX_KERNEL_ENTRIES = 4_000_000
"""Largest number of entries of a kernel matrix over a dictionary that is computed just to examine a program."""


@dataclass(frozen=True)
class LoweringAttempt:
    """Lowered program, or the reason why there is none."""

    whole: LoweredProgram | None
    """Lowered program; None if it was not lowered."""
    reason: str = ""
    """Reason why the program was not lowered; empty if it was."""
    is_possible: bool = True
    """False if the program itself is wrong; True if it was lowered, is too expensive, or lacks a parameter value."""

    @property
    def form(self) -> EvaluationForm | None:
        """Evaluation form of the program; None if the program was not lowered."""
        return None if self.whole is None else self.whole.form


def try_lower(program: Program, witnesses: StandIns | None = None) -> LoweringAttempt:
    """Lower a program to its evaluation form, unless that is expensive or raises an error of milopt.

    `witnesses` maps atoms on their other side (needed from below) to their stand-ins. Maxima that need a stand-in and
    have none are replaced by bag means.
    """
    reason = _large_kernel_reason(program)
    if reason:
        return LoweringAttempt(None, reason)
    try:
        return LoweringAttempt(lower(program, witnesses))
    except ParameterError as error:
        return LoweringAttempt(None, str(error))
    except MiloptError as error:
        return LoweringAttempt(None, str(error), is_possible=False)


def try_lower_sample(program: Program) -> LoweringAttempt:
    """Lower a program with minorants that use few points, so that the rows of `LazyRows.pattern_sample` use few, too.

    The minorant of a maximum, for example, is its value at the first instance of each bag.
    """
    return try_lower(program, {atom: _sparse_minorant(atom) for atom in other_side_atoms(program)})


def _sparse_minorant(atom: Atom) -> Minorant:
    """Return a minorant of an atom that uses few points.

    It is the first entry of each run for a maximum, 0 for the norm of a function, and otherwise the tangent at
    (1, ..., 1).
    """
    if isinstance(atom, SelectionAtom):
        return one_hot_minorant(atom, atom.segments.offsets[:-1])
    if atom.function is not None:
        return Minorant(zeros(1, 0), np.zeros(1))
    return tangent(atom, np.ones(atom.segments.entry_count))


def count_touched_points(form: EvaluationForm, active: Index | None = None) -> int:
    """Return the number of points at which the `active` rows (None: all) and the objective evaluate functions."""
    rows = form.rows if active is None else form.rows.take(active)
    total = 0
    for k in range(len(form.spaces)):
        used = [rows.E[k].indices.astype(np.intp), np.flatnonzero(form.objective.p[k])]
        used += [square.rows.E[k].indices.astype(np.intp) for square in form.objective.squares]
        total += int(np.unique(np.concatenate(used)).size)
    return total


def count_evaluated_points(program: Program, function: Function) -> int:
    """Return the number of points at which a program evaluates a function; an array that occurs twice counts once."""
    arrays = {}
    for expression in (program.objective, *(c.expression for c in program.constraints.values())):
        for leaf in leaves(expression):
            if isinstance(leaf, FunctionEvaluation) and leaf.function is function:
                arrays[id(leaf.points)] = leaf.points.shape[0]
    return sum(arrays.values())


def _large_kernel_reason(program: Program) -> str:
    """Return the reason why a program is too large to lower (a large kernel over a dictionary); empty if it is not."""
    for function in program.functions.values():
        if function.dictionary is not None:
            size, points = function.dictionary.shape[0], count_evaluated_points(program, function)
            if size * max(points, size) > MAX_KERNEL_ENTRIES:
                return (
                    f"the kernel of {function.name} between {points} points and {size} dictionary atoms is large, "
                    "and is computed only to solve the program"
                )
    return ""
