"""Solve 500 random programs: no certified answer and no status is wrong, and no solve crashes or hangs.

`python -m tests.fuzz.run --count 10000` runs more of them. A failure names its seed: `python -m tests.fuzz.run --show
SEED --solvers SOLVER` prints the program as a script.
"""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.fuzz.draw import draw
from tests.fuzz.run import WALL_SECONDS, Worker, format_judgement

PROGRAMS, PROGRAMS_PER_TEST = 500, 25


@pytest.fixture(scope="module")
def worker() -> Iterator[Worker]:
    process = Worker(WALL_SECONDS)
    yield process
    process.close()


@pytest.mark.parametrize("first", range(0, PROGRAMS, PROGRAMS_PER_TEST))
def test_certified_answers_and_statuses_are_correct(first: int, worker: Worker) -> None:
    judgements = []
    for seed in range(first, first + PROGRAMS_PER_TEST):
        description = draw(seed)
        for solver in description.solvers:
            judgements += worker.judge(seed, solver, description.theme)
    assert sum(judgement.verdict.is_settled for judgement in judgements) > len(judgements) / 2
    failures = [format_judgement(judgement) for judgement in judgements if judgement.verdict.is_failure]
    assert not failures, "\n".join(failures)
