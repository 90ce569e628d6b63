"""A program as plain numbers, which are changed together with a session and declared again after each change."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

from milopt import Program, Session, quad_form
from milopt.declaration.programs.expression import Constraint, Expression

Array = npt.NDArray[np.float64]
WAYS = ("plain", "numbers on the left", "variables on the right", "both sides")


@dataclass
class MirrorColumn:
    """A variable: bounds, cost, and the diagonal of its square in the objective."""

    lower: Array
    upper: Array
    cost: Array
    square: Array


@dataclass
class MirrorRows:
    """A block sum_v M_v v (sense) rhs, and how it was first written."""

    sense: str
    rhs: Array
    matrices: dict[str, Array]
    way: str


@dataclass
class Mirror:
    """The numbers of a program, and methods that change them at random together with a session."""

    rng: np.random.Generator
    curved: bool
    maximizes: bool = False
    columns: dict[str, MirrorColumn] = field(default_factory=dict)
    blocks: dict[str, MirrorRows] = field(default_factory=dict)
    made: int = 0

    def new_column(self, size: int) -> MirrorColumn:
        """Return a variable with random bounds and costs; its square is convex if minimised, concave if maximised."""
        sign = -1.0 if self.maximizes else 1.0
        square = sign * self.rng.uniform(0.5, 2.0, size) if self.curved else np.zeros(size)
        reach = self.rng.uniform(1.0, 3.0, size)
        return MirrorColumn(-reach, reach + 1.0, self.rng.normal(size=size), square)

    def new_rows(self, count: int) -> MirrorRows:
        """Return random rows that hold near 0."""
        sense = str(self.rng.choice(["<=", ">=", "=="], p=[0.4, 0.4, 0.2]))
        count = 1 if sense == "==" else count
        slack = self.rng.uniform(0.1, 1.5, count) * {"<=": 1.0, ">=": -1.0, "==": 0.1}[sense]
        matrices = {name: self.rng.normal(size=(count, column.cost.size)) for name, column in self.columns.items()}
        return MirrorRows(sense, slack, matrices, str(self.rng.choice(WAYS)))

    def name(self, letter: str) -> str:
        """Return a name that was not used before."""
        self.made += 1
        return f"{letter}{self.made}"

    # -- declaring -----------------------------------------------------------------------------------------------

    def declared(self) -> Program:
        """Declare the program with these numbers."""
        program = Program("mirror")
        for name, column in self.columns.items():
            program.variable(name, column.cost.size, lower=column.lower, upper=column.upper)
        objective = self.objective(program)
        (program.maximize if self.maximizes else program.minimize)(objective)
        for name, rows in self.blocks.items():
            program.subject_to(self.constraint(program, rows), name)
        return program

    def objective(self, program: Program) -> Expression | float:
        """Return the objective in the variables of a program."""
        total: Expression | float = 0.5
        for name, column in self.columns.items():
            x = program.variables[name]
            total = total + column.cost @ x
            if column.square.any():
                total = total + 0.5 * quad_form(x, np.diag(column.square))
        return total

    def constraint(self, program: Program, rows: MirrorRows) -> Constraint:
        """Return a block in the variables of a program, written in one of several ways."""
        left: Expression | Array = np.zeros(rows.rhs.size)
        right: Expression | Array = rows.rhs
        for k, (name, matrix) in enumerate(rows.matrices.items()):
            x = program.variables[name]
            moves = rows.way == "variables on the right" and k == 0 and len(rows.matrices) > 1
            if moves:
                right = right + (-matrix) @ x
            elif rows.way == "both sides":
                left, right = left + (2 * matrix) @ x, right + matrix @ x
            else:
                left = left + matrix @ x
        if rows.way == "numbers on the left":
            left, right = left - rows.rhs, np.zeros(rows.rhs.size)
        if not isinstance(left, Expression):
            left = left + 0.0 * next(iter(program.variables.values())).sum()
        if rows.sense == "==":
            return left == right
        return left <= right if rows.sense == "<=" else left >= right

    # -- changes ---------------------------------------------------------------------------------------------------

    def change(self, session: Session, declared: Program) -> str:
        """Make one random change here and in a session, and return its name; `declared` is the caller's program."""
        changes = {
            "bounds": self._bounds,
            "one bound": self._one_bound,
            "free": self._free,
            "cost": self._cost,
            "objective": self._objective,
            "rhs": self._rhs,
            "contradiction": self._contradiction,
            "coefficients": self._coefficients,
            "one coefficient": self._one_coefficient,
            "add rows": self._add_rows,
            "replace rows": self._replace_rows,
            "delete rows": self._delete_rows,
            "add variable": self._add_variable,
            "delete variable": self._delete_variable,
        }
        chosen = str(self.rng.choice(list(changes)))
        changes[chosen](session, declared)
        return chosen

    def _pick(self, names: dict[str, MirrorColumn] | dict[str, MirrorRows]) -> str:
        return str(self.rng.choice(list(names)))

    def _handle(self, session: Session, declared: Program, name: str) -> Expression | str:
        """Return a variable by its name, by the caller's object or by the session's."""
        known = [name, session.program.variables[name], declared.variables.get(name, name)]
        return known[self.rng.integers(3)]

    def _block(self, session: Session, declared: Program, name: str) -> Constraint | str:
        known = [name, session.program.constraints[name], declared.constraints.get(name, name)]
        return known[self.rng.integers(3)]

    def _bounds(self, session: Session, declared: Program) -> None:
        name = self._pick(self.columns)
        column = self.columns[name]
        column.lower = -self.rng.uniform(0.5, 3.0, column.lower.size)
        column.upper = self.rng.uniform(0.5, 3.0, column.lower.size)
        session.set_bounds(self._handle(session, declared, name), lower=column.lower, upper=column.upper)

    def _one_bound(self, session: Session, declared: Program) -> None:
        name = self._pick(self.columns)
        column = self.columns[name]
        at = int(self.rng.integers(column.lower.size))
        column.upper[at] = column.lower[at] + 0.5 if np.isfinite(column.lower[at]) else 0.5
        session.set_bounds(session.program.variables[name][at], upper=column.upper[at])

    def _free(self, session: Session, declared: Program) -> None:
        name = self._pick(self.columns)
        column = self.columns[name]
        column.lower[:], column.upper[:] = -np.inf, np.inf
        session.set_bounds(self._handle(session, declared, name), lower=-np.inf, upper=np.inf)

    def _cost(self, session: Session, declared: Program) -> None:
        name = self._pick(self.columns)
        self.columns[name].cost = self.rng.normal(size=self.columns[name].cost.size)
        session.set_cost(self._handle(session, declared, name), self.columns[name].cost)

    def _objective(self, session: Session, declared: Program) -> None:
        self.maximizes = not self.maximizes
        for column in self.columns.values():
            column.cost, column.square = self.rng.normal(size=column.cost.size), -column.square
        (session.maximize if self.maximizes else session.minimize)(self.objective(session.program))

    def _rhs(self, session: Session, declared: Program) -> None:
        if self.blocks:
            name = self._pick(self.blocks)
            rows = self.blocks[name]
            rows.rhs = rows.rhs + self.rng.normal(size=rows.rhs.size) * 0.3
            session.set_rhs(self._block(session, declared, name), rows.rhs)

    def _contradiction(self, session: Session, declared: Program) -> None:
        """Add two rows that cannot both hold."""
        name, other = self.name("c"), self.name("c")
        rows = self.new_rows(1)
        self.blocks[name] = MirrorRows("<=", np.array([-1.0]), rows.matrices, "plain")
        self.blocks[other] = MirrorRows(">=", np.array([1.0]), dict(rows.matrices), "numbers on the left")
        for block_name in (name, other):
            session.subject_to(self.constraint(session.program, self.blocks[block_name]), block_name)

    def _coefficients(self, session: Session, declared: Program) -> None:
        if self.blocks:
            block, name = self._pick(self.blocks), self._pick(self.columns)
            rows = self.blocks[block]
            rows.matrices[name] = self.rng.normal(size=(rows.rhs.size, self.columns[name].cost.size))
            variable = self._handle(session, declared, name)
            session.set_coefficients(self._block(session, declared, block), variable, rows.matrices[name])

    def _one_coefficient(self, session: Session, declared: Program) -> None:
        if self.blocks:
            block, name = self._pick(self.blocks), self._pick(self.columns)
            rows, size = self.blocks[block], self.columns[name].cost.size
            matrix = rows.matrices.setdefault(name, np.zeros((rows.rhs.size, size))).copy()
            at = int(self.rng.integers(size))
            matrix[:, at] = self.rng.normal(size=rows.rhs.size)
            rows.matrices[name] = matrix
            session.set_coefficients(block, session.program.variables[name][at], matrix[:, at])

    def _add_rows(self, session: Session, declared: Program) -> None:
        name = self.name("r")
        self.blocks[name] = self.new_rows(2)
        session.subject_to(self.constraint(session.program, self.blocks[name]), name)

    def _replace_rows(self, session: Session, declared: Program) -> None:
        if self.blocks:
            name = self._pick(self.blocks)
            self.blocks[name] = self.new_rows(int(self.rng.integers(1, 4)))
            block = self._block(session, declared, name)
            session.replace(block, self.constraint(session.program, self.blocks[name]))

    def _delete_rows(self, session: Session, declared: Program) -> None:
        contradictions = [name for name in self.blocks if name.startswith("c")]
        names = contradictions or list(self.blocks)[:1]
        if names:
            session.delete(*names)
            for name in names:
                del self.blocks[name]

    def _add_variable(self, session: Session, declared: Program) -> None:
        name = self.name("x")
        column = self.columns[name] = self.new_column(2)
        column.square[:] = 0.0
        entering = {}
        for block, rows in self.blocks.items():
            rows.matrices[name] = entering[block] = self.rng.normal(size=(rows.rhs.size, 2))
        session.variable(name, 2, lower=column.lower, upper=column.upper, cost=column.cost, rows=entering)

    def _delete_variable(self, session: Session, declared: Program) -> None:
        """Delete a variable without a square, because a variable inside an atom cannot be deleted."""
        names = [name for name, column in self.columns.items() if not column.square.any()]
        if len(self.columns) > 1 and names:
            name = str(self.rng.choice(names))
            session.delete(self._handle(session, declared, name))
            del self.columns[name]
            for rows in self.blocks.values():
                rows.matrices.pop(name, None)
