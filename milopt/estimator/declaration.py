"""Declaration of the program of a model for its training bags."""

from __future__ import annotations

import copy
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from milopt.declaration.bags.bags import Bags
from milopt.declaration.bags.labels import Signs, Weights
from milopt.declaration.programs.problem import Problem
from milopt.declaration.programs.program import Program
from milopt.declaration.programs.semi_infinite import SemiInfinite
from milopt.errors import DeclarationError


@dataclass(frozen=True, eq=False)
class ModelDeclaration:
    """Declaration of a model, which can be repeated with other values of its hyper-parameters.

    LaTeX views find by it how hyper-parameters enter a program.
    """

    model: Any
    bags: Bags
    signs: Signs
    weight: Weights

    @property
    def values(self) -> dict[str, float]:
        """Hyper-parameters that are floats, by name."""
        return {name: value for name in self.model._fields if type(value := getattr(self.model, name)) is float}

    @property
    def instance_count(self) -> int:
        """Number of training instances."""
        return int(self.bags.offsets[-1])

    def declare(self, values: Mapping[str, float]) -> Program | SemiInfinite:
        """Return the program with these values of hyper-parameters in place of those of the model."""
        model = copy.copy(self.model)
        for name, value in values.items():
            setattr(model, name, value)
        program: Program | SemiInfinite = model.declare(self.bags, self.signs, self.weight)
        return program


def declare_program(model: Any, bags: Bags, signs: Signs, weight: Weights) -> Program | SemiInfinite:
    """Return the program that a model declares; raise `DeclarationError` if it returns something else."""
    declaration = ModelDeclaration(model, bags, signs, weight)
    program = declaration.declare({})
    _check_is_program(type(model).__name__, program)
    program.redeclaration = declaration
    return program


def _check_is_program(name: str, program: object) -> None:
    """Raise `DeclarationError` if the model of this name declared something else than a program."""
    if not isinstance(program, Problem):
        what = "nothing" if program is None else f"an object of type {type(program).__name__}"
        raise DeclarationError(f"{name}.declare returns {what}: end it with `return program`.")
