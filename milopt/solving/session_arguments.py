"""Checks of the arguments of sessions: a wrong argument is one sentence, and the session stays as it is."""

from __future__ import annotations

from collections.abc import Mapping

from milopt.compilation.minorant import Minorant, StandIns
from milopt.declaration.atoms.atom import Atom
from milopt.declaration.programs.expression import Expression
from milopt.declaration.programs.leaves import Parameter
from milopt.declaration.programs.program import Program
from milopt.errors import DeclarationError, ParameterError
from milopt.solving.clock import Clock
from milopt.solving.options import Options
from milopt.solving.solver import Solver


def check_session(program: Program, solver: str | Solver, options: Options | None, witnesses: StandIns | None) -> None:
    """Raise an error if an argument of `StepSession` has a wrong type."""
    check_program(program)
    if not isinstance(solver, (str, Solver)):
        raise ParameterError(f"A session takes a solver or the name of one, not {solver!r}.")
    if options is not None and not isinstance(options, Options):
        raise ParameterError(f"options must be an Options object, not {options!r}.")
    if witnesses is not None:
        check_stand_ins(witnesses)


def check_program(program: Program) -> None:
    """Raise an error unless this is a program."""
    if not isinstance(program, Program):
        raise ParameterError(f"A session takes a Program, not {type(program).__name__}.")


def check_parameters(program: Program, values: Mapping[Parameter, object]) -> None:
    """Raise an error unless these are values of parameters of a program."""
    if not isinstance(values, Mapping):
        raise DeclarationError(f"Give a mapping from parameters to their values, not {values!r}.")
    for parameter in values:
        if not isinstance(parameter, Parameter):
            raise DeclarationError(
                f"A session sets parameters, as program.parameter(...) returns them, not {parameter!r}; program "
                f"{program.name!r} has {', '.join(program.parameters) or 'none'}."
            )
        if program.parameters.get(parameter.name) is not parameter:
            raise DeclarationError(f"Parameter {parameter.name!r} belongs to another program than {program.name!r}.")


def check_stand_ins(witnesses: StandIns) -> None:
    """Raise an error unless these are minorants or expressions by atom."""
    if not isinstance(witnesses, Mapping):
        raise DeclarationError(f"Witnesses are a mapping from atoms to minorants or expressions, not {witnesses!r}.")
    for atom, chosen in witnesses.items():
        if not isinstance(atom, Atom) or not isinstance(chosen, (Minorant, Expression)):
            raise DeclarationError(
                f"Witnesses are minorants or expressions by atom, such as one_hot of indices, not {chosen!r} for "
                f"{atom!r}."
            )


def check_clock(clock: Clock | None) -> None:
    """Raise an error if this is a number of seconds or anything else that is not a clock."""
    if clock is not None and not isinstance(clock, Clock):
        raise ParameterError(f"solve takes a Clock, not {clock!r}; give time_limit= to the options for seconds.")
