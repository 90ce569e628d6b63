"""From a program to its evaluation form: sides, epigraphs, witnesses, cones.

A `bag_max` on its convex side becomes one row an instance: in place when it is the only maximum of its row, through an
epigraph column otherwise. On its other side each entry is replaced by its witness, a row of a selection matrix (one
instance a bag, or the bag's mean at the start). Scalar atoms become cones or squares.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import numpy as np
import scipy.sparse as sp

from milopt.compilation.evaluation_form import Block, EvaluationForm, Index, Objective, Space, Square
from milopt.compilation.linear import Linear
from milopt.compilation.quadratic import Vector
from milopt.compilation.rows import Rows, stack, unit_rows
from milopt.compilation.standard_form import Cone
from milopt.declaration.coefficient import Coefficient
from milopt.declaration.expression import Constraint, Expression
from milopt.declaration.leaves import Atom, BagMax, FunctionNorm, FunctionNormSquared, InnerAtom, Norm, Norm1, QuadForm
from milopt.declaration.program import Program
from milopt.errors import ConvexityError, DeclarationError

Witness = sp.csr_array | Expression
"""A (bags x instances) matrix with non-negative rows that sum to one, or an expression with an entry a bag."""
Witnesses = Mapping[BagMax, Witness]


class Lowering:
    """Lowers one program; keeps its columns and points, so that parts can be lowered again when they change."""

    def __init__(self, program: Program, witnesses: Witnesses | None = None, both_sides: bool = False) -> None:
        self.program = program
        self.witnesses: dict[BagMax, Witness] = dict(witnesses or {})
        self.both_sides = both_sides
        """Put witnesses on the convex side too (the papers' alternation)."""
        self.ceilings: dict[BagMax, Vector] = {}
        """Upper bounds of maxima, which stand in the objective for entries without a witness (zero rows)."""
        self.linear = Linear(program)
        self._inner: dict[int, Rows] = {}
        self._epigraph: dict[int, np.ndarray[tuple[int], np.dtype[np.intp]]] = {}
        self._auxiliary: list[Block] = []
        self._scalars: dict[int, int] = {}

    # -- the whole -----------------------------------------------------------------------------------------------

    def form(self) -> EvaluationForm:
        """Everything, at the current witnesses and parameter values."""
        objective = self.objective()
        blocks = [b for name, constraint in self.program.constraints.items() for b in self.block(name, constraint)]
        return self.assemble(objective, blocks)

    def assemble(self, objective: Objective, blocks: list[Block]) -> EvaluationForm:
        """Parts that were lowered one by one, brought to one width."""
        linear, n = self.linear, self.linear.width
        wide = tuple(self._wide(block) for block in (*blocks, *self._auxiliary))
        spaces = tuple(Space(f, tuple(linear.points_of(f))) for f in linear.free_functions)
        squares = tuple(Square(s.rows.widened(n), s.weight, s.term) for s in objective.squares)
        padded = np.concatenate([objective.q, np.zeros(n - objective.q.size)])
        return EvaluationForm(
            self.program.name,
            tuple(linear.columns),
            np.concatenate(linear.lower) if linear.lower else np.zeros(0),
            np.concatenate(linear.upper) if linear.upper else np.zeros(0),
            np.concatenate(linear.integer) if linear.integer else np.zeros(0, dtype=bool),
            spaces,
            wide,
            Objective(padded, objective.p, objective.ridge, squares, objective.constant),
            self.program.maximizes,
        )

    def objective(self) -> Objective:
        """The objective as a minimisation."""
        expression = self.program.minimized()
        rows, atoms = self.linear.split(expression)
        ridge = np.zeros(len(self.linear.free_functions))
        squares: list[Square] = []
        for atom, coefficient in atoms:
            if isinstance(atom, BagMax):
                rows = self._objective_maximum(rows, atom, coefficient)
                continue
            weight = float(coefficient.value().toarray()[0, 0])
            if isinstance(atom, QuadForm):
                squares.append(Square(self.inner_rows(atom), 2 * weight * atom.weight, atom.describe()))
            elif isinstance(atom, FunctionNormSquared):
                place = self.linear.place_of(atom.function)
                if place is None:
                    squares.append(self.linear.dictionary_square(atom.function, 2 * weight))
                else:
                    ridge[place] += 2 * weight
            elif weight > 0:
                rows = rows.widened(self.linear.width)
                rows = _add(rows, unit_rows(np.array([self._scalar(atom)]), self.linear.width, self._points), weight)
            elif weight < 0:
                raise ConvexityError(_wrong_side(atom, "the objective", self.program.maximizes))
        q = np.asarray(rows.A.toarray()).ravel()
        p = tuple(np.asarray(e.toarray()).ravel() for e in rows.E)
        return Objective(q, p, tuple(ridge), tuple(squares), float(rows.g[0]))

    def block(self, name: str, constraint: Constraint) -> list[Block]:
        """The rows of one declared block."""
        rows, atoms = self.linear.split(constraint.expression)
        if constraint.equality:
            if atoms:
                raise ConvexityError(
                    f"Constraint {name!r} equates {atoms[0][0].describe()}, which is not affine; "
                    "an equality may hold affine expressions only."
                )
            return [_plain(name, Cone.ZERO, rows)]
        maxima = [(atom, c) for atom, c in atoms if isinstance(atom, BagMax)]
        scalars = [(atom, c) for atom, c in atoms if not isinstance(atom, BagMax)]
        convex: list[tuple[BagMax, sp.csr_array]] = []
        kept = np.ones(rows.count, dtype=bool)
        for atom, coefficient in maxima:
            needed, epigraph = self._sides(coefficient, convex_sign=-1)
            kept &= (abs(needed) @ self._released(atom)) == 0
            rows = self._witnessed(rows, atom, needed)
            if epigraph.nnz:
                convex.append((atom, epigraph))
        if scalars:
            return self._scalar_constraint(name, rows, scalars, convex)
        if not kept.all():
            return [self._relaxed(name, rows, convex, np.flatnonzero(kept))]
        return [self._expanded(name, rows, convex)] if convex else [_plain(name, Cone.NONNEGATIVE, rows)]

    @property
    def has_auxiliary(self) -> bool:
        """Whether rows exist that no one declared: they end every form."""
        return bool(self._auxiliary)

    # -- maxima --------------------------------------------------------------------------------------------------

    def _sides(self, coefficient: Coefficient, convex_sign: int) -> tuple[sp.csr_array, sp.csr_array]:
        """(entries that need witnesses, entries on the convex side), each with the coefficient's values."""
        signs, values = coefficient.signs(), coefficient.value()
        if self.both_sides:
            return values, sp.csr_array(values.shape)
        convex = sp.csr_array(signs == convex_sign, dtype=float)
        # A structural entry whose parameter is zero now keeps its place, so that it can change without a rebuild.
        return sp.csr_array(values - values.multiply(convex)), _with_pattern(values, convex)

    def _witnessed(self, rows: Rows, atom: BagMax, coefficient: sp.csr_array) -> Rows:
        if not coefficient.nnz:
            return rows
        chosen = self.witnesses.get(atom)
        if isinstance(chosen, Expression):
            self.linear.register(chosen)
            stand_ins, _ = self.linear.split(chosen)
            return _add(rows.widened(self.linear.width), stand_ins.left(coefficient), 1.0)
        selection = mean_selection(atom) if chosen is None else chosen
        return _add(
            rows.widened(self.linear.width), self.inner_rows(atom).left(sp.csr_array(coefficient @ selection)), 1.0
        )

    def _released(self, atom: BagMax) -> Vector:
        """1 for each bag whose witness is left open (a zero row of the selection), 0 otherwise."""
        chosen = self.witnesses.get(atom)
        if chosen is None or isinstance(chosen, Expression):
            return np.zeros(len(atom.over))
        return (np.diff(chosen.indptr) == 0).astype(float)

    def _relaxed(self, name: str, rows: Rows, convex: list[tuple[BagMax, sp.csr_array]], kept: Index) -> Block:
        """The rows whose maxima all have witnesses; the others are left out, which relaxes the program."""
        chosen = [(atom, sp.csr_array(coefficient[kept])) for atom, coefficient in convex]
        part = rows.take(kept)
        block = self._expanded(name, part, chosen) if chosen else _plain(name, Cone.NONNEGATIVE, part)
        return replace(block, declared=kept[block.declared])

    def _objective_maximum(self, rows: Rows, atom: BagMax, coefficient: Coefficient) -> Rows:
        needed, epigraph = self._sides(coefficient, convex_sign=+1)
        rows = self._witnessed(rows, atom, needed)
        released = self._released(atom)
        if released.any() and needed.nnz:
            ceiling = needed @ (self.ceilings.get(atom, np.full(released.size, np.inf)) * released)
            rows = Rows(rows.A, rows.E, rows.g + np.nan_to_num(ceiling, nan=0.0, posinf=np.inf, neginf=-np.inf))
        return self._through_epigraph(rows, atom, epigraph)

    def _through_epigraph(self, rows: Rows, atom: BagMax, coefficient: sp.csr_array) -> Rows:
        """Replace entries of a maximum by epigraph columns t >= every instance's value."""
        if not coefficient.nnz:
            return rows
        columns = self._epigraph_columns(atom, np.unique(coefficient.indices))
        pick = sp.csr_array(
            (coefficient.data, columns[coefficient.indices], coefficient.indptr),
            shape=(coefficient.shape[0], self.linear.width),
        )
        rows = rows.widened(self.linear.width)
        return Rows(sp.csr_array(rows.A + pick), rows.E, rows.g)

    def _epigraph_columns(self, atom: BagMax, entries: np.ndarray) -> np.ndarray:  # type: ignore[type-arg]
        known = self._epigraph.setdefault(id(atom), np.full(len(atom.over), -1, dtype=np.intp))
        new = entries[known[entries] < 0]
        if new.size:
            inner = self.inner_rows(atom)
            known[new] = self.linear.add_columns(f"max{len(self._epigraph) - 1}", new.size)
            row_of, instance = _instances_of(atom, new)
            rows = inner.take(instance).left(-sp.eye_array(instance.size, format="csr")).widened(self.linear.width)
            rows = _add(rows, unit_rows(known[new][row_of], self.linear.width, self._points), 1.0)
            name = f"{self.linear.columns[-1].name}.epigraph"
            self._auxiliary.append(Block(name, Cone.NONNEGATIVE, rows, "", new[row_of], instance, row_of))
        return known

    def _expanded(self, name: str, rows: Rows, convex: list[tuple[BagMax, sp.csr_array]]) -> Block:
        """Rows with one maximum on its convex side, one row an instance; rows with more go through epigraph columns."""
        entries = sum(np.diff(c.indptr) for _, c in convex)
        alone = np.asarray(entries) == 1
        for atom, coefficient in convex:
            several = sp.csr_array(sp.diags_array((~alone).astype(float)) @ coefficient)
            several.eliminate_zeros()
            rows = self._through_epigraph(rows, atom, several)
        copies = np.ones(rows.count, dtype=np.intp)
        single: list[tuple[BagMax, sp.csr_array]] = []
        for atom, coefficient in convex:
            mine = sp.csr_array(sp.diags_array(alone.astype(float)) @ coefficient)
            mine.sum_duplicates()
            mine = _rows_of(mine, alone & (np.diff(coefficient.indptr) == 1))
            has = np.flatnonzero(np.diff(mine.indptr))
            copies[has] = atom.over.sizes[mine.indices]
            single.append((atom, mine))
        declared = np.repeat(np.arange(rows.count), copies)
        starts = np.cumsum(copies) - copies
        instance = np.full(declared.size, -1, dtype=np.intp)
        group = np.full(declared.size, -1, dtype=np.intp)
        total = rows.take(declared)
        for atom, mine in single:
            has = np.flatnonzero(np.diff(mine.indptr))
            if not has.size:
                continue
            row_of, flat = _instances_of(atom, mine.indices)
            at = starts[has][row_of] + flat - atom.over.offsets[mine.indices][row_of]
            instance[at], group[at] = flat, has[row_of]
            pick = sp.csr_array((mine.data[row_of], (at, flat)), shape=(declared.size, int(atom.over.offsets[-1])))
            inner = self.inner_rows(atom).widened(self.linear.width)
            total = _add(total.widened(self.linear.width), inner.left(pick), 1.0)
        return Block(name, Cone.NONNEGATIVE, total, name, declared.astype(np.intp), instance, _renumbered(group))

    # -- scalar atoms --------------------------------------------------------------------------------------------

    def _scalar_constraint(
        self,
        name: str,
        rows: Rows,
        scalars: list[tuple[Atom, Coefficient]],
        convex: list[tuple[BagMax, sp.csr_array]],
    ) -> list[Block]:
        """expression >= 0 with norms and quadratics, which must be subtracted."""
        for atom, coefficient in scalars:
            if (coefficient.value().data > 0).any():
                raise ConvexityError(_wrong_side(atom, f"constraint {name!r}", False))
        for maximum, epigraph in convex:
            rows = self._through_epigraph(rows, maximum, epigraph)
        if rows.count == 1 and len(scalars) == 1 and not isinstance(scalars[0][0], Norm1):
            atom, coefficient = scalars[0]
            weight = -float(coefficient.value().toarray()[0, 0])
            if weight == 0:
                return [_plain(name, Cone.NONNEGATIVE, rows)]
            bound = rows.left(sp.csr_array([[1.0 / weight]]))
            cone = self._cone(name, name, atom, bound)
            share = np.zeros(cone.count)
            if isinstance(atom, (QuadForm, FunctionNormSquared)):
                share[:2] = 0.5, -0.5
            else:
                share[0] = 1.0
            return [replace(cone, share=share / weight)]
        for atom, coefficient in scalars:
            column = self._scalar(atom)
            rows = rows.widened(self.linear.width)
            unit = unit_rows(np.array([column]), self.linear.width, self._points)
            rows = _add(rows, unit.left(coefficient.value()), 1.0)
        return [_plain(name, Cone.NONNEGATIVE, rows)]

    def _scalar(self, atom: Atom) -> int:
        """A column t with t >= atom."""
        if id(atom) not in self._scalars:
            name = f"{atom.word}{len(self._scalars)}"
            column = int(self.linear.add_columns(name, 1, scalar=True)[0])
            self._scalars[id(atom)] = column
            bound = unit_rows(np.array([column]), self.linear.width, self._points)
            if isinstance(atom, Norm1):
                self._auxiliary.extend(self._absolute(name, atom, bound))
            else:
                self._auxiliary.append(self._cone(f"{name}.cone", "", atom, bound))
        return self._scalars[id(atom)]

    def _absolute(self, name: str, atom: Norm1, bound: Rows) -> list[Block]:
        """t >= sum s, s >= e, s >= -e."""
        inner = self.inner_rows(atom)
        parts = self.linear.add_columns(f"{name}.absolute", inner.count)
        width = self.linear.width
        inner = inner.widened(width)
        unit = unit_rows(parts, width, self._points)
        minus = sp.eye_array(inner.count, format="csr") * -1.0
        total = unit.left(sp.csr_array(-np.ones((1, inner.count))))
        return [
            _plain(f"{name}.above", Cone.NONNEGATIVE, _add(unit, inner.left(minus), 1.0), ""),
            _plain(f"{name}.below", Cone.NONNEGATIVE, _add(unit, inner, 1.0), ""),
            _plain(f"{name}.sum", Cone.NONNEGATIVE, _add(bound.widened(width), total, 1.0), ""),
        ]

    def _cone(self, name: str, origin: str, atom: Atom, bound: Rows) -> Block:
        """bound >= atom as one second-order cone; squares through ((1+b)/2, (1-b)/2, e)."""
        width = self.linear.width
        head = bound.widened(width)
        if isinstance(atom, (QuadForm, FunctionNormSquared)):
            up = Rows(head.A * 0.5, tuple(e * 0.5 for e in head.E), head.g * 0.5 + 0.5)
            down = Rows(head.A * -0.5, tuple(e * -0.5 for e in head.E), head.g * -0.5 + 0.5)
            head = stack([up, down])
        space: int | None = None
        if isinstance(atom, (FunctionNorm, FunctionNormSquared)):
            space = self.linear.place_of(atom.function)
            tail = None if space is not None else self.linear.dictionary_rows(atom.function)
        elif isinstance(atom, (QuadForm, Norm)):
            tail = self.inner_rows(atom)
            if isinstance(atom, QuadForm):
                tail = tail.left(_root(atom))
        else:
            raise DeclarationError(f"{atom.describe()} cannot stand in constraint {name!r}.")
        rows = head if tail is None else stack([head, tail.widened(width)])
        count = rows.count
        none = np.full(count, -1, dtype=np.intp)
        return Block(name, Cone.SECOND_ORDER, rows, origin, np.zeros(count, dtype=np.intp), none, none, space)

    # -- pieces --------------------------------------------------------------------------------------------------

    @property
    def _points(self) -> tuple[int, ...]:
        return self.linear.point_counts

    def _wide(self, block: Block) -> Block:
        return replace(block, rows=block.rows.widened(self.linear.width))

    def inner_rows(self, atom: BagMax | InnerAtom) -> Rows:
        """The affine rows inside an atom, lowered once unless a parameter is in them."""
        if id(atom) in self._inner:
            return self._inner[id(atom)].widened(self.linear.width)
        rows, atoms = self.linear.split(atom.inner)
        if atoms:
            raise ConvexityError(
                f"{atom.describe()}: {atoms[0][0].describe()} inside an atom is not affine; "
                "bring it out through a variable that bounds it."
            )
        if not self.linear.has_parameters(atom.inner):
            self._inner[id(atom)] = rows
        return rows


def mean_selection(atom: BagMax) -> sp.csr_array:
    """Each bag's mean as a selection."""
    bags = atom.over
    return sp.csr_array(sp.diags_array(1.0 / bags.sizes) @ bags.membership.T)


def one_hot_selection(atom: BagMax, index: np.ndarray) -> sp.csr_array:  # type: ignore[type-arg]
    """One instance a bag, given by flat index."""
    m = len(atom.over)
    return sp.csr_array((np.ones(m), (np.arange(m), index)), shape=(m, int(atom.over.offsets[-1])))


def _plain(name: str, cone: Cone, rows: Rows, origin: str | None = None) -> Block:
    none = np.full(rows.count, -1, dtype=np.intp)
    return Block(name, cone, rows, name if origin is None else origin, np.arange(rows.count), none, none)


def _add(a: Rows, b: Rows, weight: float) -> Rows:
    if weight != 1.0:
        b = b.left(sp.eye_array(b.count, format="csr") * weight)
    return a.plus(b.widened(a.A.shape[1]))


def _with_pattern(values: sp.csr_array, pattern: sp.csr_array) -> sp.csr_array:
    """The values on a pattern, explicit zeros kept."""
    result = sp.csr_array(pattern)
    coordinates = result.tocoo()
    result.data = np.asarray(values[coordinates.coords[0], coordinates.coords[1]], dtype=float).ravel()
    return result


def _rows_of(matrix: sp.csr_array, keep: np.ndarray) -> sp.csr_array:  # type: ignore[type-arg]
    """Only the flagged rows' entries, explicit zeros of the others dropped."""
    coordinates = matrix.tocoo()
    chosen = keep[coordinates.coords[0]]
    picked = (coordinates.data[chosen], (coordinates.coords[0][chosen], coordinates.coords[1][chosen]))
    return sp.csr_array(picked, shape=matrix.shape)


def _instances_of(atom: BagMax, bags: np.ndarray) -> tuple[np.ndarray, np.ndarray]:  # type: ignore[type-arg]
    """For a list of bags: (place in the list, flat instance) of all their instances, in order."""
    sizes = atom.over.sizes[bags]
    row_of = np.repeat(np.arange(bags.size), sizes)
    first = np.cumsum(sizes) - sizes
    return row_of, np.arange(row_of.size) - first[row_of] + atom.over.offsets[bags][row_of]


def _renumbered(group: np.ndarray) -> np.ndarray:  # type: ignore[type-arg]
    used = np.unique(group[group >= 0])
    result = np.full(group.size, -1, dtype=np.intp)
    result[group >= 0] = np.searchsorted(used, group[group >= 0])
    return result


def _root(atom: QuadForm) -> sp.csr_array:
    """B with B'B = W, for a positive semidefinite W."""
    if atom.weight.ndim == 1:
        if (atom.weight < 0).any():
            raise ConvexityError(f"{atom.describe()} has a negative weight {atom.weight.min():.3g}: not convex.")
        return sp.csr_array(sp.diags_array(np.sqrt(atom.weight)))
    from milopt.compilation.curvature import symmetric_root

    return sp.csr_array(symmetric_root(atom.weight, atom.describe()))


def _wrong_side(atom: Atom, where: str, maximizes: bool) -> str:
    side = "maximised" if maximizes else "on the large side"
    return f"{atom.describe()} in {where} is convex and stands {side}, so the program is not convex there."


__all__ = ["Lowering", "Vector", "Witnesses", "mean_selection", "one_hot_selection"]
