"""Random convex programs over all atoms: no certified answer is wrong, none is rejected, and none crashes.

`python -m tests.atoms.run --count 2000` runs more of them. A failure names its seed: `python -m tests.atoms.run --show
SEED` prints the program.
"""

from __future__ import annotations

import pytest

from tests.atoms.judge import AtomVerdict, judge_program
from tests.atoms.kinds import KINDS
from tests.atoms.run import format_judgement
from tests.atoms.sampling import draw

PROGRAMS, ALWAYS, PROGRAMS_PER_TASK = 2400, 150, 25


@pytest.mark.thorough(unless={"first": list(range(0, ALWAYS, PROGRAMS_PER_TASK))})
@pytest.mark.parametrize("first", range(0, PROGRAMS, PROGRAMS_PER_TASK))
def test_certified_answers_agree_with_cvxpy(first: int) -> None:
    seeds = range(first, first + PROGRAMS_PER_TASK)
    judgements = [judgement for seed in seeds for judgement in judge_program(draw(seed))]
    failures = [
        format_judgement(judgement)
        for judgement in judgements
        if judgement.verdict.is_failure or judgement.verdict is AtomVerdict.REFUSED
    ]
    assert not failures, "\n".join(failures)
    interior = [j for j in judgements if j.solver in ("clarabel", "ecos", "cvxpy:CLARABEL")]
    assert sum(judgement.verdict is AtomVerdict.EQUAL for judgement in interior) > 0.9 * len(interior)


def test_every_atom_is_drawn_often_enough() -> None:
    counts: dict[str, int] = {}
    for seed in range(250):
        for kind in draw(seed).kinds:
            counts[kind] = counts.get(kind, 0) + 1
    assert len(counts) == len(KINDS)
    assert min(counts.values()) >= 20
