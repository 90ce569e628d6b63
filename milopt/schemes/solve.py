"""Solve a problem: by a solver's name, by several in order, or by `auto`; with the scheme that fits or one asked for.

`auto` tries the solvers that are installed and take the program in the order of their ranks (see `automatic`). Of
milopt's own that is, for linear programs, HiGHS, Clarabel, ECOS, and for others native (if it knows the pattern),
Clarabel, HiGHS, ECOS. The next one is tried if an answer is not certified, and only within the time limit, which holds
for all of them together. A scheme is then run again from its start. The master of a semi-infinite program has one
solver, which is the first by rank.
A tuple is an explicit fallback: the next solver is tried when one cannot take the program, fails, raises an
unexpected exception, or leaves a point without its certificate. The time limit is for all attempts together.
Every attempt is in `result.attempts`.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

from milopt.deadline import deadline
from milopt.declaration.programs.problem import Problem
from milopt.declaration.programs.program import Program
from milopt.declaration.programs.semi_infinite import SemiInfinite
from milopt.errors import ParameterError
from milopt.jit_time import jit_seconds
from milopt.outcome.result import Result
from milopt.schemes.attempts import Attempts, attempt_of, warn_if_late
from milopt.schemes.automatic import named_solver, takers
from milopt.schemes.direct import Direct
from milopt.schemes.registered import scheme_class
from milopt.schemes.scheme import Scheme
from milopt.solving.clock import Clock
from milopt.solving.explain import Case
from milopt.solving.options import Options, with_knobs
from milopt.solving.solver import Solver
from milopt.solving.solver_parts import SolverParts


def solve(
    program: Program | SemiInfinite,
    solver: str | Solver | Sequence[str | Solver] = "auto",
    scheme: str | Scheme | None = None,
    options: Options | None = None,
    **knobs: object,
) -> Result:
    """Solve a program, and certify the answer.

    Parameters
    ----------
    program : Program or SemiInfinite
        The problem.
    solver : str, Solver or sequence of them, default="auto"
        A solver by its name (`milopt.available()` lists them), several to try in order, or "auto". For a semi-infinite
        program also "master=NAME,oracle=NAME".
    scheme : str or Scheme, default=None
        A scheme by its name, or one with parameters, such as `ConvexConcave(max_steps=10)`. None takes the scheme of
        the problem: "direct", "ccp" for a DC program, "column-generation" for a semi-infinite one.
    options : Options, default=None
        Time limit, tolerance and so on.
    **knobs
        Fields of `Options` by name, such as `time_limit=10`.

    Returns
    -------
    Result
        The best result of all attempts.

    Examples
    --------
    >>> import milopt
    >>> program = milopt.Program("smallest")
    >>> x = program.variable("x", 2, lower=1)
    >>> program.minimize(x.sum())
    >>> milopt.solve(program).objective
    2.0
    """
    if not isinstance(program, Problem):
        raise ParameterError(f"solve takes a Program, not {type(program).__name__}.")
    chosen = with_knobs(options, knobs)
    plan = named_scheme(scheme, program)
    if program.oracles:
        return _solved_in_parts(program, solver, plan, chosen)
    tries = [solver] if isinstance(solver, (str, Solver)) else list(solver) if isinstance(solver, (tuple, list)) else []
    if not tries or not all(isinstance(one, (str, Solver)) for one in tries):
        raise ParameterError(f"solver must name at least one solver, or several in order, not {solver!r}.")
    clock = Clock(chosen.time_limit)
    posed = _posed(program.core, scheme, plan, clock)
    tried = Attempts(posed, plan, chosen, clock)
    for one in tries:
        if tried.has_result and clock.is_over():
            break
        if tried.automatic() if one == "auto" else tried.by(one):
            break
    found = tried.best()
    return found if posed is program else replace(found, program=program, size=None)


def _posed(program: Program, asked: object, plan: Scheme, clock: Clock) -> Program:
    """Return the program with its concave quadratics as atoms, if the convex-concave procedure was asked for."""
    if asked is None or not plan.linearises_quadratics:
        return program
    from milopt.schemes.concave_quadratics import with_concave_quadratics_split

    with deadline(clock.left()):
        return with_concave_quadratics_split(program)


def _solved_in_parts(problem: Problem, solver: object, plan: Scheme, options: Options) -> Result:
    """Solve a problem with oracles: one solver for the master, one for the oracles (see `solver_parts`)."""
    from milopt.schemes.column_generation import ColumnGeneration

    parts, clock, compiled = SolverParts.of(solver), Clock(options.time_limit), jit_seconds()
    prices = {variable for oracle in problem.oracles for variable in oracle.prices.values()}
    master = named_solver(parts.master, problem.core, sum(price.size for price in prices))
    if isinstance(plan, ColumnGeneration) and plan.oracle is None:
        plan = replace(plan, oracle=parts.oracle)
    warn_if_late(master, options)
    found = plan.run(problem, master, options, clock)
    seconds = replace(found.seconds, jit=jit_seconds() - compiled)
    return replace(found, seconds=seconds, attempts=(attempt_of(found, seconds.total),))


def solve_each(
    programs: Sequence[Program | SemiInfinite],
    solver: str | Solver | Sequence[str | Solver] = "auto",
    scheme: str | Scheme | None = None,
    options: Options | None = None,
) -> Iterator[Result]:
    """Solve several programs alike, such as those of several classes, each result as soon as it is there.

    Where one direct solve by one solver does it they share a session: kernel values, and the factors of a closed form.
    """
    if len(programs) > 1 and not any(one.oracles for one in programs) and isinstance(solver, (str, Solver)):
        plain = [one.core for one in programs]
        plans = [named_scheme(scheme, program) for program in plain]
        asked = options or Options()
        clock = Clock(asked.time_limit)
        cases = [Case(program, asked.form) for program in plain]
        with deadline(clock.left()):
            chosen = [
                next(takers(case, asked)) if solver == "auto" else named_solver(solver, program)
                for program, case in zip(plain, cases, strict=True)
            ]
        asked = replace(asked, time_limit=clock.left())
        if all(type(plan) is Direct for plan in plans) and len({one.name for one in chosen}) == 1:
            warn_if_late(chosen[0], asked)
            yield from _solved_in_one_session(plain, chosen[0], asked, cases, may_fall_back=solver == "auto")
            return
    for program in programs:
        yield solve(program, solver, scheme, options)


def _solved_in_one_session(
    programs: Sequence[Program], solver: Solver, options: Options, cases: Sequence[Case], may_fall_back: bool
) -> Iterator[Result]:
    compiled = jit_seconds()
    results = Direct().run_each(programs, solver, options, [case.lowered for case in cases])
    for program, (result, clock) in zip(programs, results, strict=True):
        tried = Attempts(program, Direct(), options, clock, compiled)
        if not tried.takes(result, clock.elapsed()) and may_fall_back and tried.may_go_on():
            tried.automatic(after=solver)
        yield tried.best()
        compiled = jit_seconds()


def named_scheme(scheme: str | Scheme | None, problem: Problem) -> Scheme:
    """Return a scheme by its name, or that of the problem for None.

    Raises
    ------
    ParameterError
        If it is not a scheme, or one that does not take the problem.
    """
    if scheme is not None and not isinstance(scheme, (str, Scheme)):
        raise ParameterError(f"scheme must be a scheme's name or a Scheme, not {scheme!r}.")
    plan = scheme if isinstance(scheme, Scheme) else scheme_class(scheme or problem.default_scheme)()
    reason = plan.refusal(problem)
    if reason is not None:
        raise ParameterError(reason)
    return plan
