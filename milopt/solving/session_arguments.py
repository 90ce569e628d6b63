"""Checks of the arguments of sessions; a wrong argument raises an error and leaves the session unchanged."""

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
    """Raise `ParameterError` or `DeclarationError` if an argument of `Session` or `StepSession` has a wrong type."""
    check_program(program)
    if not isinstance(solver, (str, Solver)):
        raise ParameterError(f"A session requires a solver or the name of a solver, not {solver!r}.")
    if options is not None and not isinstance(options, Options):
        raise ParameterError(f"options must be an Options object, not {options!r}.")
    if witnesses is not None:
        check_stand_ins(witnesses)


def check_program(program: Program) -> None:
    """Raise an error if `program` is not a `Program`."""
    if not isinstance(program, Program):
        raise ParameterError(f"A session requires a Program, not {type(program).__name__}.")


def check_parameters(program: Program, values: Mapping[Parameter, object]) -> None:
    """Raise an error unless `values` maps parameters of the program to values; the values are not checked."""
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
    """Raise an error unless `witnesses` is a mapping from atoms to minorants or expressions."""
    if not isinstance(witnesses, Mapping):
        raise DeclarationError(f"Witnesses are a mapping from atoms to minorants or expressions, not {witnesses!r}.")
    for atom, chosen in witnesses.items():
        if not isinstance(atom, Atom) or not isinstance(chosen, (Minorant, Expression)):
            raise DeclarationError(
                f"Witnesses are minorants or expressions by atom, such as one_hot of indices, not {chosen!r} for "
                f"{atom!r}."
            )


def check_clock(clock: Clock | None) -> None:
    """Raise an error if `clock` is neither a `Clock` nor None, for example a number of seconds."""
    if clock is not None and not isinstance(clock, Clock):
        raise ParameterError(
            f"solve requires a Clock, not {clock!r}; to limit the seconds, set time_limit in the options."
        )
