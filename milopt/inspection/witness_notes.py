"""Comments for files of DC programs: the file contains one convex step, with some maxima fixed at witnesses.

The witness of a bag is the instance whose value replaces the maximum over the bag.
"""

from __future__ import annotations

from milopt.arrays import Index
from milopt.compilation.compile_program import WitnessChoice, witness_minorants
from milopt.compilation.entry_sides import OBJECTIVE_PLACE
from milopt.compilation.minorant import StandIn
from milopt.compilation.sides import atom_sides
from milopt.declaration.atoms.atom import SelectionAtom
from milopt.declaration.programs.program import Program

LINE_CHARACTERS = 100
"""Target number of characters per line of a list of witnesses."""


def witness_notes(program: Program, witnesses: WitnessChoice) -> tuple[str, ...]:
    """Return comment lines about the witnesses; none for a convex program."""
    chosen, lines = witness_minorants(program, witnesses), list[str]()
    for side in atom_sides(program):
        if side.witness.size:
            place = "the objective" if side.where == OBJECTIVE_PLACE else f"{side.where!r}"
            maxima = f"{side.witness.size} of the {side.atom.size} maxima of {side.atom.describe()} in {place}"
            lines.append(f"one convex step of a DC program: {maxima}, on their concave side,")
            if isinstance(side.atom, SelectionAtom):
                lines += _list_witnesses(side.atom, side.witness, chosen.get(side.atom))
    return tuple(lines)


def _list_witnesses(atom: SelectionAtom, bags: Index, witness: StandIn | None) -> list[str]:
    """Return lines that list the witness of each of the `bags`, or say that bag means are used if `witness` is None."""
    if witness is None:
        return ["are taken at the mean of each bag"]
    slopes = witness.slopes  # type: ignore[union-attr]  # chosen witnesses are selections
    instances = slopes.indices[slopes.indptr[bags]] - atom.segments.offsets[bags]
    lines = ["are taken at a witness each, counted from 0 (bag:instance):"]
    for pair in (f" {bag}:{instance}" for bag, instance in zip(bags.tolist(), instances.tolist(), strict=True)):
        if lines[1:] and len(lines[-1]) + len(pair) <= LINE_CHARACTERS:
            lines[-1] += pair
        else:
            lines.append(f" {pair}")
    return lines
