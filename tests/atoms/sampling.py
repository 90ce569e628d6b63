"""Draw random convex programs over all atoms, nested by the rules of disciplined convex programming.

Arguments are scaled to values of order 1 at sampled points, so that three nested exponentials stay finite. Every
program has a box and a point at which all rows hold strictly, so that optima and multipliers exist.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from tests.atoms.evaluate import TreeEvaluator
from tests.atoms.kinds import KINDS, NON_NEGATIVE, OF_FUNCTIONS
from tests.atoms.trees import Array, BoxVariable, KernelFunction, Point, Sum, TreeNode, TreeProgram, TreeRow

NAMES = tuple(KINDS)
MAX_ARGUMENT = 2.0
"""Largest absolute value of an argument at the sampled points."""
SAMPLES = 8
"""Number of random points at which arguments are evaluated for scaling."""


def draw(seed: int) -> TreeProgram:
    """Draw the convex program of a seed.

    Consecutive seeds run over all pairs of a kind of atom in focus and a second kind.
    """
    return ProgramSampler(seed).program()


class ProgramSampler:
    """Random generator of one convex program and its parts."""

    share_at_edge = 0.3
    """Share of the programs whose box reaches 0, the edge of the domain of logarithms."""

    def __init__(self, seed: int) -> None:
        self.seed = seed
        self.focus = NAMES[seed % len(NAMES)]
        self.second = NAMES[(seed + 1 + seed // len(NAMES)) % len(NAMES)]
        self.rng = np.random.default_rng([seed, 7])
        n, m = int(self.rng.integers(1, 5)), int(self.rng.integers(1, 4))
        low = 0.0 if self.chance(self.share_at_edge) else 0.1
        self.variables = (
            BoxVariable("x", np.full(n, -2.0), np.full(n, 2.0)),
            BoxVariable("p", np.full(m, low), np.full(m, 2.0)),
        )
        self.functions: tuple[KernelFunction, ...] = ()
        if {self.focus, self.second} & set(OF_FUNCTIONS) or self.chance(0.1):
            sizes = tuple(int(k) for k in self.rng.integers(1, 4, size=int(self.rng.integers(1, 4))))
            instances = np.round(2.0 * self.rng.normal(size=(sum(sizes), 2)), 2)
            self.functions = (KernelFunction("f", 1.0, instances, sizes),)
        self.interior_point = self._point(0.25)
        self.samples = [self.interior_point, *(self._point(1.0) for _ in range(SAMPLES))]

    # -- numbers -------------------------------------------------------------------------------------------------

    def chance(self, p: float) -> bool:
        """Return True with probability p."""
        return bool(self.rng.random() < p)

    def pick(self, *names: str) -> str:
        """Return one of the names at random."""
        return names[int(self.rng.integers(len(names)))]

    def count(self, low: int, high: int) -> int:
        """Return a random integer from low to high, both included."""
        return int(self.rng.integers(low, high + 1))

    def numbers(self, *shape: int) -> Array:
        """Return random numbers of order 1 with two decimals."""
        return np.round(self.rng.normal(size=shape), 2) + 0.0

    def positive(self, *shape: int) -> Array:
        """Return random positive numbers of order 1 with two decimals."""
        return np.round(self.rng.uniform(0.2, 1.5, size=shape), 2)

    def _point(self, fraction: float) -> Point:
        """Return a random point of the box that is shrunk around its centre to this fraction of its width."""
        point: dict[str, Array] = {}
        for variable in self.variables:
            middle, half = 0.5 * (variable.upper + variable.lower), 0.5 * (variable.upper - variable.lower)
            point[variable.name] = middle + fraction * half * self.rng.uniform(-1, 1, size=middle.size)
        for function in self.functions:
            point[function.name] = fraction * self.rng.normal(size=len(function.instances))
        return point

    # -- expressions ---------------------------------------------------------------------------------------------

    def affine(self, size: int) -> Sum:
        """Draw an affine expression of some of the variables and functions."""
        leaves = [leaf.name for leaf in (*self.variables, *self.functions)]
        lengths = {variable.name: variable.lower.size for variable in self.variables}
        lengths |= {function.name: len(function.instances) for function in self.functions}
        used = [name for name in leaves if self.chance(0.6)] or [self.pick(*leaves)]
        if self.functions and self.focus in OF_FUNCTIONS and "f" not in used:
            used.append("f")
        linear = []
        for name in used:
            matrix = self.numbers(size, lengths[name]) * (self.rng.random((size, lengths[name])) < 0.7)
            if lengths[name] == size and self.chance(0.4):
                matrix = np.eye(size)
            linear.append((name, matrix + 0.0))
        constant = self.numbers(size) if self.chance(0.7) else np.zeros(size)
        return Sum(constant, tuple(linear))

    def positive_affine(self, size: int, constant: float) -> Sum:
        """Draw an affine expression that is nonnegative on the box, and at least `constant`."""
        m = self.variables[1].lower.size
        matrix = self.positive(size, m)
        if m == size and self.chance(0.4):
            matrix = np.eye(size)
        return Sum(np.full(size, constant), (("p", matrix),))

    def curved(self, size: int, curvature: int, depth: int, kind: str | None = None) -> Sum:
        """Draw a convex (+1) or concave (-1) expression with atoms nested up to `depth`.

        If `kind` is given, one of the outer atoms is of this kind.
        """
        total = self.affine(size) if self.chance(0.6) else Sum(np.zeros(size))
        for k in range(1 if self.chance(0.7) else 2):
            node = self.node(kind if kind is not None and k == 0 else self._kind(), depth)
            total = total.plus(self._weighted(size, curvature * KINDS[node.kind].curvature, node))
        return total

    def non_negative(self, size: int, depth: int) -> Sum:
        """Draw a convex expression that is nonnegative by the rules of disciplined convex programming."""
        node = self.node(self.pick(*NON_NEGATIVE), depth)
        constant = np.full(size, 0.3) if self.chance(0.3) else np.zeros(size)
        return Sum(constant).plus(self._weighted(size, 1, node))

    def _kind(self) -> str:
        """Return a random kind of atom that the program can contain."""
        names = [name for name in NAMES if self.functions or name not in OF_FUNCTIONS]
        return self.pick(*names)

    def _weighted(self, size: int, sign: int, node: TreeNode) -> Sum:
        """Return an atom with random coefficients of one sign."""
        width = self.width(node)
        matrix = self.positive(size, width) * (self.rng.random((size, width)) < 0.8)
        if width == size and self.chance(0.5):
            matrix = np.eye(size)
        return Sum(np.zeros(size), (), ((sign * matrix + 0.0, node),))

    def width(self, node: TreeNode) -> int:
        """Return the number of entries of an atom."""
        return TreeEvaluator(self.functions, self.interior_point).atom(node).size

    def scaled(self, expression: Sum) -> Sum:
        """Scale an argument so that its values at the sampled points are of order 1."""
        largest = max(
            float(np.abs(TreeEvaluator(self.functions, point).value(expression)).max()) for point in self.samples
        )
        if largest <= MAX_ARGUMENT:
            return expression
        return expression.times(float(f"{MAX_ARGUMENT / largest:.1e}"))

    def node(self, kind: str, depth: int) -> TreeNode:
        """Draw an atom of this kind."""
        rule, size = KINDS[kind].rule, self.count(1, 4)
        if rule == "function":
            return TreeNode(kind, (), function="f")
        if kind.startswith("bag_") or kind == "group_norms":
            sizes = tuple(self.count(1, 3) for _ in range(self.count(1, 3)))
            number = {"bag_log_sum_exp": self.rng.choice([0.3, 1.0, 2.0]), "bag_sum_largest": self.count(1, 3)}
            return TreeNode(kind, (self._argument(kind, sum(sizes), depth),), float(number.get(kind, 1.0)), sizes)
        if kind in ("maximum", "minimum", "log_sum_exp of several"):
            parts = tuple(self._argument(kind, size, depth) for _ in range(self.count(2, 3)))
            return TreeNode(kind, parts)
        if kind == "relative_entropy":
            lower: Sum = self.scaled(self.positive_affine(size, 0.3))
            if depth > 1 and self.chance(0.5):
                pair = (self.positive_affine(size, 0.3), self.positive_affine(size, 0.5))
                lower = Sum(np.zeros(size), (), ((np.eye(size), TreeNode("minimum", pair)),))
            return TreeNode(kind, (self.scaled(self.positive_affine(size, 0.0)), lower))
        root = None
        if kind == "quad_form":
            root = self.positive(size) if self.chance(0.4) else self.numbers(size, size)
        number = 1.0
        if kind == "huber":
            number = float(self.rng.choice([0.5, 1.0, 1.5]))
        if kind == "sum_largest":
            number = float(self.count(1, size + 1))
        return TreeNode(kind, (self._argument(kind, size, depth),), number, root=root)

    def _argument(self, kind: str, size: int, depth: int) -> Sum:
        """Draw an argument that the rule of the kind of atom allows."""
        rule = KINDS[kind].rule
        if rule == "positive":
            return self.scaled(self.positive_affine(size, float(self.rng.choice([0.0, 0.0, 0.2]))))
        if rule == "affine" or depth <= 1 or self.chance(0.25):
            return self.scaled(self.affine(size))
        if rule == "even":
            return self.scaled(self.non_negative(size, depth - 1))
        return self.scaled(self.curved(size, KINDS[kind].curvature, depth - 1))

    # -- programs ------------------------------------------------------------------------------------------------

    def squares(self) -> Sum:
        """Return ||x - a||^2 / 2 over all variables, plus ||f||^2 / 2 over all functions, with a random a."""
        total = Sum(np.zeros(1))
        for variable in self.variables:
            n = variable.lower.size
            node = TreeNode("sum_squares", (Sum(self.numbers(n), ((variable.name, np.eye(n)),)),))
            total = total.plus(Sum(np.zeros(1), (), ((np.full((1, 1), 0.5), node),)))
        return total.plus(self.ridge())

    def ridge(self) -> Sum:
        """Return ||f||^2 / 2, summed over the functions."""
        nodes = [TreeNode("norm_squared of a function", (), function=function.name) for function in self.functions]
        return Sum(np.zeros(1), (), tuple((np.full((1, 1), 0.5), node) for node in nodes))

    def row(self, name: str, expression: Sum) -> TreeRow:
        """Return rows expression <= constant that hold strictly at `interior_point`."""
        room = np.round(self.rng.uniform(0.05, 1.0, size=expression.size), 2)
        value = TreeEvaluator(self.functions, self.interior_point).value(expression)
        return TreeRow(
            name, replace(expression, constant=expression.constant - value - room), declare_negated=self.chance(0.4)
        )

    def program(self) -> TreeProgram:
        """Draw the program of the seed."""
        in_objective = self.chance(0.5)
        objective = self.curved(1, 1, self.count(1, 3), self.focus) if in_objective else self.affine(1)
        is_strict = self.chance(0.5)
        if is_strict:
            objective = objective.plus(self.squares())
        rows: list[TreeRow] = []
        if self.functions and not is_strict:
            if self.chance(0.5):
                objective = objective.plus(self.ridge())
            else:
                node = TreeNode("norm of a function", (), function="f")
                rows.append(self.row("ball", Sum(np.zeros(1), (), ((np.ones((1, 1)), node),))))
        if not in_objective or self.chance(0.3):
            rows.append(self.row("focus", self.curved(self.count(1, 3), 1, self.count(1, 3), self.focus)))
        rows.append(self.row("other", self.curved(self.count(1, 2), 1, self.count(1, 2), self.second)))
        if self.chance(0.3):
            rows.append(self.row("linear", self.affine(self.count(1, 2))))
        return self.finish_program(objective, rows, is_strict)

    def finish_program(self, objective: Sum, rows: list[TreeRow], is_strict: bool = False) -> TreeProgram:
        """Return the program, in some cases with an additional equation that holds at `interior_point`."""
        if self.chance(0.15) and self.variables[0].lower.size > 1:
            equation = self.affine(1)
            value = TreeEvaluator(self.functions, self.interior_point).value(equation)
            rows = [*rows, TreeRow("equation", replace(equation, constant=equation.constant - value), equality=True)]
        return TreeProgram(
            self.seed,
            self.focus,
            self.variables,
            self.functions,
            objective,
            tuple(rows),
            self.interior_point,
            declare_negated=self.chance(0.3),
            is_strict=is_strict,
        )
