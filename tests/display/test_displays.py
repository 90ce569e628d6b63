"""Plots: the drawn objects agree with the tables and the history of the model."""

from __future__ import annotations

import sys

import matplotlib as mpl
import numpy as np
import pytest
from matplotlib.colors import to_hex
from matplotlib.figure import Figure
from scipy.stats import wilcoxon

from milopt import RBF, from_series, load_data, rank
from milopt.display import (
    ConvergenceDisplay,
    CriticalDifferenceDisplay,
    MarginsDisplay,
    MaximisersDisplay,
    PatternsDisplay,
)
from milopt.display.canvas import COOL_COLOUR, WARM_COLOUR
from milopt.display.margins import Margins
from milopt.errors import BagsError, MiloptError, ParameterError
from milopt.estimator.maximisers import NEGATIVE_COEFFICIENT_CAUTION
from milopt.evaluation.signed_ranks import wilcoxon_holm_p_values
from milopt.models import MILES, MIORDM, MIRSVM, MISVM, ShapeletBoost
from tests.estimator.shapelets import case
from tests.evaluation.test_ranking import evaluations_as_json


@pytest.fixture(autouse=True)
def no_window():
    import matplotlib.pyplot as plt

    with mpl.rc_context({"backend": "agg"}):
        yield
    plt.close("all")


def axes(**figure: object):
    return Figure(layout="constrained", **figure).add_subplot()


def texts(ax) -> str:
    return " ".join(" ".join(text.get_text().split()) for text in ax.texts)


@pytest.mark.parametrize("form", ["windows", "series", "two channels"])
def test_maximising_windows_lie_on_the_series_in_the_colour_of_their_contribution(form: str) -> None:
    given = case(form)
    bag = given.bags[1]
    shown = MaximisersDisplay.from_estimator(given.model, bag, most=5)
    table = given.model.maximisers(bag)
    assert shown.figure_ is shown.ax_.figure
    np.testing.assert_array_equal(shown.ax_.lines[0].get_ydata(), table.series[:, 0])
    assert len(shown.windows_) == len(shown.bars_) == min(5, len(table))
    largest = np.abs(table.contributions).max()
    assert shown.colorbar_.norm.vmin == -largest
    assert shown.colorbar_.norm.vmax == largest
    for k, (line, bar) in enumerate(zip(shown.windows_, shown.bars_, strict=True)):
        start, length = table.starts[k], table.lengths[k]
        np.testing.assert_array_equal(line.get_xdata(), np.arange(start, start + length))
        np.testing.assert_array_equal(line.get_ydata(), table.series[start : start + length, 0])
        assert (bar.get_x(), bar.get_width()) == (start, length - 1)
        # Every bar has its own lane below the series.
        assert bar.get_y() + bar.get_height() < table.series[:, 0].min()
        colour = shown.colorbar_.cmap(shown.colorbar_.norm(table.contributions[k]))
        assert to_hex(line.get_color()) == to_hex(bar.get_facecolor()) == to_hex(colour)
        # Warm colours have more red than blue, cool colours more blue than red.
        assert np.sign(colour[0] - colour[2]) == np.sign(table.contributions[k]) or abs(table.contributions[k]) < 0.05
    assert len({bar.get_y() for bar in shown.bars_}) == len(shown.bars_)
    assert to_hex(shown.colorbar_.cmap(1.0)) == to_hex(WARM_COLOUR)
    assert to_hex(shown.colorbar_.cmap(0.0)) == to_hex(COOL_COLOUR)
    assert NEGATIVE_COEFFICIENT_CAUTION in texts(shown.ax_)
    if form == "two channels":
        other = MaximisersDisplay.from_estimator(given.model, bag, feature=1, ax=axes())
        np.testing.assert_array_equal(other.ax_.lines[0].get_ydata(), bag[:, 1])
        with pytest.raises(BagsError, match="has 2 feature"):
            MaximisersDisplay.from_estimator(given.model, bag, feature=2, ax=axes())


@pytest.mark.parametrize("form", ["windows", "series", "two channels"])
def test_patterns_are_drawn_where_the_series_is_most_similar_in_the_colour_of_their_sign(form: str) -> None:
    given = case(form)
    bag = given.bags[1]
    ax = axes()
    shown = PatternsDisplay.from_estimator(given.model, bag, most=6, ax=ax)
    table = given.model.patterns(bag)
    assert shown.ax_ is ax
    channels = 2 if form == "two channels" else 1
    assert len(shown.axes_) == len(shown.lines_) == min(6, len(table))
    for k, (own, line) in enumerate(zip(shown.axes_, shown.lines_, strict=True)):
        values = table.patterns[k].reshape(-1, channels)[:, 0]
        np.testing.assert_array_equal(own.lines[0].get_ydata(), table.series[:, 0])
        assert own.lines[1] is line
        np.testing.assert_array_equal(line.get_ydata(), values)
        np.testing.assert_array_equal(line.get_xdata(), table.starts[k] + np.arange(values.size))
        assert line.get_color() == (WARM_COLOUR if table.weights[k] > 0 else COOL_COLOUR)
        there = table.series[table.starts[k] : table.starts[k] + values.size]
        off = np.sqrt(((there - table.patterns[k].reshape(-1, channels)) ** 2).mean())
        assert table.distances[k] == pytest.approx(off)
        sign = "+" if table.signs[k] > 0 else "−"
        weight = f"{table.weights[k]:+.2g}".replace("-", "−")
        assert own.get_title() == f"ω {weight}, column {table.columns[k]} ({sign})\noff by {off:.2g}"
    everything = " ".join(texts(each) for each in shown.figure_.axes)
    assert "the pattern does not occur in this series" in everything
    assert NEGATIVE_COEFFICIENT_CAUTION in everything
    widths = [line.get_linewidth() for line in shown.lines_]
    assert widths == sorted(widths, reverse=True)


@pytest.mark.parametrize("form", ["bags", "series"])
def test_without_a_series_each_pattern_has_its_own_axes_with_its_neighbour(form: str) -> None:
    # Over the Hilbert ball every atom has a coefficient, so there are many patterns for every solver.
    given = case(form, ball="hilbert")
    shown = PatternsDisplay.from_estimator(given.model, most=4, ax=axes(figsize=(8, 6)))
    table = given.model.patterns()
    assert len(shown.axes_) == len(shown.lines_) == 4 < len(table)
    for k, ax in enumerate(shown.axes_):
        neighbour, pattern = ax.lines
        np.testing.assert_array_equal(neighbour.get_ydata(), table.neighbours[k])
        np.testing.assert_array_equal(pattern.get_ydata(), table.patterns[k])
        assert f"column {table.columns[k]}" in ax.get_title()
        # The neighbour is visible on both sides even if it coincides with the pattern.
        assert neighbour.get_linewidth() >= pattern.get_linewidth() + 2
    everything = " ".join(texts(ax) for ax in shown.figure_.axes)
    assert NEGATIVE_COEFFICIENT_CAUTION in everything
    assert "Grey: the nearest training instance." in everything
    assert f"The 4 heaviest of {len(table)} patterns" in everything


def test_long_patterns_are_thin_lines_in_wider_axes() -> None:
    data = load_data("musk1")
    model = ShapeletBoost(atoms=20, random_state=0, solver="native").fit(data.bags, data.labels)
    shown = PatternsDisplay.from_estimator(model, most=4)
    assert max(line.get_linewidth() for line in shown.lines_) <= 1.2
    widths = [line.get_linewidth() for line in shown.lines_]
    assert widths == sorted(widths, reverse=True)
    shown.figure_.canvas.draw()
    # At 100 dots per inch, each of the 166 features has at least two dots.
    assert all(ax.bbox.width / shown.figure_.dpi * 100 > 2 * 166 for ax in shown.axes_)


def test_no_text_leaves_the_figure_or_overlaps_another() -> None:
    given = case("series")
    for shown in (
        MaximisersDisplay.from_estimator(given.model, given.bags[1]),
        PatternsDisplay.from_estimator(given.model, given.bags[1]),
        PatternsDisplay.from_estimator(given.model),
        ConvergenceDisplay.from_estimator(given.model),
        MarginsDisplay.from_estimators({"boosted": given.model}, given.bags, given.y),
    ):
        figure = shown.figure_
        figure.canvas.draw()
        page = figure.bbox
        written = [t for ax in figure.axes for t in (*ax.texts, ax.title, ax.xaxis.label) if t.get_text() and ax.axison]
        written += [t for ax in figure.axes if not ax.axison for t in ax.texts]
        boxes = [text.get_window_extent() for text in written]
        for k, box in enumerate(boxes):
            assert box.x0 >= page.x0
            assert box.y0 >= page.y0
            assert box.x1 <= page.x1
            assert box.y1 <= page.y1
            assert not any(box.overlaps(other) for other in boxes[k + 1 :])


def test_convergence_is_the_history_of_the_master_with_both_bounds(golden_bags) -> None:
    bags, y = golden_bags
    model = ShapeletBoost(oracle="exact", dictionary="all", nu=0.5, bias=False, two_sided=False, solver="highs")
    model.fit(bags, y)
    result = model.result_
    shown = ConvergenceDisplay.from_estimator(model, ax=axes())
    drawn = {line.get_label(): line.get_ydata() for line in shown.ax_.lines}
    np.testing.assert_array_equal(drawn["master (lower bound)"], [step.objective for step in result.history])
    upper = drawn["upper bound, proved"]
    assert upper[-1] == result.bound
    assert (np.diff(upper) <= 0).all()
    assert (upper >= drawn["master (lower bound)"] - 1e-9).all()
    # A row was added because an oracle found that the previous master violates it.
    edges = drawn["best edge found (no bound)"]
    assert (edges[1:] >= drawn["master (lower bound)"][:-1]).all()
    (gap,) = ConvergenceDisplay.from_result(result, scale="log", ax=axes()).ax_.lines
    expected = upper - drawn["master (lower bound)"]
    large = expected > 1e-12
    np.testing.assert_allclose(gap.get_ydata()[large], expected[large])


def test_convergence_of_a_maximised_master_names_the_bounds_by_their_sides() -> None:
    bags, y = np.random.default_rng(0).normal(size=(20, 4, 2)), np.repeat([-1, 1], 10)
    bags[y == 1, 0] += 2
    model = MILES(lam=0.1, columns="generated").fit(bags, y)
    assert len(model.result_.history) > 1
    labels = [line.get_label() for line in ConvergenceDisplay.from_estimator(model, ax=axes()).ax_.lines]
    assert "master (upper bound)" in labels
    assert "upper bound, proved" not in labels


def test_convergence_is_drawn_without_a_proof_and_for_other_schemes(golden_bags) -> None:
    bags, y = golden_bags
    model = ShapeletBoost(dictionary="all", nu=0.5, solver="highs").fit(bags, y)
    labels = [line.get_label() for line in ConvergenceDisplay.from_estimator(model, ax=axes()).ax_.lines]
    assert labels == ["master (lower bound)", "best edge found (no bound)"]
    (gap,) = ConvergenceDisplay.from_estimator(model, scale="log", ax=axes()).ax_.lines
    assert gap.get_label() == "best edge − value"
    steps = [step.objective for step in model.result_.history]
    descent = MISVM().fit(bags, y)
    (line,) = ConvergenceDisplay.from_estimator(descent, ax=axes()).ax_.lines
    np.testing.assert_array_equal(line.get_ydata(), [step.objective for step in descent.result_.history])
    assert len(steps) > 1
    ConvergenceDisplay.from_estimator(descent, scale="log", ax=axes())
    several = case("bags", classes=3).model
    labels = [line.get_label() for line in ConvergenceDisplay.from_estimator(several, ax=axes()).ax_.lines]
    assert [label for label in labels if "master" in label] == [f"class {k}: master (lower bound)" for k in range(3)]
    with pytest.raises(ParameterError, match="scale must be one of"):
        ConvergenceDisplay.from_estimator(model, scale="cubic", ax=axes())


@pytest.mark.filterwarnings("ignore::milopt.errors.MiloptWarning")
def test_an_alternation_shows_termination_result_and_changed_witnesses(golden_bags) -> None:
    bags, y = golden_bags
    model = MIORDM(lam=16.0, theta=0.5, mu=0.5, kernel=RBF(0.5), scale="none", scheme="representatives").fit(bags, y)
    shown = ConvergenceDisplay.from_estimator(model)
    history = model.result_.history
    assert shown.ax_.get_title() == "cycle after 3 steps"
    (ring,) = shown.ax_.collections
    best = int(np.argmin([step.objective for step in history]))
    np.testing.assert_allclose(ring.get_offsets(), [[best + 1, history[best].objective]])
    beside = next(ax for ax in shown.figure_.axes if ax is not shown.ax_)
    assert [bar.get_height() for bar in beside.patches] == [step.changed for step in history]
    settled = ConvergenceDisplay.from_estimator(model.set_params(scheme="ccp").fit(bags, y))
    assert settled.ax_.get_title().startswith("fixed point after")


@pytest.mark.filterwarnings("ignore::milopt.errors.MiloptWarning")
def test_margins_are_scores_times_labels_with_their_mean_and_deviation(golden_bags) -> None:
    bags, y = golden_bags
    words = np.where(y > 0, "yes", "no")
    models = {"MIORDM": MIORDM(random_state=0).fit(bags, words), "MIRSVM": MIRSVM().fit(bags, words)}
    shown = MarginsDisplay.from_estimators(models, bags, words, ax=axes())
    for margins, model in zip(shown.margins, models.values(), strict=True):
        expected = y * model.decision_function(bags)
        np.testing.assert_allclose(margins.values, expected)
        assert (margins.mean, margins.standard_deviation) == pytest.approx((expected.mean(), expected.std()))
    curves = [line for line in shown.ax_.lines if line.get_drawstyle() == "steps-post"]
    for margins, line in zip(shown.margins, curves, strict=True):
        np.testing.assert_allclose(line.get_xdata(), np.sort(margins.values))
        assert line.get_ydata()[-1] == 1.0
    labels = [text.get_text() for text in shown.ax_.get_legend().get_texts()]
    assert labels[0].startswith(f"MIORDM: {shown.margins[0].mean:.2f} ±")
    with pytest.raises(ParameterError, match="models is empty"):
        MarginsDisplay.from_estimators({}, bags, words)
    for wrong, message in (
        ({"MIRSVM": MIRSVM()}, "This MIRSVM is not fitted yet; call fit first."),
        ({"MIRSVM": MIRSVM}, "MIRSVM must be a fitted model, not the class MIRSVM."),
        ({"MIRSVM": 3}, "MIRSVM must be a fitted model, not int."),
        (list(models.values()), 'models must be a mapping such as {"name": model}, not list.'),
        (models["MIRSVM"], 'models must be a mapping such as {"name": model}, not MIRSVM.'),
    ):
        with pytest.raises(ParameterError) as caught:
            MarginsDisplay.from_estimators(wrong, bags, words)
        assert str(caught.value) == message
    with pytest.raises(BagsError, match="does not have class 1"):
        MarginsDisplay.from_estimators(models, bags, y)
    with pytest.raises(BagsError, match="2 labels for 6 bags"):
        MarginsDisplay.from_estimators(models, bags, words[:2])
    several = MIORDM().fit(bags, [0, 1, 2, 0, 1, 2])
    with pytest.raises(ParameterError, match="separates 3 classes"):
        MarginsDisplay.from_estimators({"three": several}, bags, [0, 1, 2, 0, 1, 2])


def ranks_of(values: dict[str, float], sets: int, control: str | None = None):
    """Rank models whose accuracies differ from set to set by the same small amount."""
    shifted = {name: [value + 0.001 * (k % 3) for k in range(sets)] for name, value in values.items()}
    return rank(evaluations_as_json(shifted), control=control)


def test_a_bar_joins_models_that_do_not_differ_significantly() -> None:
    values = {"best": 0.9, "good": 0.89, "fair": 0.7, "bad": 0.5}
    pairs = CriticalDifferenceDisplay.from_ranking(ranks_of(values, 10))
    # Mean ranks are 1 to 4 and the critical difference is 1.48, so that only neighbours do not differ.
    assert pairs.bars_["Nemenyi"] == [("best", "good"), ("good", "fair"), ("fair", "bad")]
    # Every pair is ranked alike on all 10 sets: Wilcoxon's test finds all differences.
    assert pairs.bars_["Wilcoxon-Holm"] == []
    assert "(no such bar)" in texts(pairs.ax_)
    control = CriticalDifferenceDisplay.from_ranking(ranks_of(values, 10, "best"), ax=axes())
    assert control.bars_ == {"Bonferroni-Dunn": [("best", "good")], "Wilcoxon-Holm": []}
    assert "Bonferroni-Dunn" in texts(control.ax_)
    few = CriticalDifferenceDisplay.from_ranking(ranks_of(values, 4))
    assert few.bars_["Wilcoxon-Holm"] == [("best", "good", "fair", "bad")]
    assert "With 4 data sets, Wilcoxon's test cannot find a difference" in texts(few.ax_)


def test_the_ruler_is_as_long_as_the_critical_difference_and_the_axis_goes_from_1_to_k() -> None:
    ranking = ranks_of({"a": 0.9, "b": 0.8, "c": 0.7, "d": 0.6}, 8)
    shown = CriticalDifferenceDisplay.from_ranking(ranking)
    ruler = shown.ax_.lines[0]
    assert np.ptp(ruler.get_xdata()) == pytest.approx(ranking.critical_difference)
    assert shown.ax_.spines["top"].get_bounds() == (1, 4)
    assert shown.ax_.get_xticks().tolist() == [1, 2, 3, 4]
    # Best on the left: the place of a name is its mean rank.
    names = {text.get_text(): text.xy[0] for text in shown.ax_.texts}
    assert names["a (1.00)"] < 1
    assert names["d (4.00)"] > 4


def test_wilcoxon_holm_is_that_of_a_step_down_by_hand() -> None:
    values = np.random.default_rng(0).normal(size=(12, 4)) + np.array([0.0, 0.3, 0.6, 2.0])
    corrected = wilcoxon_holm_p_values(values)
    pairs = [(a, b) for a in range(4) for b in range(a + 1, 4)]
    raw = {pair: wilcoxon(values[:, pair[0]], values[:, pair[1]]).pvalue for pair in pairs}
    largest = 0.0
    for step, pair in enumerate(sorted(pairs, key=raw.__getitem__)):
        largest = max(largest, min(1.0, raw[pair] * (6 - step)))
        assert corrected[pair] == corrected[pair[::-1]] == pytest.approx(largest)
    against = wilcoxon_holm_p_values(values, control=3)
    assert np.isnan(against[0, 1])
    assert against[3, 0] == pytest.approx(min(3 * wilcoxon(values[:, 3], values[:, 0]).pvalue, 1), rel=1e-12)
    assert (wilcoxon_holm_p_values(np.ones((5, 3))) == 1).all()


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("control", [None, "a-model-with-a-rather-long-name-19"])
def test_every_label_of_many_ranks_and_the_note_are_within_the_figure(control) -> None:
    rng = np.random.default_rng(0)
    scores = {f"a-model-with-a-rather-long-name-{k:02d}": rng.random(10) + 0.02 * k for k in range(20)}
    shown = CriticalDifferenceDisplay.from_ranking(rank(evaluations_as_json(scores), control=control))
    shown.figure_.draw_without_rendering()
    width = shown.figure_.bbox.width
    for text in shown.ax_.texts:
        extent = text.get_window_extent()
        assert 0 <= extent.x0 < extent.x1 <= width


def test_models_of_equal_rank_are_joined_by_a_visible_bar() -> None:
    shown = CriticalDifferenceDisplay.from_ranking(rank(evaluations_as_json({name: [0.5] * 4 for name in "abc"})))
    assert shown.bars_ == {"Nemenyi": [("a", "b", "c")], "Wilcoxon-Holm": [("a", "b", "c")]}
    bars = [line for line in shown.ax_.lines if line.get_linewidth() > 3]
    assert all(np.ptp(bar.get_xdata()) > 0 for bar in bars)


def test_curves_of_nine_models_differ_in_colour_or_style() -> None:
    shown = MarginsDisplay(tuple(Margins(f"model {k}", np.arange(5.0) + k) for k in range(9))).plot()
    curves = [line for line in shown.ax_.lines if line.get_drawstyle() == "steps-post"]
    assert len({(line.get_color(), line.get_linestyle()) for line in curves}) == 9
    shown.figure_.draw_without_rendering()
    assert shown.ax_.yaxis.label.get_window_extent().height < shown.ax_.bbox.height


def test_invalid_input_of_displays_is_rejected(monkeypatch: pytest.MonkeyPatch) -> None:
    given = case("bags")
    with pytest.raises(BagsError, match="has no series to draw"):
        MaximisersDisplay.from_estimator(given.model, given.bags[0])
    data = load_data("gunpoint", window=30)
    shapes = from_series(data.bags.series, length=30, stride=10, znormalise=True)
    model = ShapeletBoost(atoms=10, random_state=0).fit(shapes, data.labels)
    with pytest.raises(BagsError, match=r"bags\[i:i \+ 1\]"):
        MaximisersDisplay.from_estimator(model, shapes[0])
    assert MaximisersDisplay.from_estimator(model, shapes[:1], ax=axes()).windows_
    with pytest.raises(MiloptError, match="in a grid"):
        PatternsDisplay.from_estimator(given.model, ax=Figure().add_axes((0, 0, 1, 1)))
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    with pytest.raises(MiloptError, match=r"pip install 'milopt\[plot\]'"):
        PatternsDisplay.from_estimator(given.model)
