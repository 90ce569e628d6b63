"""Solve a program: by a solver's name, by several in order, or by `auto`; with the scheme that fits or one asked for.

`auto` tries the solvers of a fixed list that are installed and take the program, in this order: for linear programs
HiGHS, Clarabel, ECOS; for others native (where it knows the pattern), Clarabel, HiGHS, ECOS. The next one is tried only
if the program, or a step of its scheme, ends as stalled or with an error, and only within the time limit, which holds
for all of them together. A scheme is then run again from its start. The master of a semi-infinite program has one
solver: native up to 1000 prices, otherwise the first of the list.
A tuple is an explicit fallback: the next solver is tried when one cannot take the program, fails, raises an
unexpected exception, or leaves a point without its certificate; every attempt is in `result.attempts`. The time limit
is for all attempts together.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from time import perf_counter

from milopt.compilation.sides import on_other_side
from milopt.declaration.program import Program
from milopt.declaration.semi_infinite import SemiInfinite
from milopt.errors import ConvexityError, MiloptError, MissingSolverError, ParameterError, SolverError, UnsupportedError
from milopt.jit_time import jit_seconds
from milopt.outcome.result import Attempt, Result
from milopt.outcome.status import PointStatus, Termination
from milopt.schemes.column_generation import ColumnGeneration
from milopt.schemes.direct import Direct
from milopt.schemes.scheme import Scheme
from milopt.solving import registry
from milopt.solving.clock import Clock
from milopt.solving.deadline import deadline
from milopt.solving.explain import Case
from milopt.solving.options import Options, with_knobs
from milopt.solving.solver import Solver

LINEAR_FIRST = ("highs", "clarabel", "ecos")
QUADRATIC_FIRST = ("native", "clarabel", "highs", "ecos")
SETTLED = (Termination.INFEASIBLE, Termination.UNBOUNDED)
"""Ends without a point that milopt has proved: another solver would find nothing else."""
FAILED = (Termination.STALLED, Termination.ERROR)
"""Ends after which `auto` tries its next solver."""


def solve(
    program: Program | SemiInfinite,
    solver: str | Solver | Sequence[str | Solver] = "auto",
    scheme: str | Scheme | ColumnGeneration | None = None,
    options: Options | None = None,
    **knobs: object,
) -> Result:
    """Solve a program; `knobs` are fields of `Options` (time_limit, tolerance, verbose, ...)."""
    if not isinstance(program, (Program, SemiInfinite)):
        raise ParameterError(f"solve takes a Program, not {type(program).__name__}.")
    chosen = with_knobs(options, knobs)
    if isinstance(program, SemiInfinite):
        from milopt.schemes.generate import generate

        compiled = jit_seconds()
        return with_jit(generate(program, solver, scheme, chosen), compiled)
    plan = named_scheme(scheme, program)
    tries = [solver] if isinstance(solver, (str, Solver)) else list(solver) if isinstance(solver, (tuple, list)) else []
    if not tries or not all(isinstance(one, (str, Solver)) for one in tries):
        raise ParameterError(f"solver must name at least one solver, or several in order, not {solver!r}.")
    clock = Clock(chosen.time_limit)
    tried = Attempts(_posed(program, scheme, plan, clock), plan, chosen)
    for one in tries:
        if tried.has_result and clock.is_over():
            break
        if tried.automatic(clock) if one == "auto" else tried.by(one, clock):
            break
    return tried.best(program=program)


def _posed(program: Program, asked: object, plan: Scheme, clock: Clock) -> Program:
    """Return the program with its concave quadratics as atoms, if the convex-concave procedure was asked for."""
    from milopt.schemes.concave_quadratics import with_concave_quadratics_split
    from milopt.schemes.convex_concave import ConvexConcave

    if asked is None or not isinstance(plan, ConvexConcave):
        return program
    with deadline(clock.left()):
        return with_concave_quadratics_split(program)


def solve_each(
    programs: Sequence[Program | SemiInfinite],
    solver: str | Solver | Sequence[str | Solver] = "auto",
    scheme: str | Scheme | ColumnGeneration | None = None,
    options: Options | None = None,
) -> Iterator[Result]:
    """Solve several programs alike, such as those of several classes, each result as soon as it is there.

    Where one direct solve by one solver does it they share a session: kernel values, and the factors of a closed form.
    """
    plain = [program for program in programs if isinstance(program, Program)]
    if len(plain) > 1 and len(plain) == len(programs) and isinstance(solver, (str, Solver)):
        plans = [named_scheme(scheme, program) for program in plain]
        asked = options or Options()
        clock = Clock(asked.time_limit)
        with deadline(clock.left()):
            chosen = [named_solver(solver, program, asked.form) for program in plain]
        asked = replace(asked, time_limit=clock.left())
        if all(type(plan) is Direct for plan in plans) and len({one.name for one in chosen}) == 1:
            clock, compiled = Clock(asked.time_limit), jit_seconds()
            for one, result in zip(plain, Direct().run_each(plain, chosen[0], asked), strict=True):
                tried = Attempts(one, Direct(), asked)
                failed = result.termination in FAILED
                if (
                    not tried.takes(with_jit(result, compiled), clock.elapsed())
                    and solver == "auto"
                    and failed
                    and not clock.is_over()
                ):
                    tried.automatic(clock, after=chosen[0])
                yield tried.best()
                clock, compiled = Clock(asked.time_limit), jit_seconds()
            return
    for program in programs:
        yield solve(program, solver, scheme, options)


def with_jit(found: Result, before: float) -> Result:
    """Add the seconds of compilation since `before`, a reading of `jit_seconds`, to a result."""
    spent = jit_seconds() - before
    return replace(found, seconds=replace(found.seconds, jit=spent)) if spent else found


class Attempts:
    """The attempts to solve one program by one scheme, and the best of their results."""

    def __init__(self, program: Program, plan: Scheme, options: Options) -> None:
        self._program, self._plan, self._options = program, plan, options
        self._made: list[Attempt] = []
        self._best: Result | None = None
        self._failure: MiloptError | None = None

    def by(self, solver: str | Solver, clock: Clock | None = None) -> bool:
        """Run the scheme with one solver; return whether no other solver is needed."""
        began, compiled = perf_counter(), jit_seconds()
        try:
            chosen = registry.require(solver) if isinstance(solver, str) else solver
            found = with_jit(self._plan.run(self._program, chosen, self._options, clock), compiled)
        except (UnsupportedError, ConvexityError, MissingSolverError, SolverError) as error:
            self._fail(solver if isinstance(solver, str) else solver.name, error, perf_counter() - began)
            return False
        return self.takes(found, perf_counter() - began)

    def automatic(self, clock: Clock | None = None, after: Solver | None = None) -> bool:
        """Try the solvers of `auto` in order, those up to `after` left out; return whether no other is needed."""
        clock = clock or Clock(self._options.time_limit)
        try:
            for solver in self._takers(clock, after):
                before = self._failure
                if self.by(solver, clock):
                    return True
                if self._failure is not before and isinstance(self._failure, ConvexityError):
                    # Solvers that take non-convex programs come first.
                    return False
                failed = self._made[-1].termination in FAILED
                if not failed or clock.is_over():
                    return False
        except UnsupportedError as error:
            self._fail("auto", error, 0.0)
        return False

    def _takers(self, clock: Clock, after: Solver | None) -> Iterator[Solver]:
        """Yield the solvers of `auto`, within the time: to find out who takes a program may need kernel values."""
        solvers = takers(self._program, self._options.form, after)
        while True:
            with deadline(clock.left()):
                solver = next(solvers, None)
            if solver is None:
                return
            yield solver

    @property
    def has_result(self) -> bool:
        """Whether some attempt has ended with a result."""
        return self._best is not None

    def takes(self, found: Result, seconds: float) -> bool:
        """Record a result; return whether it needs no other solver."""
        self._made.append(
            Attempt(
                found.solver,
                found.termination,
                found.point,
                found.certificate,
                found.raw_status,
                seconds,
                found.message,
            )
        )
        self._best = _better(self._best, found)
        return found.point is PointStatus.CERTIFIED or found.termination in SETTLED

    def best(self, **changes: object) -> Result:
        """Return the best result with all attempts and other fields; raise the last failure if there is none."""
        if self._best is None:
            assert self._failure is not None
            raise self._failure
        return replace(self._best, attempts=tuple(self._made), **changes)  # type: ignore[arg-type]

    def _fail(self, name: str, error: MiloptError, seconds: float) -> None:
        self._failure = error
        self._made.append(Attempt(name, Termination.ERROR, PointStatus.NONE, None, "", seconds, str(error)))


def named_scheme(scheme: str | Scheme | ColumnGeneration | None, program: Program) -> Scheme:
    """A scheme by name; None takes CCP for a DC program and one direct solve otherwise."""
    from milopt.schemes.convex_concave import ConvexConcave
    from milopt.schemes.exact import Exact
    from milopt.schemes.representatives import Representatives

    if isinstance(scheme, Scheme):
        return scheme
    if scheme is not None and not isinstance(scheme, str):
        raise ParameterError(f"scheme must be a scheme's name or a Scheme, not {scheme!r}.")
    if scheme is None:
        return ConvexConcave() if on_other_side(program) else Direct()
    known: dict[str, Scheme] = {s.name: s for s in (Direct(), ConvexConcave(), Representatives(), Exact())}
    if scheme not in known:
        from milopt.solving.names import unknown

        raise unknown("scheme", scheme, list(known))
    return known[scheme]


def takers(program: Program, form: str = "auto", after: Solver | None = None) -> Iterator[Solver]:
    """Yield the solvers of `auto` that are installed and take the program, in order; those up to `after` left out."""
    case = Case(program, form)
    order = LINEAR_FIRST if case.kind in ("LP", "MILP") else QUADRATIC_FIRST
    rest = order if after is None else order[1 + order.index(after.name) :]
    some = False
    for name in rest:
        candidate = registry.get(name)
        if candidate.availability().installed and case.takes(candidate):
            some = True
            yield candidate
    if not some and after is None:
        reasons = "; ".join(f"{name}: {case.asked(registry.get(name)).reason}" for name in order)
        raise UnsupportedError(f"No installed solver takes {program.name!r} ({reasons}).")


def automatic(program: Program, form: str = "auto") -> Solver:
    """The solver that `auto` tries first."""
    return next(takers(program, form))


def named_solver(solver: str | Solver, program: Program, form: str = "auto") -> Solver:
    """A solver by its name, `auto` by what the program is."""
    if isinstance(solver, Solver):
        return solver
    return automatic(program, form) if solver == "auto" else registry.require(solver)


def _better(old: Result | None, new: Result) -> Result:
    """Proved before certified before feasible before none before failed; the smaller certificate between equals."""
    if old is None:
        return new
    if _rank(new) != _rank(old):
        return new if _rank(new) > _rank(old) else old
    if new.certificate is None or old.certificate is None:
        return old
    return new if new.certificate.worst < old.certificate.worst else old


def _rank(result: Result) -> int:
    """How much is known of a program by a result."""
    if result.termination in SETTLED:
        return 4
    if result.point is PointStatus.NONE:
        return 0 if result.termination is Termination.ERROR else 1
    return 3 if result.point is PointStatus.CERTIFIED else 2
