"""500 random programs: no certified answer is wrong, no status is wrong, nothing crashes and nothing hangs.

`python -m tests.fuzz.run --count 10000` runs more of them. A failure names its seed: `python -m tests.fuzz.run --show
SEED --solvers SOLVER` prints the program as a script.
"""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.fuzz.draw import draw
from tests.fuzz.run import WALL_SECONDS, Worker, told

PROGRAMS, PORTION = 500, 25


@pytest.fixture(scope="module")
def worker() -> Iterator[Worker]:
    one = Worker(WALL_SECONDS)
    yield one
    one.close()


@pytest.mark.parametrize("first", range(0, PROGRAMS, PORTION))
def test_answers_are_right_or_say_that_they_are_not(first: int, worker: Worker) -> None:
    judgements = []
    for seed in range(first, first + PORTION):
        description = draw(seed)
        for solver in description.solvers:
            judgements += worker.judge(seed, solver, description.theme)
    assert sum(one.verdict.is_settled for one in judgements) > len(judgements) / 2
    failures = [told(one) for one in judgements if one.verdict.is_failure]
    assert not failures, "\n".join(failures)
