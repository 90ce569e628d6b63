"""Plots of measurements: accuracies over folds, times of solvers, performance profiles, scaling, one-step fits."""

from __future__ import annotations

import re

import matplotlib as mpl
import numpy as np
import pytest
from matplotlib.figure import Figure

import milopt
from milopt.display import (
    AccuracyStripsDisplay,
    ConvergenceDisplay,
    InstanceHeatMapDisplay,
    MarginsDisplay,
    PerformanceProfileDisplay,
    ScalingDisplay,
    SolverTimesDisplay,
    style,
)
from milopt.display.margins import Margins
from milopt.errors import BagsError, MiloptError, ParameterError
from milopt.models import MILES, MISVM, SetKernelSVM

DATA = milopt.data.toy_bags("clusters", bags=24)


@pytest.fixture(autouse=True)
def close_figures():
    import matplotlib.pyplot as plt

    yield
    plt.close("all")


@pytest.fixture(scope="module")
def comparison():
    return milopt.compare(DATA, ["set-kernel-svm", "miles"], ["highs", "clarabel", "libsvm"], folds=3, n_jobs=1)


def axes():
    return Figure(layout="constrained").add_subplot()


def test_strips_have_every_fold_once_and_the_means_of_the_table() -> None:
    report = milopt.evaluate(DATA, ["ls-svm", "set-kernel-svm"], "2x3", grid={})
    shown = AccuracyStripsDisplay.from_report(report, ax=axes())
    for row, strip in zip(report.table, shown.strips, strict=True):
        assert (strip.name, strip.mean, strip.standard_error) == (row.model, row.accuracy, row.standard_error)
        accuracies = [record.accuracy for record in report.records if record.model == row.model]
        assert sorted(strip.values) == sorted(accuracies)
    points = [held.get_offsets() for held in shown.ax_.collections if len(held.get_offsets()) == 6]
    assert len(points) == 2
    # Equal accuracies are above each other, not on top of each other.
    assert all(len({tuple(point) for point in strip.tolist()}) == 6 for strip in points)
    assert [label.get_text() for label in shown.ax_.get_yticklabels()] == ["ls-svm", "set-kernel-svm"]


def test_strips_of_several_data_sets_are_panels_with_one_axis() -> None:
    sets = [milopt.data.toy_bags(name, bags=24, seed=0) for name in ("clusters", "spanning")]
    evaluations = milopt.evaluate(sets, ["ls-svm", "set-kernel-svm"], "3", grid={})
    shown = AccuracyStripsDisplay.from_report(evaluations, ax=axes())
    assert [panel.get_title() for panel in shown.axes_] == [data.name for data in sets]
    assert len({panel.get_xlim() for panel in shown.axes_}) == 1
    for report, panel in zip(evaluations, shown.axes_, strict=True):
        drawn = np.sort(
            np.concatenate([held.get_offsets()[:, 0] for held in panel.collections if held.get_offsets().size > 2])
        )
        np.testing.assert_allclose(drawn, np.sort([record.accuracy for record in report.records]))
    with pytest.raises(ParameterError, match="empty"):
        AccuracyStripsDisplay.from_report([])


def test_the_axis_of_accuracies_ends_at_1() -> None:
    report = milopt.evaluate(DATA, "set-kernel-svm", "3", grid={})
    assert {record.accuracy for record in report.records} == {1.0}
    assert AccuracyStripsDisplay.from_report(report, ax=axes()).ax_.get_xlim()[1] == 1.0


def test_strips_of_a_comparison_have_one_strip_per_model(comparison) -> None:
    shown = AccuracyStripsDisplay.from_comparison(comparison, ax=axes())
    assert [strip.name for strip in shown.strips] == ["set-kernel-svm", "miles"]
    assert shown.strips[0].mean == pytest.approx(comparison.cells[0].accuracy)
    with pytest.raises(ParameterError, match="no accuracies to draw"):
        AccuracyStripsDisplay(()).plot(axes())


def test_times_are_those_of_the_cells_that_ran(comparison) -> None:
    shown = SolverTimesDisplay.from_comparison(comparison, ax=axes())
    ran = [cell for cell in comparison.cells if not cell.is_not_run]
    assert [(time.model, time.solver, time.seconds) for time in shown.times] == [
        (cell.model, cell.solver, cell.seconds) for cell in ran
    ]
    drawn = sum(len(held.get_offsets()) for held in shown.ax_.collections)
    assert drawn == len(ran) < len(comparison.cells)
    with pytest.raises(ParameterError, match="no times to draw"):
        SolverTimesDisplay(()).plot(axes())


def test_a_profile_is_the_share_of_problems_within_a_factor_of_the_best() -> None:
    seconds = {"a": [1.0, 2.0, 4.0, None], "b": [2.0, 1.0, None, None]}
    shown = PerformanceProfileDisplay.from_seconds(seconds, ax=axes())
    # The fourth problem is solved by none and is left out.
    np.testing.assert_array_equal(shown.ratios, [[1, 2], [2, 1], [1, np.inf]])
    assert [shown.solved_share("a", tau) for tau in (1.0, 1.99, 2.0)] == pytest.approx([2 / 3, 2 / 3, 1])
    assert [shown.solved_share("b", tau) for tau in (1.0, 2.0, 1e9)] == pytest.approx([1 / 3, 2 / 3, 2 / 3])
    for line, name in zip(shown.ax_.lines, ("a", "b"), strict=True):
        x, y = line.get_data()
        assert y[-1] == pytest.approx(shown.solved_share(name, np.inf) if name == "a" else 2 / 3)
        assert (np.diff(x) >= 0).all()
        assert (np.diff(y) >= 0).all()
    with pytest.raises(ParameterError, match="one time per problem"):
        PerformanceProfileDisplay.from_seconds({"a": [1.0], "b": []})
    with pytest.raises(ParameterError, match="No solver has solved"):
        PerformanceProfileDisplay.from_seconds({"a": [None]})


def test_a_profile_of_comparisons_counts_programs_that_are_not_supported_as_not_solved(comparison) -> None:
    shown = PerformanceProfileDisplay.from_comparisons([comparison], ax=axes())
    assert shown.names == ("highs", "clarabel", "libsvm")
    assert shown.ratios.shape == (2, 3)
    assert shown.solved_share("libsvm", np.inf) == 1.0
    assert np.isinf(shown.ratios[1, 2])
    assert shown.solved_share("highs", 1e9) == 1.0


def test_scaling_recovers_the_exponent_of_a_power_law() -> None:
    n = np.array([10.0, 100.0, 1000.0])
    shown = ScalingDisplay.from_seconds(
        n, {"cube": 2e-6 * n**3, "part": [0.1, 1.0, np.nan], "one": [1, np.nan, np.nan]}
    )
    assert shown.exponents_["cube"] == pytest.approx(3.0)
    assert shown.exponents_["part"] == pytest.approx(1.0)
    assert np.isnan(shown.exponents_["one"])
    assert "cube: $n^{3.00}$" in [text.get_text() for text in shown.ax_.get_legend().get_texts()]
    for wrong in ({"a": [1.0, 2.0]}, {"a": [1.0, 0.0, 2.0]}):
        with pytest.raises(ParameterError, match="one time above 0 per size"):
            ScalingDisplay.from_seconds(n, wrong)
    with pytest.raises(ParameterError, match="at least two sizes"):
        ScalingDisplay.from_seconds([1.0], {"a": [1.0]})


def test_scaling_of_models_fits_growing_parts() -> None:
    shown = ScalingDisplay.from_estimators({"SVM": SetKernelSVM()}, DATA.bags, DATA.labels, [8, 16, 24], ax=axes())
    assert shown.sizes.tolist() == [8, 16, 24]
    assert (shown.seconds["SVM"] > 0).all()
    with pytest.raises(ParameterError, match="25 bags cannot be chosen from 24"):
        ScalingDisplay.from_estimators({"SVM": SetKernelSVM()}, DATA.bags, DATA.labels, [25])


def test_cells_lie_at_the_coordinates_in_the_colour_of_their_scores() -> None:
    data = milopt.data.toy_bags("clusters", bags=20, size=6)
    model = MISVM(positive=1).fit(data.bags, data.labels)
    places = np.array([[8 * column, 4 * row] for row in range(2) for column in range(3)])
    shown = InstanceHeatMapDisplay.from_estimator(model, data.bags[0], places, ax=axes())
    assert shown.cell == (8.0, 4.0)
    (scores,) = model.instance_scores([data.bags[0]])
    np.testing.assert_allclose(shown.cells_.get_array(), scores)
    middles = [path.get_extents().intervalx.mean() for path in shown.cells_.get_paths()]
    np.testing.assert_allclose(middles, places[:, 0])
    low, high = shown.cells_.get_clim()
    assert high == -low == np.abs(scores).max()
    (frame,) = shown.ax_.patches
    assert frame.get_x() == places[scores.argmax(), 0] - 4
    bottom, top = shown.ax_.get_ylim()
    assert bottom > top
    image = InstanceHeatMapDisplay.from_estimator(model, data.bags[0], places, image=np.zeros((8, 24)), ax=axes())
    assert len(image.ax_.images) == 1
    with pytest.raises(BagsError, match="one row"):
        InstanceHeatMapDisplay.from_estimator(model, data.bags[0], places[:3])


def test_a_fit_in_one_step_shows_its_residuals_and_the_tolerance() -> None:
    model = MILES(lam=0.1).fit(DATA.bags, DATA.labels)
    shown = ConvergenceDisplay.from_estimator(model, ax=axes())
    certificate = model.result_.certificate
    drawn = shown.ax_.collections[1].get_offsets()[:, 0]
    expected = [certificate.primal, certificate.dual, certificate.gap]
    np.testing.assert_allclose(drawn, np.maximum(expected, 1e-17))
    assert shown.ax_.lines[0].get_xdata()[0] == milopt.Options().tolerance
    assert shown.ax_.get_title() == f"solved in one step; objective {model.result_.objective:.8g}"
    program = milopt.Program("contradiction")
    x = program.variable("x", lower=1)
    program.minimize(x)
    program.subject_to(x <= 0)
    with pytest.raises(MiloptError, match="has no steps to draw"):
        ConvergenceDisplay.from_result(milopt.solve(program))


def test_saved_pictures_embed_truetype_fonts_and_leave_the_settings_of_others_alone(tmp_path) -> None:
    display = MarginsDisplay((Margins("a", np.arange(4.0)),)).plot()
    before = mpl.rcParams.copy()
    display.save(tmp_path / "a.pdf")
    display.figure_.savefig(tmp_path / "b.pdf")
    for name in ("a.pdf", "b.pdf"):
        content = (tmp_path / name).read_bytes()
        assert b"/FontFile2" in content or b"/Type0" in content
        assert b"/Type3" not in content
    display.save(tmp_path / "a.svg")
    assert ">margin of a bag, y F(B)</text>" in (tmp_path / "a.svg").read_text()
    assert dict(mpl.rcParams) == dict(before)
    with pytest.raises(MiloptError, match="has not been drawn"):
        MarginsDisplay((Margins("a", np.arange(4.0)),)).save(tmp_path / "c.pdf")


def test_axes_of_a_styled_figure_have_the_sizes_of_the_style() -> None:
    from milopt.picture import create_figure
    from milopt.picture_style import MATPLOTLIB_SETTINGS

    above, below = create_figure(4, 3, in_pyplot=False).subplots(2)
    for each in (above, below):
        assert not each.spines["top"].get_visible()
        assert each.xaxis.get_ticklabels()[0].get_fontsize() == MATPLOTLIB_SETTINGS["xtick.labelsize"]


def test_the_style_leaves_out_titles_and_notes_and_sets_the_width() -> None:
    times = [100, 200, 400], {"fit": [0.1, 0.4, 1.6]}
    usual = ScalingDisplay.from_seconds(*times)
    with style(titles=False, notes=False, width=3.3, settings={"font.family": "serif"}):
        shown = ScalingDisplay.from_seconds(*times)
        profile = PerformanceProfileDisplay.from_seconds({"a": [1.0], "b": [2.0]})
    assert usual.ax_.get_title()
    assert not shown.ax_.get_title()
    assert shown.figure_.get_figwidth() == 3.3
    ratio = usual.figure_.get_figheight() / usual.figure_.get_figwidth()
    assert shown.figure_.get_figheight() / 3.3 == pytest.approx(ratio)
    assert shown.ax_.xaxis.label.get_family() == ["serif"]
    assert not profile.ax_.texts
    assert ScalingDisplay.from_seconds(*times).ax_.get_title()


def test_colours_are_distinct_in_every_kind_of_colour_vision() -> None:
    """Compare the colours as a person without red cones or without green cones sees them (Vienot et al., 1999)."""
    from matplotlib.colors import to_rgb

    from milopt.picture_style import COLOURS

    simulations = {
        "protan": [[0.1121, 0.8853, -0.0005], [0.1127, 0.8897, -0.0001], [0.0045, 0.0, 1.0019]],
        "deutan": [[0.2920, 0.7054, -0.0003], [0.2934, 0.7089, 0.0], [-0.02098, 0.02559, 1.0019]],
    }
    linear = np.array([to_rgb(colour) for colour in COLOURS]) ** 2.2
    for matrix in simulations.values():
        seen = np.clip(linear @ np.array(matrix).T, 0, 1) ** (1 / 2.2)
        distances = np.linalg.norm(seen[:, None] - seen, axis=2) + np.eye(len(COLOURS))
        assert distances.min() > 0.1


def test_every_display_is_drawn_in_the_style() -> None:
    import milopt.display as displays
    from milopt.display.display import Display

    for name in displays.__all__:
        if name != "style":
            cls = getattr(displays, name)
            assert issubclass(cls, Display)
            assert hasattr(cls.plot, "__wrapped__"), f"{name}.plot is not decorated by draws"
            assert not re.search(r"\bax_=", repr(cls.__init__))
