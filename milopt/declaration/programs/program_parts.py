"""Parts of a copied program by what stands for them: a name, an object of the original, or one of its own."""

from __future__ import annotations

from milopt.arrays import Index
from milopt.declaration.programs.expression import Constraint, Expression, Shape
from milopt.declaration.programs.leaves import Parameter, Variable
from milopt.declaration.programs.program_copy import ProgramCopy
from milopt.declaration.programs.row_edits import entries_of
from milopt.errors import UnknownNameError


def block_name(program: ProgramCopy, constraint: Constraint | str) -> str:
    """Return the name of a constraint block."""
    name = constraint if isinstance(constraint, str) else program.name_of(constraint)
    if name not in program.constraints:
        raise _unknown(program, "constraint block", constraint, [*program.constraints])
    return name


def part_name(program: ProgramCopy, part: Constraint | Variable | str) -> str:
    """Return the name of a constraint block or a variable."""
    name = part if isinstance(part, str) else program.name_of(part)
    if name not in program.constraints and name not in program.variables:
        known = [*program.constraints, *program.variables]
        raise _unknown(program, "constraint block or variable", part, known)
    return name


def own_entries(program: ProgramCopy, variable: Expression | str) -> tuple[Variable, Index, Shape]:
    """Return a variable of the program, which of its entries are meant, and their shape."""
    if isinstance(variable, str):
        if variable not in program.variables:
            raise _unknown(program, "variable", variable, [*program.variables])
        return entries_of(program.variables[variable])
    return entries_of(program.owned(variable, "the variable") if isinstance(variable, Expression) else variable)


def own_parameter(program: ProgramCopy, parameter: Parameter | str) -> Parameter:
    """Return a parameter of the program; an object that does not stand for one as it is."""
    if isinstance(parameter, str):
        if parameter not in program.parameters:
            raise _unknown(program, "parameter", parameter, [*program.parameters])
        return program.parameters[parameter]
    return program.parameters.get(program.name_of(parameter) or "", parameter)


def _unknown(program: ProgramCopy, kind: str, given: object, known: list[str]) -> UnknownNameError:
    return UnknownNameError(f"Program {program.name!r} has no {kind} {given!r}; it has {', '.join(known) or 'none'}.")
