"""Generalisation bounds of boosted shapelets, as shown in their report."""

from __future__ import annotations

import json
from math import exp, log
from pathlib import Path

import jsonschema
import numpy as np
import pytest

import milopt.cli
from milopt import RBF, Bags, as_bags
from milopt.declaration.kernels.kernel import CallableKernel, Linear
from milopt.models import MISVM
from milopt.models.shapelet_boost import ShapeletBoost
from milopt.outcome.generalisation import GeneralisationBounds

SCHEMA = json.loads((Path(milopt.cli.__file__).parent / "schemas" / "fit.json").read_text())
K = RBF(2.0)


def random_bags(seed: int, m: int = 15) -> tuple[Bags, np.ndarray]:
    rng, y = np.random.default_rng(seed), np.where(np.arange(m) % 2, 1.0, -1.0)
    return as_bags([rng.normal(0.8 * sign, 1.0, size=(3, 2)) for sign in y]), y


def fit_model(bags: Bags, y: np.ndarray, **given: object) -> ShapeletBoost:
    usual = {"kernel": K, "solver": "native", "scale": "none", "dictionary": "all", "nu": 0.3}
    return ShapeletBoost(**usual | given).fit(bags, y)


def bounds_of(model: ShapeletBoost) -> GeneralisationBounds:
    bounds = model.report().bounds
    assert bounds is not None
    return bounds


@pytest.mark.parametrize("ball", ["l1", "hilbert", "one-hot"])
@pytest.mark.parametrize("bias", [False, True])
def test_the_margin_is_the_masters_and_the_scaled_scores_are_a_convex_combination(ball: str, bias: bool) -> None:
    bags, y = random_bags(0)
    model = fit_model(bags, y, ball=ball, bias=bias)
    bounds, result = bounds_of(model), model.result_
    assert (bounds.m, bounds.N, bounds.P_S, bounds.R, bounds.Lam, bounds.delta) == (15, 45, 45, 1.0, 1.0, 0.05)
    # nu m = 4.5 is not an integer, so the margin of the master is unique.
    assert bounds.rho_star == pytest.approx(abs(float(result.duals["simplex"])), abs=1e-6)
    assert bounds.E_rho <= bounds.nu == 0.3
    ensemble = result.ensemble
    weights = np.append(ensemble.weights, abs(ensemble.offset) / (bounds.Lam * bounds.R)) / bounds.scale
    columns = np.column_stack([ensemble.columns(result.program, bags), np.full(15, np.sign(ensemble.offset))])
    assert weights.sum() == pytest.approx(1)
    assert (weights >= 0).all()
    margins = y * (columns @ weights)
    np.testing.assert_allclose(margins * bounds.scale, y * model.decision_function(bags), atol=1e-9)
    assert bounds.E_rho == (margins < bounds.rho - 1e-8).mean()
    assert bounds.rho <= bounds.Lam * bounds.R
    assert bool(bounds.notes and "The bias" in bounds.notes[0]) is bias


def test_sides_lengths_and_the_bias_add_to_the_selections() -> None:
    rng, y = np.random.default_rng(0), np.arange(10) % 2
    series = [rng.normal(label, 1.0, size=(8, 1)) for label in y]

    def count(**given: object) -> float:
        return exp(bounds_of(fit_model(as_bags(series), y, kernel=RBF(20.0), **given)).ln_Theta)

    alone = {"two_sided": False, "bias": False}
    assert count(window=6, **alone) == pytest.approx(3.0**10)
    assert count(window=6, bias=False) == pytest.approx(2 * 3.0**10)
    assert count(window=(6, 7), **alone) == pytest.approx(3.0**10 + 2.0**10)
    assert count(window=(6, 7)) == pytest.approx(2 * (3.0**10 + 2.0**10) + 1)


def test_a_larger_ball_gives_the_same_bounds() -> None:
    bags, y = random_bags(1)
    narrow, wide = (bounds_of(fit_model(bags, y, ball="one-hot", radius=radius)) for radius in (1.0, 5.0))
    assert wide.Lam == 5 * narrow.Lam
    assert wide.rho == pytest.approx(5 * narrow.rho)
    assert wide.B_best == pytest.approx(narrow.B_best)


def test_bags_of_one_instance_select_nothing() -> None:
    rng, y = np.random.default_rng(0), np.arange(12) % 2
    bounds = bounds_of(
        fit_model(as_bags([rng.normal(label, 0.5, size=(1, 2)) for label in y]), y, two_sided=False, bias=False)
    )
    assert (bounds.ln_Theta, bounds.q) == (0, 0)


def test_a_linear_kernel_counts_by_its_dimension_and_its_longest_atom() -> None:
    bags, y = random_bags(2, 31)
    bounds = bounds_of(fit_model(bags, y, kernel=Linear(), two_sided=False, bias=False))
    longest = float(np.linalg.norm(bags.instances, axis=1).max())
    assert (bounds.R, bounds.Lam) == (pytest.approx(longest), pytest.approx(longest))
    assert bounds.q == 2
    assert bounds.ln_Theta == bounds.ln_cover == pytest.approx(log(2 * 31 * 3))
    assert bounds.ln_printed == pytest.approx(4 * log(93))


def test_a_report_contains_the_bounds_as_text_and_as_json_data() -> None:
    bags, y = random_bags(0)
    report = fit_model(bags, y).report()
    content = report.as_dict()
    assert content["bounds"] == json.loads(json.dumps(content["bounds"], allow_nan=False)) == report.bounds.as_dict()
    assert content["programs"][0]["bounds"] == content["bounds"]
    for value in (content["bounds"], {"reason": "none"}, None):
        jsonschema.validate(value, {"$defs": SCHEMA["$defs"], **SCHEMA["properties"]["bounds"]})
    assert f"bounds      {report.bounds.line()}\n" in str(report)
    assert "(vacuous) with probability 0.95" in str(report)
    assert str(report.bounds).startswith(f"bounds      {report.bounds.line()}\n")


def test_the_report_of_several_classes_has_the_weakest_bounds() -> None:
    bags, _ = random_bags(3, 18)
    report = fit_model(bags, np.arange(18) % 3).report()
    least = [part["bounds"]["B_best"] for part in report.as_dict()["programs"]]
    assert len(least) == 3
    assert report.bounds.B_best == max(least)


def test_the_report_states_why_an_indefinite_kernel_has_no_bounds() -> None:
    def odd(A: np.ndarray, B: np.ndarray) -> np.ndarray:
        return np.asarray(np.tanh(A @ B.T - 1.0))

    bags, y = random_bags(0)
    report = fit_model(bags, y, ball="one-hot", kernel=CallableKernel(odd)).report()
    assert report.bounds is None
    assert "not positive semidefinite" in report.as_dict()["bounds"]["reason"]
    assert "bounds      There is no bound" in str(report)


def test_models_without_a_class_of_functions_have_no_bounds() -> None:
    report = MISVM().fit(*random_bags(0)).report()
    assert report.bounds is None
    assert report.as_dict()["bounds"] is None
    assert "bounds" not in str(report)
