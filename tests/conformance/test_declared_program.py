"""Certificates refer to the declared program: its own rows, its own objective, and the distance to its optimum."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import milopt
from milopt import RBF, Program, as_bags, bag_max, norm, norm1, quad_form, sum_squares
from milopt.compilation import epigraphs
from milopt.compilation.answer import Answer
from milopt.compilation.features import Feature
from milopt.compilation.standard_form import RowBlock
from milopt.compilation.status import PointStatus, Termination
from milopt.compilation.template import EpigraphTemplate, read_template
from milopt.declaration.atoms.atom import Atom
from milopt.declaration.atoms.segments import Segments
from milopt.declaration.programs.semidefinite import is_semidefinite, symmetric_root
from milopt.errors import ConvexityError, UnsupportedError
from milopt.solving import registry
from milopt.solving.engine import Engine
from milopt.solving.options import Options
from milopt.solving.solver import Solver
from milopt.solving.step_session import StepSession

CONIC = ["clarabel", "ecos", "cvxpy:SCS"]


def rotated(values: list[float], seed: int) -> np.ndarray:
    """Return a symmetric matrix with these eigenvalues and random eigenvectors."""
    n = len(values)
    turn = np.linalg.qr(np.random.default_rng(seed).normal(size=(n, n)))[0]
    matrix = turn @ np.diag(values) @ turn.T
    return (matrix + matrix.T) / 2


# -- declared rows and the declared objective ----------------------------------------------------------------------


@pytest.mark.parametrize("solver", CONIC)
@pytest.mark.parametrize("condition", [1e8, 1e10, 1e11, 1e12, 1e13])
@pytest.mark.parametrize("seed", [0, 1])
def test_an_ellipsoid_constraint_holds_for_any_condition_number(solver: str, condition: float, seed: int) -> None:
    weight = rotated([1.0, 1 / np.sqrt(condition), 1 / condition], seed)
    program = Program("ellipsoid")
    x = program.variable("x", 3)
    program.minimize(x.sum())
    program.subject_to(quad_form(x, weight) <= 1, name="ellipsoid")
    result = milopt.solve(program, solver)
    if result.point is PointStatus.CERTIFIED:
        at = result.value(x)
        assert at @ weight @ at <= 1 + 1e-5
        assert result.objective == pytest.approx(-np.sqrt(np.linalg.inv(weight).sum()), rel=1e-2 * condition / 1e12)


@pytest.mark.parametrize("solver", ["clarabel", "ecos"])
@pytest.mark.parametrize("apart", [1e-6, 1e-4])
def test_a_ball_constraint_holds_over_a_nearly_dependent_dictionary(solver: str, apart: float) -> None:
    program = Program("ball")
    f = program.function("f", RBF(1.0), dictionary=np.array([[0.0], [apart], [1.0]]))
    a = f.coefficients
    program.subject_to(a <= 1e9)
    program.subject_to(a >= -1e9)
    program.subject_to(f.norm() <= 1, name="ball")
    program.minimize(np.array([-1.0, 1.0, 0.0]) @ a)
    result = milopt.solve(program, solver)
    if result.point is PointStatus.CERTIFIED:
        assert np.sqrt(result.functions["f"].norm_squared) <= 1 + 1e-5


@pytest.mark.parametrize("atom", ["norm", "norm1", "sum_squares", "quad_form", "norm of f"])
def test_a_lowering_that_is_too_loose_is_detected(atom: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """With the argument halved in every cone and split, the lowered rows hold and the declared ones do not."""
    program = Program("loose")
    x = program.variable("x", 3)
    f = program.function("f", RBF(1.0), dictionary=np.arange(3.0)[:, None])
    held = {
        "norm": lambda: norm(x),
        "norm1": lambda: norm1(x),
        "sum_squares": lambda: sum_squares(x),
        "quad_form": lambda: quad_form(x, np.diag([1.0, 2.0, 3.0])),
        "norm of f": lambda: f.norm(),
    }[atom]()
    program.minimize((f.coefficients if atom == "norm of f" else x).sum())
    program.subject_to(held <= 1, name="held")
    assert milopt.solve(program, "clarabel").point is PointStatus.CERTIFIED
    monkeypatch.setattr(epigraphs, "read_template", _with_half_the_argument)
    result = milopt.solve(program, "clarabel")
    assert result.point is PointStatus.NONE
    assert result.certificate is not None
    assert result.certificate.violation > 0.1


def _with_half_the_argument(atom: Atom, at: Segments) -> EpigraphTemplate:
    """Halve the argument of an atom in its epigraph; the bound on the atom is not changed."""
    template = read_template(atom, at)
    return replace(template, parts=tuple(replace(part, E=0.5 * part.E) for part in template.parts))


def test_a_step_of_an_alternation_is_checked_with_its_witnesses() -> None:
    """The steps of a DC program are certified, and so is the declared row of which they are restrictions."""
    bags = as_bags([np.array([[1.0], [-1.0]]), np.array([[2.0], [0.5]])])
    program = Program("dc")
    w = program.variable("w", lower=-2, upper=2)
    program.minimize(w)
    program.subject_to(bag_max(bags.instances[:, 0] * w, bags) >= 1, name="reach")
    for scheme in (milopt.ConvexConcave(start=np.array([0, 2])), "exact"):
        result = milopt.solve(program, "highs", scheme=scheme)
        assert result.point is PointStatus.CERTIFIED
        assert result.objective == pytest.approx(1.0)


def test_a_maximum_in_the_objective_has_its_true_value() -> None:
    bags = as_bags([np.array([[1.0], [-1.0]]), np.array([[2.0], [0.5], [-3.0]])])
    program = Program("maxima")
    w = program.variable("w", lower=-2, upper=2)
    program.minimize(bag_max(bags.instances[:, 0] * w, bags).sum() + 0.25 * w)
    result = milopt.solve(program, "highs").require_certified()
    assert result.objective == pytest.approx(0.0, abs=1e-9)
    assert result.certificate is not None
    assert result.certificate.error <= 1e-6


# -- curvature -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("solver", ["highs", "clarabel", "ecos", "cvxpy:CLARABEL"])
@pytest.mark.parametrize("turned", [False, True], ids=["diagonal", "rotated"])
def test_a_slightly_concave_objective_raises_an_error(solver: str, turned: bool) -> None:
    program = Program("slightly concave")
    x = program.variable("x", 2, lower=-1e6, upper=1e6)
    weight = rotated([1e6, -1e-8], 3) if turned else np.array([1e6, -1e-9])
    program.minimize(quad_form(x, weight))
    with pytest.raises(ConvexityError, match="not convex"):
        milopt.solve(program, solver)


@pytest.mark.parametrize("seed", range(20))
def test_products_of_a_matrix_with_itself_are_semidefinite_whatever_the_units(seed: int) -> None:
    rng = np.random.default_rng(seed)
    rows = rng.normal(size=(int(rng.integers(1, 5)), 5)) * 10.0 ** rng.uniform(-6, 6, size=5)
    product = rows.T @ rows
    assert is_semidefinite(product)
    root = symmetric_root(product, "the product")
    sizes = np.sqrt(np.diagonal(product))
    assert np.abs(root.T @ root - product).max(initial=0.0) <= 1e-13 * sizes.max() ** 2
    assert (np.abs(root.T @ root - product) <= 1e-13 * np.outer(sizes, sizes)).all()


def test_a_negative_weight_is_never_rounding() -> None:
    assert not is_semidefinite(np.array([1e9, -1e-12]))
    assert not is_semidefinite(np.diag([1e9, -1e-12]))
    assert not is_semidefinite(np.array([[1.0, 1e-12], [1e-12, 0.0]]))
    with pytest.raises(ConvexityError, match="smallest eigenvalue"):
        symmetric_root(np.diag([1.0, -1e-14]), "W")


# -- unknown atoms and cones ---------------------------------------------------------------------------------------


def test_defining_an_incomplete_atom_raises_an_error() -> None:
    with pytest.raises(
        TypeError, match=r"The atom InlineSoftplus must define cones, conjugate, epigraph, latex, monotone"
    ):

        class InlineSoftplus(Atom):
            word = "softplus"

            def value(self, e: np.ndarray, at: Segments) -> np.ndarray:
                return np.logaddexp(0, e)


def test_rows_in_an_unknown_cone_raise_an_error() -> None:
    with pytest.raises(UnsupportedError, match="unknown cone"):
        RowBlock("rows", "exponential", 0, 3)
    program = Program("known")
    x = program.variable("x", 2)
    program.minimize(x.sum())
    program.subject_to(norm(x) <= 1)
    with (
        StepSession(program, registry.get_solver("clarabel")) as session,
        pytest.raises(UnsupportedError, match="unknown cone"),
    ):
        replace(session.form.blocks[0], cone="exponential")


# -- residuals are relative to the numbers that cancel in them ----------------------------------------------------


@pytest.mark.parametrize("solver", ["highs", "clarabel", "ecos", "native", "cvxpy:SCS"])
@pytest.mark.parametrize("unit", [1.0, 9e-7, 1e-9])
def test_no_unit_makes_a_wrong_answer_look_right(solver: str, unit: float) -> None:
    program = Program("units")
    x = program.variable("x")
    program.minimize(-unit * x)
    program.subject_to(unit * x <= 1)
    result = milopt.solve(program, solver)
    if result.point is PointStatus.CERTIFIED:
        assert result.objective == pytest.approx(-1.0, abs=1e-5)


@pytest.mark.parametrize("solver", ["highs", "clarabel", "ecos"])
def test_a_point_far_from_the_dictionary_counts(solver: str) -> None:
    """Solve min 0.1 b^2 - f(x),  f(x) + b <= 3,  -3 <= b <= 2, with K(x, z) = exp(-16): the optimum is -5.1."""
    program = Program("far")
    b = program.variable("b", lower=-3, upper=2)
    f = program.function("f", RBF(1.0), dictionary=np.zeros((1, 1)))
    value = f(np.array([[4.0]]))
    program.minimize(0.1 * sum_squares(b) - value.sum())
    program.subject_to(value + b <= 3)
    result = milopt.solve(program, solver)
    if result.point is PointStatus.CERTIFIED:
        assert result.objective == pytest.approx(-5.1, rel=1e-5)


ROUTES = ["auto", "highs", "clarabel", "ecos", "native", "cvxpy:HIGHS", "cvxpy:SCS", "cvxpy:ECOS", "pyomo:highs"]


@pytest.mark.parametrize("solver", ROUTES)
@pytest.mark.parametrize("unit", [1e-6, 1e-8, 1e-9, 1e-10, 1e-12])
def test_the_unit_of_rows_does_not_matter(solver: str, unit: float) -> None:
    """Solve min x + 2 y,  x + y >= 1,  x - 2 y <= 1/2.

    The optimum is 7/6; with x + y >= 3 and x <= 1, y <= 1 the program is infeasible.
    """
    program = Program("small rows")
    x = program.variable("x", 2, lower=0)
    program.minimize(np.array([1.0, 2.0]) @ x)
    program.subject_to(unit * (x[0] + x[1]) >= unit)
    program.subject_to(unit * (x[0] - 2 * x[1]) <= unit / 2)
    result = milopt.solve(program, solver)
    if result.point is PointStatus.CERTIFIED:
        assert result.objective == pytest.approx(7 / 6, abs=1e-5)
    program.subject_to(unit * (x[0] + x[1]) >= 3 * unit)
    program.subject_to(unit * x <= unit)
    assert milopt.solve(program, solver).point is not PointStatus.CERTIFIED


@pytest.mark.parametrize("solver", ROUTES)
@pytest.mark.parametrize(
    ("slope", "bounded"), [(1e-6, True), (1e-9, True), (1e-10, True), (1e-12, True), (1e-6, False), (1e-9, False)]
)
def test_a_small_slope_is_not_noise(solver: str, slope: float, bounded: bool) -> None:
    """Solve min x + e y,  x >= 0,  y >= -1/e: the optimum is -1; without the row it is unbounded.

    A slope below 1e-10 of the largest counts as noise if nothing bounds its column.
    """
    program = Program("small slope")
    x, y = program.variable("x", lower=0), program.variable("y")
    program.minimize(x + slope * y)
    if bounded:
        program.subject_to(y >= -1 / slope)
    result = milopt.solve(program, solver)
    if result.point is PointStatus.CERTIFIED:
        assert bounded
        assert result.objective == pytest.approx(-1.0, abs=1e-5)


@pytest.mark.parametrize("solver", ["auto", "highs", "clarabel", "ecos", "native"])
def test_a_constant_row_holds_up_to_the_rounding_of_its_constants(solver: str) -> None:
    """The row is 0 x + 0.59 p - 0.4248 = 0 at p = 0.72, where rounding of the constants leaves 5.6e-17."""
    program = Program("constants")
    x, p = program.variable("x", lower=0, upper=1), program.parameter("p")
    p.value = 0.72
    program.minimize(x)
    program.subject_to(0.0 * x + 0.59 * p - 0.4248 == 0)
    assert milopt.solve(program, solver).require_certified().objective == pytest.approx(0.0, abs=1e-6)


class AnswerFunctionSolver(Solver):
    """A solver that returns the answer of a given function for every program."""

    name = "claimant"
    features = frozenset({Feature.LINEAR, Feature.QUADRATIC, Feature.NONCONVEX})

    def __init__(self, answer) -> None:
        self._answer = answer

    def availability(self):
        return registry.get_solver("highs").availability()

    def engine(self, form, options: Options) -> Engine:
        answer = self._answer

        class AnswerFunctionEngine(Engine):
            def solve(self, time_limit):
                return answer(self.form)

        return AnswerFunctionEngine(form, options)


def _solver_with_multipliers(multipliers: list[float]):
    return AnswerFunctionSolver(lambda form: Answer(Termination.OPTIMAL, "optimal", np.zeros(2), np.array(multipliers)))


def test_a_small_residual_along_a_long_ray_is_counted() -> None:
    """For min x - y,  x >= (1 + 1e-7) y,  y >= -1e7 the gradient almost vanishes at 0, but the optimum is -1."""
    program = Program("drift")
    x, y = program.variable("x"), program.variable("y")
    program.minimize(x - y)
    program.subject_to(x - (1 + 1e-7) * y >= 0)
    program.subject_to(y >= -1e7)
    assert milopt.solve(program, "highs").require_certified().objective == pytest.approx(-1.0, rel=1e-6)
    assert milopt.solve(program, _solver_with_multipliers([1.0, 0.0])).point is not PointStatus.CERTIFIED


def test_the_objective_differs_from_the_optimum_by_at_most_the_error() -> None:
    rng = np.random.default_rng(5)
    for _ in range(20):
        A, b = rng.normal(size=(6, 3)), rng.uniform(0.5, 1.5, size=6)
        root, q = rng.normal(size=(2, 3)), rng.normal(size=3)
        program = Program("qp")
        x = program.variable("x", 3, lower=-5, upper=5)
        program.minimize(0.5 * sum_squares(root @ x) + q @ x)
        program.subject_to(A @ x <= b)
        optimum = milopt.solve(program, "highs").require_certified().objective
        for tolerance in (1e-3, 1e-6):
            result = milopt.solve(program, "cvxpy:SCS", tolerance=tolerance, polish=False)
            if result.certificate is not None:
                assert abs(result.objective - optimum) <= result.certificate.error * (1 + 1e-6) + 1e-8


# -- claims of a solver --------------------------------------------------------------------------------------------


def _lp() -> Program:
    program = Program("lp")
    x = program.variable("x", 2, lower=0, upper=1)
    program.minimize(np.array([1.0, -2.0]) @ x)
    program.subject_to(x.sum() <= 1.5)
    return program


@pytest.mark.parametrize("claim", [Termination.STATIONARY, Termination.OPTIMAL])
def test_any_point_of_a_linear_program_is_not_stationary(claim: Termination) -> None:
    liar = AnswerFunctionSolver(lambda form: Answer(claim, "claimed", np.full(form.n, 0.25), np.zeros(form.m)))
    result = milopt.solve(_lp(), liar, polish=False)
    assert result.termination is Termination.STALLED
    assert result.point is PointStatus.FEASIBLE


def test_a_stationary_point_of_a_convex_program_is_its_optimum() -> None:
    honest = AnswerFunctionSolver(
        lambda form: Answer(Termination.STATIONARY, "stationary", np.array([0.0, 1.0]), np.zeros(form.m))
    )
    result = milopt.solve(_lp(), honest)
    assert (result.termination, result.point) == (Termination.OPTIMAL, PointStatus.CERTIFIED)


def test_a_saddle_that_is_called_optimal_is_stationary() -> None:
    program = Program("saddle")
    x = program.variable("x", 2)
    program.minimize(quad_form(x, [1.0, -1.0]))
    liar = AnswerFunctionSolver(lambda form: Answer(Termination.OPTIMAL, "optimal", np.zeros(2), np.zeros(form.m)))
    assert milopt.solve(program, liar).termination is Termination.STATIONARY


# -- values that belong together -------------------------------------------------------------------------------------


@pytest.mark.parametrize("scheme", ["ccp", "representatives"])
@pytest.mark.parametrize("seed", range(4))
def test_coefficients_are_those_of_the_function_that_is_returned(scheme: str, seed: int) -> None:
    """A completion keeps the functions of a point: the coefficients of a dictionary are not chosen again."""
    rng = np.random.default_rng(seed)
    bags = as_bags([rng.normal(size=(3, 2)) for _ in range(6)])
    y = np.where(np.arange(6) % 2 == 0, 1.0, -1.0)
    program = Program("dictionary")
    f, b = program.function("f", RBF(0.5), dictionary=bags.instances), program.variable("b")
    slack = program.variable("slack", 6, lower=0)
    program.minimize(norm1(f.coefficients) + 2 * slack.sum())
    program.subject_to(y * (bag_max(f(bags)) + b) >= 1 - slack, name="margin")
    result = milopt.solve(program, "highs", scheme=scheme)
    assert result.values["f.coefficients"] == pytest.approx(result.functions["f"].coefficients)
    assert result.value(program.objective) == pytest.approx(result.objective)
    assert result.value(program.constraints["margin"].expression).min() >= -1e-6


@pytest.mark.parametrize("solver", ["highs", "cvxpy:HIGHS", "pyomo:highs"])
def test_fractional_bounds_of_integers_change_nothing(solver: str) -> None:
    """HiGHS ends at -18.88 unless the bounds are rounded inward; the optimum is -48.32."""
    program = Program("fractional bounds")
    k = program.variable("k", 3, lower=[-1.0, 0.9, -0.8], upper=[2.0, 2.9, 0.2], integer=True)
    program.minimize(np.array([29.44, -7.04, -2.24]) @ k - 4.8)
    rows = [[0, 0, -600], [0, 0, -90], [100, 0, 700], [-150, 690, -770]]
    program.subject_to(np.array(rows) @ k / 128e3 + np.array([370, 660, 635, -755]) / 128e3 >= 0)
    assert milopt.solve(program, solver).require_certified().objective == pytest.approx(-48.32)
