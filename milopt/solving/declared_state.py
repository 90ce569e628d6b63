"""Snapshot of a declared program, so that a failed change can be undone."""

from __future__ import annotations

from milopt.declaration.programs.program import Program


class DeclaredState:
    """Variables with their bounds, constraints, objective and parameter values of a program at one moment."""

    def __init__(self, program: Program) -> None:
        self._program = program
        self._variables, self._constraints = dict(program.variables), dict(program.constraints)
        self._bounds = {variable: (variable.lower, variable.upper) for variable in program.variables.values()}
        self._objective, self._maximizes = program.objective, program.maximizes
        self._values = {parameter: parameter.value for parameter in program.parameters.values()}

    def restore(self) -> None:
        """Reset the program to the recorded state."""
        program = self._program
        program.variables, program.constraints = self._variables, self._constraints
        (program.maximize if self._maximizes else program.minimize)(self._objective)
        for variable, bounds in self._bounds.items():
            variable.lower, variable.upper = bounds
        for parameter, value in self._values.items():
            parameter.restore(value)
