"""Compile an evaluation form, or a declared program with all its rows, into standard form: the primal or the dual."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Literal, TypeAlias

import numpy as np
import numpy.typing as npt

from milopt.arrays import Index
from milopt.compilation.compiled_form import CompiledForm
from milopt.compilation.dual_form import DualForm
from milopt.compilation.evaluation_form import EvaluationForm
from milopt.compilation.form_choice import FormRequest, choose_form
from milopt.compilation.kernel_space import KernelSpace
from milopt.compilation.lowering import Lowering
from milopt.compilation.minorant import StandIn, one_hot_minorant
from milopt.compilation.primal_form import PrimalForm
from milopt.compilation.sides import maxima_on_other_side
from milopt.declaration.atoms.atom import Atom, SelectionAtom
from milopt.declaration.programs.program import Program
from milopt.errors import ParameterError, UnknownNameError

if TYPE_CHECKING:
    from milopt.outcome.result import Result

FormName: TypeAlias = Literal["primal", "dual"]
"""Name of a compiled form: the primal form or the dual form."""
WitnessChoice: TypeAlias = "Mapping[SelectionAtom, npt.ArrayLike] | Result | None"
"""Choice of witnesses for the maxima of a DC program of which lower bounds are needed (where they are not convex).

The witness of a bag is the instance whose value replaces the maximum over the bag. A mapping gives the witnesses of
some maxima: one instance index per bag, counted over the instances of all bags. Every other maximum is replaced by the
means of the bags. For a `Result`, the witnesses are the maximising instances at its point. None replaces every maximum
by the means of the bags.
"""


def compile_program(program: Program, form: FormName = "primal", witnesses: WitnessChoice = None) -> CompiledForm:
    """Compile a declared program with all its rows; replace maxima by their witnesses where lower bounds are needed.

    The attribute `form` of the result is the program in standard form. The method `recover` of the result maps a point
    of that form back to the evaluation form.
    """
    if form not in ("primal", "dual"):
        raise ParameterError(f'form must be "primal" or "dual", not {form!r}.')
    source = Lowering(program, witness_minorants(program, witnesses)).form()
    return compile_form(source, form, np.arange(source.rows.count))


def compile_form(source: EvaluationForm, form: FormName, active: Index) -> CompiledForm:
    """Compile the rows `active` of an evaluation form; kernel values and coordinates are computed again."""
    spaces = [KernelSpace(space) for space in source.spaces]
    if form == "dual":
        return DualForm(source, spaces, active)
    choice = choose_form(source, active, FormRequest("primal", False, False, False))
    return PrimalForm(source, choice.coordinates(spaces), active)


def witness_minorants(program: Program, witnesses: WitnessChoice) -> dict[Atom, StandIn]:
    """Return, for each maximum whose witnesses are given, its minorant: the values of its argument at the witnesses."""
    if witnesses is None:
        return {}
    if isinstance(witnesses, Mapping):
        strangers = [atom for atom in witnesses if not any(atom is known for known in program.maxima())]
        if strangers:
            name = getattr(strangers[0], "describe", lambda: repr(strangers[0]))()
            raise UnknownNameError(f"witnesses: {name} is not a bag_max of {program.name!r}; see program.maxima().")
        return {atom: one_hot_minorant(atom, _as_witness_indices(atom, index)) for atom, index in witnesses.items()}
    return {
        atom: one_hot_minorant(atom, _witnesses_of_result(atom, witnesses))
        for atom in maxima_on_other_side(program, "a choice of witnesses")
    }


def _witnesses_of_result(atom: SelectionAtom, result: Result) -> Index:
    """Return, for each bag, the instance that attains the maximum at the point of a result (the first of several)."""
    if not result.values and not result.functions:
        raise ParameterError(f"witnesses: the result of {result.program.name!r} has no point to take them from.")
    return np.asarray(atom.segments.argmax(result.value(atom.argument)), dtype=np.intp)


def _as_witness_indices(atom: SelectionAtom, index: npt.ArrayLike) -> Index:
    """Check that witnesses are one instance index per bag, each within its bag, and return them as an array."""
    array, bags = np.asarray(index), atom.segments
    if array.shape != (len(bags),) or array.dtype.kind not in "iu":
        raise ParameterError(
            f"witnesses of {atom.describe()}: give {len(bags)} instance indices (counted over all bags), one per bag, "
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
