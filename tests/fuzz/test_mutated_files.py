"""A mutated model or Gram file raises an error of one sentence, or gives the results of the original file."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.fuzz.mutated_files import CASES, MAX_BYTES, run


@pytest.fixture(scope="module", params=sorted(CASES))
def cases(request: pytest.FixtureRequest):
    return CASES[request.param]()


@pytest.mark.parametrize("seed", [1])
def test_a_mutated_file_raises_a_clear_error_or_gives_the_original_results(cases, seed: int, tmp_path: Path) -> None:
    outcomes = []
    for number, name, mutation, outcome, _, memory in run(cases, 150, seed, tmp_path / "mutated"):
        assert outcome in ("refused", "equal"), f"file {number} of seed {seed}, {name}: {mutation}\n{outcome}"
        assert memory < MAX_BYTES, f"file {number} of seed {seed}, {name}: {mutation} uses {memory >> 20} MB"
        outcomes.append(outcome)
    assert {"refused", "equal"} == set(outcomes), "some mutations must be harmless, and some must raise an error"
