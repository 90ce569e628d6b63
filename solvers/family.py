"""Common parts of the solver families `cvxpy:NAME` and `pyomo:NAME`.

A family reaches many solvers, its backends, through one modelling language. This module provides the selection of a
backend by name, the engine that builds the language's model for every solve, and the error for options in `extra` that
a backend rejects.
"""

from __future__ import annotations

import re
from abc import abstractmethod
from collections.abc import Collection, Mapping
from typing import ClassVar, Generic, Protocol, TypeVar

from milopt.compilation.answer import Answer
from milopt.compilation.features import Feature
from milopt.compilation.standard_form import StandardForm
from milopt.errors import ParameterError
from milopt.name_suggestions import unknown_name_error
from milopt.solving.columnless import answer_without_columns
from milopt.solving.engine import Engine
from milopt.solving.engine_process import EngineProcess, has_slow_iterations
from milopt.solving.options import Options
from milopt.solving.solver import Solver

MIP_GAP_FRACTION = 0.1
"""Gap at which a mixed-integer search stops, as a fraction of the tolerance that the certificate applies to the gap."""


class BackendInfo(Protocol):
    """Description of one solver that is called through a modelling language."""

    @property
    def features(self) -> frozenset[Feature]:
        """Program features that the backend supports."""

    @property
    def cones(self) -> frozenset[str]:
        """Names of the supported cones, besides linear rows, for programs without integer variables."""

    @property
    def integer_cones(self) -> frozenset[str]:
        """Names of the supported cones, besides linear rows, for programs with integer variables."""

    @property
    def licence(self) -> str:
        """Licence of the backend itself."""

    def find_installation(self) -> str | None:
        """Return the installed version or the path of the backend, or None if it is not installed.

        The backend is not imported.
        """


BackendT = TypeVar("BackendT", bound=BackendInfo)


class BackendSolver(Solver, Generic[BackendT]):
    """Base class of solvers that are called through a modelling language.

    A subclass is a solver family, and an instance is one member of the family, the solver `FAMILY:NAME`. The argument
    `variant` is NAME in any combination of upper and lower case.
    """

    family = True
    language: ClassVar[str]
    """Name of the modelling language as it is usually written. The family has the name of the Python package."""
    own_licence: ClassVar[str]
    """Licence of the modelling language."""

    def __init__(self, variant: str) -> None:
        backends = self.backends()
        name = {backend_name.casefold(): backend_name for backend_name in backends}.get(variant.casefold())
        if name is None:
            raise unknown_name_error(f"{self.language} solver", variant, list(backends))
        self.variant = name
        self.backend = backends[name]
        self.name = f"{self.package}:{name}"
        self.features, self.cones = self.backend.features, self.backend.cones
        self.integer_cones = self.backend.integer_cones
        self.licence = f"{self.own_licence}, {self.backend.licence}"

    @classmethod
    @abstractmethod
    def backends(cls) -> Mapping[str, BackendT]:
        """Return all backends that milopt supports by name, installed or not."""

    @classmethod
    def variants(cls) -> list[str]:
        """Return the names of the installed backends, found without importing them."""
        return [name for name, backend in cls.backends().items() if backend.find_installation() is not None]


class BackendEngine(Engine):
    """Engine that builds the modelling language's model again for every solve."""

    def __init__(self, solver: str, respects_time_limit: bool, form: StandardForm, options: Options) -> None:
        super().__init__(form, options)
        self._respects_time_limit = respects_time_limit
        """Whether the backend gets a time limit and checks it at least once per iteration."""
        self._process = EngineProcess(solver, options)

    def solve(self, time_limit: float | None) -> Answer:
        """Build the model and solve it.

        If there is a time limit that the backend may exceed, because it does not check one or the program is large, the
        solve runs in a child process, which can be stopped.
        """
        if self.form.n == 0:
            return answer_without_columns(self.form, self.options.tolerance)
        may_be_late = not self._respects_time_limit or has_slow_iterations(self.form)
        if time_limit is not None and may_be_late and self._process.can_run():
            return self._process.solve(self.form, time_limit)
        return self.solve_form(self.form, time_limit)

    def close(self) -> None:
        """Stop the child process, if one is running."""
        self._process.close()

    @abstractmethod
    def solve_form(self, form: StandardForm, time_limit: float | None) -> Answer:
        """Build the model of a form that has columns, and solve it in this process."""


def option_error(solver: str, options: Collection[str], complaint: object) -> ParameterError | None:
    """Return a `ParameterError` if a backend's complaint (an error or a text) is about an option in `extra`.

    The option is found by its name in the text of the complaint. A `TypeError` that mentions no option is attributed to
    all given options, because milopt's own settings never cause one. Returns None if the complaint is about no option.
    `options` are the names in `extra`, and `solver` is the solver's name for the message.
    """
    text = str(complaint).strip()
    first_line = text.splitlines()[0].rstrip(". ") if text else type(complaint).__name__
    for name in options:
        if re.search(rf"(?<![\w/]){re.escape(name)}(?![\w/])", text):
            return ParameterError(f"{solver} does not support the option {name!r} in `extra`: {first_line}.")
    if options and isinstance(complaint, TypeError):
        names = ", ".join(repr(name) for name in options)
        return ParameterError(f"{solver} does not support `extra` with {names}: {first_line}.")
    return None
