"""Attempt to lower a program in order to examine it: the lowered program, or the reason why there is none."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from milopt.arrays import Index
from milopt.compilation.evaluation_form import EvaluationForm
from milopt.compilation.lowered_program import LoweredProgram, lower_program
from milopt.compilation.minorant import Minorant, StandIns, one_hot_minorant, tangent
from milopt.compilation.sides import other_side_atoms
from milopt.declaration.atoms.atom import Atom, SelectionAtom
from milopt.declaration.programs.leaves import Function, FunctionEvaluation
from milopt.declaration.programs.program import Program, leaves
from milopt.declaration.programs.sparse import zeros
from milopt.errors import MiloptError, ParameterError

MAX_KERNEL_ENTRIES = 4_000_000
"""Largest number of entries of a dictionary's kernel matrix that is computed only to examine a program."""


@dataclass(frozen=True)
class LoweringAttempt:
    """Lowered program, or the reason why there is none."""

    lowered: LoweredProgram | None
    """Lowered program; None if it was not lowered."""
    reason: str = ""
    """Reason why the program was not lowered; empty if it was."""
    is_possible: bool = True
    """False if no lowering is possible; True if it was done, would be expensive, or needs a missing parameter value."""

    @property
    def form(self) -> EvaluationForm | None:
        """Evaluation form of the program; None if the program was not lowered."""
        return None if self.lowered is None else self.lowered.form


def try_lower(program: Program, witnesses: StandIns | None = None) -> LoweringAttempt:
    """Lower a program to its evaluation form, unless this is expensive or raises a `MiloptError`.

    `witnesses` maps convex atoms, where only a concave term is allowed, to their stand-ins (minorants or expressions).
    A maximum that needs a stand-in and has none is replaced by the mean of each bag.
    """
    reason = _large_kernel_reason(program)
    if reason:
        return LoweringAttempt(None, reason)
    try:
        return LoweringAttempt(lower_program(program, witnesses))
    except ParameterError as error:
        return LoweringAttempt(None, str(error))
    except MiloptError as error:
        return LoweringAttempt(None, str(error), is_possible=False)


def try_lower_sample(program: Program) -> LoweringAttempt:
    """Lower a program with minorants that use few points, so that the rows of `LazyRows.pattern_sample` use few, too.

    For example, the minorant of a maximum consists of the values at the first instance of each bag.
    """
    return try_lower(program, {atom: _sparse_minorant(atom) for atom in other_side_atoms(program)})


def _sparse_minorant(atom: Atom) -> Minorant:
    """Return a minorant of an atom that uses few points.

    The minorant of a maximum is the first entry of each run, that of the norm of a function is 0, and that of any other
    atom is the tangent at (1, ..., 1).
    """
    if isinstance(atom, SelectionAtom):
        return one_hot_minorant(atom, atom.segments.offsets[:-1])
    if atom.function is not None:
        return Minorant(zeros(1, 0), np.zeros(1))
    return tangent(atom, np.ones(atom.segments.entry_count))


def count_used_points(form: EvaluationForm, active: Index | None = None) -> int:
    """Return the number of points at which the `active` rows (None: all) and the objective evaluate functions."""
    rows = form.rows if active is None else form.rows.take(active)
    total = 0
    for k in range(len(form.spaces)):
        used = [rows.E[k].indices.astype(np.intp), np.flatnonzero(form.objective.p[k])]
        used += [square.rows.E[k].indices.astype(np.intp) for square in form.objective.squares]
        total += int(np.unique(np.concatenate(used)).size)
    return total


def count_evaluated_points(program: Program, function: Function) -> int:
    """Return the number of points at which a program evaluates a function; repeated arrays are counted once."""
    arrays = {}
    for expression in (program.objective, *(c.expression for c in program.constraints.values())):
        for leaf in leaves(expression):
            if isinstance(leaf, FunctionEvaluation) and leaf.function is function:
                arrays[id(leaf.points)] = leaf.points.shape[0]
    return sum(arrays.values())


def _large_kernel_reason(program: Program) -> str:
    """Return the reason why lowering is expensive (a large kernel matrix of a dictionary); empty if it is not."""
    for function in program.functions.values():
        if function.dictionary is not None:
            size, points = function.dictionary.shape[0], count_evaluated_points(program, function)
            if size * max(points, size) > MAX_KERNEL_ENTRIES:
                return (
                    f"the kernel of {function.name} between {points} points and {size} dictionary atoms is large, "
                    "and is computed only to solve the program"
                )
    return ""
