"""Results: values, multipliers, statuses and the certificate of a solve."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np

from milopt.arrays import Index, Points, Vector
from milopt.compilation.inertia import Inertia
from milopt.compilation.status import PointStatus, Termination, is_successful
from milopt.declaration.atoms.atom import Atom, RadialAtom
from milopt.declaration.bags.bags import Bags
from milopt.declaration.kernels.feature_rows import FEATURE_BLOCK_BYTES, FeatureRows
from milopt.declaration.kernels.gram_blocks import kernel_times
from milopt.declaration.kernels.kernel import Kernel
from milopt.declaration.programs.expression import Constraint, Expression, Leaf
from milopt.declaration.programs.leaves import FunctionEvaluation, Parameter, Variable
from milopt.declaration.programs.program import Program
from milopt.declaration.programs.semi_infinite import SemiInfinite
from milopt.errors import DeclarationError, UncertifiedError
from milopt.outcome.certificate import Certificate
from milopt.outcome.ensemble import Ensemble
from milopt.outcome.named_parts import NamedParts
from milopt.outcome.result_view import describe_result, result_html


@dataclass(frozen=True)
class FittedFunction:
    """Function f = sum_p a_p K(x_p, .) in the space of a kernel, over the points with a non-zero coefficient.

    If the kernel has features phi, the function is f = <w, phi(.)> instead, and there are no points.

    Parameters
    ----------
    kernel : Kernel
        Kernel K.
    points : array of shape (n_points, n_features)
        Points x_p.
    coefficients : ndarray of shape (n_points,)
        Coefficients a_p.
    weights : ndarray of shape (n_features_out,) or None, default=None
        Weights w of the features of the kernel; None if it has none.
    """

    kernel: Kernel
    points: Points
    coefficients: Vector
    weights: Vector | None = field(default=None, kw_only=True)

    def __call__(self, at: Points) -> Vector:
        """Return f at the rows of `at`."""
        if self.weights is not None:
            return FeatureRows(self.kernel, at, FEATURE_BLOCK_BYTES).times(self.weights)
        if not self.coefficients.size:
            return np.zeros(at.shape[0])
        return kernel_times(self.kernel, at, self.points, self.coefficients)

    @property
    def norm_squared(self) -> float:
        """Squared norm ||f||^2 in the kernel's space."""
        if self.weights is not None:
            return float(self.weights @ self.weights)
        return float(self.coefficients @ self(self.points)) if self.coefficients.size else 0.0


@dataclass(frozen=True)
class Seconds:
    """Wall-clock times of a solve, in seconds."""

    build: float = 0.0
    """Time for lowering, kernel evaluations, and building the solver's model."""
    solve: float = 0.0
    """Time inside the solver."""
    total: float = 0.0
    """Time from the call to the result, `jit` included."""
    jit: float = 0.0
    """Time for just-in-time compilation of native algorithms, once per machine; not part of `build` and `solve`."""

    @property
    def scheme(self) -> float:
        """Remaining time: choosing a solver, and the work of a scheme between its solves."""
        return max(0.0, self.total - self.build - self.solve - self.jit)


@dataclass(frozen=True)
class Size:
    """Size of a program as it is lowered for a solver, with epigraph rows and auxiliary columns."""

    rows: int
    columns: int
    evaluations: int
    """Number of points at which functions in the space of a kernel are evaluated."""


@dataclass(frozen=True)
class Attempt:
    """Attempt of one solver at a program: its statuses, its certificate if it has a point, and its duration."""

    solver: str
    termination: Termination
    point: PointStatus
    certificate: Certificate | None
    raw_status: str
    seconds: float
    """Duration of the attempt."""
    message: str = ""


@dataclass(frozen=True)
class Step:
    """One step of a scheme, as listed in `Result.history`.

    Parameters
    ----------
    objective : float
        Objective of the declared program at the point of this step.
    bound : float or None
        Bound on the optimum; None if the scheme has none.
    certificate : Certificate or None
        Certificate of the convex subproblem of this step.
    seconds : float
        Time since the scheme started.
    changed : int, default=0
        Number of witnesses that differ from those of the previous step; in column generation, number of columns in the
        master.
    reached : float or None, default=None
        In column generation, the largest column value that the oracles found before this step. It is a bound on the
        optimum only if the oracles are exact.

    Attributes
    ----------
    objective, bound, certificate, seconds, changed, reached
        As the parameters.

    Examples
    --------
    >>> import milopt
    >>> bags = milopt.as_bags([[[0.0], [3.0]], [[0.5], [1.0]]])
    >>> program = milopt.Program("witness")
    >>> w = program.variable("w", lower=0, upper=2)
    >>> program.maximize(milopt.bag_max(w * bags.instances[:, 0], bags).sum() - milopt.square(w))
    >>> result = milopt.solve(program)
    >>> [round(step.objective, 4) for step in result.history][-1]
    4.0
    """

    objective: float
    bound: float | None
    certificate: Certificate | None
    seconds: float
    changed: int = 0
    reached: float | None = None


@dataclass(frozen=True)
class Result:
    """Result of a solve: values and multipliers by name, two statuses, and a certificate.

    Multipliers belong to the program as a minimisation: z >= 0 for inequality blocks, and P x + q = F'z + reduced
    costs. A reduced cost is >= 0 at a lower bound and <= 0 at an upper bound. A mapping by name can also be indexed
    with the declared object itself, such as ``result.values[x]``.

    Parameters
    ----------
    program : Program or SemiInfinite
        Program that was solved.
    solver : str
        Name of the solver.
    scheme : str
        Name of the scheme.
    termination : Termination
        Reason why the algorithm ended.
    point : PointStatus
        Status of the point.
    objective : float
        Objective of the declared program at the point. Without a point, inf or -inf if the program is infeasible or
        unbounded, and nan otherwise.
    bound : float or None
        Bound on the optimum: from below for a minimisation, from above for a maximisation. For an integer program, and
        for a point that is not certified, it may be the solver's own bound, which milopt cannot check.
    values : mapping of str to ndarray
        Values of the variables.
    functions : mapping of str to FittedFunction
        Functions in the space of a kernel.
    duals : mapping of str to ndarray
        Multipliers of the constraint blocks, by name or by the object that `subject_to` returned.
    certificate : Certificate or None
        Residuals recomputed by milopt; None without a point.
    raw_status : str
        Status reported by the solver.
    message : str
        Explanation, if there is something to explain: why the solve stopped, or which block is infeasible.
    iterations : int
        Number of iterations of the solver.
    seconds : Seconds
        Wall-clock times.
    history : tuple of Step, default=()
        Steps of the scheme.
    attempts : tuple of Attempt, default=()
        Attempts of the solvers that were tried.
    polished : Certificate or None, default=None
        Certificate before polishing, if polishing improved the point.
    rebuilds : int, default=0
        Number of times that the solver's model was built again.
    log : str, default=""
        Log of the solver, if `verbose` was set.
    witnesses : mapping of str to ndarray
        For a DC program: the selected instance of each bag, by the description of the atom.
    ensemble : Ensemble or None, default=None
        For a semi-infinite program: the columns and their weights. Values and multipliers are then those of the master.
    reduced_costs : mapping of str to ndarray
        Multipliers of the bounds of each variable.
    cone_duals : mapping of str to tuple of ndarray
        Multipliers of second-order and exponential cones, one vector per cone. The constraint ``norm(x) <= t`` is the
        cone (t, x); its multipliers (z_0, z) satisfy z_0 >= ||z||, and z_0 is the multiplier of the row.
        `Program.summary` and `Program.to_cbf` show the names and rows of other cones.
    farkas : mapping of str to ndarray
        If the program is infeasible: multipliers of constraints and, by variable, of bounds, that contradict each
        other. With y for the rows ``expression >= 0``, and r >= 0 for lower or r <= 0 for upper bounds, y'expression +
        r'(x - bound) is -1 at every x (at most -1 if atoms occur), but at least 0 at a feasible x. Empty if
        infeasibility is proved by a search over integers.
    ray : mapping of str to ndarray or FittedFunction
        If the program is unbounded: a direction, by variable and function, along which the objective improves and the
        rows hold from every feasible point on. Its largest entry is 1.
    inertia : Inertia or None, default=None
        Signs of the eigenvalues of the reduced Hessian, if the program was solved in closed form. They show whether a
        stationary point is a minimum or a saddle point.
    size : Size or None, default=None
        Size of the program that was solved, if it is the declared program.
    parameters : mapping of str to ndarray
        Values of the parameters in this solve.
    form : str, default=""
        Form in which the solver got the functions of kernels, with the reason: weights of features, coordinates over
        the points that occur in the rows ("touched points"), or the dual. Empty if there are none.

    Attributes
    ----------
    exit_code : int
        Exit code of the command line: 0 if the solve was successful, 3 otherwise.

    Examples
    --------
    >>> import milopt
    >>> program = milopt.Program("diet")
    >>> x = program.variable("x", 2, lower=0)
    >>> program.minimize(3 * x[0] + 2 * x[1])
    >>> protein = program.subject_to(x[0] + x[1] >= 4)
    >>> result = milopt.solve(program)
    >>> result.termination == "optimal", result.point == "certified"
    (True, True)
    >>> print(f"{result.objective:.4f}")
    8.0000
    >>> result.values[x].round(4).tolist()
    [0.0, 4.0]
    >>> result.duals[protein].round(4).tolist()
    2.0
    """

    program: Program | SemiInfinite
    solver: str
    scheme: str
    termination: Termination
    point: PointStatus
    objective: float
    bound: float | None
    values: Mapping[str, Vector]
    functions: Mapping[str, FittedFunction]
    duals: Mapping[str, Vector]
    certificate: Certificate | None
    raw_status: str
    message: str
    iterations: int
    seconds: Seconds
    history: tuple[Step, ...] = ()
    attempts: tuple[Attempt, ...] = ()
    polished: Certificate | None = None
    rebuilds: int = 0
    log: str = field(default="", repr=False)
    witnesses: Mapping[str, Index] = field(default_factory=dict)
    ensemble: Ensemble | None = None
    reduced_costs: Mapping[str, Vector] = field(default_factory=dict)
    cone_duals: Mapping[str, tuple[Vector, ...]] = field(default_factory=dict)
    farkas: Mapping[str, Vector] = field(default_factory=dict)
    ray: Mapping[str, Vector | FittedFunction] = field(default_factory=dict)
    inertia: Inertia | None = None
    size: Size | None = None
    parameters: Mapping[str, Vector] = field(default_factory=dict)
    form: str = ""

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
        names_by_id = program.names_by_id()
        for field_name, kind in kinds.items():
            object.__setattr__(
                self, field_name, NamedParts(kind, getattr(self, field_name), names_by_id, program.labels)
            )

    @property
    def exit_code(self) -> int:
        """Exit code of the command line: 0 if the solve was successful, 3 otherwise.

        A solve is successful if its point is certified. An alternating scheme that cycles is successful if its best
        iterate is feasible: the scheme guarantees no more, and the convex step of that iterate is certified.
        """
        return 0 if is_successful(self.termination, self.point) else 3

    def require_certified(self) -> Result:
        """Return the result itself, or raise an error if its point is not certified.

        Returns
        -------
        Result
            This result.

        Raises
        ------
        UncertifiedError
            If the point is not certified. The message contains the statuses and residuals.

        Examples
        --------
        >>> import milopt
        >>> program = milopt.Program("line")
        >>> x = program.variable("x", lower=1)
        >>> program.minimize(x)
        >>> print(f"{milopt.solve(program).require_certified().objective:.4f}")
        1.0000
        """
        if self.point is not PointStatus.CERTIFIED:
            proof = f" ({self.certificate})" if self.certificate else ""
            statuses = f"{self.termination}, point {self.point}{proof}"
            raise UncertifiedError(f"{self.program.name} by {self.solver}: {statuses}. {self.message}".strip())
        return self

    def score(self, bags: Bags) -> Vector:
        """Return the program's score of each bag.

        Parameters
        ----------
        bags : Bags
            Bags to score.

        Returns
        -------
        ndarray of shape (n_bags,)
            Scores.

        Raises
        ------
        DeclarationError
            If the program does not declare a score of bags.

        Examples
        --------
        >>> import milopt
        >>> bags = milopt.as_bags([[[0.0], [2.0]], [[-1.0]]])
        >>> program = milopt.Program()
        >>> w = program.variable("w")
        >>> program.minimize((w - 3) ** 2)
        >>> program.score(lambda new: milopt.bag_max(w * new.instances[:, 0], new), instances=lambda x: w * x[:, 0])
        >>> result = milopt.solve(program)
        >>> result.score(bags).round(4).tolist()
        [6.0, -3.0]
        """
        return self.program.bag_scores(self, bags)

    def instance_scores(self, points: Points) -> Vector:
        """Return the program's score of each instance.

        Parameters
        ----------
        points : array of shape (n_instances, n_features)
            Instances to score.

        Returns
        -------
        ndarray of shape (n_instances,)
            Scores.

        Raises
        ------
        DeclarationError
            If the program does not declare a score of instances.

        Examples
        --------
        >>> import milopt
        >>> bags = milopt.as_bags([[[0.0], [2.0]], [[-1.0]]])
        >>> program = milopt.Program()
        >>> w = program.variable("w")
        >>> program.minimize((w - 3) ** 2)
        >>> program.score(lambda new: milopt.bag_max(w * new.instances[:, 0], new), instances=lambda x: w * x[:, 0])
        >>> result = milopt.solve(program)
        >>> result.instance_scores(bags.instances).round(4).tolist()
        [0.0, 6.0, -3.0]
        """
        return self.program.instance_scores(self, points)

    def require_ensemble(self) -> Ensemble:
        """Return the ensemble, or raise an error if the result has none.

        Returns
        -------
        Ensemble
            Weighted columns of the solution.

        Raises
        ------
        DeclarationError
            If the result has no ensemble.
        """
        if self.ensemble is None:
            raise DeclarationError(f"{self.program.name!r} ended without an ensemble to score with.")
        return self.ensemble

    def value(self, expression: Expression | Constraint) -> Vector:
        """Evaluate an expression of the program at the point, or the slacks of a constraint.

        Atoms are evaluated as declared. The slack of ``a >= b`` and of ``b <= a`` is a - b. For a constraint with two
        sides, the smaller slack counts; a row without a finite side has an infinite slack.

        Parameters
        ----------
        expression : Expression or Constraint
            Expression or constraint of the program.

        Returns
        -------
        ndarray
            Values, in the shape of the expression.

        Raises
        ------
        DeclarationError
            If the argument is not an expression, or belongs to another program.
        UncertifiedError
            If the result has no point.

        Examples
        --------
        >>> import milopt
        >>> program = milopt.Program("line")
        >>> x = program.variable("x", lower=1)
        >>> program.minimize(x)
        >>> print(f"{float(milopt.solve(program).value(2 * x + 1)):.4f}")
        3.0000
        """
        shape = getattr(expression, "shape", ())
        if isinstance(expression, Constraint):
            return expression.slacks(np.atleast_1d(self.value(expression.expression)))
        if not isinstance(expression, Expression):
            raise DeclarationError(
                f"value expects an expression of program {self.program.name!r}, such as 2 * x + 1, not {expression!r}; "
                "`result.values` has the values of variables by name."
            )
        if self.certificate is None and not self.values and not self.functions:
            ended = f"{self.program.name!r} ended as {self.termination} by {self.solver}"
            raise UncertifiedError(f"{ended}, without a point to evaluate an expression at. {self.message}".strip())
        expression = self.program.core.as_own_expression(expression, "the expression to evaluate")
        return expression.evaluate(self._evaluate_leaf).reshape(shape)

    def _evaluate_leaf(self, leaf: Leaf) -> Vector:
        """Return the values of a leaf (a variable, a parameter, a function evaluation or an atom) at the point."""
        if isinstance(leaf, Variable):
            if leaf.name not in self.values:
                raise DeclarationError(f"Variable {leaf.name!r} was declared after this result; solve again.")
            return self.values[leaf.name].ravel()
        if isinstance(leaf, FunctionEvaluation):
            return self.functions[leaf.function.name](leaf.points)
        if isinstance(leaf, Atom):
            if leaf.function is None:
                return leaf.value(leaf.argument.evaluate(self._evaluate_leaf), leaf.segments)
            assert isinstance(leaf, RadialAtom)
            return leaf.profile(np.sqrt(np.array([max(0.0, self.functions[leaf.function.name].norm_squared)])))
        if isinstance(leaf, Parameter) and leaf.name in self.parameters:
            return self.parameters[leaf.name]
        return leaf.current_value()

    def __str__(self) -> str:
        proof = f"; {self.certificate}" if self.certificate else ""
        message = f". {self.message}" if self.message else ""
        return (
            f"{self.program.name} by {self.solver} ({self.scheme}): {self.termination}, point {self.point}, "
            f"objective {self.objective:.8g}{proof}; {self.iterations} iterations, {self.seconds.total:.3g} s{message}"
        )

    def __repr__(self) -> str:
        return describe_result(self)

    def _repr_html_(self) -> str:
        """Return statuses, objective, certificate and values as tables for a notebook."""
        return result_html(self)
