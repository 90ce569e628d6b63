"""SCS agrees with interior-point solvers to 1e-6 on programs with one conic atom and up to 100 points.

The settings of SCS were tuned on some of these programs. On 960 others (`python -m tests.atoms.scs --count 10
--seed 10`), all answers of SCS were certified.
"""

from __future__ import annotations

import pytest

from tests.atoms.scs import CONIC, SIZES, compare


@pytest.mark.thorough(unless={"size": [SIZES[0]]})
@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("kind", CONIC)
def test_scs_agrees_with_interior_point_solvers(kind: str, size: int) -> None:
    seeds = (0,) if size == SIZES[0] else (0, 1, 2, 3)
    comparisons = [comparison for seed in seeds for comparison in compare(kind, size, seed)]
    assert [comparison for comparison in comparisons if not comparison.difference <= 1e-6] == []


def test_scs_runs_again_with_a_fixed_scale_if_its_point_is_inaccurate() -> None:
    """With its adaptive scale, SCS stops after 200,000 iterations with a gap of 1e-2."""
    assert max(comparison.difference for comparison in compare("exp", 20, 8)) <= 1e-6


def test_scs_runs_again_with_a_smaller_tolerance_if_exponentials_are_violated() -> None:
    """A point at a distance of 1e-9 from the cones violates a sum of 50 exponentials by 1e-6."""
    assert max(comparison.difference for comparison in compare("exp", 50, 12)) <= 1e-6
