"""What `cvxpy:NAME` and `pyomo:NAME` share: variants by name, and blame for `extra`."""

from __future__ import annotations

import re
from abc import abstractmethod
from collections.abc import Collection, Mapping
from typing import ClassVar, Generic, Protocol, TypeVar

from milopt.compilation.answer import Answer
from milopt.compilation.features import Feature
from milopt.compilation.standard_form import StandardForm
from milopt.errors import ParameterError
from milopt.names import unknown
from milopt.solving.columnless import answer_without_columns
from milopt.solving.engine import Engine
from milopt.solving.engine_process import EngineProcess, is_heavy
from milopt.solving.options import Options
from milopt.solving.solver import Solver

MIP_GAP = 0.1
"""Gap at which a mixed-integer search stops, as a share of the tolerance that the certificate applies to the gap."""


class Behind(Protocol):
    """One solver behind a modelling language."""

    @property
    def features(self) -> frozenset[Feature]:
        """What it takes."""

    @property
    def cones(self) -> frozenset[str]:
        """The names of the cones that it takes besides linear rows, if no variable is integer."""

    @property
    def integer_cones(self) -> frozenset[str]:
        """The same if some variables are integer."""

    @property
    def licence(self) -> str:
        """Its own licence."""

    def found(self) -> str | None:
        """Its version or its place on this machine; None when it is not there. Nothing is imported."""


B = TypeVar("B", bound=Behind)


class Variants(Solver, Generic[B]):
    """A family of solvers: called with a variant's name, in any case, it makes the solver `family:NAME`."""

    family = True
    language: ClassVar[str]
    """The modelling language, as people write it; its package's name is also the family's."""
    own_licence: ClassVar[str]

    def __init__(self, variant: str) -> None:
        backends = self.backends()
        name = {known.casefold(): known for known in backends}.get(variant.casefold())
        if name is None:
            raise unknown(f"{self.language} solver", variant, list(backends))
        self.variant = name
        self.backend = backends[name]
        self.name = f"{self.package}:{name}"
        self.features, self.cones = self.backend.features, self.backend.cones
        self.integer_cones = self.backend.integer_cones
        self.licence = f"{self.own_licence}, {self.backend.licence}"

    @classmethod
    @abstractmethod
    def backends(cls) -> Mapping[str, B]:
        """Every variant that milopt knows, installed or not."""

    @classmethod
    def variants(cls) -> list[str]:
        """The variants that are on this machine, by metadata alone."""
        return [name for name, backend in cls.backends().items() if backend.found() is not None]


class VariantEngine(Engine):
    """One model a form; every change builds it again."""

    def __init__(self, solver: str, keeps_time: bool, form: StandardForm, options: Options) -> None:
        super().__init__(form, options)
        self._keeps_time = keeps_time
        """Whether the solver behind it looks at a time limit once per iteration at least."""
        self._process = EngineProcess(solver, options)

    def solve(self, time_limit: float | None) -> Answer:
        """Build and solve."""
        if self.form.n == 0:
            return answer_without_columns(self.form, self.options.tolerance)
        may_be_late = not self._keeps_time or is_heavy(self.form)
        if time_limit is not None and may_be_late and self._process.can_run():
            return self._process.solve(self.form, time_limit)
        return self.solve_form(self.form, time_limit)

    def close(self) -> None:
        """End the process, if there is one."""
        self._process.close()

    @abstractmethod
    def solve_form(self, form: StandardForm, time_limit: float | None) -> Answer:
        """One solve of a form with columns."""


def blame(solver: str, given: Collection[str], complaint: object) -> ParameterError | None:
    """The error for the option, of those given in `extra`, that a complaint is about; None when it is about none.

    A `TypeError` that names no option is about them all: milopt's own settings never cause one.
    """
    text = str(complaint).strip()
    first = text.splitlines()[0].rstrip(". ") if text else type(complaint).__name__
    for name in given:
        if re.search(rf"(?<![\w/]){re.escape(name)}(?![\w/])", text):
            return ParameterError(f"{solver} does not take the option {name!r} of `extra`: {first}.")
    if given and isinstance(complaint, TypeError):
        names = ", ".join(repr(name) for name in given)
        return ParameterError(f"{solver} does not take `extra` with {names}: {first}.")
    return None
