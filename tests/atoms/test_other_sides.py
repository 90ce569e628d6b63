"""Every atom on its other side by the convex-concave procedure.

No step raises the objective, and a point that is certified solves the convex program that is linearised at it.
"""

from __future__ import annotations

import pytest

from tests.atoms.grow_dc import draw_dc
from tests.atoms.judge import Verdict
from tests.atoms.judge_dc import judged_dc
from tests.atoms.run import told

PROGRAMS, ALWAYS, PORTION = 1000, 50, 25


@pytest.mark.thorough(unless={"first": list(range(0, ALWAYS, PORTION))})
@pytest.mark.parametrize("first", range(0, PROGRAMS, PORTION))
def test_certified_points_are_stationary(first: int) -> None:
    judgements = [one for seed in range(first, first + PORTION) for one in judged_dc(draw_dc(seed))]
    failures = [told(one) for one in judgements if one.verdict.is_failure]
    assert not failures, "\n".join(failures)
    assert sum(one.verdict is Verdict.STATIONARY for one in judgements) > len(judgements) / 2
