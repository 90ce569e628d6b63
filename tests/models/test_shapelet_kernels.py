"""Boosted shapelets with any similarity: kernels supported by each ball, and patterns stretched in time."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from milopt import DTW, RBF, GlobalAlignment, Kernel, Linear, Polynomial, Precomputed, load_model
from milopt.declaration.bags.sliding_windows import sliding_windows
from milopt.declaration.kernels.dictionary import choose_dictionary
from milopt.errors import ConvexityError, MiloptError, ParameterError
from milopt.model_registry.settings import format_settings, parse_grid, parse_settings
from milopt.models.shapelet_boost import ShapeletBoost

SEMIDEFINITE = (Linear(), Polynomial(2), GlobalAlignment(), GlobalAlignment("median", triangular=4))
SIMILARITIES = (DTW(), DTW("median", band=3))
BALLS = ("l1", "hilbert", "one-hot")


def stretched_series(count: int, seed: int, longest: int = 8) -> tuple[list[np.ndarray], np.ndarray]:
    """Make series with steps of height 2, 1, 3 or 1, 2, 3, depending on the label, each of random duration."""
    rng, y = np.random.default_rng(seed), np.arange(count) % 2
    series = []
    for label in y:
        heights, lengths = ((2, 1, 3), (1, 2, 3))[label], rng.integers(2, longest + 1, size=3)
        start = int(rng.integers(0, 6))
        noise = rng.normal(0, 0.1, size=3 * longest + 15)
        noise[start : start + lengths.sum()] += np.repeat(heights, lengths)
        series.append(noise[:, None])
    return series, y


def model(**settings: object) -> ShapeletBoost:
    return ShapeletBoost(
        **{"window": 16, "atoms": 20, "scale": "none", "solver": "native", "random_state": 0} | settings
    )


def laplace(A: np.ndarray, B: np.ndarray) -> np.ndarray:
    return np.asarray(np.exp(-0.2 * np.abs(A[:, None] - B[None]).sum(axis=2)))


@pytest.mark.parametrize("ball", BALLS)
@pytest.mark.parametrize(
    "kernel", [*SEMIDEFINITE, *SIMILARITIES, laplace], ids=lambda kernel: getattr(kernel, "__name__", str(kernel))
)
def test_every_kernel_is_fitted_in_every_ball_that_supports_it(kernel: Kernel, ball: str) -> None:
    series, y = stretched_series(30, 0)
    boosted = model(kernel=kernel, ball=ball, dictionary="sample")
    if ball == "hilbert" and kernel in SIMILARITIES:
        with pytest.raises(ConvexityError, match="not positive semidefinite: smallest eigenvalue -"):
            boosted.fit(series, y)
        return
    boosted.fit(series, y)
    scores = boosted.decision_function(series)
    assert boosted.score(series, y) >= 0.8
    np.testing.assert_allclose(scores, boosted.result_.score(boosted._scale_new_bags(series)), atol=1e-9)


def test_stretched_patterns_are_found_by_alignment_kernels() -> None:
    samples = [stretched_series(70, seed, longest=12) for seed in (1, 2, 3)]

    def mistakes(kernel: Kernel) -> float:
        fitted = (model(kernel=kernel, window=30).fit(series[:24], y[:24]) for series, y in samples)
        return np.mean(
            [1 - model.score(series[24:], y[24:]) for model, (series, y) in zip(fitted, samples, strict=True)]
        )

    assert mistakes(DTW()) <= 0.03
    assert mistakes(GlobalAlignment("16/median")) <= 0.15
    assert mistakes(RBF("median")) >= 0.1


def test_a_model_with_an_alignment_kernel_is_saved_and_loaded(tmp_path) -> None:
    series, y = stretched_series(20, 2)
    for kernel in (DTW("2/median", band=4), GlobalAlignment(triangular=5)):
        for ball in ("l1", "one-hot"):
            fitted = model(kernel=kernel, ball=ball).fit(series, y)
            fitted.save(tmp_path / "model")
            other = load_model(tmp_path / "model", ShapeletBoost)
            assert other.kernel == kernel
            np.testing.assert_allclose(other.decision_function(series), fitted.decision_function(series), atol=1e-12)


@pytest.mark.parametrize("ball", ["l1", "hilbert"])
def test_oracles_without_a_native_algorithm_use_the_same_windows(ball: str, monkeypatch) -> None:
    from milopt.solvers.native.hilbert_ball import hilbert_ball
    from milopt.solvers.native.l1_ball import l1_ball

    series, y = stretched_series(8, 3, longest=4)
    boosted = model(ball=ball, window=8, atoms=5, oracle="ccp")
    expected = boosted.fit(series, y).result_.objective
    descend = l1_ball.descend
    monkeypatch.setattr(l1_ball, "descend", lambda *given: descend(*given)._replace(end=-1))
    monkeypatch.setattr(hilbert_ball, "MAX_RELATIVE_GAP", -1.0)
    assert boosted.fit(series, y).result_.objective == pytest.approx(expected, rel=0.02)


# A Gram matrix instead of points


def rows_of_windows(seed: int) -> tuple[list[np.ndarray], np.ndarray, np.ndarray]:
    """Return bags of row numbers, the windows that these stand for, and labels."""
    series, y = stretched_series(16, seed, longest=4)
    from milopt import as_bags

    bags = sliding_windows(as_bags(series), 12)
    numbers = np.arange(bags.instances.shape[0], dtype=float)[:, None]
    return np.split(numbers, bags.offsets[1:-1]), np.asarray(bags.instances), y


@pytest.mark.parametrize("ball", BALLS)
@pytest.mark.parametrize("choice", ["sample", "all"])
def test_a_precomputed_gram_matrix_gives_the_scores_of_its_kernel(ball: str, choice: str) -> None:
    rows, windows, y = rows_of_windows(0)
    kernel = GlobalAlignment(0.05)
    settings = {"window": None, "ball": ball, "dictionary": choice, "atoms": 15}
    given = model(kernel=Precomputed(kernel(windows, windows)), **settings).fit(rows, y)
    bags = [windows[row[:, 0].astype(int)] for row in rows]
    computed = model(kernel=kernel, **settings).fit(bags, y)
    np.testing.assert_allclose(given.decision_function(rows), computed.decision_function(bags), atol=1e-5)


def test_a_precomputed_gram_has_no_centroids() -> None:
    rows, windows, y = rows_of_windows(0)
    gram = Precomputed(RBF(0.1)(windows, windows))
    with pytest.raises(ParameterError, match='precomputed kernel: use "sample", "uniform" or "all"'):
        model(kernel=gram, window=None).fit(rows, y)


@given(st.integers(0, 99), st.integers(1, 12), st.sampled_from([RBF(0.03), Linear(), Polynomial(3), DTW(0.1), laplace]))
@settings(max_examples=20, deadline=None)
def test_a_sample_is_spread_by_the_kernel(seed: int, atoms: int, kernel: Kernel) -> None:
    from milopt.declaration.kernels.kernel import as_kernel

    centres = np.random.default_rng(seed).normal(size=(6, 30))
    instances = np.repeat(centres, 5, axis=0)
    Z = np.asarray(choose_dictionary(instances, "sample", atoms, as_kernel(kernel), seed))
    # Points that coincide for the kernel are drawn once, and all distinct points are drawn if there are few.
    assert len(np.unique(Z, axis=0)) == len(Z) == min(atoms, 6)
    assert (Z[:, None] == centres[None]).all(axis=2).any(axis=1).all()


# As text


def test_alignment_kernels_are_set_as_text() -> None:
    for text, kernel in {
        "dtw": DTW(),
        "DTW(0.1)": DTW(0.1),
        "dtw(s=4/median, band=3)": DTW("4/median", 3),
        "GlobalAlignment": GlobalAlignment(),
        "globalalignment(s=0.5, triangular=7, channels=2)": GlobalAlignment(0.5, 7, 2),
    }.items():
        settings = parse_settings(ShapeletBoost, [f"kernel={text}"])
        assert settings == {"kernel": kernel}
        assert parse_settings(ShapeletBoost, format_settings(settings)) == settings
    assert parse_grid(ShapeletBoost, ["kernel=dtw(0.1),dtw(1),rbf"])["kernel"] == (DTW(0.1), DTW(1), RBF())


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ('"rbf"', "kernel is a quoted string: write kernel=rbf without quotes"),
        ("'DTW(0.1)'", r"kernel is a quoted string: write kernel=DTW\(0.1\) without quotes"),
        ("dwt", 'No kernel is called "dwt" .*did you mean "dtw"'),
        ("dtw(bend=3)", 'No argument is called "bend" in dtw; did you mean "band"'),
        ("dtw(band=-1)", "band of DTW must be a whole number of at least 0"),
    ],
)
def test_mistakes_in_text_raise_an_error_of_one_sentence(text: str, message: str) -> None:
    with pytest.raises(MiloptError, match=message):
        parse_settings(ShapeletBoost, [f"kernel={text}"])
