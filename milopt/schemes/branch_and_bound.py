"""Branch and bound over witnesses: each node fixes the witnesses of some bags and leaves the others open.

An open bag's rows are left out (in the objective its maximum stands at its ceiling), so a node's optimum is a lower
bound for every completion. At a node's point the bag whose row is most violated is branched, one child an instance. The
argmax of every bag gives a restriction, whose optimum is an upper bound.
"""

from __future__ import annotations

import heapq
from dataclasses import dataclass, field
from itertools import count

import numpy as np

from milopt.compilation.minorant import Selections, one_hot
from milopt.compilation.sides import sides
from milopt.compilation.status import PointStatus, Termination
from milopt.declaration.atoms.atom import Selecting
from milopt.outcome.outcome import Outcome
from milopt.outcome.point_values import PointValues
from milopt.outcome.result import Step
from milopt.schemes.scheme import Steps
from milopt.schemes.steps import Totals
from milopt.solving.clock import Clock
from milopt.solving.step_session import StepSession


@dataclass
class Search:
    """How a search ended; objectives are of the minimisation."""

    best: Outcome | None
    index: Selections
    bound: float
    ended: Termination = Termination.OPTIMAL
    why: str = "The search ended"
    """Why it ended, as a sentence's beginning."""
    totals: Totals = field(default_factory=Totals)


@dataclass(order=True)
class _Node:
    bound: float
    open: int
    """How many bags have no witness yet: of equal bounds the deeper node comes first, or an unbounded program would
    visit every node before its first leaf."""
    order: int
    index: Selections = field(compare=False)


class BranchAndBound:
    """A best-first search in one session."""

    def __init__(self, session: StepSession, atoms: list[Selecting], tolerance: float, max_nodes: int) -> None:
        self.session = session
        self.atoms = atoms
        self.tolerance = tolerance
        self.max_nodes = max_nodes
        self._sign = -1.0 if session.program.maximizes else 1.0
        self._needed = {atom: np.zeros(len(atom.segments), dtype=bool) for atom in atoms}
        for side in sides(session.program):
            if isinstance(side.atom, Selecting) and side.atom in self._needed:
                self._needed[side.atom][side.witness] = True
        self._tried: set[bytes] = set()
        self._lost = np.inf
        """The smallest bound of a node that was left without a proof: its completions stay unknown."""
        self._unbounded = False
        self.totals = Totals()
        self.best: Outcome | None = None
        self.best_value = np.inf
        self.best_index: Selections = {}

    def search(self, clock: Clock, start: Selections | None) -> Steps[Search]:
        """Until the bound meets the best point, or a limit."""
        root = {atom: np.full(len(atom.segments), -1, dtype=np.intp) for atom in self.atoms}
        order = count()
        heap = [_Node(-np.inf, 0, next(order), root)]
        nodes, bound, ended, why = 0, -np.inf, Termination.OPTIMAL, "The search ended"
        try:
            if start is not None and not clock.is_over():
                self._restrict(start, clock)
            while heap and not self._unbounded:
                node = heapq.heappop(heap)
                bound = max(bound, node.bound)
                if self._closed(node.bound):
                    break
                if clock.is_over() or nodes >= self.max_nodes:
                    heapq.heappush(heap, node)
                    ended = Termination.LIMIT
                    why = clock.why() if clock.is_over() else f"Limit of {self.max_nodes} nodes"
                    break
                nodes += 1
                for child in self._expand(node, clock):
                    left = sum(int((index < 0).sum()) for index in child[1].values())
                    heapq.heappush(heap, _Node(child[0], left, next(order), child[1]))
                yield Step(self._sign * self.best_value, self._sign * bound, None, clock.elapsed())
        except KeyboardInterrupt:
            clock.interrupted = True
            ended, why = Termination.LIMIT, clock.why()
        if self._unbounded:
            ended, why = Termination.UNBOUNDED, "A choice of witnesses leaves the objective without limit"
        elif ended is Termination.OPTIMAL and self._lost < self.best_value:
            ended, why = Termination.STALLED, "A node could not be proved"
        if not heap and ended is not Termination.LIMIT:
            bound = self.best_value
        bound = min(bound, self._lost, self.best_value)
        return Search(self.best, self.best_index, bound, ended, why, self.totals)

    def _closed(self, bound: float) -> bool:
        return bool(bound >= self.best_value - 0.1 * self.tolerance * (1.0 + abs(self.best_value)))

    def _expand(self, node: _Node, clock: Clock) -> list[tuple[float, Selections]]:
        """Solve a node's relaxation; its children with their bounds, none when it is closed."""
        self.session.set_witnesses(one_hot(node.index))
        outcome = self.session.solve(clock)
        self.totals.add(outcome)
        if outcome.termination is Termination.INFEASIBLE:
            return []
        is_leaf = self._first_open(node.index) is None
        if is_leaf and outcome.termination is Termination.UNBOUNDED:
            self._prove_unbounded()
            return []
        bound = max(node.bound, self._bound_of(outcome))
        if is_leaf and outcome.status is not PointStatus.CERTIFIED:
            self._lost = min(self._lost, bound)
        if self._closed(bound):
            return []
        branch: tuple[Selecting, int] | None
        if outcome.point is None:
            branch = self._first_open(node.index)
        else:
            values = PointValues(self.session.lowering, outcome)
            full = {
                atom: np.where(node.index[atom] >= 0, node.index[atom], atom.segments.argmax(values.inner(atom)))
                for atom in self.atoms
            }
            branch = self._most_violated(node.index, values)
            self._restrict(full, clock)
        if branch is None:
            branch = self._first_open(node.index)
        if branch is None or self._unbounded or self._closed(bound):
            return []
        atom, bag = branch
        children = []
        for instance in range(int(atom.segments.offsets[bag]), int(atom.segments.offsets[bag + 1])):
            index = dict(node.index)
            index[atom] = index[atom].copy()
            index[atom][bag] = instance
            children.append((bound, index))
        return children

    def _prove_unbounded(self) -> None:
        """A selection of witnesses restricts the program: if the restriction is unbounded, the program is."""
        self._unbounded, self._lost = True, -np.inf

    def _bound_of(self, outcome: Outcome) -> float:
        """A certified node's dual value bounds every completion; an uncertified one bounds nothing."""
        if outcome.status is PointStatus.CERTIFIED and outcome.certificate is not None:
            return outcome.certificate.bound
        return -np.inf

    def _restrict(self, index: Selections, clock: Clock) -> None:
        """The optimum with these witnesses, kept when it is the best so far."""
        key = b"".join(index[atom].tobytes() for atom in self.atoms)
        if key in self._tried:
            return
        self._tried.add(key)
        self.session.set_witnesses(one_hot(index))
        outcome = self.session.solve(clock)
        self.totals.add(outcome)
        if outcome.termination is Termination.UNBOUNDED:
            self._prove_unbounded()
        if outcome.point is None or outcome.status is not PointStatus.CERTIFIED:
            return
        value = self._sign * PointValues(self.session.lowering, outcome).objective()
        if value < self.best_value:
            self.best, self.best_value, self.best_index = outcome, value, dict(index)

    def _most_violated(self, index: Selections, values: PointValues) -> tuple[Selecting, int] | None:
        """Return the open bag whose constraint row is violated most at the true maxima; None if none is.

        Only constraints are looked at. A maximum in the objective has no row, and `_first_open` chooses its bag.
        """
        worst, found = 0.0, None
        program = self.session.program
        for constraint in program.constraints.values():
            for leaf, coefficient in constraint.expression.terms:
                if not isinstance(leaf, Selecting) or leaf not in index:
                    continue
                row_value = values.value(constraint.expression)
                matrix = coefficient.value().tocoo()
                rows, bags = matrix.coords
                use = (matrix.data > 0) & (index[leaf][bags] < 0)
                if use.any():
                    k = int(np.argmin(np.where(use, row_value[rows], np.inf)))
                    if row_value[rows[k]] < worst:
                        worst, found = float(row_value[rows[k]]), (leaf, int(bags[k]))
        return found

    def _first_open(self, index: Selections) -> tuple[Selecting, int] | None:
        for atom in self.atoms:
            left = np.flatnonzero((index[atom] < 0) & self._needed[atom])
            if left.size:
                return atom, int(left[0])
        return None
