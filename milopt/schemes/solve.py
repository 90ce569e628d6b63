"""Solve a problem with a named solver, with several solvers in order, or with `auto`, by the default or a given scheme.

`auto` tries the installed solvers that support the program in the order of their ranks (see `automatic`). Among
milopt's own solvers that order is, for linear programs, HiGHS, Clarabel, ECOS, and for others native (if it recognises
the pattern), Clarabel, HiGHS, ECOS. The next solver is tried if an answer is not certified, within the time limit,
which holds for all solvers together. A scheme is then run again from its start. The master of a semi-infinite program
has one solver, the first by rank.

With a tuple of solvers, the next one is tried if a solver does not support the program, fails, raises an unexpected
exception, or returns a point without a certificate. The time limit holds for all attempts together. Every attempt is
in `result.attempts`.
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
from milopt.schemes.attempts import Attempts, make_attempt, warn_if_late
from milopt.schemes.automatic import resolve_solver, supporting_solvers
from milopt.schemes.convex_concave import ConvexConcave
from milopt.schemes.direct import Direct
from milopt.schemes.registered import scheme_class
from milopt.schemes.scheme import Scheme
from milopt.schemes.step_progress import OnStep, report_steps
from milopt.solving.clock import Clock
from milopt.solving.explain import SupportChecker
from milopt.solving.options import Options, merge_options
from milopt.solving.solver import Solver
from milopt.solving.solver_parts import SolverParts


def solve(
    program: Program | SemiInfinite,
    solver: str | Solver | Sequence[str | Solver] = "auto",
    scheme: str | Scheme | None = None,
    options: Options | None = None,
    *,
    on_step: OnStep | None = None,
    **option_values: object,
) -> Result:
    """Solve a program and certify the answer.

    Parameters
    ----------
    program : Program or SemiInfinite
        Program to solve.
    solver : str, Solver or sequence of them, default="auto"
        Name of a solver (`milopt.available_solvers()` lists them), several solvers to try in order, or "auto". For a
        semi-infinite program also "master=NAME,oracle=NAME".
    scheme : str, Scheme or None, default=None
        Name of a scheme, or a scheme with parameters, such as ``ConvexConcave(max_steps=10)``. None selects the default
        of the program: "direct", "ccp" for a DC program, "column-generation" for a semi-infinite program.
    options : Options or None, default=None
        Time limit, tolerance and other options.
    on_step : callable or None, default=None
        Called as ``on_step(step)`` with every `Step` as soon as it is made. `StepPrinter` prints one line per step.
    **option_values : object
        Fields of `Options` by name, such as ``time_limit=10``. They replace those of `options`.

    Returns
    -------
    Result
        Best result of all attempts.

    Raises
    ------
    ParameterError
        If an argument is not valid, or if the scheme does not support the program.
    UnsupportedError
        If no solver supports the program.
    ConvexityError
        If the program is not convex and neither the solver nor the scheme supports that.

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
        raise ParameterError(f"solve requires a Program, not {type(program).__name__}.")
    chosen = merge_options(options, option_values)
    plan = resolve_scheme(scheme, program)
    if program.oracles:
        return _solve_in_parts(program, solver, plan, chosen, on_step)
    tries = [solver] if isinstance(solver, (str, Solver)) else list(solver) if isinstance(solver, (tuple, list)) else []
    if not tries or not all(isinstance(choice, (str, Solver)) for choice in tries):
        raise ParameterError(f"solver must name at least one solver, or several in order, not {solver!r}.")
    clock = Clock(chosen.time_limit)
    prepared = _prepare_program(program.core, scheme, plan, clock)
    attempts = Attempts(prepared, plan, chosen, clock, on_step=on_step)
    for choice in tries:
        if attempts.has_result and clock.is_over():
            break
        if attempts.try_automatic() if choice == "auto" else attempts.try_solver(choice):
            break
    result = attempts.best_result()
    return result if prepared is program else replace(result, program=program, size=None)


def _prepare_program(program: Program, scheme: object, plan: Scheme, clock: Clock) -> Program:
    """Return the program with its concave quadratics as atoms, if a scheme that linearises them was requested.

    `scheme` is the argument of `solve`: None, the default scheme, is no request, and the program is not changed.
    """
    if scheme is None or not plan.linearises_quadratics:
        return program
    from milopt.schemes.concave_quadratics import split_concave_quadratics

    with deadline(clock.seconds_left()):
        return split_concave_quadratics(program)


def _solve_in_parts(problem: Problem, solver: object, plan: Scheme, options: Options, on_step: OnStep | None) -> Result:
    """Solve a problem with oracles: one solver for the master, one for the oracles (see `solver_parts`)."""
    from milopt.schemes.column_generation import ColumnGeneration

    parts, clock, compiled = SolverParts.parse(solver), Clock(options.time_limit), jit_seconds()
    prices = {variable for oracle in problem.oracles for variable in oracle.prices.values()}
    master = resolve_solver(parts.master, problem.core, sum(price.size for price in prices))
    if isinstance(plan, ColumnGeneration) and plan.oracle is None:
        plan = replace(plan, oracle=parts.oracle)
    warn_if_late(master, options)
    steps = plan.steps(problem, master, options, clock)
    result = plan.result_of_steps(report_steps(steps, on_step), clock)
    seconds = replace(result.seconds, jit=jit_seconds() - compiled)
    return replace(result, seconds=seconds, attempts=(make_attempt(result, seconds.total),))


def solve_each(
    programs: Sequence[Program | SemiInfinite],
    solver: str | Solver | Sequence[str | Solver] = "auto",
    scheme: str | Scheme | None = None,
    options: Options | None = None,
    on_step: OnStep | None = None,
    *,
    shares_steps: bool = False,
) -> Iterator[Result]:
    """Solve several programs in the same way, such as those of several classes; yield each result when it is ready.

    `on_step` is called with every step of every program.

    If each program needs one direct solve by the same solver, the programs share a session, with its kernel values,
    factorisations and last points. With `shares_steps`, DC programs that the convex-concave procedure solves share a
    session too; each starts from its own witnesses, so that only the convex steps start from earlier points.
    """
    if len(programs) > 1 and not any(problem.oracles for problem in programs) and isinstance(solver, (str, Solver)):
        plain = [problem.core for problem in programs]
        plans = [resolve_scheme(scheme, program) for program in plain]
        solve_options = options or Options()
        clock = Clock(solve_options.time_limit)
        cases = [SupportChecker(program, solve_options.form) for program in plain]
        with deadline(clock.seconds_left()):
            chosen = [
                next(supporting_solvers(case, solve_options)) if solver == "auto" else resolve_solver(solver, program)
                for program, case in zip(plain, cases, strict=True)
            ]
        left = replace(solve_options, time_limit=clock.seconds_left())
        sharing = [Direct, ConvexConcave] if shares_steps and scheme is None else [Direct]
        if all(plan == plans[0] and type(plan) in sharing for plan in plans) and len({c.name for c in chosen}) == 1:
            warn_if_late(chosen[0], left)
            yield from _solve_in_one_session(
                plain, plans[0], chosen[0], left, cases, may_fall_back=solver == "auto", on_step=on_step
            )
            return
    for program in programs:
        yield solve(program, solver, scheme, options, on_step=on_step)


def _solve_in_one_session(
    programs: Sequence[Program],
    plan: Scheme,
    solver: Solver,
    options: Options,
    cases: Sequence[SupportChecker],
    may_fall_back: bool,
    on_step: OnStep | None,
) -> Iterator[Result]:
    """Solve the programs in one session; with `may_fall_back`, try further solvers if an answer is not certified."""
    compiled = jit_seconds()
    assert isinstance(plan, (Direct, ConvexConcave))
    results = plan.run_in_one_session(programs, solver, options, [case.lowered for case in cases])
    for program, (result, clock) in zip(programs, results, strict=True):
        if on_step is not None:
            for step in result.history:
                on_step(step)
        attempts = Attempts(program, plan, options, clock, compiled, on_step)
        if not attempts.record_result(result, clock.elapsed()) and may_fall_back and attempts.may_continue():
            attempts.try_automatic(after=solver)
        yield attempts.best_result()
        compiled = jit_seconds()


def resolve_scheme(scheme: str | Scheme | None, problem: Problem) -> Scheme:
    """Return the scheme with the given name; None selects the problem's default; a `Scheme` is returned as it is.

    Raises
    ------
    ParameterError
        If `scheme` is not a name or a `Scheme`, or if the scheme does not support the problem.
    """
    if scheme is not None and not isinstance(scheme, (str, Scheme)):
        raise ParameterError(f"scheme must be a scheme's name or a Scheme, not {scheme!r}.")
    plan = scheme if isinstance(scheme, Scheme) else scheme_class(scheme or problem.default_scheme)()
    reason = plan.unsupported_reason(problem)
    if reason is not None:
        raise ParameterError(reason)
    return plan
