"""A result: what was found, how it ended, and the proof that comes with it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np

from milopt.arrays import Index, Points, Vector
from milopt.compilation.inertia import Inertia
from milopt.compilation.status import PointStatus, Termination, keeps_promise
from milopt.declaration.atoms.atom import Atom, Radial
from milopt.declaration.bags.bags import Bags
from milopt.declaration.kernels.blocks import kernel_times
from milopt.declaration.kernels.kernel import Kernel
from milopt.declaration.programs.expression import Constraint, Expression, Leaf
from milopt.declaration.programs.leaves import Evaluation, Parameter, Variable
from milopt.declaration.programs.program import Program
from milopt.declaration.programs.semi_infinite import SemiInfinite
from milopt.errors import DeclarationError, UncertifiedError
from milopt.outcome.by_name import ByName
from milopt.outcome.certificate import Certificate
from milopt.outcome.ensemble import Ensemble


@dataclass(frozen=True)
class FittedFunction:
    """f = sum_p a_p K(x_p, .) over the points with a non-zero coefficient."""

    kernel: Kernel
    points: Points
    coefficients: Vector

    def __call__(self, at: Points) -> Vector:
        """f at the rows of `at`."""
        if not self.coefficients.size:
            return np.zeros(at.shape[0])
        return kernel_times(self.kernel, at, self.points, self.coefficients)

    @property
    def norm_squared(self) -> float:
        """||f||^2."""
        return float(self.coefficients @ self(self.points)) if self.coefficients.size else 0.0


@dataclass(frozen=True)
class Seconds:
    """Where the time went."""

    build: float = 0.0
    """Lowering, kernel evaluation, and building the solver's own model."""
    solve: float = 0.0
    """Inside the solver."""
    total: float = 0.0
    """From the call to the result, `jit` included."""
    jit: float = 0.0
    """Just-in-time compilation of native algorithms, which is needed once per machine; not in `build` and `solve`."""

    @property
    def scheme(self) -> float:
        """Everything else: choosing a solver, and the work of a scheme between its solves."""
        return max(0.0, self.total - self.build - self.solve - self.jit)


@dataclass(frozen=True)
class Size:
    """The size of a lowered program."""

    rows: int
    columns: int
    evaluations: int
    """Points at which functions of a kernel's space are evaluated."""


@dataclass(frozen=True)
class Attempt:
    """One solver's try at a program."""

    solver: str
    termination: Termination
    point: PointStatus
    certificate: Certificate | None
    raw_status: str
    seconds: float
    message: str = ""


@dataclass(frozen=True)
class Step:
    """One step of a scheme."""

    objective: float
    """Of the declared program at this step's point."""
    bound: float | None
    """A proved bound on the optimum, where the scheme has one."""
    certificate: Certificate | None
    """Of the step's convex subproblem."""
    seconds: float
    """Since the scheme began."""
    changed: int = 0
    """How many witnesses differ from the step before."""
    reached: float | None = None
    """The best value that oracles found before this step, which proves nothing: a row so violated was missing."""


@dataclass(frozen=True)
class Result:
    """Values and multipliers by block name, the objective of the declared program, two statuses, and a certificate.

    Multipliers belong to the program as a minimisation: z >= 0 for inequality blocks, and
    P x + q = F'z + reduced costs (reduced cost >= 0 at a lower bound, <= 0 at an upper one).
    """

    program: Program | SemiInfinite
    solver: str
    scheme: str
    termination: Termination
    point: PointStatus
    objective: float
    """Of the declared program; without a point, inf or -inf if it is infeasible or unbounded, otherwise nan."""
    bound: float | None
    values: Mapping[str, Vector]
    functions: Mapping[str, FittedFunction]
    duals: Mapping[str, Vector]
    """Multipliers by the name of a constraint block, or by what `subject_to` returned."""
    certificate: Certificate | None
    raw_status: str
    message: str
    """One sentence for a person when there is something to say: why it stopped, which block is infeasible."""
    iterations: int
    seconds: Seconds
    history: tuple[Step, ...] = ()
    attempts: tuple[Attempt, ...] = ()
    polished: Certificate | None = None
    """The certificate before polishing, when polish was kept."""
    rebuilds: int = 0
    log: str = field(default="", repr=False)
    witnesses: Mapping[str, Index] = field(default_factory=dict)
    """For a DC program: the chosen instance of each bag, by the atom's description."""
    ensemble: Ensemble | None = None
    """For a semi-infinite program: its columns and their weights; values and multipliers are then the master's."""
    reduced_costs: Mapping[str, Vector] = field(default_factory=dict)
    """Multipliers of the bounds of each variable, by its name or by the variable."""
    cone_duals: Mapping[str, tuple[Vector, ...]] = field(default_factory=dict)
    """Multipliers of second-order and exponential cones, one vector per cone, by the name of a constraint block.

    The row `norm(x) <= t` is the cone (t, x), whose multipliers (z_0, z) satisfy z_0 >= ||z||; z_0 is the multiplier of
    the row. Other cones have the names and rows that `program.summary()` and `program.to_cbf()` show.
    """
    farkas: Mapping[str, Vector] = field(default_factory=dict)
    """If the program is infeasible: multipliers of constraints and, by variable, of bounds that contradict each other.

    With y of the rows `expression >= 0`, and r >= 0 of lower or r <= 0 of upper bounds, y'expression + r'(x - bound) is
    -1 at every x, or at most -1 if atoms occur, and at least 0 at a feasible x. Empty if a search over integers is
    what proves infeasibility.
    """
    ray: Mapping[str, Vector | FittedFunction] = field(default_factory=dict)
    """If the program is unbounded: a direction by variable and function, along which the objective improves and the
    rows hold from every feasible point on; its largest entry is 1."""
    inertia: Inertia | None = None
    """Of the reduced Hessian, where a closed form was factorised: a minimum, or how many ways lead down."""
    size: Size | None = None
    """The size of the program that was solved, if it is the declared one."""
    parameters: Mapping[str, Vector] = field(default_factory=dict)
    """The values of parameters by name, as they were in this solve."""

    def __post_init__(self) -> None:
        program = self.program.core
        kinds = {
            "values": "variable",
            "functions": "function",
            "duals": "multipliers of a constraint block",
            "reduced_costs": "reduced costs of a variable",
            "cone_duals": "multipliers of cones",
            "farkas": "Farkas multipliers",
            "ray": "ray",
        }
        handles = program.handles()
        for field_name, kind in kinds.items():
            object.__setattr__(self, field_name, ByName(kind, getattr(self, field_name), handles, program.labels))

    @property
    def exit_code(self) -> int:
        """0 when the point carries the certificate its scheme promises, 3 otherwise.

        An alternation that cycles promises its best iterate, whose own step is certified, and no more.
        """
        return 0 if keeps_promise(self.termination, self.point) else 3

    def require_certified(self) -> Result:
        """Itself, or an UncertifiedError that says what is missing."""
        if self.point is not PointStatus.CERTIFIED:
            proof = f" ({self.certificate})" if self.certificate else ""
            found = f"{self.termination}, point {self.point}{proof}"
            raise UncertifiedError(f"{self.program.name} by {self.solver}: {found}. {self.message}".strip())
        return self

    def score(self, bags: Bags) -> Vector:
        """The program's score of new bags."""
        return self.program.bag_scores(self, bags)

    def instance_scores(self, points: Points) -> Vector:
        """The program's score of single instances."""
        return self.program.instance_scores(self, points)

    def known_ensemble(self) -> Ensemble:
        """Return the ensemble, or raise an error if the result has none."""
        if self.ensemble is None:
            raise DeclarationError(f"{self.program.name!r} ended without an ensemble to score with.")
        return self.ensemble

    def value(self, expression: Expression | Constraint) -> Vector:
        """Return an expression of the program at this point, or the slacks of a constraint, atoms taken as declared.

        The slacks of `a >= b` and of `b <= a` are a - b. Of two sides the nearer one counts, and a row without a finite
        side has an infinite slack.

        Raises
        ------
        DeclarationError
            If it is not an expression, or one of another program.
        UncertifiedError
            If the result has no point.
        """
        shape = getattr(expression, "shape", ())
        if isinstance(expression, Constraint):
            return expression.slacks(np.atleast_1d(self.value(expression.expression)))
        if not isinstance(expression, Expression):
            raise DeclarationError(
                f"value takes an expression of program {self.program.name!r}, such as 2 * x + 1, not {expression!r}; "
                "`result.values` has the values of variables by name."
            )
        if self.certificate is None and not self.values and not self.functions:
            ended = f"{self.program.name!r} ended as {self.termination} by {self.solver}"
            raise UncertifiedError(f"{ended}, without a point to evaluate an expression at. {self.message}".strip())
        expression = self.program.core.owned(expression, "the expression to evaluate")
        return expression.evaluated(self._leaf).reshape(shape)

    def _leaf(self, leaf: Leaf) -> Vector:
        if isinstance(leaf, Variable):
            if leaf.name not in self.values:
                raise DeclarationError(f"Variable {leaf.name!r} was declared after this result; solve again.")
            return self.values[leaf.name].ravel()
        if isinstance(leaf, Evaluation):
            return self.functions[leaf.function.name](leaf.points)
        if isinstance(leaf, Atom):
            if leaf.function is None:
                return leaf.value(leaf.argument.evaluated(self._leaf), leaf.segments)
            assert isinstance(leaf, Radial)
            return leaf.profile(np.sqrt(np.array([max(0.0, self.functions[leaf.function.name].norm_squared)])))
        if isinstance(leaf, Parameter) and leaf.name in self.parameters:
            return self.parameters[leaf.name]
        return leaf.current()

    def __str__(self) -> str:
        proof = f"; {self.certificate}" if self.certificate else ""
        message = f". {self.message}" if self.message else ""
        return (
            f"{self.program.name} by {self.solver} ({self.scheme}): {self.termination}, point {self.point}, "
            f"objective {self.objective:.8g}{proof}; {self.iterations} iterations, {self.seconds.total:.3g} s{message}"
        )
