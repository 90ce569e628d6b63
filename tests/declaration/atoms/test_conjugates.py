"""Compare conjugates with numerical maximisation, and projections with their optimality condition."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.optimize import minimize

from milopt.declaration.atoms import Atom, log_sum_exp
from milopt.declaration.atoms.projections import (
    project_onto_capped_simplex,
    project_onto_norm1_ball,
    project_onto_simplex,
)
from milopt.declaration.atoms.segments import Segments
from milopt.testing.atom_samples import AtomSamples

from .cases import CASES, atom_of, variable

SMOOTH = (
    "huber",
    "logistic",
    "exp",
    "log_sum_exp",
    "log_sum_exp of three",
    "bag_log_sum_exp",
    "entropy",
    "sum_squares",
    "square",
    "quad_form",
    "quad_form, diagonal",
)
HOMOGENEOUS = (
    "absolute",
    "norm_inf",
    "sum_largest",
    "bag_sum_largest",
    "relative_entropy",
    "norm",
    "group_norms",
    "norm1",
    "maximum",
    "positive_part",
    "bag_max",
)


def numerical_conjugate(atom: Atom, g: np.ndarray) -> float:
    """Return max_e g'e - sum_i phi_i(e) over a box, by numerical optimisation."""
    runs = atom.segments
    low = 1e-12 if not atom.has_finite_slopes(-np.ones(runs.entry_count), np.ones(runs.entry_count), runs) else -50.0
    answer = minimize(
        lambda e: atom.value(e, runs).sum() - g @ e,
        np.full(runs.entry_count, 0.5),
        jac=lambda e: atom.slopes(e, runs) - g,
        bounds=[(low, 50.0)] * runs.entry_count,
        options={"maxiter": 5000, "maxfun": 50000, "ftol": 1e-15, "gtol": 1e-10},
    )
    return -float(answer.fun)


@pytest.mark.parametrize("name", SMOOTH)
def test_conjugates_agree_with_numerical_maximisation(name: str) -> None:
    atom = atom_of(CASES[name]())
    samples = AtomSamples(atom, 3)
    for number in range(8):
        g, conjugate = atom.conjugate(np.minimum(samples.random_slopes(number), 4.0), atom.segments)
        assert conjugate.sum() == pytest.approx(numerical_conjugate(atom, g), rel=1e-5, abs=1e-5)


@pytest.mark.parametrize("name", HOMOGENEOUS)
def test_conjugates_of_homogeneous_functions_are_zero(name: str) -> None:
    atom = atom_of(CASES[name]())
    samples = AtomSamples(atom, 3)
    for number in range(8):
        assert not atom.conjugate(samples.random_slopes(number), atom.segments)[1].any()


@pytest.mark.parametrize("name", CASES)
def test_projections_satisfy_their_optimality_condition(name: str) -> None:
    """The projection g' of g satisfies (g - g')'(h - g') <= 0 for all h in the domain of the conjugate."""
    atom = atom_of(CASES[name]())
    runs = atom.segments
    samples = AtomSamples(atom, 11)
    allowed = [atom.conjugate(samples.random_slopes(number), runs)[0] for number in range(30)]
    allowed += [atom.slopes(samples.point_with_slopes(number), runs) for number in range(30)]
    for number in range(20):
        g = samples.random_slopes(number)
        near = atom.conjugate(g, runs)[0]
        for h in allowed:
            assert (runs.sum((g - near) * (h - near)) <= 1e-7 * (1 + np.abs(g).max()) * (1 + np.abs(h).max())).all()


def test_large_slopes_are_projected_to_full_precision() -> None:
    runs = Segments([2, 3, 1])
    g = np.array([1e20, 1e20, 0.3, 0.2, -0.4, -1e300])
    np.testing.assert_allclose(project_onto_simplex(g, runs), [0.5, 0.5, 0.55, 0.45, 0.0, 1.0], rtol=1e-14, atol=1e-14)
    capped = project_onto_capped_simplex(g, runs, np.array([2, 2, 1]))
    np.testing.assert_allclose(capped, [1.0, 1.0, 2.8 / 3, 2.5 / 3, 0.7 / 3, 1.0], rtol=1e-14)
    np.testing.assert_allclose(project_onto_norm1_ball(np.array([3.0, -3.0]), Segments([2])), [0.5, -0.5])
    np.testing.assert_array_equal(project_onto_norm1_ball(np.array([0.3, -0.3]), Segments([2])), [0.3, -0.3])


@pytest.mark.parametrize("name", CASES)
@pytest.mark.parametrize("size", [1e-300, 1e8, 1e30])
def test_conjugates_are_finite_at_extreme_slopes(name: str, size: float) -> None:
    atom = atom_of(CASES[name]())
    samples = AtomSamples(atom, 0)
    g, conjugate = atom.conjugate(size * samples.random_slopes(0), atom.segments)
    assert np.isfinite(g).all()
    assert np.isfinite(conjugate).all()
    for e in (samples.point_in_domain(number) for number in range(4)):
        bound = atom.segments.sum(g * e) - conjugate
        scale = 1 + atom.segments.sum(np.abs(g * e)) + np.abs(conjugate)
        assert (bound <= atom.value(e, atom.segments) + 1e-12 * scale).all()


def test_the_conjugate_of_log_sum_exp_is_the_negative_entropy() -> None:
    atom = atom_of(log_sum_exp(variable(3)))
    g, conjugate = atom.conjugate(np.array([0.2, 0.3, 0.5]), atom.segments)
    np.testing.assert_allclose(g, [0.2, 0.3, 0.5])
    assert conjugate == pytest.approx([(g * np.log(g)).sum()])
