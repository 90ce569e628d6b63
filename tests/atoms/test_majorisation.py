"""Compare the convex-concave procedure with a hand-written reference, for every atom on its other side.

`python -m tests.atoms.run --by-hand --count 5000` compares 200 programs per atom.
"""

from __future__ import annotations

import numpy as np
import pytest

from tests.atoms.evaluate import TreeEvaluator
from tests.atoms.judge import AtomVerdict
from tests.atoms.kinds import KINDS
from tests.atoms.majorisation import draw_strict, has_kink, judge_by_hand
from tests.atoms.run import format_judgement
from tests.atoms.slopes import SLOPES

ALWAYS, THOROUGH = 4, 40
"""Number of programs per atom, in every run and in thorough runs."""


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("count", [ALWAYS, pytest.param(THOROUGH, marks=pytest.mark.thorough)])
def test_steps_agree_with_a_hand_written_reference(kind: str, count: int) -> None:
    seeds = [list(KINDS).index(kind) + k * len(KINDS) for k in range(count)]
    judgements = [judgement for seed in seeds for judgement in judge_by_hand(draw_strict(seed))]
    failures = [
        format_judgement(judgement)
        for judgement in judgements
        if judgement.verdict.is_failure or judgement.verdict is AtomVerdict.REFUSED
    ]
    assert not failures, "\n".join(failures)
    assert sum(judgement.verdict is AtomVerdict.STATIONARY for judgement in judgements) > count / 2


def test_more_than_one_step_per_program_is_compared_on_average() -> None:
    seeds = range(0, 4 * len(KINDS), 7)
    judgements = [judgement for seed in seeds for judgement in judge_by_hand(draw_strict(seed))]
    assert sum(judgement.steps for judgement in judgements) > len(judgements)


@pytest.mark.parametrize("kind", KINDS)
def test_hand_written_slopes_agree_with_finite_differences(kind: str) -> None:
    compared = 0
    for k in range(8):
        description = draw_strict(list(KINDS).index(kind) + k * len(KINDS))
        evaluator = TreeEvaluator(description.functions, description.interior_point)
        for node in {node: None for expression in description.expressions for node in expression.nodes()}:
            if node.kind != kind or has_kink(description, description.interior_point):
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
