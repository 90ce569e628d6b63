"""A mutated model or Gram file is refused in one sentence, or gives what the file gave that it was made from."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.fuzz.mutated_files import BYTES, CASES, run


@pytest.fixture(scope="module", params=sorted(CASES))
def cases(request: pytest.FixtureRequest):
    return CASES[request.param]()


@pytest.mark.parametrize("seed", [1])
def test_a_mutated_file_is_refused_in_one_sentence_or_gives_the_same(cases, seed: int, tmp_path: Path) -> None:
    outcomes = []
    for number, name, done, found, _, grown in run(cases, 150, seed, tmp_path / "mutated"):
        assert found in ("refused", "equal"), f"file {number} of seed {seed}, {name}: {done}\n{found}"
        assert grown < BYTES, f"file {number} of seed {seed}, {name}: {done} takes {grown >> 20} MB"
        outcomes.append(found)
    assert {"refused", "equal"} == set(outcomes), "mutations are neither always harmless nor never"
