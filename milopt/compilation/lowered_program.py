"""Program lowered to its evaluation form; solver selection, sessions and reports share one lowered program."""

from __future__ import annotations

from dataclasses import dataclass

from milopt.compilation.evaluation_form import EvaluationForm, LoweredBlock, Objective
from milopt.compilation.lowering import Lowering
from milopt.compilation.minorant import StandIns
from milopt.declaration.programs.program import Program


@dataclass(frozen=True)
class LoweredProgram:
    """Evaluation form of a program, with the parts that a session compiles again if they change."""

    lowering: Lowering
    objective: Objective
    blocks: dict[str, LoweredBlock]
    """Lowered constraint blocks by name, without auxiliary rows."""
    form: EvaluationForm


def lower_program(program: Program, stand_ins: StandIns | None = None, both_sides: bool = False) -> LoweredProgram:
    """Lower a program to its evaluation form.

    `stand_ins` (minorants or expressions) replace convex atoms where only a concave term is allowed (on their other
    side). If `both_sides` is True, the stand-ins of maxima replace them also on their convex side.
    """
    lowering = Lowering(program, stand_ins, both_sides)
    objective = lowering.lower_objective()
    blocks = {name: lowering.lower_block(name, constraint) for name, constraint in program.constraints.items()}
    return LoweredProgram(lowering, objective, blocks, lowering.assemble(objective, list(blocks.values())))
