"""The semidefiniteness test: it agrees with eigenvalues block by block, and it respects the time limit."""

from __future__ import annotations

import numpy as np
import pytest

from milopt import Options, Program, quad_form, solve
from milopt.compilation.status import Termination
from milopt.deadline import deadline
from milopt.declaration.programs import semidefinite
from milopt.errors import TimeLimitError


@pytest.mark.parametrize("n", [1, 4, 5, 9, 12])
@pytest.mark.parametrize("seed", range(20))
def test_the_blockwise_test_agrees_with_eigenvalues(n: int, seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(semidefinite, "BLOCK_COLUMNS", 4)
    rng = np.random.default_rng(seed)
    factors = rng.normal(size=(n, int(rng.integers(1, n + 2))))
    matrix = factors @ factors.T - rng.choice([0.0, 0.1]) * np.eye(n)
    matrix = (matrix + matrix.T) / 2
    assert semidefinite.is_semidefinite(matrix) == (np.linalg.eigvalsh(matrix)[0] > -1e-9)


def test_the_semidefiniteness_test_stops_at_the_deadline() -> None:
    with deadline(0.0), pytest.raises(TimeLimitError, match="increase it"):
        semidefinite.is_semidefinite(np.eye(5))


def test_a_time_limit_that_passes_before_the_solver_starts_is_reported() -> None:
    program = Program("late")
    x = program.variable("x", 5, lower=0)
    program.minimize(quad_form(x, np.eye(5) + 0.1) - x.sum())
    with deadline(0.0):
        result = solve(program, "clarabel", options=Options(time_limit=60.0))
    assert result.termination is Termination.LIMIT
    assert "convexity" in result.message
