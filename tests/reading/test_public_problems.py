"""Public problems with known answers: `auto` proves them; other solvers prove them or give up.

`python benchmarks/public_problems.py` runs all of them with every solver.
"""

from __future__ import annotations

import pytest

import milopt
from benchmarks.known_problems import KnownProblem, known_problems
from milopt.errors import UnsupportedError

TOLERANCE = 1e-6
PROBLEMS = {
    *("adlittle", "afiro", "shell", "israel", "box1", "klein1", "gas11", "flugpl", "egout"),
    *("CVXQP1_S", "DUALC8", "GENHS28", "HS118", "HS268", "HS51", "PRIMALC1", "QAFIRO"),
}
"""Problems that take less than a second."""
OTHERS = ("highs", "clarabel", "ecos", "native")


@pytest.fixture(scope="module")
def problems() -> dict[str, KnownProblem]:
    known_by_name = {problem.name: problem for problem in known_problems()}
    if not known_by_name:
        pytest.skip("needs the folder problems in the folder that MILOPT_DATA names")
    return known_by_name


@pytest.mark.parametrize("name", sorted(PROBLEMS))
def test_auto_proves_the_known_answer(name: str, problems: dict[str, KnownProblem]) -> None:
    result = milopt.solve(problems[name].program(), time_limit=60.0)
    assert problems[name].verdict(result, TOLERANCE) == "ok", str(result)


@pytest.mark.thorough(unless={"name": sorted(PROBLEMS)[::4]})
@pytest.mark.parametrize("solver", OTHERS)
@pytest.mark.parametrize("name", sorted(PROBLEMS))
def test_every_solver_agrees_or_gives_up(name: str, solver: str, problems: dict[str, KnownProblem]) -> None:
    try:
        result = milopt.solve(problems[name].program(), solver, time_limit=30.0)
    except UnsupportedError as refused:
        pytest.skip(str(refused))
    verdict = problems[name].verdict(result, TOLERANCE)
    assert not verdict.startswith("WRONG"), str(result)
    if solver in ("highs", "clarabel"):
        assert verdict == "ok", str(result)
