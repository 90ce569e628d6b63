"""Random choices use the seed 0 by default, in Python and on the command line, so that two fits are equal."""

from __future__ import annotations

import inspect
import json

import numpy as np
import pytest
from typer.testing import CliRunner

import milopt
from milopt import BagFeatures, RandomBoxes
from milopt.bag_kernels.box_counting import BoxCounting
from milopt.cli.app import app
from milopt.data import toy_bags
from milopt.data.generated import conjunctive, multi_site_binding
from milopt.models import MILES, MIORDM, MIRSVM, ShapeletBoost, SpectralBagClustering
from milopt.solving import registry

DRAWING = [
    MILES(dictionary="kmeans", atoms=4),
    MILES(dictionary="sample", atoms=4),
    ShapeletBoost(ball="one-hot", atoms=5),
    MIRSVM(start="random", C=0.1),
    MIORDM(start="random", lam=0.1),
]


@pytest.fixture(scope="module")
def bags() -> tuple[list[np.ndarray], np.ndarray]:
    rng = np.random.default_rng(0)
    y = np.arange(16) % 2
    return [rng.normal(size=(4, 2)) + label for label in y], y


@pytest.mark.parametrize("name", registry.model_names())
def test_the_seed_of_every_model_is_0_by_default(name: str) -> None:
    assert registry.model_class(name)().random_state == 0


@pytest.mark.filterwarnings("ignore::milopt.errors.MiloptWarning")
@pytest.mark.parametrize("model", DRAWING, ids=repr)
def test_two_fits_are_equal_and_those_of_other_seeds_are_not(model, bags) -> None:
    X, y = bags

    def scores(**settings: object) -> np.ndarray:
        return type(model)(**model.get_params(deep=False) | settings).fit(X, y).decision_function(X)

    np.testing.assert_array_equal(scores(), scores())
    np.testing.assert_array_equal(scores(), scores(random_state=0))
    assert any((scores(random_state=seed) != scores()).any() for seed in (1, 2, 3))


def test_none_draws_a_new_seed_for_every_fit(bags) -> None:
    X, y = bags
    model = MILES(dictionary="kmeans", atoms=4, random_state=None)
    seeds = {model.fit(X, y).report().as_dict()["resolved"]["random_state"] for _ in range(3)}
    assert len(seeds) > 1


def test_python_and_the_command_line_make_the_same_random_choices(bags, tmp_path) -> None:
    X, y = bags
    lines = [f"{i},{y[i]},{','.join(map(repr, row.tolist()))}" for i, bag in enumerate(X) for row in bag]
    file = tmp_path / "bags.csv"
    file.write_text("\n".join(["bag,label,f0,f1", *lines]) + "\n")
    settings = ["--set", "dictionary=kmeans", "--set", "atoms=4"]
    done = CliRunner().invoke(app, ["fit", str(file), "-m", "miles", *settings, "--json"])
    data = milopt.load_data(file)
    model = MILES(dictionary="kmeans", atoms=4).fit(data.bags, data.labels)
    assert json.loads(done.stdout)["objective"] == model.result_.objective


def test_other_random_functions_have_the_seed_0_by_default(bags) -> None:
    for drawing in (RandomBoxes, BoxCounting, toy_bags, conjunctive, multi_site_binding):
        assert inspect.signature(drawing).parameters["seed"].default == 0
    X, _ = bags
    values, values_again = (BagFeatures(RandomBoxes(count=20)).fit(X).transform(X) for _ in range(2))
    np.testing.assert_array_equal(values, values_again)
    values, values_again = (SpectralBagClustering().fit(X).bag_scores(X) for _ in range(2))
    np.testing.assert_array_equal(values, values_again)
