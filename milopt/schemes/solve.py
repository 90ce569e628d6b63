"""Solve a program: by a solver's name, by several in order, or by `auto`; with the scheme that fits or one asked for.

`auto` is the first solver of a fixed list that is installed and takes the program, recorded in the result: for linear
programs HiGHS, Clarabel, ECOS; for others, and for masters of up to 1000 prices, native (where it knows the pattern),
Clarabel, HiGHS, ECOS.
A tuple is an explicit fallback: the next solver is tried when one cannot take the program, fails, raises an
unexpected exception, or leaves a point without its certificate; every attempt is in `result.attempts`. The time limit
is for all attempts together.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from time import perf_counter

from milopt.compilation.analysis import witnessed
from milopt.declaration.program import Program
from milopt.declaration.semi_infinite import SemiInfinite
from milopt.errors import ConvexityError, MiloptError, MissingSolverError, ParameterError, SolverError, UnsupportedError
from milopt.outcome.result import Attempt, Result
from milopt.outcome.status import PointStatus, Termination
from milopt.schemes.column_generation import ColumnGeneration
from milopt.schemes.direct import Direct
from milopt.schemes.scheme import Scheme
from milopt.solving import registry
from milopt.solving.clock import Clock
from milopt.solving.deadline import deadline
from milopt.solving.explain import Case
from milopt.solving.options import Options
from milopt.solving.solver import Solver

LINEAR_FIRST = ("highs", "clarabel", "ecos")
QUADRATIC_FIRST = ("native", "clarabel", "highs", "ecos")
SETTLED = (Termination.INFEASIBLE, Termination.UNBOUNDED)
"""Ends without a point that milopt has proved: another solver would find nothing else."""


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
    if options is not None and not isinstance(options, Options):
        raise ParameterError(
            f"options must be an Options object, not {type(options).__name__}; or give its fields by name."
        )
    chosen = options or Options()
    if knobs:
        unknown = set(knobs) - set(Options.__dataclass_fields__)
        if unknown:
            raise ParameterError(
                f"Unknown option {sorted(unknown)[0]!r}; options are {', '.join(Options.__dataclass_fields__)}."
            )
        chosen = replace(chosen, **knobs)  # type: ignore[arg-type]  # Options checks the values itself
    if isinstance(program, SemiInfinite):
        from milopt.schemes.generate import generate

        return generate(program, solver, scheme, chosen)
    plan = named_scheme(scheme, program)
    tries = [solver] if isinstance(solver, (str, Solver)) else list(solver) if isinstance(solver, (tuple, list)) else []
    if not tries or not all(isinstance(one, (str, Solver)) for one in tries):
        raise ParameterError(f"solver must name at least one solver, or several in order, not {solver!r}.")
    attempts: list[Attempt] = []
    result: Result | None = None
    failure: MiloptError | None = None
    clock = Clock(chosen.time_limit)
    for one in tries:
        if result is not None and clock.is_over():
            break
        began = perf_counter()
        try:
            # `auto` may compute kernel values, which may take long.
            with deadline(clock.left()):
                able = named_solver(one, program, chosen.form)
            found = plan.run(program, able, replace(chosen, time_limit=clock.left()))
        except (UnsupportedError, ConvexityError, MissingSolverError, SolverError) as error:
            failure = error
            name = one if isinstance(one, str) else one.name
            attempts.append(
                Attempt(name, Termination.ERROR, PointStatus.NONE, None, "", perf_counter() - began, str(error))
            )
            continue
        attempts.append(_attempt(found, perf_counter() - began))
        result = _better(result, found)
        if found.point is PointStatus.CERTIFIED or found.termination in SETTLED:
            break
    if result is None:
        assert failure is not None
        raise failure
    return replace(result, attempts=tuple(attempts))


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
            began = perf_counter()
            for result in Direct().run_each(plain, chosen[0], asked):
                yield replace(result, attempts=(_attempt(result, perf_counter() - began),))
                began = perf_counter()
            return
    for program in programs:
        yield solve(program, solver, scheme, options)


def _attempt(found: Result, seconds: float) -> Attempt:
    return Attempt(
        found.solver, found.termination, found.point, found.certificate, found.raw_status, seconds, found.message
    )


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
        return ConvexConcave() if witnessed(program) else Direct()
    known: dict[str, Scheme] = {s.name: s for s in (Direct(), ConvexConcave(), Representatives(), Exact())}
    if scheme not in known:
        from milopt.solving.names import unknown

        raise unknown("scheme", scheme, list(known))
    return known[scheme]


def automatic(program: Program, form: str = "auto") -> Solver:
    """The solver that `auto` means: the first of its list that is installed and takes the program, in this form."""
    case = Case(program, form)
    order = LINEAR_FIRST if case.kind in ("LP", "MILP") else QUADRATIC_FIRST
    for name in order:
        candidate = registry.get(name)
        if candidate.availability().installed and case.takes(candidate):
            return candidate
    reasons = "; ".join(f"{name}: {case.asked(registry.get(name)).reason}" for name in order)
    raise UnsupportedError(f"No installed solver takes {program.name!r} ({reasons}).")


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
