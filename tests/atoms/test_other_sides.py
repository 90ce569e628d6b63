"""Check the convex-concave procedure on programs with an atom on its other side.

No step increases the objective, and a certified point solves the convex program that is linearised at that point.
"""

from __future__ import annotations

import pytest

from tests.atoms.dc_sampling import draw_dc
from tests.atoms.judge import AtomVerdict
from tests.atoms.judge_dc import judge_dc_program
from tests.atoms.run import format_judgement

PROGRAMS, ALWAYS, PROGRAMS_PER_TASK = 1000, 50, 25


@pytest.mark.thorough(unless={"first": list(range(0, ALWAYS, PROGRAMS_PER_TASK))})
@pytest.mark.parametrize("first", range(0, PROGRAMS, PROGRAMS_PER_TASK))
def test_certified_points_are_stationary(first: int) -> None:
    seeds = range(first, first + PROGRAMS_PER_TASK)
    judgements = [judgement for seed in seeds for judgement in judge_dc_program(draw_dc(seed))]
    failures = [format_judgement(judgement) for judgement in judgements if judgement.verdict.is_failure]
    assert not failures, "\n".join(failures)
    assert sum(judgement.verdict is AtomVerdict.STATIONARY for judgement in judgements) > len(judgements) / 2
