"""Saving and loading of a model with two-sided rows, absent rows, conditions and semicontinuous variables."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import milopt
from milopt import BagClassifier, Bags, Linear, Program, Signs, Weights, bag_mean


class FewWeights(BagClassifier):
    """Linear program min w'slack  s.t.  y (mean <v, x> + b) >= 1 - slack,  |v_j| <= 3 z_j,  sum z <= 1.

    The slacks are semicontinuous: 0.1 <= slack or slack = 0.
    """

    def declare(self, bags: Bags, y: Signs, weight: Weights) -> Program:
        """Build the program, which selects one feature; some of its rows are absent."""
        program = Program("few weights")
        f = program.function("f", Linear(), dictionary=np.eye(bags.dimension))
        b = program.variable("b", lower=-5, upper=5)
        slack = program.variable("slack", len(bags), lower=0.1, upper=20, semicontinuous=True)
        chosen = program.variable("chosen", bags.dimension, binary=True)
        v = f.coefficients
        program.minimize(weight @ slack)
        program.subject_to(y * (bag_mean(f(bags)) + b) >= 1 - slack, name="margin")
        program.between(-3 * chosen, v, 3 * chosen, name="weights")
        program.between(0, chosen.sum(), 1, name="one")
        program.subject_to(v <= np.where(np.arange(bags.dimension) == 0, 2.0, np.inf), name="cap")
        program.implies(chosen[0], b <= 4, name="low")
        program.score(lambda new: bag_mean(f(new)) + b)
        return program


def test_a_model_with_new_rows_is_saved_and_loaded(tmp_path: Path) -> None:
    generator, y = np.random.default_rng(0), np.where(np.arange(12) % 2, 1, -1)
    bags = [generator.normal(0, 0.5, (3, 2)) + np.array([0.0, 1.5 * sign]) for sign in y]
    model = FewWeights(solver="highs").fit(bags, y)
    assert model.result_.point == "certified"
    assert model.result_.values["chosen"] == pytest.approx([0.0, 1.0])
    model.save(tmp_path / "model.npz")
    loaded = milopt.load_model(tmp_path / "model.npz", FewWeights)
    np.testing.assert_array_equal(loaded.decision_function(bags), model.decision_function(bags))
    for name, value in model.result_.values.items():
        np.testing.assert_array_equal(loaded.result_.values[name], value)
    weights = loaded.result_.program.constraints["weights"]
    assert loaded.result_.value(weights).shape == (2,)
    assert (loaded.result_.value(weights) >= -1e-9).all()
