"""Random convex programs over all atoms: no certified answer is wrong, nothing is refused and nothing crashes.

`python -m tests.atoms.run --count 2000` runs more of them. A failure names its seed: `python -m tests.atoms.run --show
SEED` prints the program.
"""

from __future__ import annotations

import pytest

from tests.atoms.grow import draw
from tests.atoms.judge import Verdict, judged
from tests.atoms.kinds import KINDS
from tests.atoms.run import told

PROGRAMS, ALWAYS, PORTION = 2400, 150, 25


@pytest.mark.thorough(unless={"first": list(range(0, ALWAYS, PORTION))})
@pytest.mark.parametrize("first", range(0, PROGRAMS, PORTION))
def test_certified_answers_are_those_of_cvxpy(first: int) -> None:
    judgements = [one for seed in range(first, first + PORTION) for one in judged(draw(seed))]
    failures = [told(one) for one in judgements if one.verdict.is_failure or one.verdict is Verdict.REFUSED]
    assert not failures, "\n".join(failures)
    interior = [one for one in judgements if one.solver in ("clarabel", "ecos", "cvxpy:CLARABEL")]
    assert sum(one.verdict is Verdict.EQUAL for one in interior) > 0.9 * len(interior)


def test_every_atom_is_drawn_often_enough() -> None:
    counts: dict[str, int] = {}
    for seed in range(250):
        for kind in draw(seed).kinds:
            counts[kind] = counts.get(kind, 0) + 1
    assert len(counts) == len(KINDS)
    assert min(counts.values()) >= 20
