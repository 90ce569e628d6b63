"""Tables of an ensemble: contributions add up to the score, and scores can be recomputed from the patterns."""

from __future__ import annotations

import json
import pickle

import numpy as np
import pytest
import scipy.sparse as sp

from milopt import Precomputed, as_bags, from_series
from milopt.errors import BagsError, DeclarationError, ParameterError
from milopt.estimator.maximisers import NEGATIVE_COEFFICIENT_CAUTION
from milopt.estimator.sparsity import format_sparsity
from milopt.models import ShapeletBoost
from tests.estimator.shapelets import BALLS, FORMS, case, recompute_score


@pytest.mark.parametrize("ball", BALLS)
@pytest.mark.parametrize("form", FORMS)
def test_contributions_and_bias_add_up_to_the_score(form: str, ball: str) -> None:
    given = case(form, ball)
    for i, bag in enumerate(given.bags):
        table = given.model.maximisers(bag)
        score = given.model.decision_function([bag])[0]
        assert table.contributions.sum() + table.bias == pytest.approx(score, abs=1e-14)
        assert table.score == pytest.approx(score, abs=1e-14)
        assert table.label == given.model.predict([bag])[0]
        assert (np.diff(np.abs(table.contributions)) <= 0).all()
        assert (table.weights > 0).all()
        if i == 3:
            assert {1.0, -1.0} >= set(table.signs)


@pytest.mark.parametrize("dictionary", ["kmeans", "all"])
@pytest.mark.parametrize("ball", BALLS)
@pytest.mark.parametrize("form", FORMS)
def test_scores_can_be_recomputed_from_the_patterns(form: str, ball: str, dictionary: str) -> None:
    given = case(form, ball, dictionary=dictionary)
    table, bias = given.model.patterns(), given.model.result_.ensemble.offset
    for bag in given.bags:
        assert recompute_score(given, table, bag, bias) == pytest.approx(
            given.model.decision_function([bag])[0], abs=1e-7
        )


@pytest.mark.parametrize("form", FORMS)
def test_the_maximiser_attains_the_maximum_of_its_column(form: str) -> None:
    given = case(form)
    patterns = given.model.patterns()
    for bag in list(given.bags)[:6]:
        table = given.model.maximisers(bag)
        for k, t in enumerate(table.columns):
            rows = np.flatnonzero(patterns.columns == t)
            x = given.column_instances(bag, None if patterns.lengths is None else int(patterns.lengths[rows[0]]))
            Z = np.array([given.scaled_pattern(patterns.patterns[r]) for r in rows])
            values = given.model.kernel(x, Z) @ patterns.coefficients[rows]
            assert values[table.instances[k]] == pytest.approx(values.max(), abs=1e-9)
            assert table.contributions[k] == pytest.approx(table.signs[k] * table.weights[k] * values.max(), abs=1e-7)
            if form == "windows":
                assert (table.starts[k], table.lengths[k]) == (2 * table.instances[k], 5)
            elif form == "bags":
                assert table.starts is None
            else:
                assert table.starts[k] == table.instances[k]
                assert table.lengths[k] == patterns.lengths[rows[0]]


@pytest.mark.parametrize("form", FORMS)
def test_the_nearest_instance_of_a_given_bag_is_found_for_each_pattern(form: str) -> None:
    given = case(form)
    bag = given.bags[1]
    table = given.model.patterns(bag)
    for k, pattern in enumerate(table.patterns):
        length = None if given.model.window is None else int(table.lengths[k])
        ways = bag if length is None else np.array([bag[j : j + length].ravel() for j in range(len(bag) - length + 1)])
        distances = np.linalg.norm(ways - pattern, axis=1)
        assert distances[table.instances[k]] == pytest.approx(distances.min())
        seen = given.column_instances(given.bags[int(table.training_bags[k])], length)
        near = seen[table.training_instances[k]]
        np.testing.assert_allclose(given.scaled_pattern(table.neighbours[k]), near, atol=1e-12)
        z = given.scaled_pattern(pattern)
        everywhere = np.vstack([given.column_instances(bag, length) for bag in given.bags])
        assert np.linalg.norm(near - z) == pytest.approx(np.linalg.norm(everywhere - z, axis=1).min(), abs=1e-7)
    if form == "windows":
        np.testing.assert_array_equal(table.starts, 2 * table.instances)
    assert (table.starts is None) == (form == "bags")


@pytest.mark.parametrize("form", ["bags", "series"])
def test_for_several_classes_the_predicted_or_given_class_is_decomposed(form: str) -> None:
    given = case(form, classes=3)
    bag = given.bags[5]
    scores = given.model.decision_function([bag])[0]
    table = given.model.maximisers(bag)
    assert table.positive_label == table.label == int(scores.argmax())
    for label in range(3):
        asked = given.model.maximisers(bag, label)
        assert asked.score == pytest.approx(scores[label], abs=1e-14)
        bias = given.model.results_[label].ensemble.offset
        assert recompute_score(given, given.model.patterns(label=label), bag, bias) == pytest.approx(
            scores[label], abs=1e-7
        )
    with pytest.raises(ParameterError, match="give label, one of 0, 1, 2"):
        given.model.patterns()
    with pytest.raises(ParameterError, match="There is no class 7"):
        given.model.maximisers(bag, 7)


def test_two_classes_have_one_score() -> None:
    given = case("bags")
    assert given.model.maximisers(given.bags[0], 1).positive_label == 1
    with pytest.raises(ParameterError, match="Two classes share one score"):
        given.model.maximisers(given.bags[0], 0)


@pytest.mark.parametrize("form", FORMS)
def test_tables_are_json_and_text(form: str) -> None:
    given = case(form)
    maximisers, patterns = given.model.maximisers(given.bags[1]), given.model.patterns(given.bags[1])
    for table, rows in ((maximisers.as_dict(), "columns"), (patterns.as_dict(), "patterns")):
        assert table == json.loads(json.dumps(table, allow_nan=False))
        assert len(table[rows]) > 0
    content = maximisers.as_dict()
    assert sum(row["contribution"] for row in content["columns"]) + content["bias"] == pytest.approx(content["score"])
    assert f"score {maximisers.score:.4g}" in str(maximisers)
    assert f"bias of {maximisers.bias:.4g} add up" in str(maximisers)
    assert f"{len(patterns)} patterns" in str(patterns)
    assert ("samples" in str(maximisers)) == ("samples" in str(patterns)) == (form != "bags")
    assert (NEGATIVE_COEFFICIENT_CAUTION in str(patterns)) == bool((patterns.coefficients < 0).any())
    again = pickle.loads(pickle.dumps(given.model)).maximisers(given.bags[1])
    assert str(again) == str(maximisers)


def test_a_series_is_reconstructed_from_its_windows() -> None:
    given = case("windows")
    whole = given.model.maximisers(given.bags[2:3])
    part = given.model.maximisers(given.bags[2])
    np.testing.assert_array_equal(whole.series[:, 0], given.bags.series[2])
    np.testing.assert_array_equal(part.series[:, 0], given.bags.series[2][: part.series.size])
    with pytest.raises(BagsError, match="One bag can be explained at a time, not 2"):
        given.model.maximisers(given.bags[:2])
    shapes = from_series(given.bags.series, length=5, znormalise=True)
    model = ShapeletBoost(solver="native", atoms=12).fit(shapes, given.y)
    assert model.maximisers(shapes[0]).series is None
    assert model.maximisers(shapes[:1]).series is not None


def test_sparse_bags_and_precomputed_kernels_have_tables_too() -> None:
    given = case("bags")
    y = given.y
    sparse = as_bags([sp.csr_array(np.round(np.abs(bag))) for bag in given.bags])
    dense = [bag.toarray() for bag in sparse]
    ours = ShapeletBoost(solver="native", dictionary="all", random_state=0).fit(sparse, y)
    table = ours.patterns(sparse[0])
    for pattern, place in zip(table.patterns, table.training_instances, strict=True):
        assert pattern.shape == (3,)
        assert place >= 0
    rows = np.vstack(dense)
    for k, z in enumerate(table.patterns):
        assert (np.abs(rows - z).max(axis=1) < 1e-9).any()
        np.testing.assert_allclose(table.neighbours[k], z, atol=1e-9)
    gram = given.model.kernel(rows / 100, rows / 100)
    numbers = as_bags(np.split(np.arange(len(rows))[:, None], sparse.offsets[1:-1]))
    model = ShapeletBoost(kernel=Precomputed(gram), dictionary="sample", atoms=20, solver="native").fit(numbers, y)
    chosen = model.patterns(numbers[4])
    for k, z in enumerate(chosen.patterns):
        here = numbers[4][:, 0].astype(int)
        far = gram[here, here] - 2 * gram[int(z[0]), here]
        assert far[chosen.instances[k]] == pytest.approx(far.min())


def test_the_report_counts_columns_and_coefficients() -> None:
    for ball in BALLS:
        given = case("series", ball)
        counts, table = given.model.report().as_dict()["sparsity"], given.model.patterns()
        assert counts["columns"] == (given.model.result_.ensemble.weights > 0).sum()
        assert counts["coefficients"] == len(table)
        assert counts["of"] == 12 * counts["columns"]
        assert counts["share"] == counts["coefficients"] / counts["of"]
        assert f"{counts['columns']} columns with a weight" in str(given.model.report())
    everything = case("series", "hilbert", dictionary="all").model
    windows = sum(len(bag) - 3 for bag in case("series").bags), sum(len(bag) - 5 for bag in case("series").bags)
    counts = [members.count for members in everything.result_.ensemble.members]
    expected = sum(count * size for count, size in zip(counts, np.repeat(windows, 2), strict=True))
    assert everything.report().as_dict()["sparsity"]["of"] == expected


@pytest.mark.parametrize(
    ("used", "text"), [(3000, "(100 %)"), (2990, "(99.7 %)"), (2999, "(100 %)"), (1, "(0.0333 %)"), (0, "(0 %)")]
)
def test_a_fraction_is_shown_in_percent_without_exponent(used: int, text: str) -> None:
    assert format_sparsity({"columns": 3, "coefficients": used, "of": 3000, "share": used / 3000}).endswith(text)


def test_an_ensemble_without_columns_has_empty_tables() -> None:
    bag = np.array([[0.0, 0.0], [1.0, 1.0]])
    with pytest.warns(UserWarning, match="Degenerate"):
        model = ShapeletBoost().fit([bag] * 4, [0, 1, 0, 1])
    assert len(model.maximisers(bag)) == len(model.patterns(bag)) == 0
    assert str(model.maximisers(bag))
    assert str(model.patterns())
    assert model.explain(bag).contributions.tolist() == [0.0, 0.0]
    assert model.report().as_dict()["sparsity"] == {"columns": 0, "coefficients": 0, "of": 0, "share": 0.0}


def test_single_samples_of_a_series_have_no_score() -> None:
    given = case("series")
    with pytest.raises(DeclarationError, match="scores windows, not single samples"):
        given.model.instance_scores(given.bags[:1])
