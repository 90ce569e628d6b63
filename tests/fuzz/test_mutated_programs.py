"""A mutated MPS, LP or CBF file is refused in one sentence or gives a program, in little time."""

from __future__ import annotations

from pathlib import Path

from tests.fuzz.mutated_programs import SECONDS, run


def test_a_mutated_program_file_is_refused_in_one_sentence_or_read(tmp_path: Path) -> None:
    outcomes = set()
    for number, name, found, seconds in run(400, 7, tmp_path):
        assert found in ("refused", "read"), f"file {number}, {name}\n{found}"
        assert seconds < SECONDS, f"file {number}, {name}"
        outcomes.add((name, found))
    assert len(outcomes) == 8, "mutations are neither always harmless nor never"
