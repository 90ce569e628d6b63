"""SCS against Clarabel: programs of one conic atom whose argument has up to 100 entries.

python -m tests.atoms.scs --count 10             prints, per atom, the largest difference of the objectives
python -m tests.atoms.scs --count 10 --seed 10   other programs

SCS runs again with settings that were chosen on the programs of seeds 0 to 9, so that later seeds are the fair figure.

The argument is affine in five variables, or the values of a function of a kernel's space at as many points. The atom is
in the objective, or in a row that is active.
"""

from __future__ import annotations

import argparse
import sys
import warnings
from dataclasses import dataclass, replace

import numpy as np

import milopt
from milopt.compilation.status import PointStatus
from milopt.outcome.result import Result
from tests.atoms.as_milopt import declare
from tests.atoms.evaluate import Evaluator
from tests.atoms.judge import point_of
from tests.atoms.kinds import KINDS
from tests.atoms.trees import Array, Description, Function, Node, Row, Sum, Variable

CONIC = tuple(name for name, kind in KINDS.items() if not kind.is_polyhedral)
SIZES = (20, 50, 100)
GROUP = 5
"""Entries of a bag or group; every size is a multiple."""


@dataclass(frozen=True)
class Comparison:
    """One program by both solvers."""

    kind: str
    size: int
    place: str
    difference: float
    """Of the objectives, relative to 1 + their size; infinite if SCS has no certified point."""
    detail: str = ""


def compare(kind: str, size: int, seed: int) -> list[Comparison]:
    """Solve a program with an atom in its objective, and one with the atom in an active row."""
    found = []
    free = _drawn(kind, size, seed)
    atom = free.objective
    plain = replace(free, objective=_squares(free, shift=1.0))
    lowest = _solved(free, "clarabel")
    highest = _solved(plain, "clarabel")
    ends = [float(Evaluator(free.functions, point_of(free, one)).value(atom)[0]) for one in (lowest, highest)]
    level = Row("level", replace(atom, constant=atom.constant - 0.5 * (ends[0] + ends[1])))
    in_objective = replace(free, objective=atom.plus(_squares(free, shift=0.0)))
    in_row = replace(plain, rows=(level,))
    for place, one in (("objective", in_objective), ("row", in_row)):
        exact, scs = _reference(one), _solved(one, "cvxpy:SCS")
        difference = abs(scs.objective - exact.objective) / (1.0 + abs(exact.objective))
        certified = exact.point is scs.point is PointStatus.CERTIFIED
        detail = "" if certified else f"{exact.solver} {exact.termination}, SCS {scs.termination}, {scs.certificate}"
        found.append(Comparison(kind, size, place, difference if certified else np.inf, detail))
    return found


def _reference(description: Description) -> Result:
    """Solve by Clarabel; by ECOS if Clarabel leaves its point without a certificate."""
    found = _solved(description, "clarabel")
    return found if found.point is PointStatus.CERTIFIED else _solved(description, "ecos")


def _solved(description: Description, solver: str) -> Result:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return milopt.solve(declare(description).program, solver)


def _drawn(kind: str, size: int, seed: int) -> Description:
    """Return the program that minimises an atom, over a box, or over a function plus a small ridge."""
    rng = np.random.default_rng([seed, size, list(KINDS).index(kind)])
    rule = KINDS[kind].rule
    low = 0.05 if rule in ("positive", "relative") else -3.0
    variables = (Variable("x", np.full(5, low), np.full(5, 3.0)),)
    functions: tuple[Function, ...] = ()
    if rule == "function" or (rule not in ("positive", "relative") and seed % 2):
        functions = (Function("f", 0.3, np.round(2.0 * rng.normal(size=(size, 4)), 2), (GROUP,) * (size // GROUP)),)
    node = _node(kind, size, rng, bool(functions))
    width = Evaluator(functions, _zero(variables, functions, size)).atom(node).size
    weights = np.full((1, width), float(KINDS[kind].curvature))
    objective = Sum(np.zeros(1), (), ((weights, node),))
    if rule == "function":
        loss = Node("huber", (Sum(rng.normal(size=size), (("f", np.eye(size)),)),))
        objective = objective.plus(Sum(np.zeros(1), (), ((np.ones((1, size)), loss),)))
    if functions:
        ridge = Node("norm_squared of a function", (), function="f")
        objective = objective.plus(Sum(np.zeros(1), (), ((np.full((1, 1), 0.1), ridge),)))
    return Description(seed, kind, variables, functions, objective, (), {})


def _node(kind: str, size: int, rng: np.random.Generator, of_function: bool) -> Node:
    rule, number = KINDS[kind].rule, 1.0
    if rule == "function":
        return Node(kind, (), function="f")
    sizes = (GROUP,) * (size // GROUP) if kind.startswith("bag_") or kind == "group_norms" else ()
    root = rng.uniform(0.5, 1.5, size=size) if kind == "quad_form" else None
    if rule in ("positive", "relative"):
        count = 2 if rule == "relative" else 1
        parts = tuple(Sum(np.full(size, 0.1), (("x", np.abs(rng.normal(size=(size, 5)))),)) for _ in range(count))
        return Node(kind, parts, number, sizes, root)
    count = 2 if kind == "log_sum_exp of several" else 1
    parts = tuple(_argument(size, rng, of_function) for _ in range(count))
    return Node(kind, parts, number, sizes, root)


def _argument(size: int, rng: np.random.Generator, of_function: bool) -> Sum:
    signs: Array = np.sign(rng.normal(size=size))
    linear = ("f", np.diag(signs)) if of_function else ("x", rng.normal(size=(size, 5)))
    return Sum(rng.normal(size=size), (linear,))


def _squares(description: Description, shift: float) -> Sum:
    """Return ||x - shift||^2 / 2, and half the squared distance of the function's values from a constant."""
    parts = [Sum(np.full(5, -shift), (("x", np.eye(5)),))]
    for one in description.functions:
        n = len(one.instances)
        parts.append(Sum(np.full(n, -shift), ((one.name, np.eye(n)),)))
    return Sum(np.zeros(1), (), tuple((np.full((1, 1), 0.5), Node("sum_squares", (part,))) for part in parts))


def _zero(variables: tuple[Variable, ...], functions: tuple[Function, ...], size: int) -> dict[str, Array]:
    return {one.name: np.ones(one.lower.size) for one in variables} | {one.name: np.ones(size) for one in functions}


def main() -> int:
    """Run the command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--count", type=int, default=4, help="programs per atom, size and place")
    parser.add_argument("--seed", type=int, default=0, help="the seed of the first one")
    given = parser.parse_args()
    print("largest difference of the objectives of SCS and Clarabel, relative to 1 + their size")
    print(" " * 28 + "".join(f"{size:>10d}" for size in SIZES))
    worst, seeds = 0.0, range(given.seed, given.seed + given.count)
    for kind in CONIC:
        row = []
        for size in SIZES:
            all_of_size = [one for seed in seeds for one in compare(kind, size, seed)]
            row.append(max(one.difference for one in all_of_size))
            for one in all_of_size:
                if one.detail:
                    print(f"  {one.kind}, {one.size} points, {one.place}: {one.detail}")
        worst = max(worst, *row)
        print(f"{kind:28}" + "".join(f"{value:10.1e}" for value in row), flush=True)
    print(f"largest of all: {worst:.1e}")
    return 0 if worst <= 1e-6 else 1


if __name__ == "__main__":
    sys.exit(main())
