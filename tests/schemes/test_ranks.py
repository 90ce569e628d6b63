"""Ranks of solvers for `auto`: the order of milopt's own solvers, the last resort, ties, and the cost of ranking."""

from __future__ import annotations

import json
import os
import subprocess
import sys

import numpy as np
import pytest

import milopt
from milopt import Options, Program, Termination, as_bags, bag_max, norm, solve, sum_squares
from milopt.compilation.answer import Answer
from milopt.compilation.features import Feature
from milopt.compilation.lowering import Lowering
from milopt.compilation.standard_form import StandardForm
from milopt.errors import MiloptWarning, UnsupportedError
from milopt.schemes.automatic import supporting_solvers
from milopt.solvers.clarabel import Clarabel, ClarabelEngine
from milopt.solvers.scip import SCIP
from milopt.solving import registry
from milopt.solving.engine import Engine
from milopt.solving.explain import SupportChecker
from milopt.solving.profile import Profile
from milopt.solving.solver import Availability, Solver


def linear(**kinds: bool) -> Program:
    program = Program("linear")
    x = program.variable("x", 2, lower=0, upper=9, **kinds)
    program.minimize(x.sum())
    program.subject_to(x[0] + 2 * x[1] >= 1)
    return program


def quadratic() -> Program:
    program = Program("quadratic")
    x = program.variable("x", 3, lower=0)
    program.minimize(sum_squares(x - 1))
    program.subject_to(x.sum() <= 2, name="sum")
    return program


def conic() -> Program:
    program = Program("conic")
    x = program.variable("x", 2)
    program.minimize(x.sum())
    program.subject_to(norm(x) <= 1)
    return program


def box() -> Program:
    program = Program("box")
    x = program.variable("x", 3, lower=0, upper=1)
    program.minimize(sum_squares(x - 2))
    return program


class OtherSolver(Clarabel):
    """Clarabel under another name, with the default rank."""

    name = "other"

    def rank(self, profile: Profile) -> float | None:
        return Solver.rank(self, profile)


class FirstRankedSolver(OtherSolver):
    """A solver that ranks before all others."""

    name = "first"

    def rank(self, profile: Profile) -> float | None:
        return 90.0 if profile.kind == "QP" else None


class TiedSolver(OtherSolver):
    """A solver with the same rank as Clarabel."""

    name = "a tie"

    def rank(self, profile: Profile) -> float | None:
        return 30.0


class BrokenRankSolver(OtherSolver):
    """A solver whose rank raises an error."""

    name = "broken"

    def rank(self, profile: Profile) -> float | None:
        raise RuntimeError("no licence")


@pytest.fixture
def register(monkeypatch: pytest.MonkeyPatch):
    """Register solvers in addition to milopt's own."""

    def registered(*solvers: type[Solver]) -> None:
        own = registry._solver_classes()
        monkeypatch.setattr(registry, "_solver_classes", lambda: own | {entry.name: entry for entry in solvers})

    return registered


def order(program: Program, prices: int = 0) -> list[str]:
    ours = ("highs", "clarabel", "ecos", "native", "libsvm")
    return [
        entry.name
        for entry in supporting_solvers(SupportChecker(program, prices=prices), Options())
        if entry.name in ours
    ]


@pytest.mark.parametrize(
    ("program", "names"),
    [
        (linear(), ["highs", "clarabel", "ecos"]),
        (linear(integer=True), ["highs"]),
        (quadratic(), ["clarabel", "highs", "ecos"]),
        (box(), ["native", "clarabel", "highs", "ecos"]),
        (conic(), ["clarabel", "ecos"]),
    ],
    ids=lambda value: value.name if isinstance(value, Program) else "",
)
def test_milopts_own_solvers_are_tried_in_this_order(program: Program, names: list[str]) -> None:
    pytest.importorskip("ecos", reason="ECOS has no wheels for Python 3.13 and later")
    assert order(program) == names


def test_native_is_first_for_masters_with_few_prices() -> None:
    assert order(linear(), prices=1000)[:2] == ["native", "highs"]
    assert "native" not in order(linear(), prices=1001)


def test_a_solver_without_a_rank_is_the_last_resort(register) -> None:
    register(OtherSolver)
    assert [entry.name for entry in supporting_solvers(SupportChecker(quadratic()), Options())][-1] == "other"
    assert solve(quadratic()).solver == "clarabel"


def test_the_last_resort_is_chosen_if_no_other_solver_supports_the_program(
    register, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(SCIP, "availability", lambda self: Availability(False, None, "pip install it"))

    class IntegerSolver(OtherSolver):
        name = "integers"
        features = Clarabel.features | {Feature.INTEGER, Feature.INTEGER_QUADRATIC}

        def engine(self, form: StandardForm, options: Options) -> Engine:
            return RoundingClarabelEngine(form, options)

    program = quadratic()
    y = program.variable("y", integer=True, lower=0, upper=3)
    program.subject_to(y >= 0.5)
    with pytest.raises(UnsupportedError, match=r"No installed solver supports 'quadratic' \(.*clarabel: .*highs: "):
        solve(program)
    register(IntegerSolver)
    assert next(supporting_solvers(SupportChecker(program), Options())).name == "integers"


def test_the_solver_with_the_largest_rank_comes_first(register) -> None:
    register(FirstRankedSolver)
    result = solve(quadratic())
    assert (result.solver, [entry.solver for entry in result.attempts]) == ("first", ["first"])
    assert result.objective == pytest.approx(solve(quadratic(), "clarabel").objective)
    assert solve(linear()).solver == "highs"


def test_equal_ranks_are_ordered_by_name(register) -> None:
    register(TiedSolver)
    assert [entry.name for entry in supporting_solvers(SupportChecker(quadratic()), Options())][:2] == [
        "a tie",
        "clarabel",
    ]


def test_a_solver_that_cannot_rank_itself_hides_no_other(register) -> None:
    register(BrokenRankSolver)
    with pytest.warns(MiloptWarning, match='The solver "broken" cannot rank itself: RuntimeError: no licence'):
        assert solve(quadratic()).solver == "clarabel"


def test_a_solver_that_is_not_installed_is_skipped(register, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(FirstRankedSolver, "availability", lambda self: Availability(False, None, "pip install first"))
    register(FirstRankedSolver)
    assert solve(quadratic()).solver == "clarabel"


def test_an_answer_without_a_certificate_is_tried_again_and_recorded(register) -> None:
    class UncertifiedSolver(FirstRankedSolver):
        name = "lies"

        def engine(self, form: StandardForm, options: Options) -> Engine:
            return _ZeroEngine(form, options)

    register(UncertifiedSolver)
    result = solve(quadratic(), polish=False)
    assert result.solver == "clarabel"
    assert [(entry.solver, str(entry.termination), str(entry.point)) for entry in result.attempts] == [
        ("lies", "stalled", "feasible"),
        ("clarabel", "optimal", "certified"),
    ]
    model = milopt.models.SetKernelSVM(options=Options(polish=False))
    report = model.fit([np.full((2, 1), k) for k in (0.0, 1.0, 5.0, 6.0)], [-1, -1, 1, 1]).report()
    tried = report.as_dict()["programs"][0]["attempts"]
    assert (tried[0]["solver"], tried[0]["point"]) == ("lies", "none")
    assert tried[-1]["certificate"] is not None
    solver = tried[-1]["solver"]
    assert f"lies (stalled, point none), {solver} (optimal, point certified)" in str(report)


class _ZeroEngine(Engine):
    def solve(self, time_limit: float | None) -> Answer:
        return Answer(Termination.OPTIMAL, "zero", np.zeros(self.form.n), np.zeros(self.form.m))


class RoundingClarabelEngine(ClarabelEngine):
    pass


# -- time limits ---------------------------------------------------------------------------------------------------


class LateSolver(FirstRankedSolver):
    name = "late"
    time_limit_note = "it never looks at the clock"


def test_a_solver_that_may_exceed_the_limit_warns_and_comes_last(register) -> None:
    register(LateSolver)
    assert solve(quadratic()).solver == "late"
    assert solve(quadratic(), time_limit=60).solver == "clarabel"
    message = "late may exceed the time limit of 60 s: it never looks at the clock."
    with pytest.warns(MiloptWarning, match=message):
        assert solve(quadratic(), LateSolver(), time_limit=60).solver == "late"


def test_solvers_in_a_separate_process_keep_the_limit() -> None:
    solver = milopt.get_solver("cvxpy:ECOS")
    assert "passes no time limit to ECOS" in solver.time_limit_note
    assert solver.late_reason(Options()) == ""
    assert "separate process" in solver.late_reason(Options(extra={"callback": print}))
    assert milopt.get_solver("cvxpy:CLARABEL").time_limit_note == ""


@pytest.mark.parametrize("name", ["ecos", "piqp"])
def test_a_solver_without_a_time_limit_says_so_and_keeps_the_limit_in_a_child_process(name: str) -> None:
    solver = milopt.get_solver(name)
    assert "has no time limit: it runs in a child process" in solver.time_limit_note
    assert solver.late_reason(Options()) == ""
    assert "separate process" in solver.late_reason(Options(extra={"callback": print}))


# -- the cost of ranking --------------------------------------------------------------------------------------------


def lowerings(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Return a list to which the name of each program is added when it is lowered."""
    made: list[str] = []
    init = Lowering.__init__

    def counted(self: Lowering, program: Program, *rest: object, **named: object) -> None:
        made.append(program.name)
        init(self, program, *rest, **named)  # type: ignore[arg-type]

    monkeypatch.setattr(Lowering, "__init__", counted)
    return made


@pytest.mark.parametrize("make", [linear, quadratic, conic, box])
@pytest.mark.parametrize("solver", ["auto", "clarabel"])
def test_a_program_is_lowered_once(make, solver: str, monkeypatch: pytest.MonkeyPatch) -> None:
    made = lowerings(monkeypatch)
    program = make()
    assert solve(program, solver).point == "certified"
    assert made == [program.name]


def test_a_program_is_lowered_once_if_the_first_solver_fails(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ClarabelEngine, "solve", lambda self, limit: Answer(Termination.STALLED, "made to fail"))
    made = lowerings(monkeypatch)
    result = solve(quadratic())
    assert [entry.solver for entry in result.attempts] == ["clarabel", "highs"]
    assert made == ["quadratic"]


def test_a_fit_and_its_report_lower_the_program_once(monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(0)
    bags, y = [rng.normal(size=(3, 2)) for _ in range(9)], np.arange(9) % 3
    made = lowerings(monkeypatch)
    model = milopt.models.ODM().fit(bags, y % 2)
    rows = model.report().as_dict()["programs"][0]["program"]["rows"]
    assert len(made) == 1
    assert rows == model.result_.program.to_standard_form().m
    made.clear()
    milopt.models.ODM().fit(bags, y).report()
    assert len(made) == 3  # one program per class


def test_a_dc_program_is_lowered_once_to_choose_a_solver_and_once_to_be_solved(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    program = Program("dc")
    x = program.variable("x", 4, lower=-1, upper=1)
    program.minimize(sum_squares(x))
    program.subject_to(bag_max(x, as_bags([np.zeros((2, 1))] * 2)) >= 0.5)
    made = lowerings(monkeypatch)
    assert solve(program).point == "certified"
    assert made == ["dc", "dc"]


def test_ranking_imports_no_solvers_package() -> None:
    code = (
        "import json, sys, milopt; from milopt.solving import registry; from milopt.solving.profile import Profile\n"
        "p = milopt.Program(); x = p.variable('x', 2, lower=0); p.minimize(x.sum())\n"
        "print(json.dumps([[s.name for s in registry.ranked_solvers(Profile.from_program(p))], [*sys.modules]]))"
    )
    done = subprocess.run([sys.executable, "-c", code], env=os.environ, capture_output=True, text=True, check=True)
    names, modules = json.loads(done.stdout)
    assert names[:3] == ["highs", "clarabel", "ecos"]
    assert {"cvxpy", "pyomo", "highspy", "clarabel", "ecos", "numba", "sklearn"}.isdisjoint(modules)
