"""Column generation for programs that are not among milopt's models."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import replace
from time import sleep

import numpy as np
import pytest

from milopt import Linear, Options, Program, as_bags, bag_max, bag_mean, explain, get_solver, norm, solve
from milopt.compilation.sides import other_side_atoms
from milopt.compilation.standard_form import StandardForm
from milopt.compilation.status import Termination
from milopt.declaration.programs.semi_infinite import Oracle, SemiInfinite
from milopt.errors import DeclarationError, MiloptError, MiloptWarning, ParameterError, UnknownNameError
from milopt.interrupt import CallEnd
from milopt.models.shapelet_boost import ShapeletBoost
from milopt.schemes.ceilings import instance_ranges
from milopt.schemes.column_generation import ColumnGeneration
from milopt.schemes.oracle_program import ProgramPricing
from milopt.solvers.highs import model as highs_model
from milopt.solvers.highs.model import HighsModel
from milopt.solving.clock import Clock
from milopt.solving.pricing import PricedColumn, PricingResult
from milopt.solving.solver_parts import SolverParts

RNG = np.random.default_rng(0)
Y = np.where(np.arange(10) % 2, 1.0, -1.0)
BAGS = as_bags([RNG.normal(1.5 * sign, 0.7, size=(3, 2)) for sign in Y])


def linear_problem(solver_start: np.ndarray | None = None) -> SemiInfinite:
    """Return min gamma s.t. (y h)'d <= gamma for h = mean of a linear function in the unit ball, d on the simplex.

    The oracle is convex, so that the bounds meet: gamma* = min_d || sum_i y_i d_i mean_i ||.
    """
    master = Program("simplex game")
    d = master.variable("d", len(BAGS), lower=0)
    gamma = master.variable("gamma")
    master.minimize(gamma)
    master.subject_to(d.sum() == 1, name="simplex")
    family = master.family("edge", lambda h: (Y * h) @ d <= gamma)
    program = Program("best direction")
    u = program.function("u", Linear())
    p = program.parameter("d", len(BAGS), sign=+1)
    program.maximize((Y * p) @ bag_mean(u(BAGS)))
    program.subject_to(u.norm() <= 1, name="ball")
    oracle = Oracle(program, {p: d}, lambda new: bag_mean(u(new)), lambda x: u(x))
    start = np.full(len(BAGS), 0.1) if solver_start is None else solver_start
    return SemiInfinite(master, family, oracle, BAGS, {d: start})


def smallest_norm() -> float:
    program = Program("hull")
    d = program.variable("d", len(BAGS), lower=0)
    t = program.variable("t")
    program.minimize(t)
    program.subject_to(d.sum() == 1)
    means = BAGS.mean(BAGS.instances)
    program.subject_to(norm((Y[:, None] * means).T @ d) <= t)
    return solve(program, "clarabel").objective


@pytest.mark.parametrize("solver", ["clarabel", "ecos", "master=highs,oracle=clarabel", "master=native,oracle=ecos"])
def test_bounds_meet_at_the_optimum(solver: str) -> None:
    result = solve(linear_problem(), solver, ColumnGeneration(tolerance=1e-5, max_rounds=300))
    assert result.termination is Termination.OPTIMAL
    assert result.objective == pytest.approx(smallest_norm(), abs=1e-4)
    assert result.bound is not None
    assert result.objective <= result.bound + 1e-9
    lows, highs = zip(*((step.objective, step.bound) for step in result.history), strict=True)
    assert list(lows) == sorted(lows)
    assert all(b is not None and b >= result.objective - 1e-9 for b in highs)


def test_a_problem_can_be_solved_again_and_inspected() -> None:
    problem = linear_problem()
    first, second = (solve(problem, "clarabel", ColumnGeneration(tolerance=1e-4)) for _ in range(2))
    assert first.objective == pytest.approx(second.objective, abs=1e-7)
    assert set(problem.parts) == {"master", "oracle"}
    assert "edge(0)" in problem.parts["master"].to_lp() or "edge[0]" in problem.parts["master"].to_lp()
    problem.remove_rows()
    assert set(problem.master.constraints) == {"simplex"}


class SlowPricing(ProgramPricing):
    """A pricing that takes a long time."""

    def price(self, *given):
        sleep(0.02)
        return super().price(*given)


def test_time_of_the_oracle_counts_as_solving() -> None:
    problem, options = linear_problem(), Options()
    slow = SlowPricing(problem.oracles[0], BAGS, get_solver("clarabel"), options)
    result = ColumnGeneration(max_rounds=3).run_with_pricings(problem, get_solver("highs"), [slow], options)
    assert 0.06 <= result.seconds.solve <= result.seconds.total


class SilentPricing(ProgramPricing):
    """A pricing that proves no bound, and finds nothing after a number of answers, with a reason if one is given."""

    def __init__(self, problem: SemiInfinite, answers: int, failure: str) -> None:
        super().__init__(problem.oracles[0], BAGS, get_solver("clarabel"), Options())
        self._left, self._failure = answers, failure

    def price(self, *given):
        self._left -= 1
        return (
            PricingResult(super().price(*given).columns) if self._left >= 0 else PricingResult((), None, self._failure)
        )


@pytest.mark.parametrize(
    ("answers", "failure", "limit", "ended", "expected"),
    [
        (0, "", None, Termination.STALLED, "Degenerate: at the first prices no column"),
        (0, "It broke", None, Termination.STALLED, "It broke; there is no column yet."),
        (0, "It broke", 1e-9, Termination.LIMIT, "Time limit before any column."),
        (2, "", None, Termination.STATIONARY, ""),
        (2, "It broke", None, Termination.STALLED, "It broke; the best ensemble is kept."),
    ],
)
def test_an_oracle_that_finds_nothing_ends_the_run_with_its_reason(answers, failure, limit, ended, expected) -> None:
    problem, options = linear_problem(), Options(time_limit=limit)
    silent = SilentPricing(problem, answers, failure)
    result = ColumnGeneration().run_with_pricings(problem, get_solver("highs"), [silent], options)
    assert result.termination is ended
    assert result.message.startswith(expected)
    assert len(result.history) == answers
    assert result.ensemble is not None
    assert bool(result.ensemble.count) is bool(answers)


def test_uncertified_steps_of_an_oracle_are_reported_and_feasible_columns_are_kept() -> None:
    problem, options = linear_problem(), Options(tolerance=1e-15)
    oracle = ProgramPricing(problem.oracles[0], BAGS, get_solver("clarabel"), options)
    (price,) = problem.oracles[0].prices
    pricing_result = oracle.price({price: np.full(len(BAGS), 0.1)}, 1, Clock(None))
    assert re.fullmatch(r"The oracle's step is not certified: primal \S+, dual \S+, gap \S+", pricing_result.failure)
    result = ColumnGeneration(tolerance=1e-3).run_with_pricings(problem, get_solver("highs"), [oracle], Options())
    assert result.termination is Termination.STALLED
    assert result.message.startswith("The oracle's step is not certified: ")
    assert result.ensemble is not None
    assert result.ensemble.count
    assert result.objective == pytest.approx(smallest_norm(), rel=1e-3)


class InterruptedPricing(ProgramPricing):
    """A pricing during whose n-th call Ctrl-C is pressed."""

    def __init__(self, problem: SemiInfinite, at: int) -> None:
        super().__init__(problem.oracles[0], BAGS, get_solver("clarabel"), Options())
        self.at, self.calls = at, 0

    def price(self, prices, start_count, clock):
        self.calls += 1
        clock.interrupted |= self.calls == self.at
        return super().price(prices, start_count, clock)


@pytest.mark.parametrize("at", [1, 2])
def test_ctrl_c_in_one_oracle_skips_the_others(at: int) -> None:
    single = linear_problem()
    problem = SemiInfinite(single.master, single.family, [single.oracles[0]] * 2, BAGS, single.start)
    first, second = InterruptedPricing(problem, at), InterruptedPricing(problem, 0)
    result = ColumnGeneration(tolerance=1e-6).run_with_pricings(
        problem, get_solver("highs"), [first, second], Options()
    )
    assert (first.calls, second.calls) == (at, at - 1)
    assert result.termination is Termination.LIMIT
    assert result.message == "Interrupted; the best ensemble is kept."
    assert result.ensemble is not None
    assert result.ensemble.count
    # Bounds of half of the oracles prove nothing about the others.
    assert (result.bound is None) is (at == 1)


def test_ctrl_c_in_an_exact_oracle_keeps_its_best_column(monkeypatch: pytest.MonkeyPatch) -> None:
    def left_behind(call: Callable[[], object], stop: Callable[[], None], patience: float = 1.0) -> CallEnd:
        call()
        if not searches or pressed:
            return CallEnd.FINISHED
        pressed.append(True)
        stop()
        return CallEnd.ABANDONED

    searches: list[str] = []
    pressed: list[bool] = []
    build = HighsModel._build_model

    def noted(self: HighsModel, form: StandardForm) -> None:
        if form.integer.any():
            searches.append(form.name)
        build(self, form)

    monkeypatch.setattr(HighsModel, "_build_model", noted)
    monkeypatch.setattr(highs_model, "run_interruptible", left_behind)
    rng = np.random.default_rng(1)
    bags, y = [rng.normal(size=(3, 2)) + sign for sign in (-1, 1) * 4], np.array([0, 1] * 4)
    with pytest.warns(MiloptWarning, match="Interrupted"):
        model = ShapeletBoost(oracle="exact", solver="master=highs,oracle=highs").fit(bags, y)
    assert searches, "the oracle is solved by a search over integers"
    assert model.result_.termination is Termination.LIMIT
    assert model.decision_function(bags).shape == (8,)


def test_ranges_are_not_computed_after_the_time_limit() -> None:
    program = Program("largest instances")
    a = program.variable("a", 2, lower=-1, upper=1)
    atom = bag_max(BAGS.instances @ a, BAGS)
    program.maximize(atom.sum())
    clock = Clock(None)
    clock.interrupted = True
    [(low, high)] = instance_ranges(program, other_side_atoms(program), get_solver("highs"), Options(), clock).values()
    assert (low == -np.inf).all()
    assert (high == np.inf).all()


def test_explain_reports_support_of_master_and_oracle() -> None:
    support = {entry.solver: entry for entry in explain(linear_problem())}
    assert support["clarabel"].supports
    assert not support["highs"].supports
    assert support["highs"].reason.startswith("the oracle:")
    assert not support["libsvm"].supports
    assert support["libsvm"].reason.startswith("the master:")


def test_rows_of_the_master_itself_are_part_of_the_bound() -> None:
    problem = linear_problem()
    problem.master.subject_to(problem.variables["gamma"] >= 10, name="floor")
    result = solve(problem, "clarabel")
    assert result.termination is Termination.OPTIMAL
    assert result.objective == pytest.approx(10)
    assert result.bound == pytest.approx(10)


def test_dropping_idle_columns_does_not_change_the_optimum() -> None:
    kept, dropped = (
        solve(linear_problem(), "clarabel", ColumnGeneration(tolerance=1e-4, idle=idle)) for idle in (0, 1)
    )
    assert kept.objective == pytest.approx(dropped.objective, rel=1e-3)


@pytest.mark.parametrize("solver", ["clarabel", "ecos"])
def test_tiny_multipliers_of_an_interior_point_solver_are_not_weights(solver: str) -> None:
    """A column that is worse than another one in every bag has no weight in any optimum."""
    problem = linear_problem()
    oracle = ProgramPricing(problem.oracles[0], BAGS, get_solver("clarabel"), Options())
    (price,) = problem.oracles[0].prices
    [best] = oracle.price({price: problem.start[problem.variables["d"]]}, 1, Clock(None)).columns
    worse = replace(best, column=best.column - 0.5 * Y, value=best.value - 0.5)
    pricings = [FixedColumnPricing(problem, entry) for entry in (best, worse)]
    twice = SemiInfinite(problem.master, problem.family, [problem.oracles[0]] * 2, BAGS, problem.start)
    result = ColumnGeneration(max_rounds=1).run_with_pricings(twice, get_solver(solver), pricings, Options())
    assert 0 < result.duals["edge[1]"] < 1e-7
    assert result.ensemble is not None
    assert [entry.count for entry in result.ensemble.members] == [1, 0]
    assert result.ensemble.weights.sum() == pytest.approx(result.duals["edge[0]"] + result.duals["edge[1]"], abs=1e-15)


class FixedColumnPricing(ProgramPricing):
    """A pricing that always returns the same column."""

    def __init__(self, problem: SemiInfinite, column: PricedColumn) -> None:
        super().__init__(problem.oracles[0], BAGS, get_solver("clarabel"), Options())
        self._given = column

    def price(self, *given):
        return PricingResult((self._given,))


class BestColumnPricing(ProgramPricing):
    """A pricing that returns the column with the largest edge among given columns."""

    def __init__(self, problem: SemiInfinite, like: PricedColumn, columns: np.ndarray) -> None:
        super().__init__(problem.oracles[0], BAGS, get_solver("clarabel"), Options())
        self._like, self._columns = like, columns

    def price(self, prices, *_):
        [d] = prices.values()
        edges = self._columns @ (Y * d)
        k = int(np.argmax(edges))
        return PricingResult((replace(self._like, column=self._columns[k], value=float(edges[k])),))


@pytest.mark.parametrize("solver", ["native", "highs"])
def test_a_constant_objective_is_not_stalled_while_rows_remove_directions(solver: str) -> None:
    """The edge of column i is d_i: the objective is 0 while a bag without a row can get all the weight, then 1/10."""
    problem = linear_problem()
    oracle = ProgramPricing(problem.oracles[0], BAGS, get_solver("clarabel"), Options())
    (price,) = problem.oracles[0].prices
    [like] = oracle.price({price: problem.start[problem.variables["d"]]}, 1, Clock(None)).columns
    pricing = BestColumnPricing(problem, like, np.diag(Y))
    result = ColumnGeneration(patience=1, idle=1).run_with_pricings(problem, get_solver(solver), [pricing], Options())
    assert [step.objective for step in result.history] == pytest.approx([0.0] * 9 + [0.1], abs=1e-9)
    assert result.termination is Termination.STATIONARY


def test_a_text_names_a_solver_for_each_part() -> None:
    assert SolverParts.parse("highs") == SolverParts("highs", "highs")
    assert SolverParts.parse("master=highs, oracle=native") == SolverParts("highs", "native")
    assert SolverParts.parse("oracle=native") == SolverParts("auto", "native")
    with pytest.raises(UnknownNameError, match="oracle"):
        SolverParts.parse("orcale=native")
    with pytest.raises(ParameterError, match="master=NAME,oracle=NAME"):
        SolverParts.parse("master=,oracle=native")
    with pytest.raises(ParameterError, match="one solver, or by one for each part"):
        SolverParts.parse(("highs", "native"))
    with pytest.raises(ParameterError, match="The master has two solvers, highs and native: name one for each part"):
        SolverParts.parse("master=highs,master=native")


@pytest.mark.parametrize(
    ("wrong", "expected"),
    [
        ({"tolerance": 0.0}, "between 0 and 1"),
        ({"tolerance": "a"}, "between 0 and 1"),
        ({"smoothing": "a"}, "between 0 and 1"),
        ({"smoothing": 1.0}, "between 0 and 1"),
        ({"idle": -1}, "number of rounds"),
        ({"max_rounds": 0}, "at least 1"),
    ],
)
def test_settings_are_checked(wrong: dict[str, float], expected: str) -> None:
    with pytest.raises(ParameterError, match=expected):
        ColumnGeneration(**wrong)


def test_declarations_are_checked() -> None:
    problem = linear_problem()
    oracle, other = problem.oracles[0], Program("other")
    d = other.variable("d", len(BAGS))
    with pytest.raises(DeclarationError, match="belongs to another master"):
        SemiInfinite(other, problem.family, oracle, BAGS, {})
    with pytest.raises(DeclarationError, match="at least one oracle"):
        SemiInfinite(problem.master, problem.family, [], BAGS, {})
    with pytest.raises(DeclarationError, match="needs a start"):
        SemiInfinite(problem.master, problem.family, oracle, BAGS, {})
    wrong = Oracle(oracle.program, {next(iter(oracle.prices)): d}, oracle.column)
    with pytest.raises(DeclarationError, match="is not a variable of"):
        SemiInfinite(problem.master, problem.family, wrong, BAGS, problem.start)
    with pytest.raises(DeclarationError, match="is not a parameter of"):
        Oracle(other, oracle.prices, oracle.column)
    with pytest.raises(MiloptError, match="one comparison of scalars"):
        problem.master.family("vectors", lambda h: d >= 0)(np.zeros(3))


def test_a_semi_infinite_program_prints_its_parts_and_writes_its_master(tmp_path) -> None:
    problem = linear_problem()
    solve(problem, "clarabel", ColumnGeneration(max_rounds=3))
    assert "[master]" in problem.summary()
    assert "[oracle]" in str(problem)
    assert problem.to_latex().count(r"\begin{aligned}") == 1
    assert r"\text{for all } h \in \mathcal{H}" in problem.to_latex()
    for name, write in (("lp", problem.to_lp), ("mps", problem.to_mps), ("cbf", problem.to_cbf)):
        text = write(tmp_path / f"master.{name}")
        assert (tmp_path / f"master.{name}").read_text() == text
    problem.spy(tmp_path / "master.png")
    assert (tmp_path / "master.png").stat().st_size > 0
