"""Explain which solvers support a program, and why the remaining solvers do not, without solving the program.

Solvers are checked by the features of the program first. If kernels need to be evaluated at few points only, solvers
are also checked by the flat form (vectors and matrices) that they would get. For this check, the form is made from two
instances per bag only: it then has the same pattern, that is, the same kinds of rows and columns.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

from milopt.compilation.compile_program import FormName, compile_form
from milopt.compilation.curvature import nonconvex_terms
from milopt.compilation.dual_form import dual_unsupported_reason
from milopt.compilation.evaluation_form import EvaluationForm
from milopt.compilation.features import Feature
from milopt.compilation.form_choice import choose_form
from milopt.compilation.lowered_program import LoweredProgram
from milopt.compilation.lowering_attempt import LoweringAttempt, count_used_points, try_lower_sample
from milopt.compilation.program_curvature import (
    MAX_EXAMINED_POINTS,
    judge_form_convexity,
    judge_program_convexity,
    nonconvexity_reason,
)
from milopt.compilation.standard_form import StandardForm
from milopt.declaration.programs.problem import Problem
from milopt.declaration.programs.program import Program
from milopt.declaration.programs.semi_infinite import SemiInfinite
from milopt.errors import ParameterError
from milopt.solving import registry
from milopt.solving.convexity import nonconvexity_remedy
from milopt.solving.lazy import LazyRows
from milopt.solving.profile import Profile
from milopt.solving.solver import Availability, Solver, form_request
from milopt.solving.solver_support import missing_feature_reason, supports_features, unsupported_reason
from milopt.table import Table


@dataclass(frozen=True)
class SolverSupport:
    """Support of a program by one solver, with the reason."""

    solver: str
    """Name of the solver."""
    supports: bool
    """Whether the solver supports the program."""
    reason: str
    """Kind and form of the program if it is supported, otherwise why it is not."""


class SupportTable(tuple[SolverSupport, ...]):
    """One `SolverSupport` per solver; prints as a table."""

    __slots__ = ()

    @property
    def supporting_solvers(self) -> list[str]:
        """Names of the solvers that support the program."""
        return [entry.solver for entry in self if entry.supports]

    def __str__(self) -> str:
        rows = tuple((entry.solver, "yes" if entry.supports else "no", entry.reason) for entry in self)
        return str(Table("", ("solver", "supported", "reason"), rows))

    __repr__ = __str__


def explain(program: Program | SemiInfinite) -> SupportTable:
    """List which solvers support a program, and why the others do not.

    The program is not solved. Solver families such as ``cvxpy:NAME`` are expanded into their installed variants.

    Parameters
    ----------
    program : Program or SemiInfinite
        Program to examine.

    Returns
    -------
    SupportTable
        One entry per solver with `solver`, `supports` and `reason`. It prints as a table, and `supporting_solvers`
        lists the names of the solvers that support the program.

    Raises
    ------
    ParameterError
        If `program` is not a program.

    Examples
    --------
    >>> import milopt
    >>> program = milopt.Program("ball")
    >>> x = program.variable("x", 2)
    >>> program.minimize(x.sum())
    >>> _ = program.subject_to(milopt.norm(x) <= 1)
    >>> table = milopt.explain(program)
    >>> "clarabel" in table.supporting_solvers
    True
    >>> [entry.reason for entry in table if entry.solver == "highs"]
    ['the program is of kind SOCP and has second-order cones; highs supports ...']
    """
    checker = make_support_checker(program)
    entries: list[SolverSupport] = []
    for name, availability in registry.available_solvers().items():
        family, colon, _ = name.partition(":")
        if not availability.installed:
            entries.append(SolverSupport(name, False, _unavailable_reason(availability)))
        elif colon:
            entries += [checker.check(registry.get_solver(variant)) for variant in registry.family_variants(family)]
        else:
            entries.append(checker.check(registry.get_solver(name)))
    return SupportTable(entries)


def make_support_checker(program: Program | SemiInfinite) -> SupportChecker | SemiInfiniteSupportChecker:
    """Return the object that checks which solvers support a program; raise `ParameterError` for anything else."""
    if not isinstance(program, Problem):
        raise ParameterError(f"explain requires a Program, not {type(program).__name__}.")
    return SemiInfiniteSupportChecker(program) if program.oracles else SupportChecker(program.core)


class SemiInfiniteSupportChecker:
    """Check of which solvers support a semi-infinite program: its master and all of its oracles."""

    kind = "semi-infinite"

    def __init__(self, problem: Problem) -> None:
        self._problem = problem
        self._master = SupportChecker(problem.core)
        self._oracles = [SupportChecker(oracle.program) for oracle in problem.oracles]

    def check(self, solver: Solver) -> SolverSupport:
        """Return whether one solver supports the master and every oracle, and why."""
        master = self._master.check(solver)
        if not master.supports:
            return SolverSupport(solver.name, False, f"the master: {master.reason}")
        words = ""
        assert self._problem.bags is not None
        for oracle, checker in zip(self._problem.oracles, self._oracles, strict=True):
            if solver.supports_oracle(oracle, self._problem.bags):
                words = "solved by its own algorithm"
                continue
            check = checker.check(solver)
            if not check.supports:
                return SolverSupport(solver.name, False, f"the oracle: {check.reason}")
            words = check.reason
        return SolverSupport(solver.name, True, f"master {master.reason}; oracle {words}")


class SupportChecker:
    """Check of which solvers support a program; each flat form that the checks need is made only once."""

    def __init__(self, program: Program, requested_form: str = "auto", prices: int = 0) -> None:
        """Prepare the checks of a program.

        `requested_form` is `Options.form`, and `prices` the number of prices if the program is a master.
        """
        self.profile = Profile.from_program(program, prices)
        self.kind, self.is_dc = self.profile.kind, self.profile.is_dc
        self.name = program.name
        self._requested_form = requested_form
        self._program = program
        self._flat: dict[FormName, StandardForm | None] = {}

    @cached_property
    def _lowering_attempt(self) -> LoweringAttempt:
        """The program lowered for the checks; it is lowered on first use, because kernels must be evaluated for it."""
        return try_lower_sample(self._program)

    @property
    def lowered(self) -> LoweredProgram | None:
        """The program lowered with all its rows; None for a DC program, or if no check lowered more than a sample."""
        return None if self.is_dc or "_lowering_attempt" not in vars(self) else self._lowering_attempt.lowered

    @property
    def missing_form_reason(self) -> str:
        """Why no form can be made for the checks (such as a parameter without a value); empty if one can be made."""
        return self._lowering_attempt.reason

    @property
    def _evaluation_form(self) -> EvaluationForm | None:
        """Evaluation form for the checks; None if there is none."""
        return self._lowering_attempt.form

    @cached_property
    def nonconvexity_reason(self) -> str:
        """Why the objective is not convex, in words; empty if it is convex or there is no form.

        Eigenvalues are computed if the objective has terms that may be non-convex.
        """
        if self._evaluation_form is None or not nonconvex_terms(self._evaluation_form):
            return ""
        # The sample of a DC program contains fewer points than the program, so the whole program is examined.
        return nonconvexity_reason(
            judge_program_convexity(self._program) if self.is_dc else judge_form_convexity(self._evaluation_form)
        )

    def is_supported_by(self, solver: Solver) -> bool:
        """Return True if a solver supports the program, which is lowered only if its declared blocks do not decide."""
        features, cones = self.profile.features, self.profile.cones
        if not supports_features(solver, features, cones):
            return False
        is_general = supports_features(solver, features | {Feature.NONCONVEX}, cones)
        return (is_general and solver.supports_structure(self._program)) or self._unsupported_reason(solver) is None

    def check(self, solver: Solver) -> SolverSupport:
        """Return whether one solver supports the program, and why."""
        reason = self._unsupported_reason(solver)
        return SolverSupport(solver.name, reason is None, self._describe_form(solver) if reason is None else reason)

    def _unsupported_reason(self, solver: Solver) -> str | None:
        """Return why a solver does not support the program, in words; None if it does."""
        if not self._lowering_attempt.is_possible:
            return self.missing_form_reason
        lacking = missing_feature_reason(solver, self.profile.features, self.profile.cones)
        if lacking is not None:
            return lacking
        if Feature.NONCONVEX not in solver.features and self.nonconvexity_reason:
            assert self._evaluation_form is not None
            limit = f"{solver.name} supports only convex programs."
            return f"{self.nonconvexity_reason} {limit} {nonconvexity_remedy(self._evaluation_form)}".strip()
        if solver.supports_structure(self._program) or self._supports_evaluation_form(solver):
            return None
        flat = self._flat_form(self._choose_form_name(solver))
        if flat is None and solver.recognises_patterns:
            limit = f"which are not searched for in forms with more than {MAX_EXAMINED_POINTS} points"
            too_many = f"{solver.name} supports certain patterns only, {limit}"
            return self.missing_form_reason or too_many
        return None if flat is None else unsupported_reason(solver, flat)

    def _describe_form(self, solver: Solver) -> str:
        """Return the kind of the program and the form in which the solver would get it, in words."""
        words = f"{self.kind} at each choice of witnesses" if self.is_dc else self.kind
        if self._evaluation_form is None:
            return f"{words}, judged by its features; {self.missing_form_reason.rstrip('.')}"
        if self._supports_evaluation_form(solver):
            return f"{words}, in evaluation form"
        if self._evaluation_form.spaces:
            words += ", in dual form" if self._choose_form_name(solver) == "dual" else ", in primal form"
        if not solver.supports_structure(self._program) and self._flat_form(self._choose_form_name(solver)) is None:
            words += f"; judged by its features, as it has functions at more than {MAX_EXAMINED_POINTS} points"
        return words

    def _supports_evaluation_form(self, solver: Solver) -> bool:
        """Return True if the solver supports the evaluation form, and no flat form is requested."""
        form = self._evaluation_form
        return self._requested_form == "auto" and form is not None and solver.supports_form(form)

    def _choose_form_name(self, solver: Solver) -> FormName:
        """Return the form in which a solver would get functions of a kernel space: "primal" or "dual"."""
        form = self._evaluation_form
        if form is None or not form.spaces or self._requested_form == "primal":
            return "primal"
        if dual_unsupported_reason(form, Feature.NONCONVEX in solver.features) is not None:
            return "primal"
        if self._requested_form == "dual":
            return "dual"
        rows = LazyRows(form, None, solver.max_eager_rows).active
        return "dual" if choose_form(form, rows, form_request(solver, form, "auto")).uses_dual else "primal"

    def _flat_form(self, name: FormName) -> StandardForm | None:
        """Return the primal or dual flat form of a sample of the rows; None without a form or with too many points."""
        if name not in self._flat:
            self._flat[name] = None
            if self._evaluation_form is not None:
                active = LazyRows.pattern_sample(self._evaluation_form)
                if count_used_points(self._evaluation_form, active) <= MAX_EXAMINED_POINTS:
                    self._flat[name] = compile_form(self._evaluation_form, name, active).form
        return self._flat[name]


def _unavailable_reason(availability: Availability) -> str:
    """Return why a solver is not available."""
    if availability.install:
        return f"not installed: {availability.install}"
    return f"cannot be loaded: {availability.reason or 'its package is missing'}"
