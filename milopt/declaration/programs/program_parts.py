"""Lookup of parts of a copied program by a name, by an object of the original program, or by an object of the copy."""

from __future__ import annotations

from milopt.arrays import Index
from milopt.declaration.programs.expression import Constraint, Expression, Shape
from milopt.declaration.programs.leaves import Parameter, Variable
from milopt.declaration.programs.program_copy import ProgramCopy
from milopt.declaration.programs.row_edits import variable_entries
from milopt.errors import UnknownNameError


def resolve_block_name(program: ProgramCopy, constraint: Constraint | str) -> str:
    """Return the name of a block that is given by name or object; raise `UnknownNameError` if it does not exist."""
    name = constraint if isinstance(constraint, str) else program.name_of(constraint)
    if name not in program.constraints:
        raise _unknown_part_error(program, "constraint block", constraint, [*program.constraints])
    return name


def resolve_part_name(program: ProgramCopy, part: Constraint | Variable | str) -> str:
    """Return the name of a block or variable given by name or object; raise `UnknownNameError` if it does not exist."""
    name = part if isinstance(part, str) else program.name_of(part)
    if name not in program.constraints and name not in program.variables:
        known = [*program.constraints, *program.variables]
        raise _unknown_part_error(program, "constraint block or variable", part, known)
    return name


def resolve_entries(program: ProgramCopy, variable: Expression | str) -> tuple[Variable, Index, Shape]:
    """Return (variable, indices, shape): a variable of the program, its selected entries, and the shape of these.

    `variable` is the name of a variable (which selects all entries), a variable, or entries of one, such as x[2].
    """
    if isinstance(variable, str):
        if variable not in program.variables:
            raise _unknown_part_error(program, "variable", variable, [*program.variables])
        return variable_entries(program.variables[variable])
    return variable_entries(
        program.as_own_expression(variable, "the variable") if isinstance(variable, Expression) else variable
    )


def resolve_parameter(program: ProgramCopy, parameter: Parameter | str) -> Parameter:
    """Return a parameter of the program, given by name or object; an unknown object is returned unchanged."""
    if isinstance(parameter, str):
        if parameter not in program.parameters:
            raise _unknown_part_error(program, "parameter", parameter, [*program.parameters])
        return program.parameters[parameter]
    return program.parameters.get(program.name_of(parameter) or "", parameter)


def _unknown_part_error(program: ProgramCopy, kind: str, given: object, known: list[str]) -> UnknownNameError:
    """Return the error for a part that the program does not have."""
    return UnknownNameError(f"Program {program.name!r} has no {kind} {given!r}; it has {', '.join(known) or 'none'}.")
