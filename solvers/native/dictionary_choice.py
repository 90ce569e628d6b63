"""Pricing of oracles that choose one point of a dictionary:  min  (S p + s)' f(B) + t'p + r   over  ||a||_1 <= radius.

f(B) is the vector of the values of f = sum_z a_z K(z, .), with K between the points B and the dictionary; p is a
parameter (the prices). S, s, t and r are constant. An objective that is maximised is negated first. The function is not
inside a maximum, so the objective is linear in a, and the best a are vertices of the 1-norm ball: plus or minus the
radius at one point z. All vertices are enumerated, so the smallest value is also a lower bound, and it is certified.

The matrix K is computed in blocks of columns. Blocks are kept between calls up to `MAX_KEPT_BYTES`; the others are
computed again in every call. For bags with N instances of d features and a dictionary of k points, that costs about
2 N k d floating point operations per call.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

import numpy as np
import scipy.sparse as sp

from milopt.arrays import Floats, Index, Points, Vector
from milopt.declaration.atoms.norm1 import Norm1
from milopt.declaration.bags.bag_rows import BagRows
from milopt.declaration.bags.bags import Bags
from milopt.declaration.kernels.gram_cache import get_or_compute
from milopt.declaration.programs.coefficient import Coefficient
from milopt.declaration.programs.expression import Expression
from milopt.declaration.programs.leaves import FunctionEvaluation, Parameter
from milopt.declaration.programs.semi_infinite import Oracle
from milopt.outcome.certificate import Certificate
from milopt.solvers.native.weak_learning_program import affine_weights, ball_radius
from milopt.solving.clock import Clock
from milopt.solving.pricing import PricedColumn, Pricing, PricingResult

SIMILARITY_BLOCK_BYTES = 2**24
"""Size in bytes of a block of columns of K, which always has at least one column."""
MAX_KEPT_BYTES = 2**28
"""Maximum number of bytes of all blocks that are kept between calls."""
MAX_COLUMNS_PER_PRICING = 30
"""Maximum number of columns that one call returns.

With 1, 10, 30 and 100 columns, a fit of MILES to 1000 bags with 10,000 instances (lam=0.1) took 2.6, 1.5, 1.5 and 2.0
CPU seconds, in 218, 26, 10 and 7 rounds.
"""


@dataclass(frozen=True, eq=False)
class DictionaryChoice:
    """Parts of a recognised program; f, a, p, S, s, t and r are those of the module docstring."""

    evaluation: FunctionEvaluation
    """The values f(B)."""
    radius: float
    """Radius of the 1-norm ball."""
    prices: Parameter
    """The parameter p."""
    slope: sp.csr_array
    """The matrix S."""
    offset: Vector
    """The vector s."""
    price_cost: Vector
    """The vector t."""
    constant_cost: float
    """The number r."""
    column_factors: sp.csr_array
    """Matrix D in  column = D f(B) + constant."""
    constant: Vector
    """Constant part of the columns."""
    sign: float
    """-1 if the declared objective is maximised, else +1. The declared objective is `sign` times the minimised one."""


def recognise_dictionary_choice(oracle: Oracle, bags: Bags) -> DictionaryChoice | None:
    """Recognise the program of an oracle as the choice of a point of a dictionary; None for another structure."""
    program = oracle.program
    radius = ball_radius(program, Norm1)
    if radius is None or len(program.variables) != 1:
        return None
    function = next(iter(program.functions.values()))
    objective = program.minimized_objective()
    terms = [(leaf, by) for leaf, by in objective.terms if by.products or by.matrix.count_nonzero()]
    evaluations = [(leaf, by) for leaf, by in terms if isinstance(leaf, FunctionEvaluation)]
    if len(evaluations) != 1 or evaluations[0][0].function is not function:
        return None
    evaluation, coefficient = evaluations[0]
    weights = affine_weights(coefficient)
    column = _recognise_column(oracle.column(bags), evaluation)
    if weights is None or column is None or weights[0] not in oracle.prices:
        return None
    others = [(leaf, by) for leaf, by in terms if leaf is not evaluation]
    if any(leaf is not weights[0] or by.products for leaf, by in others):
        return None
    prices, slope, offset = weights
    price_cost = sum((by.matrix.toarray()[0] for _, by in others), start=np.zeros(prices.size))
    return DictionaryChoice(
        evaluation,
        radius,
        prices,
        slope,
        offset,
        price_cost,
        float(objective.constant[0]),
        column[0].matrix,
        column[1],
        -1.0 if program.maximizes else 1.0,
    )


def _recognise_column(column: Expression, evaluation: FunctionEvaluation) -> tuple[Coefficient, Vector] | None:
    """Return (D, constant) if a column is  D f(B) + constant  with the same values f(B), else None."""
    if len(column.terms) != 1 or len(column.shape) != 1:
        return None
    leaf, coefficient = column.terms[0]
    if not isinstance(leaf, FunctionEvaluation) or coefficient.products:
        return None
    same = leaf.function is evaluation.function and leaf.points is evaluation.points
    return (coefficient, column.constant) if same else None


class DictionaryChoicePricing(Pricing):
    """Pricing by enumeration of a dictionary, with kernel values in blocks (see the module docstring)."""

    solver = "native"

    def __init__(self, choice: DictionaryChoice) -> None:
        self._choice = choice
        self._kept: dict[int, Floats] = {}

    def price(self, prices: Mapping[Parameter, Vector], start_count: int, clock: Clock) -> PricingResult:
        """Return columns of the best vertices and the best objective as the bound.

        There are at most `MAX_COLUMNS_PER_PRICING` columns. At the time limit, return the best
        vertices of the blocks so far, without a bound. `start_count` is not used.
        """
        choice = self._choice
        p = prices[choice.prices]
        edges = np.zeros(self._dictionary_size)
        weights = choice.slope @ p + choice.offset
        is_complete = True
        for part, block in self._blocks():
            edges[part] = weights @ block
            if clock.is_over() and part.stop < self._dictionary_size:
                is_complete = False
                break
        base = float(choice.price_cost @ p) + choice.constant_cost
        best = _largest_indices(np.abs(edges), MAX_COLUMNS_PER_PRICING)
        columns = self._make_columns(best, edges[best], base)
        bound = choice.sign * (base - choice.radius * abs(float(edges[best[0]])))
        return PricingResult(columns, bound if is_complete else None)

    @property
    def _dictionary_size(self) -> int:
        """Number of points of the dictionary."""
        return self._choice.evaluation.function.coefficients.size

    @property
    def _columns_per_block(self) -> int:
        """Number of columns of a block."""
        return max(1, SIMILARITY_BLOCK_BYTES // (8 * self._choice.evaluation.size))

    def _blocks(self) -> Iterator[tuple[slice, Floats]]:
        """Yield the matrix K in blocks of consecutive columns, as pairs (slice of the columns, block)."""
        step = self._columns_per_block
        kept_bytes = sum(block.nbytes for block in self._kept.values())
        for start in range(0, self._dictionary_size, step):
            part = slice(start, min(start + step, self._dictionary_size))
            block = self._kept.get(start)
            if block is None:
                size = 8 * self._choice.evaluation.size * (part.stop - part.start)
                is_kept = kept_bytes + size <= MAX_KEPT_BYTES
                block = self._cached_values(part) if is_kept else self._kernel_values(part)
                if is_kept:
                    self._kept[start] = block
                    kept_bytes += size
            yield part, block

    def _kernel_values(self, part: slice | Index) -> Floats:
        """Return K between the points B and some points of the dictionary."""
        evaluation = self._choice.evaluation
        dictionary = evaluation.function.dictionary
        assert dictionary is not None
        return np.asarray(evaluation.function.kernel(evaluation.points, dictionary[part]))

    def _cached_values(self, part: slice) -> Floats:
        """Return the same as `_kernel_values`, computed once for all fits to the same bags within `result_cache`."""
        evaluation = self._choice.evaluation
        dictionary = evaluation.function.dictionary
        assert dictionary is not None
        instances, offsets = zip(*(_as_arrays(points) for points in (evaluation.points, dictionary[part])), strict=True)
        key = (DictionaryChoicePricing, evaluation.function.kernel, offsets)
        return get_or_compute(key, instances, lambda: self._kernel_values(part))

    def _chosen_values(self, chosen: Index) -> Floats:
        """Return the columns of K at some points of the dictionary, from the kept blocks as far as possible."""
        values = np.empty((self._choice.evaluation.size, chosen.size))
        place = chosen // self._columns_per_block
        for block in np.unique(place):
            here = place == block
            kept = self._kept.get(int(block) * self._columns_per_block)
            values[:, here] = (
                self._kernel_values(chosen[here])
                if kept is None
                else kept[:, chosen[here] - int(block) * self._columns_per_block]
            )
        return values

    def _make_columns(self, chosen: Index, edges: Vector, base: float) -> tuple[PricedColumn, ...]:
        """Return the columns of the better of the two vertices at each chosen point z, given (S p + s)'K_z."""
        choice = self._choice
        name = choice.evaluation.function.coefficients.name
        factors = np.where(edges > 0, -choice.radius, choice.radius)
        entries = choice.column_factors @ (self._chosen_values(chosen) * factors) + choice.constant[:, None]
        columns = []
        for t, z in enumerate(chosen):
            a = np.zeros(self._dictionary_size)
            a[z] = factors[t]
            value = base - choice.radius * abs(float(edges[t]))
            certificate = Certificate(0.0, 0.0, 0.0, 0.0, value, 0.0)
            columns.append(PricedColumn(entries[:, t].copy(), {name: a}, {}, choice.sign * value, certificate))
        return tuple(columns)


def _as_arrays(points: Points) -> tuple[Points, bytes]:
    """Return (instances, offsets of the bags as bytes) for bags as points, and (points, nothing) for other points."""
    if not isinstance(points, BagRows):
        return points, b""
    return points.bags.instances, points.bags.offsets.tobytes()


def _largest_indices(values: Vector, count: int) -> Index:
    """Return the indices of the `count` largest values, in decreasing order; ties in the order of the indices."""
    return np.argsort(-values, kind="stable")[:count]
