"""Contributions of instances and windows, compared with the scores of bags without them."""

from __future__ import annotations

import numpy as np
import pytest

from milopt import load_data
from milopt.models import ShapeletBoost
from tests.estimator.shapelets import BALLS, ShapeletCase, case


def score_of(given: ShapeletCase, seen: dict[int | None, np.ndarray], column: int = 0) -> float:
    """Score windows of each length, even if they do not form a series; a length without windows contributes nothing."""
    label = None if len(given.model.results_) == 1 else column
    table, total = given.model.patterns(label=label), given.model.results_[column].ensemble.offset
    for t in np.unique(table.columns):
        rows = np.flatnonzero(table.columns == t)
        x = seen[None if given.model.window is None else int(table.lengths[rows[0]])]
        if len(x):
            Z = np.array([given.scaled_pattern(table.patterns[k]) for k in rows])
            sign = table.signs[rows[0]]
            total += sign * (given.model.kernel(x, Z) @ (sign * table.weights[rows])).max()
    return total


@pytest.mark.parametrize("ball", BALLS)
@pytest.mark.parametrize("form", ["bags", "windows"])
def test_a_contribution_is_the_decrease_of_the_score_without_the_instance(form: str, ball: str) -> None:
    given = case(form, ball)
    for bag in list(given.bags)[:8]:
        explanation = given.model.explain(bag)
        assert explanation.score == pytest.approx(given.model.decision_function([bag])[0])
        np.testing.assert_allclose(explanation.instance_scores, given.model.instance_scores([bag])[0], atol=1e-9)
        if len(bag) == 1:
            assert explanation.contributions.tolist() == [explanation.score]
            continue
        for j in range(len(bag)):
            rest = given.model.decision_function([np.delete(bag, j, axis=0)])[0]
            assert explanation.contributions[j] == pytest.approx(explanation.score - rest, abs=1e-9)


@pytest.mark.parametrize("classes", [2, 3])
def test_the_instances_of_a_series_are_its_windows_of_every_length(classes: int) -> None:
    given = case("series", classes=classes)
    bag = given.bags[1]
    explanation = given.model.explain(bag)
    column = 0 if classes == 2 else int(explanation.label)
    lengths = list(dict.fromkeys(explanation.lengths.tolist()))
    seen: dict[int | None, np.ndarray] = {length: given.column_instances(bag, length) for length in lengths}
    assert explanation.contributions.size == sum(len(bag) - length + 1 for length in lengths)
    whole = score_of(given, seen, column)
    assert explanation.score == pytest.approx(whole, abs=1e-7)
    for j, (start, length) in enumerate(zip(explanation.starts, explanation.lengths, strict=True)):
        rest = score_of(given, seen | {length: np.delete(seen[length], start, axis=0)}, column)
        assert explanation.contributions[j] == pytest.approx(whole - rest, abs=1e-7)
        alone = score_of(given, seen | {length: seen[length][[start]]}, column)
        assert explanation.instance_scores[j] == pytest.approx(alone, abs=1e-7)
    last = explanation.starts[explanation.witness] + explanation.lengths[explanation.witness] - 1
    (starred,) = (line for line in str(explanation).splitlines() if line.startswith(f"  {explanation.witness:8d}*"))
    assert starred.endswith(f"  {explanation.starts[explanation.witness]}-{last}")


def test_the_only_window_of_a_length_contributes_all_columns_of_this_length() -> None:
    given = case("series")
    bag = given.bags[1][:6]
    explanation = given.model.explain(bag)
    seen: dict[int | None, np.ndarray] = {length: given.column_instances(bag, length) for length in (4, 6)}
    assert explanation.lengths.tolist() == [4, 4, 4, 6]
    lost = score_of(given, seen) - score_of(given, seen | {6: np.zeros((0, 6))})
    assert explanation.contributions[-1] == pytest.approx(lost, abs=1e-7)


def test_real_bags_are_explained() -> None:
    data = load_data("musk1")
    model = ShapeletBoost(random_state=0, atoms=60).fit(data.bags, data.labels)
    number = int(np.argmax(data.bags.sizes))
    bag = data.bags[number]
    explanation = model.explain(bag)
    for j in range(0, len(bag), 5):
        rest = model.decision_function([np.delete(bag, j, axis=0)])[0]
        assert explanation.contributions[j] == pytest.approx(explanation.score - rest, abs=1e-9)
    assert set(np.flatnonzero(explanation.contributions)) <= set(model.maximisers(bag).instances.tolist())


def test_the_witness_is_shown_even_if_ten_other_instances_contribute_more() -> None:
    data = load_data("gunpoint")
    model = ShapeletBoost(random_state=0, solver="native").fit(data.bags, data.labels)
    hidden = 0
    for i in range(12):
        explanation = model.explain(data.bags[i : i + 1])
        rows = [line for line in str(explanation).splitlines() if line[:10].strip().isdigit()]
        (starred,) = (line for line in rows if line[10] == "*")
        assert int(starred[:10]) == explanation.witness
        rank = int((np.abs(explanation.contributions) > abs(explanation.contributions[explanation.witness])).sum())
        if len(rows) > 10:
            hidden += 1
            assert rows[-1] is starred
            more = explanation.contributions.size - 10
            assert f"\n  and {more} more that contribute less, the witness among them:\n{starred}\n" in str(explanation)
        else:
            assert rank < 10
    assert hidden > 0
