"""A program that was lowered once: what `auto` looks at, a session solves, and a report measures."""

from __future__ import annotations

from dataclasses import dataclass

from milopt.compilation.evaluation_form import Block, EvaluationForm, Objective
from milopt.compilation.lowering import Lowering
from milopt.compilation.minorant import StandIns
from milopt.declaration.programs.program import Program


@dataclass(frozen=True)
class LoweredProgram:
    """The evaluation form of a program, and its parts, which a session lowers again when they change."""

    lowering: Lowering
    objective: Objective
    blocks: dict[str, Block]
    form: EvaluationForm


def lower(program: Program, stand_ins: StandIns | None = None, both_sides: bool = False) -> LoweredProgram:
    """Lower a program at the minorants of the atoms on their other side."""
    lowering = Lowering(program, stand_ins, both_sides)
    objective = lowering.objective()
    blocks = {name: lowering.block(name, constraint) for name, constraint in program.constraints.items()}
    return LoweredProgram(lowering, objective, blocks, lowering.assemble(objective, list(blocks.values())))
