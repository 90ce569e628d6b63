"""A mutated MPS, LP or CBF file raises an error of one sentence or gives a program, within a few seconds."""

from __future__ import annotations

from pathlib import Path

from tests.fuzz.mutated_programs import MAX_SECONDS, run


def test_a_mutated_program_file_raises_a_clear_error_or_is_read(tmp_path: Path) -> None:
    outcomes = set()
    for number, name, outcome, seconds in run(400, 7, tmp_path):
        assert outcome in ("refused", "read"), f"file {number}, {name}\n{outcome}"
        assert seconds < MAX_SECONDS, f"file {number}, {name}"
        outcomes.add((name, outcome))
    assert len(outcomes) == 8, "of each file, some mutations must be harmless, and some must raise an error"
