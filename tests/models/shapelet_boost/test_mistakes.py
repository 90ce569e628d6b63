"""Errors of boosted shapelets for invalid input, and their result when a run is stopped early."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from dataclasses import replace
from functools import partial
from pathlib import Path

import numpy as np
import pytest

from milopt import Linear, load_model, solve
from milopt.compilation.status import PointStatus, Termination
from milopt.declaration.kernels.kernel import CallableKernel
from milopt.errors import BagsError, ConvexityError, MiloptError, MiloptWarning, ParameterError
from milopt.models.shapelet_boost import ShapeletBoost
from milopt.outcome.outcome import Outcome
from milopt.schemes.column_generation import ColumnGeneration
from tests.models.shapelet_boost.cases import PLAIN, K, random_bags


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"nu": 0.0}, "nu must be greater than 0"),
        ({"nu": -0.1}, "nu must be greater than 0"),
        ({"nu": 1.5}, "nu must be greater than 0"),
        ({"nu": float("nan")}, "nu must be greater than 0"),
        ({"ball": "l2"}, "ball must be one of"),
        ({"radius": -1.0}, "radius must be a positive number"),
        (
            {"radius": 1e200},
            "radius only scales scores and margins: it must lie between 1e-05 and 100000, not at 1e.200",
        ),
        ({"dictionary": "some"}, "dictionary must be one of"),
        ({"atoms": 0}, "atoms must be a whole number"),
        ({"window": 9}, "A window of 9 samples is longer than bag 0, which has 2"),
        ({"window": (2, 0.5)}, "A window of 2 samples is longer than bag 4, which has 1"),
        ({"window": 0}, "window length must be"),
        ({"window": "0.2"}, "window length must be .*, not '0.2'"),
        ({"bias": "yes"}, "bias must be True or False, not 'yes'"),
        ({"two_sided": None}, "two_sided must be True or False, not None"),
        ({"window": ()}, "window must have at least one length"),
        ({"oracle": "fast"}, "oracle must be one of"),
        ({"solver": "master=highs,orakel=native"}, "oracle"),
        ({"scheme": "ccp"}, "semi-infinite"),
        ({"ball": "hilbert", "solver": "highs"}, "highs"),
    ],
)
def test_bad_input_raises_an_error_of_one_sentence(golden_bags, wrong: dict[str, object], message: str) -> None:
    with pytest.raises(MiloptError, match=message):
        ShapeletBoost(**wrong).fit(*golden_bags)


def test_a_single_class_raises_an_error(golden_bags) -> None:
    bags, _ = golden_bags
    with pytest.raises(BagsError, match="All 6 bags belong to one class, 1: at least two classes are needed"):
        ShapeletBoost().fit(bags, np.ones(6, dtype=int))


def squared_distances(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """Return ||x - z||^2, which is not a positive semidefinite kernel."""
    return np.asarray(((a[:, None] - b) ** 2).sum(axis=2))


@pytest.mark.parametrize("solver", ["auto", "native", "clarabel", "ecos", "master=highs,oracle=clarabel"])
@pytest.mark.parametrize("dictionary", ["all", "kmeans", "sample"])
def test_an_indefinite_kernel_has_no_hilbert_ball(golden_bags, dictionary: str, solver: str) -> None:
    model = ShapeletBoost(
        ball="hilbert", dictionary=dictionary, kernel=CallableKernel(squared_distances), solver=solver
    )
    with pytest.raises(ConvexityError, match=r"kernel of 'u' .*is not positive semidefinite: smallest eigenvalue -\d"):
        model.fit(*golden_bags)


@pytest.mark.parametrize(
    ("ball", "solver"),
    [("l1", "auto"), ("l1", "highs"), ("hilbert", "auto"), ("hilbert", "clarabel"), ("one-hot", "highs")],
)
@pytest.mark.parametrize("bias", [True, False])
def test_identical_bags_in_both_classes_give_a_warning(ball: str, solver: str, bias: bool) -> None:
    bag = np.array([[0.0, 0.0], [1.0, 1.0]])
    with pytest.warns(MiloptWarning, match="Degenerate: at the first prices no column distinguishes the classes"):
        model = ShapeletBoost(kernel=K, ball=ball, solver=solver, bias=bias).fit([bag] * 4, [0, 1, 0, 1])
    np.testing.assert_array_equal(model.decision_function([bag]), 0)
    assert (model.result_.termination, model.result_.point) == (Termination.STALLED, PointStatus.NONE)


def test_an_unbalanced_sample_limits_nu_with_a_bias() -> None:
    bags, _ = random_bags(0, 10)
    with pytest.warns(MiloptWarning, match=r"0\.4 is used instead of 0\.5"):
        model = ShapeletBoost(nu=0.5, solver="highs").fit(bags, [1, 1] + [0] * 8)
    assert model.result_.point is PointStatus.CERTIFIED


def test_an_ensemble_with_constant_scores_gives_a_warning() -> None:
    """The bags are noise, and no shapelet favours the positive bags at every d: the best one is u = 0."""
    rng = np.random.default_rng(2)
    bags, y = [rng.normal(size=(3, 2)) for _ in range(8)], np.arange(8) % 2
    with pytest.warns(MiloptWarning, match="Degenerate: all bags have the same score"):
        model = ShapeletBoost(ball="hilbert", two_sided=False, kernel=Linear(), scale="none", nu=0.5).fit(bags, y)
    assert model.result_.objective == pytest.approx(0, abs=1e-12)
    assert len(model.patterns()) == len(model.patterns(bags[0])) == 0


@pytest.mark.parametrize("solver", ["auto", "clarabel", "master=native,oracle=highs"])
@pytest.mark.parametrize("ball", ["l1", "one-hot"])
def test_columns_as_small_as_the_residuals_are_never_reported_as_optimal(ball: str, solver: str) -> None:
    bags, y = random_bags(0, 12)
    make = partial(ShapeletBoost, ball=ball, kernel=Linear(), scale="none", random_state=0, solver=solver)
    usual = make().fit(bags, y).result_
    assert usual.point is PointStatus.CERTIFIED
    with pytest.warns(MiloptWarning):
        tiny = make().fit([1e-6 * bag for bag in bags], y).result_
    assert tiny.termination is Termination.STALLED
    assert tiny.point is not PointStatus.CERTIFIED


def test_every_ball_checks_its_oracle() -> None:
    for ball in ("l1", "hilbert", "one-hot"):
        with pytest.raises(ParameterError, match="oracle must be"):
            ShapeletBoost(ball=ball, oracle="foo").fit(*random_bags(0, 6))


def test_a_degenerate_model_is_saved_and_loaded(tmp_path: Path) -> None:
    bag = np.array([[0.0, 0.0], [1.0, 1.0]])
    with pytest.warns(MiloptWarning, match="Degenerate"):
        model = ShapeletBoost(kernel=K).fit([bag] * 4, [0, 1, 0, 1])
    model.save(tmp_path / "none.milopt")
    loaded = load_model(tmp_path / "none.milopt")
    np.testing.assert_array_equal(loaded.decision_function([bag]), 0)


def test_equal_window_lengths_are_used_once() -> None:
    bags, y = random_bags(0, 8)
    long = [np.vstack([bag] * 10) for bag in bags]
    several, single = (ShapeletBoost(window=given).program(long, y) for given in ((3, 3, 0.3), 3))
    assert len(several.oracles) == len(single.oracles) == 2


def test_more_starts_are_tried_before_concluding_that_no_column_separates_the_classes() -> None:
    bags = [np.array(b, float) for b in ([[1, 0]], [[1, 1], [-1, 0]], [[0, 1], [-1, 0]], [[1, 0], [1, -1]])]
    given = {"kernel": Linear(), "scale": "none", "dictionary": "all", "bias": False, "two_sided": False, "nu": 1.0}
    for oracle in ("ccp", "exact"):
        assert ShapeletBoost(**given, oracle=oracle).fit(bags, [1, -1, 1, -1]).result_.objective == pytest.approx(0.125)


def test_repeated_bags_with_both_labels_terminate() -> None:
    # Payoffs that cancel are magnified until they consist of rounding errors.
    rng = np.random.default_rng(0)
    pool = [rng.normal(size=(4, 2)) for _ in range(3)]
    bags, y = [pool[k] for k in rng.integers(0, 3, 30)], rng.integers(0, 2, 30)
    for repeated, labels in (([pool[0]] * 12, [1] * 4 + [0] * 8), (bags, y)):
        for bias in (False, True):
            with pytest.warns(MiloptWarning):
                result = ShapeletBoost(bias=bias).fit(repeated, labels).result_
            assert result.termination is Termination.STALLED


# -- stopped before the end --------------------------------------------------------------------------------------------


def has_last_ensemble(result) -> bool:
    """Return True if the result has the ensemble of the last solved master."""
    values = [step.objective for step in result.history]
    return result.ensemble.count > 0 and result.objective == pytest.approx(values[-1]) and values[-1] == max(values)


def test_a_stalled_run_gives_a_warning_and_keeps_the_best_ensemble(golden_bags) -> None:
    program = ShapeletBoost(nu=0.34, **PLAIN).program(*golden_bags)
    result = solve(program, "highs", ColumnGeneration(tolerance=3e-3, patience=1))
    assert result.termination is Termination.STALLED
    assert (
        result.message
        == "The objective has increased by less than 0.003 (relative) in 1 round; the best ensemble is kept."
    )
    assert len(result.history) < 9
    assert has_last_ensemble(result)
    patient = solve(program, "highs", ColumnGeneration(tolerance=3e-3))
    assert patient.termination is Termination.STATIONARY


def test_a_limit_on_rounds_keeps_the_best_ensemble(golden_bags) -> None:
    program = ShapeletBoost(**PLAIN).program(*golden_bags)
    result = solve(program, "highs", ColumnGeneration(max_rounds=2))
    assert result.termination is Termination.LIMIT
    assert len(result.history) == 2
    assert has_last_ensemble(result)


@pytest.mark.parametrize("solver", ["native", "highs", "clarabel"])
def test_a_time_limit_keeps_the_best_ensemble(solver: str) -> None:
    bags, y = random_bags(0, 40)
    program = ShapeletBoost(nu=0.1, kernel=K, two_sided=False).program(bags, y)
    solve(program, solver, ColumnGeneration(max_rounds=1))  # compiled before time is measured
    with pytest.MonkeyPatch.context() as patch:
        # Simulated time passes once per round, so that the test does not depend on the machine.
        patch.setattr("milopt.solving.clock.Clock.is_over", lambda clock: len(program.master.constraints) >= 2 + 4)
        result = solve(program, solver, ColumnGeneration(tolerance=1e-6), time_limit=1000.0)
    assert result.termination is Termination.LIMIT
    assert result.message.endswith("; the best ensemble is kept.")
    assert len(result.history) == 4
    assert has_last_ensemble(result)
    assert result.point is PointStatus.FEASIBLE


def test_the_step_after_an_exact_oracle_runs_even_if_the_time_limit_has_passed(monkeypatch) -> None:
    from milopt.schemes import exact

    run, step, left = exact.Direct.run, exact.StepSession.solve, []

    def late(self, program, solver, options, clock):
        result = run(self, program, solver, options, clock)
        if program.name.endswith("(MILP)"):
            clock.limit = 1e-9
        return result

    def watched(self, clock):
        left.append(clock.seconds_left())
        return step(self, clock)

    bags, y = random_bags(0, 8)
    program = ShapeletBoost(oracle="exact", kernel=K).program(bags, y).oracles[0].program
    (price,) = program.parameters.values()
    price.value = np.full(8, 1 / 8)
    monkeypatch.setattr(exact.Direct, "run", late)
    monkeypatch.setattr(exact.StepSession, "solve", watched)
    assert solve(program, "highs", "exact", time_limit=60.0).point is PointStatus.CERTIFIED
    assert left[-1] > 0.5


def test_a_step_after_an_exact_oracle_that_violates_its_rows_is_not_feasible(monkeypatch) -> None:
    from milopt.schemes import exact

    class ViolatingSession(exact.StepSession):
        def solve(self, clock=None):
            pricing_result = super().solve(clock)
            proof = replace(pricing_result.certificate, primal=0.25, violation=0.5)
            return replace(pricing_result, status=PointStatus.NONE, certificate=proof)

    bags, y = random_bags(0, 8)
    program = ShapeletBoost(oracle="exact", kernel=K).program(bags, y).oracles[0].program
    (price,) = program.parameters.values()
    price.value = np.full(8, 1 / 8)
    monkeypatch.setattr(exact, "StepSession", ViolatingSession)
    result = solve(program, "highs", "exact")
    assert result.point is PointStatus.NONE
    assert result.message.endswith("The best point is kept, but it violates the constraints by 0.5.")


@pytest.mark.parametrize(
    ("ended", "message"),
    [
        (Termination.LIMIT, "Time limit; the best single column found so far is kept"),
        (
            Termination.STALLED,
            "Lost. The columns have size .*, but should have size 1; the best single column found so far is",
        ),
    ],
)
def test_if_the_first_master_has_no_point_the_best_column_is_kept(
    monkeypatch, ended: Termination, message: str
) -> None:
    from milopt.solving.step_session import StepSession

    def pointless(session, clock):
        return Outcome.without_point(session.form, ended, "lost", "Lost.")

    bags, y = random_bags(0, 20)
    monkeypatch.setattr(StepSession, "solve", pointless)
    with pytest.warns(MiloptWarning, match=message):
        model = ShapeletBoost(nu=0.3, kernel=K, solver="master=highs,oracle=native").fit(bags, y)
    assert (model.result_.termination, model.result_.point) == (ended, PointStatus.NONE)
    assert np.isnan(model.result_.objective)
    assert model.result_.ensemble.count == 1
    assert model.score(bags, y) > 0.5


@pytest.mark.parametrize("how", [signal.default_int_handler, lambda *_: signal.raise_signal(signal.SIGINT)])
def test_an_interrupt_in_a_round_keeps_the_best_ensemble(golden_bags, monkeypatch, how) -> None:
    from milopt.schemes import generation

    priced = generation.GenerationRun._smoothed_prices
    count = iter(range(100))

    def interrupted(self):
        if next(count) == 3:
            how(signal.SIGINT, None)
        return priced(self)

    monkeypatch.setattr(generation.GenerationRun, "_smoothed_prices", interrupted)
    result = solve(ShapeletBoost(nu=0.34, **PLAIN).program(*golden_bags), "highs")
    assert result.termination is Termination.LIMIT
    assert result.message == "Interrupted; the best ensemble is kept."
    assert len(result.history) in (3, 4)
    assert has_last_ensemble(result)


def test_an_interrupt_before_the_first_column_is_raised(golden_bags, monkeypatch) -> None:
    from milopt.schemes import generation

    monkeypatch.setattr(generation.GenerationRun, "_violated_rows", lambda *_: signal.raise_signal(signal.SIGINT) or [])
    with pytest.raises(KeyboardInterrupt):
        solve(ShapeletBoost(nu=0.34, **PLAIN).program(*golden_bags), "highs")
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


INTERRUPTED = """
import json, signal, warnings
import milopt
from milopt.models.shapelet_boost import ShapeletBoost
from milopt.schemes import generation

signal.signal(signal.SIGINT, signal.default_int_handler)
warnings.simplefilter("ignore")
data = milopt.load_data("musk1")
if "SOLVER" == "native":
    # To its end, so that what may be interrupted is the fit and not the compiler.
    ShapeletBoost(nu=0.1, ball="hilbert", solver="native").fit(data.bags[::3], data.labels[::3])
solved = generation.GenerationRun._solve_master

def interrupted_solve(self):
    ended = solved(self)
    if len(self.history) == 3:
        # The value is positive by now: no column that an interrupted oracle leaves, such as zero, has more of it.
        print("three rounds", flush=True)
    return ended

generation.GenerationRun._solve_master = interrupted_solve
model = ShapeletBoost(nu=0.1, ball="hilbert", solver="SOLVER").fit(data.bags, data.labels)
result = model.result_
print(json.dumps({"ended": str(result.termination), "message": result.message, "members": result.ensemble.count,
                  "rounds": len(result.history), "accuracy": model.score(data.bags, data.labels)}))
"""


@pytest.mark.skipif(os.name == "nt", reason="sends SIGINT to a process of its own")
@pytest.mark.parametrize("solver", ["native", "clarabel"])
def test_ctrl_c_in_a_fit_keeps_the_best_ensemble(solver: str) -> None:
    process = subprocess.Popen(
        [sys.executable, "-c", INTERRUPTED.replace("SOLVER", solver)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env=os.environ | {"OMP_NUM_THREADS": "1"},
    )
    try:
        assert process.stdout is not None
        assert process.stdout.readline() == "three rounds\n"
        process.send_signal(signal.SIGINT)
        out, err = process.communicate(timeout=120)
    finally:
        if process.poll() is None:
            process.kill()
            process.wait()
    assert process.returncode == 0, err
    report = json.loads(out.splitlines()[-1])
    assert report["ended"] == "limit"
    assert report["message"] == "Interrupted; the best ensemble is kept."
    assert report["rounds"] >= 3
    assert report["members"] > 0
    assert report["accuracy"] > 0.5
