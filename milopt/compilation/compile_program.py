"""A whole program as a flat solver would get it: every row, at the chosen witnesses, in coordinates or as the dual."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Literal, TypeAlias

import numpy as np
import numpy.typing as npt

from milopt.arrays import Index
from milopt.compilation.compiled import Compiled
from milopt.compilation.coordinates import Coordinates
from milopt.compilation.dual import Dual
from milopt.compilation.evaluation_form import EvaluationForm
from milopt.compilation.kernel_space import KernelSpace, Whitening
from milopt.compilation.lowering import Lowering
from milopt.compilation.minorant import StandIn, one_hot_selection
from milopt.compilation.sides import witnessed_maxima
from milopt.declaration.atoms.atom import Atom, Selecting
from milopt.declaration.programs.program import Program
from milopt.errors import ParameterError, UnknownNameError

if TYPE_CHECKING:
    from milopt.outcome.result import Result

FormName: TypeAlias = Literal["coordinates", "dual"]
WitnessChoice: TypeAlias = "Mapping[Selecting, npt.ArrayLike] | Result | None"
"""Flat instance indices, one a bag, for some maxima (the others take bag means); a result's; None: all bag means."""


def compile_program(program: Program, form: FormName = "coordinates", witnesses: WitnessChoice = None) -> Compiled:
    """The program over all its rows; `compiled.form` is flat, `compiled.recover` leads back."""
    if form not in ("coordinates", "dual"):
        raise ParameterError(f'form must be "coordinates" or "dual", not {form!r}.')
    source = Lowering(program, chosen_witnesses(program, witnesses)).form()
    return compile_form(source, form, np.arange(source.rows.count))


def compile_form(source: EvaluationForm, form: FormName, active: Index) -> Compiled:
    """Some rows of an evaluation form, with kernel values and coordinates of its own."""
    spaces = [KernelSpace(space) for space in source.spaces]
    if form == "dual":
        return Dual(source, spaces, active)
    return Coordinates(source, [Whitening(space) for space in spaces], active)


def chosen_witnesses(program: Program, witnesses: WitnessChoice) -> dict[Atom, StandIn]:
    """The selection of each maximum for which witnesses are given."""
    if witnesses is None:
        return {}
    if isinstance(witnesses, Mapping):
        strangers = [atom for atom in witnesses if not any(atom is known for known in program.maxima())]
        if strangers:
            what = getattr(strangers[0], "describe", lambda: repr(strangers[0]))()
            raise UnknownNameError(f"witnesses: {what} is no bag_max of {program.name!r}; see program.maxima().")
        return {atom: one_hot_selection(atom, _checked(atom, index)) for atom, index in witnesses.items()}
    return {
        atom: one_hot_selection(atom, _of_result(atom, witnesses))
        for atom in witnessed_maxima(program, "a choice of witnesses")
    }


def _of_result(atom: Selecting, result: Result) -> Index:
    """The largest instance of each bag at the result's point (the smallest index where several are)."""
    if not result.values and not result.functions:
        raise ParameterError(f"witnesses: the result of {result.program.name!r} has no point to take them from.")
    return np.asarray(atom.segments.argmax(result.value(atom.argument)), dtype=np.intp)


def _checked(atom: Selecting, index: npt.ArrayLike) -> Index:
    array, bags = np.asarray(index), atom.segments
    if array.shape != (len(bags),) or array.dtype.kind not in "iu":
        raise ParameterError(
            f"witnesses of {atom.describe()}: give {len(bags)} flat instance indices, one a bag, "
            f"not an array of shape {array.shape} and type {array.dtype}."
        )
    outside = np.flatnonzero((array < bags.offsets[:-1]) | (array >= bags.offsets[1:]))
    if outside.size:
        bag = int(outside[0])
        raise ParameterError(
            f"witnesses of {atom.describe()}: instance {array[bag]} is not in bag {bag}, which has the instances "
            f"{bags.offsets[bag]} to {bags.offsets[bag + 1] - 1}."
        )
    return array.astype(np.intp)
