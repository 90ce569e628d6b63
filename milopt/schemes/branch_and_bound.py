"""Branch and bound over witnesses: each node fixes the witnesses of some bags and leaves those of the others open.

The witness of a bag is the instance whose value replaces the bag's maximum. The rows of an open bag (a bag without a
witness) are left out, and in the objective its maximum is replaced by an upper bound, its ceiling. So the optimum of a
node is a lower bound for all choices of the open witnesses. A node is branched on the bag whose row is violated most at
the node's point, with one child per instance of the bag. If all witnesses are fixed at the argmax of their bags, the
program is restricted, and its optimum is an upper bound.
"""

from __future__ import annotations

import heapq
from dataclasses import dataclass, field
from itertools import count

import numpy as np

from milopt.compilation.minorant import Selections, one_hot_minorants
from milopt.compilation.sides import atom_sides
from milopt.compilation.status import PointStatus, Termination
from milopt.declaration.atoms.atom import SelectionAtom
from milopt.outcome.outcome import Outcome
from milopt.outcome.point_values import PointValues
from milopt.outcome.result import Step
from milopt.schemes.scheme import Steps
from milopt.schemes.steps import StepTotals
from milopt.solving.clock import Clock
from milopt.solving.step_session import StepSession


@dataclass
class SearchResult:
    """Result of a branch-and-bound search. Objectives have the sign of the minimisation."""

    best: Outcome | None
    index: Selections
    """Witnesses of the best point: for each maximum, one instance index per bag."""
    bound: float
    """Lower bound on the optimal value, from certified solves or from a solver's integer search."""
    ended: Termination = Termination.OPTIMAL
    end_reason: str = "The search ended"
    """Why the search ended, as the beginning of a message."""
    totals: StepTotals = field(default_factory=StepTotals)


@dataclass(order=True)
class SearchNode:
    """A node of the search tree; nodes are ordered by bound, then by the number of open bags, then by age."""

    bound: float
    """Lower bound on the objective in the subtree of the node."""
    open: int
    """Number of bags without a witness.

    Of two nodes with equal bounds, the one with fewer such bags (the deeper one) comes first. Otherwise a search of an
    unbounded program would visit all inner nodes before its first leaf.
    """
    order: int
    index: Selections = field(compare=False)
    """Witnesses: for each maximum, one instance index per bag; -1 if the bag is open."""


class BranchAndBound:
    """Best-first branch-and-bound search, in one session, over the witnesses of the maxima `atoms`."""

    def __init__(self, session: StepSession, atoms: list[SelectionAtom], tolerance: float, max_nodes: int) -> None:
        self.session = session
        self.atoms = atoms
        self.tolerance = tolerance
        self.max_nodes = max_nodes
        self._sign = -1.0 if session.program.maximizes else 1.0
        self._needed = {atom: np.zeros(len(atom.segments), dtype=bool) for atom in atoms}
        for side in atom_sides(session.program):
            if isinstance(side.atom, SelectionAtom) and side.atom in self._needed:
                self._needed[side.atom][side.witness] = True
        self._tried_selections: set[bytes] = set()
        self._unproved_bound = np.inf
        """Smallest bound of a node with all witnesses fixed whose solve was not certified; inf if there is none."""
        self._unbounded = False
        self.totals = StepTotals()
        self.best: Outcome | None = None
        self.best_value = np.inf
        self.best_index: Selections = {}

    def search(self, clock: Clock, start: Selections | None) -> Steps[SearchResult]:
        """Search until the bound meets the best point, or a limit is reached; yield a step per node.

        `start`: witnesses with which a first upper bound is computed, or None.
        """
        root = {atom: np.full(len(atom.segments), -1, dtype=np.intp) for atom in self.atoms}
        order = count()
        heap = [SearchNode(-np.inf, 0, next(order), root)]
        nodes, bound, ended, end_reason = 0, -np.inf, Termination.OPTIMAL, "The search ended"
        try:
            if start is not None and not clock.is_over():
                self._solve_restriction(start, clock)
            while heap and not self._unbounded:
                node = heapq.heappop(heap)
                bound = max(bound, node.bound)
                if self._can_prune(node.bound):
                    break
                if clock.is_over() or nodes >= self.max_nodes:
                    heapq.heappush(heap, node)
                    ended = Termination.LIMIT
                    end_reason = clock.end_reason() if clock.is_over() else f"Limit of {self.max_nodes} nodes"
                    break
                nodes += 1
                for child in self._expand_node(node, clock):
                    left = sum(int((index < 0).sum()) for index in child[1].values())
                    heapq.heappush(heap, SearchNode(child[0], left, next(order), child[1]))
                yield Step(self._sign * self.best_value, self._sign * bound, None, clock.elapsed())
        except KeyboardInterrupt:
            clock.interrupted = True
            ended, end_reason = Termination.LIMIT, clock.end_reason()
        if self._unbounded:
            ended, end_reason = Termination.UNBOUNDED, "A choice of witnesses leaves the objective without limit"
        elif ended is Termination.OPTIMAL and self._unproved_bound < self.best_value:
            ended, end_reason = Termination.STALLED, "A node could not be proved"
        if not heap and ended is not Termination.LIMIT:
            bound = self.best_value
        bound = min(bound, self._unproved_bound, self.best_value)
        return SearchResult(self.best, self.best_index, bound, ended, end_reason, self.totals)

    def _can_prune(self, bound: float) -> bool:
        """Return True if a node with this bound can improve on the best point at most by a tenth of the tolerance."""
        return bool(bound >= self.best_value - 0.1 * self.tolerance * (1.0 + abs(self.best_value)))

    def _expand_node(self, node: SearchNode, clock: Clock) -> list[tuple[float, Selections]]:
        """Solve the relaxation of a node; return (bound, witnesses) of each child, or no children if none are needed.

        The program with all witnesses at the argmax of the node's point is solved too, for an upper bound.
        """
        self.session.set_witnesses(one_hot_minorants(node.index))
        outcome = self.session.solve(clock)
        self.totals.add(outcome)
        if outcome.termination is Termination.INFEASIBLE:
            return []
        is_leaf = self._first_open_bag(node.index) is None
        if is_leaf and outcome.termination is Termination.UNBOUNDED:
            self._mark_unbounded()
            return []
        bound = max(node.bound, self._proved_bound(outcome))
        if is_leaf and outcome.status is not PointStatus.CERTIFIED:
            self._unproved_bound = min(self._unproved_bound, bound)
        if self._can_prune(bound):
            return []
        branch: tuple[SelectionAtom, int] | None
        if outcome.point is None:
            branch = self._first_open_bag(node.index)
        else:
            values = PointValues(self.session.lowering, outcome)
            full = {
                atom: np.where(
                    node.index[atom] >= 0, node.index[atom], atom.segments.argmax(values.argument_values(atom))
                )
                for atom in self.atoms
            }
            branch = self._most_violated_bag(node.index, values)
            self._solve_restriction(full, clock)
        if branch is None:
            branch = self._first_open_bag(node.index)
        if branch is None or self._unbounded or self._can_prune(bound):
            return []
        atom, bag = branch
        children = []
        for instance in range(int(atom.segments.offsets[bag]), int(atom.segments.offsets[bag + 1])):
            index = dict(node.index)
            index[atom] = index[atom].copy()
            index[atom][bag] = instance
            children.append((bound, index))
        return children

    def _mark_unbounded(self) -> None:
        """Record that the program is unbounded, because one of its restrictions to fixed witnesses is."""
        self._unbounded, self._unproved_bound = True, -np.inf

    def _proved_bound(self, outcome: Outcome) -> float:
        """Return the dual value of a certified node, which bounds its subtree; -inf if the node is not certified."""
        if outcome.status is PointStatus.CERTIFIED and outcome.certificate is not None:
            return outcome.certificate.bound
        return -np.inf

    def _solve_restriction(self, index: Selections, clock: Clock) -> None:
        """Solve the program with all witnesses fixed; keep the optimum if it is certified and the best so far.

        A choice of witnesses that was tried before is not solved again.
        """
        key = b"".join(index[atom].tobytes() for atom in self.atoms)
        if key in self._tried_selections:
            return
        self._tried_selections.add(key)
        self.session.set_witnesses(one_hot_minorants(index))
        outcome = self.session.solve(clock)
        self.totals.add(outcome)
        if outcome.termination is Termination.UNBOUNDED:
            self._mark_unbounded()
        if outcome.point is None or outcome.status is not PointStatus.CERTIFIED:
            return
        value = self._sign * PointValues(self.session.lowering, outcome).objective()
        if value < self.best_value:
            self.best, self.best_value, self.best_index = outcome, value, dict(index)

    def _most_violated_bag(self, index: Selections, values: PointValues) -> tuple[SelectionAtom, int] | None:
        """Return the open bag, as (maximum, index), whose omitted row is violated most; None if all omitted rows hold.

        Only constraints are considered. A maximum in the objective has no row, so `_first_open_bag` chooses its bag.
        """
        worst, branch = 0.0, None
        program = self.session.program
        for constraint in program.constraints.values():
            for leaf, coefficient in constraint.expression.terms:
                if not isinstance(leaf, SelectionAtom) or leaf not in index:
                    continue
                row_value = values.value(constraint.expression)
                matrix = coefficient.value().tocoo()
                rows, bags = matrix.coords
                use = (matrix.data > 0) & (index[leaf][bags] < 0)
                if use.any():
                    k = int(np.argmin(np.where(use, row_value[rows], np.inf)))
                    if row_value[rows[k]] < worst:
                        worst, branch = float(row_value[rows[k]]), (leaf, int(bags[k]))
        return branch

    def _first_open_bag(self, index: Selections) -> tuple[SelectionAtom, int] | None:
        """Return the first bag, as (maximum, index), that needs a witness and has none; None if there is none."""
        for atom in self.atoms:
            left = np.flatnonzero((index[atom] < 0) & self._needed[atom])
            if left.size:
                return atom, int(left[0])
        return None
