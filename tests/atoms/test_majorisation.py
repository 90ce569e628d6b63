"""Every atom on its other side against the convex-concave procedure written by hand, step by step.

`python -m tests.atoms.run --by-hand --count 5000` compares 200 programs per atom.
"""

from __future__ import annotations

import numpy as np
import pytest

from tests.atoms.evaluate import Evaluator
from tests.atoms.judge import Verdict
from tests.atoms.kinds import KINDS
from tests.atoms.majorise import draw_strict, has_kink, judged_by_hand
from tests.atoms.run import told
from tests.atoms.slopes import SLOPES

ALWAYS, THOROUGH = 4, 40
"""Programs per atom."""


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("count", [ALWAYS, pytest.param(THOROUGH, marks=pytest.mark.thorough)])
def test_steps_are_those_of_a_majorisation_by_hand(kind: str, count: int) -> None:
    seeds = [list(KINDS).index(kind) + k * len(KINDS) for k in range(count)]
    judgements = [one for seed in seeds for one in judged_by_hand(draw_strict(seed))]
    failures = [told(one) for one in judgements if one.verdict.is_failure or one.verdict is Verdict.REFUSED]
    assert not failures, "\n".join(failures)
    assert sum(one.verdict is Verdict.STATIONARY for one in judgements) > count / 2


def test_steps_are_compared() -> None:
    """The programs of a test per atom take more than one step, and most of them without a kink."""
    judgements = [one for seed in range(0, 4 * len(KINDS), 7) for one in judged_by_hand(draw_strict(seed))]
    assert sum(one.steps for one in judgements) > len(judgements)


@pytest.mark.parametrize("kind", KINDS)
def test_slopes_by_hand_are_differences_of_values(kind: str) -> None:
    compared = 0
    for k in range(8):
        description = draw_strict(list(KINDS).index(kind) + k * len(KINDS))
        evaluator = Evaluator(description.functions, description.near)
        for node in {node: None for one in description.expressions for node in one.nodes()}:
            if node.kind != kind or has_kink(description, description.near):
                continue
            parts, slopes = evaluator.parts(node), SLOPES[kind](node, evaluator.parts(node))
            for part, slope in enumerate(slopes):
                for j in range(parts[part].size):
                    ends = []
                    for sign in (1.0, -1.0):
                        moved = [value.copy() for value in parts]
                        moved[part][j] += sign * 1e-6
                        ends.append(np.atleast_1d(np.asarray(KINDS[kind].value(node, moved), dtype=np.float64)))
                    assert np.allclose((ends[0] - ends[1]) / 2e-6, slope[:, j], rtol=1e-5, atol=1e-5)
                    compared += 1
    assert compared
