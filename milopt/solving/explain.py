"""Who could solve a program: one line a solver, yes or the reason why not; nothing is solved.

A solver is asked by the program's features first, then, where kernels over few points suffice, by the flat form that it
would get: two instances a bag stand for all, which leaves the pattern as it is.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

from milopt.compilation.compile_program import FormName, compile_form
from milopt.compilation.curvature import bending_terms
from milopt.compilation.curvature_verdict import MAX_EXAMINED_POINTS, form_verdict, sentence, verdict
from milopt.compilation.dual import dual_refusal
from milopt.compilation.evaluation_form import EvaluationForm
from milopt.compilation.features import Feature
from milopt.compilation.lowered import Lowered, sample, touched_points
from milopt.compilation.lowered_program import LoweredProgram
from milopt.compilation.standard_form import StandardForm
from milopt.declaration.programs.problem import Problem
from milopt.declaration.programs.program import Program
from milopt.declaration.programs.semi_infinite import SemiInfinite
from milopt.errors import ParameterError
from milopt.solving import registry
from milopt.solving.lazy import LazyRows
from milopt.solving.profile import Profile
from milopt.solving.refusal import lack, refusal, takes_all
from milopt.solving.solver import Availability, Solver
from milopt.table import Table


@dataclass(frozen=True)
class Explanation:
    """Whether one solver takes a program, and why, or why not."""

    solver: str
    takes: bool
    reason: str


class Explanations(tuple[Explanation, ...]):
    """One explanation a solver; prints as a table."""

    __slots__ = ()

    @property
    def takers(self) -> list[str]:
        """The names of the solvers that take the program."""
        return [one.solver for one in self if one.takes]

    def __str__(self) -> str:
        rows = tuple((one.solver, "yes" if one.takes else "no", one.reason) for one in self)
        return str(Table("", ("solver", "takes it", "because"), rows))

    __repr__ = __str__


def explain(program: Program | SemiInfinite) -> Explanations:
    """Every registered solver's answer, families by their installed variants."""
    case = case_of(program)
    found: list[Explanation] = []
    for name, availability in registry.available().items():
        family, colon, _ = name.partition(":")
        if not availability.installed:
            found.append(Explanation(name, False, _missing(availability)))
        elif colon:
            found += [case.asked(registry.get(variant)) for variant in registry.variants(family)]
        else:
            found.append(case.asked(registry.get(name)))
    return Explanations(found)


def case_of(program: Program | SemiInfinite) -> Case | PartsCase:
    """What to ask solvers about a program."""
    if not isinstance(program, Problem):
        raise ParameterError(f"explain takes a Program, not {type(program).__name__}.")
    return PartsCase(program) if program.oracles else Case(program.core)


class PartsCase:
    """A semi-infinite program, which one solver takes where it takes its master and prices every oracle."""

    kind = "semi-infinite"

    def __init__(self, problem: Problem) -> None:
        self._problem = problem
        self._master = Case(problem.core)
        self._oracles = [Case(oracle.program) for oracle in problem.oracles]

    def asked(self, solver: Solver) -> Explanation:
        """One solver's answer."""
        master = self._master.asked(solver)
        if not master.takes:
            return Explanation(solver.name, False, f"the master: {master.reason}")
        words = ""
        assert self._problem.bags is not None
        for oracle, case in zip(self._problem.oracles, self._oracles, strict=True):
            if solver.prices(oracle, self._problem.bags):
                words = "an algorithm of its own"
                continue
            asked = case.asked(solver)
            if not asked.takes:
                return Explanation(solver.name, False, f"the oracle: {asked.reason}")
            words = asked.reason
        return Explanation(solver.name, True, f"master {master.reason}; oracle {words}")


class Case:
    """A program and the flat forms of its pattern, each made once."""

    def __init__(self, program: Program, wish: str = "auto", prices: int = 0) -> None:
        """`wish` is the form that options ask for, `prices` the number of prices of a master."""
        self.profile = Profile.of(program, prices)
        self.kind, self.is_dc = self.profile.kind, self.profile.is_dc
        self.name = program.name
        self._wish = wish
        self._program = program
        self._flat: dict[FormName, StandardForm | None] = {}

    @cached_property
    def _low(self) -> Lowered:
        """The program's form, on demand: its kernels are evaluated for it."""
        return sample(self._program)

    @property
    def lowered(self) -> LoweredProgram | None:
        """The program as it was lowered for a look at it; None if it was not, or only at some witnesses."""
        return None if self.is_dc or "_low" not in vars(self) else self._low.whole

    @property
    def unknown(self) -> str:
        """Why there is no form to ask about: a value missing, a large dictionary, a norm on its wrong side."""
        return self._low.reason

    @property
    def _form(self) -> EvaluationForm | None:
        return self._low.form

    @cached_property
    def bends(self) -> str:
        """Why the objective is not convex, in words; empty where it is. Eigenvalues, so only on demand."""
        if self._form is None or not bending_terms(self._form):
            return ""
        # The first instances of bags touch fewer points than the program.
        return sentence(verdict(self._program) if self.is_dc else form_verdict(self._form))

    def takes(self, solver: Solver) -> bool:
        """One solver's answer without words: where its blocks alone show it, nothing is lowered."""
        features, cones = self.profile.features, self.profile.cones
        if not takes_all(solver, features, cones):
            return False
        is_general = takes_all(solver, features | {Feature.NONCONVEX}, cones)
        return (is_general and solver.takes_unseen(self._program)) or self._refusal(solver) is None

    def asked(self, solver: Solver) -> Explanation:
        """One solver's answer."""
        reason = self._refusal(solver)
        return Explanation(solver.name, reason is None, self._how(solver) if reason is None else reason)

    def _refusal(self, solver: Solver) -> str | None:
        if not self._low.is_possible:
            return self.unknown
        lacking = lack(solver, self.profile.features, self.profile.cones)
        if lacking is not None:
            return lacking
        if Feature.NONCONVEX not in solver.features and self.bends:
            return f"{self.bends} {solver.name} takes convex programs only."
        if solver.takes_unseen(self._program):
            return None
        flat = self._flat_form(self._name(solver))
        if flat is None and solver.recognises_patterns:
            too_many = f"it takes patterns, and this one has more than {MAX_EXAMINED_POINTS} points to look at"
            return self.unknown or too_many
        return None if flat is None else refusal(solver, flat)

    def _how(self, solver: Solver) -> str:
        words = f"{self.kind} at each choice of witnesses" if self.is_dc else self.kind
        if self._form is None:
            return f"{words}, by its features; {self.unknown.rstrip('.')}"
        if self._form.spaces:
            words += ", by the dual" if self._name(solver) == "dual" else ", in coordinates"
        if not solver.takes_unseen(self._program) and self._flat_form(self._name(solver)) is None:
            words += f"; by its features, for it evaluates functions at more than {MAX_EXAMINED_POINTS} points"
        return words

    def _name(self, solver: Solver) -> FormName:
        """The form in which functions would reach a solver."""
        if self._form is None or not self._form.spaces or self._wish == "coordinates":
            return "coordinates"
        if solver.prefers != "dual" and self._wish != "dual":
            return "coordinates"
        saddles = Feature.NONCONVEX in solver.features
        return "dual" if dual_refusal(self._form, saddles) is None else "coordinates"

    def _flat_form(self, name: FormName) -> StandardForm | None:
        if name not in self._flat:
            self._flat[name] = None
            if self._form is not None:
                active = LazyRows.sample(self._form)
                if touched_points(self._form, active) <= MAX_EXAMINED_POINTS:
                    self._flat[name] = compile_form(self._form, name, active).form
        return self._flat[name]


def _missing(availability: Availability) -> str:
    if availability.install:
        return f"not installed: {availability.install}"
    return f"cannot be loaded: {availability.reason or 'its package is missing'}"
