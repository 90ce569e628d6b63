"""Compare SCS with Clarabel on programs with one conic atom whose argument has up to 100 entries.

python -m tests.atoms.scs --count 10             print, per atom, the largest difference of the objectives
python -m tests.atoms.scs --count 10 --seed 10   other programs

If SCS is inaccurate, it runs again with settings that were tuned on seeds 0 to 9. Later seeds give an unbiased result.

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
from tests.atoms.evaluate import TreeEvaluator
from tests.atoms.judge import read_point
from tests.atoms.kinds import KINDS
from tests.atoms.trees import Array, BoxVariable, KernelFunction, Sum, TreeNode, TreeProgram, TreeRow

CONIC = tuple(name for name, kind in KINDS.items() if not kind.is_polyhedral)
"""Kinds of atoms whose epigraph needs a cone that is not polyhedral."""
SIZES = (20, 50, 100)
GROUP = 5
"""Number of entries of a bag or group; every size is a multiple of it."""


@dataclass(frozen=True)
class ScsComparison:
    """Objectives of one program by both solvers."""

    kind: str
    size: int
    place: str
    difference: float
    """Difference of the objectives, relative to 1 + their size; infinite if a solver has no certified point."""
    detail: str = ""


def compare(kind: str, size: int, seed: int) -> list[ScsComparison]:
    """Compare the solvers on a program with an atom in its objective, and on one with the atom in an active row."""
    comparisons = []
    free = _draw_program(kind, size, seed)
    atom = free.objective
    plain = replace(free, objective=_squares(free, shift=1.0))
    lowest = _solve_with(free, "clarabel")
    highest = _solve_with(plain, "clarabel")
    ends = [
        float(TreeEvaluator(free.functions, read_point(free, result)).value(atom)[0]) for result in (lowest, highest)
    ]
    level = TreeRow("level", replace(atom, constant=atom.constant - 0.5 * (ends[0] + ends[1])))
    in_objective = replace(free, objective=atom.plus(_squares(free, shift=0.0)))
    in_row = replace(plain, rows=(level,))
    for place, program in (("objective", in_objective), ("row", in_row)):
        exact, scs = _reference(program), _solve_with(program, "cvxpy:SCS")
        difference = abs(scs.objective - exact.objective) / (1.0 + abs(exact.objective))
        certified = exact.point is scs.point is PointStatus.CERTIFIED
        detail = "" if certified else f"{exact.solver} {exact.termination}, SCS {scs.termination}, {scs.certificate}"
        comparisons.append(ScsComparison(kind, size, place, difference if certified else np.inf, detail))
    return comparisons


def _reference(description: TreeProgram) -> Result:
    """Solve by Clarabel, or by ECOS if the point of Clarabel is not certified."""
    result = _solve_with(description, "clarabel")
    return result if result.point is PointStatus.CERTIFIED else _solve_with(description, "ecos")


def _solve_with(description: TreeProgram, solver: str) -> Result:
    """Solve a program without warnings."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return milopt.solve(declare(description).program, solver)


def _draw_program(kind: str, size: int, seed: int) -> TreeProgram:
    """Draw a program that minimises an atom over a box, or over a function with a small ridge term."""
    rng = np.random.default_rng([seed, size, list(KINDS).index(kind)])
    rule = KINDS[kind].rule
    low = 0.05 if rule in ("positive", "relative") else -3.0
    variables = (BoxVariable("x", np.full(5, low), np.full(5, 3.0)),)
    functions: tuple[KernelFunction, ...] = ()
    if rule == "function" or (rule not in ("positive", "relative") and seed % 2):
        functions = (
            KernelFunction("f", 0.3, np.round(2.0 * rng.normal(size=(size, 4)), 2), (GROUP,) * (size // GROUP)),
        )
    node = _draw_atom(kind, size, rng, bool(functions))
    width = TreeEvaluator(functions, _ones(variables, functions, size)).atom(node).size
    weights = np.full((1, width), float(KINDS[kind].curvature))
    objective = Sum(np.zeros(1), (), ((weights, node),))
    if rule == "function":
        loss = TreeNode("huber", (Sum(rng.normal(size=size), (("f", np.eye(size)),)),))
        objective = objective.plus(Sum(np.zeros(1), (), ((np.ones((1, size)), loss),)))
    if functions:
        ridge = TreeNode("norm_squared of a function", (), function="f")
        objective = objective.plus(Sum(np.zeros(1), (), ((np.full((1, 1), 0.1), ridge),)))
    return TreeProgram(seed, kind, variables, functions, objective, (), {})


def _draw_atom(kind: str, size: int, rng: np.random.Generator, with_function: bool) -> TreeNode:
    """Draw an atom of a kind, with an argument of `size` entries."""
    rule, number = KINDS[kind].rule, 1.0
    if rule == "function":
        return TreeNode(kind, (), function="f")
    sizes = (GROUP,) * (size // GROUP) if kind.startswith("bag_") or kind == "group_norms" else ()
    root = rng.uniform(0.5, 1.5, size=size) if kind == "quad_form" else None
    if rule in ("positive", "relative"):
        count = 2 if rule == "relative" else 1
        parts = tuple(Sum(np.full(size, 0.1), (("x", np.abs(rng.normal(size=(size, 5)))),)) for _ in range(count))
        return TreeNode(kind, parts, number, sizes, root)
    count = 2 if kind == "log_sum_exp of several" else 1
    parts = tuple(_argument(size, rng, with_function) for _ in range(count))
    return TreeNode(kind, parts, number, sizes, root)


def _argument(size: int, rng: np.random.Generator, with_function: bool) -> Sum:
    """Draw an affine argument of the values of the function, or of the variable."""
    signs: Array = np.sign(rng.normal(size=size))
    linear = ("f", np.diag(signs)) if with_function else ("x", rng.normal(size=(size, 5)))
    return Sum(rng.normal(size=size), (linear,))


def _squares(description: TreeProgram, shift: float) -> Sum:
    """Return ||x - shift||^2 / 2, plus half the squared distance of the values of the function from `shift`."""
    parts = [Sum(np.full(5, -shift), (("x", np.eye(5)),))]
    for function in description.functions:
        n = len(function.instances)
        parts.append(Sum(np.full(n, -shift), ((function.name, np.eye(n)),)))
    return Sum(np.zeros(1), (), tuple((np.full((1, 1), 0.5), TreeNode("sum_squares", (part,))) for part in parts))


def _ones(variables: tuple[BoxVariable, ...], functions: tuple[KernelFunction, ...], size: int) -> dict[str, Array]:
    """Return the point at which all variables and coordinates are 1."""
    return {variable.name: np.ones(variable.lower.size) for variable in variables} | {
        function.name: np.ones(size) for function in functions
    }


def main() -> int:
    """Run the command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--count", type=int, default=4, help="programs per atom, size and place")
    parser.add_argument("--seed", type=int, default=0, help="seed of the first program")
    arguments = parser.parse_args()
    print("largest difference of the objectives of SCS and Clarabel, relative to 1 + their size")
    print(" " * 28 + "".join(f"{size:>10d}" for size in SIZES))
    worst, seeds = 0.0, range(arguments.seed, arguments.seed + arguments.count)
    for kind in CONIC:
        row = []
        for size in SIZES:
            comparisons = [comparison for seed in seeds for comparison in compare(kind, size, seed)]
            row.append(max(comparison.difference for comparison in comparisons))
            for comparison in comparisons:
                if comparison.detail:
                    place = f"{comparison.kind}, {comparison.size} points, {comparison.place}"
                    print(f"  {place}: {comparison.detail}")
        worst = max(worst, *row)
        print(f"{kind:28}" + "".join(f"{value:10.1e}" for value in row), flush=True)
    print(f"largest of all: {worst:.1e}")
    return 0 if worst <= 1e-6 else 1


if __name__ == "__main__":
    sys.exit(main())
