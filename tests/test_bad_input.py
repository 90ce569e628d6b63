"""Every user error in a declaration, an option or a call raises an exception with a message, and changes nothing."""

from __future__ import annotations

import pickle

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.base import clone

import milopt
from milopt import (
    RBF,
    Bags,
    ConvexConcave,
    Linear,
    Options,
    Precomputed,
    Program,
    bag_max,
    exp,
    explain,
    norm,
    quad_form,
    solve,
)
from milopt.compilation.status import Termination
from milopt.declaration.programs.expression import as_expression
from milopt.errors import BagsError, DeclarationError, MiloptError, ParameterError, UnknownNameError
from milopt.models.mi_svm import MISVM
from milopt.solving.step_session import StepSession

NAN, INF = np.nan, np.inf
BAGS = [np.array([[0.0, 1.0], [1.0, 0.0]]), np.array([[2.0, 2.0]]), np.array([[3.0, 1.0], [2.0, 0.0]]), np.eye(2)]


@pytest.fixture
def program() -> Program:
    made = Program("made")
    x = made.variable("x", 3, lower=0)
    made.minimize(x.sum())
    made.subject_to(x >= 1, "r")
    made.subject_to(x[0] + x[1] >= 2, "scalar")
    return made


def state(program: Program) -> tuple[object, ...]:
    """Return the parts of a program that a rejected change must not replace, by identity."""
    named = (program.variables, program.functions, program.parameters, program.constraints)
    return id(program.objective), [{name: id(thing) for name, thing in things.items()} for things in named]


# -- points and dictionaries -------------------------------------------------------------------------------------


@pytest.mark.parametrize("kernel", [RBF(), Linear()])
@pytest.mark.parametrize("as_given", [np.asarray, sp.csr_array, sp.coo_array, list])
@pytest.mark.parametrize(("value", "spelling"), [(NAN, "NaN"), (INF, "infinity")])
def test_a_point_that_is_not_finite_raises_an_error(kernel, as_given, value, spelling) -> None:
    points = as_given(np.array([[value, 1.0]]))
    f = Program().function("f", kernel)
    with pytest.raises(DeclarationError, match=rf"points in f\(\.\.\.\) has {spelling}"):
        f(points)
    with pytest.raises(DeclarationError, match=f"dictionary of 'g' has {spelling}"):
        Program().function("g", kernel, points)


@pytest.mark.parametrize(
    "points", [[[1.0], [1.0, 2.0]], "abc", [["a", "b"]], [[1j]], 3, [1.0, 2.0], np.ones((2, 2, 2)), np.ones((2, 0)), {}]
)
def test_points_that_are_not_a_table_of_numbers_raise_an_error(points) -> None:
    program = Program()
    f = program.function("f", RBF())
    with pytest.raises(DeclarationError, match=r"points in f\(\.\.\.\)"):
        f(points)
    with pytest.raises(DeclarationError, match="dictionary of 'g'"):
        program.function("g", RBF(), points)
    assert set(program.functions) == {"f"}
    assert not program.variables


def test_a_function_at_the_instances_of_bags_has_these_bags() -> None:
    for given in (Bags(np.eye(3), [0, 1, 3]), Bags(sp.csr_array(np.eye(3)), [0, 1, 3])):
        evaluation = Program().function("f", RBF())(given.instances)
        assert evaluation.points is given.instances
        assert evaluation.bags is given


def test_points_are_not_copied() -> None:
    points = np.eye(3)
    assert Program().function("f", RBF())(points).points is points


def test_an_invalid_kernel_leaves_no_coefficients_behind() -> None:
    program = Program()
    with pytest.raises(ParameterError, match="A kernel is"):
        program.function("f", "rbf", np.eye(2))  # type: ignore[arg-type]  # tested on purpose
    assert not program.variables
    program.function("f", RBF(), np.eye(2))


# -- variables, parameters, names ------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("bounds", "message"),
    [
        (
            {"lower": np.inf},
            "lower bound of 'z' is inf at entry 0, so that no number is feasible: give .* or -inf for no bound",
        ),
        (
            {"upper": -np.inf},
            "upper bound of 'z' is -inf at entry 0, so that no number is feasible: give .* or inf for no bou",
        ),
        ({"lower": [0.0, np.inf]}, "lower bound of 'z' is inf at entry 1"),
        ({"lower": np.inf, "upper": np.inf}, "lower bound of 'z' is inf at entry 0"),
        ({"lower": 2, "upper": 1}, "'z' has lower > upper at entry 0"),
        ({"lower": NAN}, "lower bound of 'z' is NaN"),
        ({"upper": [1.0, NAN]}, "upper bound of 'z' is NaN"),
    ],
)
def test_bounds_without_a_feasible_number_raise_an_error(program, bounds, message) -> None:
    before = state(program)
    with pytest.raises(DeclarationError, match=message):
        program.variable("z", 2, **bounds)
    assert state(program) == before


@pytest.mark.parametrize("bound", ["a", [[1.0], [1.0, 2.0]], 1j, NAN, [1.0, 2.0], {}])
@pytest.mark.parametrize("side", ["lower", "upper"])
def test_a_bound_that_is_not_a_number_raises_an_error(bound, side) -> None:
    program = Program()
    with pytest.raises(DeclarationError, match=f"The {side} bound of 'x'"):
        program.variable("x", 3, **{side: bound})
    assert not program.variables


@pytest.mark.parametrize("shape", [2.5, (2.5,), "3", None, -1, (2, -3), (2, 3.5), True, [[1]], {}])
def test_an_invalid_shape_raises_an_error(shape) -> None:
    with pytest.raises(DeclarationError, match=r"'x' must be a scalar \(\), a vector \(n,\) or a matrix \(m, n\)"):
        Program().variable("x", shape)
    with pytest.raises(DeclarationError, match="'x' must be a scalar"):
        Program().parameter("x", shape)


@pytest.mark.parametrize("name", ["", 3, None, ["x"], b"x"])
def test_an_invalid_name_raises_an_error(name) -> None:
    program = Program()
    for declare in (program.variable, program.parameter, lambda n: program.function(n, RBF())):
        with pytest.raises(DeclarationError, match="name must be a non-empty string"):
            declare(name)
    with pytest.raises(DeclarationError, match="name must be a non-empty string"):
        Program(name)
    with pytest.raises(UnknownNameError, match="has no constraint block"):
        program.block(name)


def test_a_default_name_is_never_one_that_is_used(program) -> None:
    x = program.variables["x"]
    program.subject_to(x <= 5, "rows3")
    program.subject_to(x <= 6)
    program.subject_to(x <= 7)
    assert len(program.constraints) == 5


@pytest.mark.parametrize("value", ["a", [1.0, "b"], None, [[1.0], [1.0, 2.0]], 1j, NAN, [1.0]])
def test_a_parameter_value_that_is_not_a_number_raises_an_error(value) -> None:
    parameter = Program().parameter("p", 2)
    with pytest.raises(ParameterError, match=r"(?i)parameter 'p'"):
        parameter.value = value
    assert parameter.value is None


@pytest.mark.parametrize(
    ("declare", "message"),
    [
        (lambda p: p.variable("z", integer="yes"), "integer of variable 'z' is True or False"),
        (lambda p: p.parameter("z", sign="plus"), "The sign of parameter 'z'"),
        (lambda p: p.parameter("z", sign=np.ones(2)), "The sign of parameter 'z'"),
        (lambda p: p.score(3), "score requires functions"),
        (lambda p: p.minimize("cheap"), "Expected numbers or an expression, got 'cheap'"),
        (lambda p: p.minimize(None), "Expected numbers or an expression, got None"),
        (lambda p: p.family("z", 3), "The family 'z' requires a function from a column to a constraint, not 3"),
        (lambda p: p.remark(3), "A remark must be a string, not 3"),
        (lambda p: p.minimize(p.variables["x"]), "must be a scalar"),
        (lambda p: p.subject_to(True), "Constraint 'rows2' must be a comparison .*, not bool"),
        (lambda p: p.replace("r", 3), "Constraint 'r' must be a comparison .*, not int"),
        (lambda p: p.replace("r", Program().variable("y") >= 0), "y in constraint 'r' belongs to another program"),
        (lambda p: p.minimize(Program().function("f", RBF()).norm()), "belongs to another program"),
        (lambda p: p.minimize(Program().function("f", RBF())(np.eye(2)).sum()), "belongs to another program"),
    ],
)
def test_a_rejected_declaration_changes_nothing(program, declare, message) -> None:
    before = state(program)
    with pytest.raises(DeclarationError, match=message):
        declare(program)
    assert state(program) == before


# -- expressions -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("index", [5, -4, "a", 1.5, [0, 7], (0, 1), [[0, 7]], [True, False], slice("a", "b")])
def test_an_invalid_index_raises_an_error(program, index) -> None:
    with pytest.raises(DeclarationError, match="x"):
        program.variables["x"][index]


@pytest.mark.parametrize("other", ["3", "a", 1j, np.array([1j, 1, 1]), None, {}, [1.0, "b", 2.0], [[1], [1, 2]], NAN])
def test_an_operand_that_is_not_a_number_raises_an_error(program, other) -> None:
    x = program.variables["x"]
    for operation in (x.__add__, x.__mul__, x.__ge__, x.__rmatmul__):
        with pytest.raises(DeclarationError, match=r"Expected numbers|is NaN"):
            operation(other)


@pytest.mark.parametrize("matrix", [sp.csr_array(np.full((2, 3), NAN)), sp.csr_array(np.full((2, 3), 1j))])
def test_a_sparse_matrix_without_numbers_raises_an_error(program, matrix) -> None:
    with pytest.raises(DeclarationError, match=r"Expected numbers|NaN or infinite"):
        matrix @ program.variables["x"]


def test_a_sparse_matrix_may_be_on_either_side_of_a_product(program) -> None:
    x, matrix = program.variables["x"], sp.csr_array(np.arange(6.0).reshape(3, 2))
    (_, right), (_, left) = (x @ matrix).terms[0], (matrix.T @ x).terms[0]
    np.testing.assert_array_equal(right.value().toarray(), matrix.toarray().T)
    np.testing.assert_array_equal(left.value().toarray(), matrix.toarray().T)


def test_unsupported_operations_raise_an_error(program) -> None:
    x = program.variables["x"]
    with pytest.raises(DeclarationError, match="requires a vector or a matrix"):
        np.ones((2, 2, 3)) @ x
    with pytest.raises(DeclarationError, match="requires a vector or a matrix"):
        2.0 @ x
    for divide in (lambda: 1 / x, lambda: 1 / exp(x), lambda: x / x, lambda: np.ones(3) / x):
        with pytest.raises(DeclarationError, match=r"division by an expression is not supported: write exp\(-e\)"):
            divide()
    for divide in (lambda: x // 2, lambda: 2 // x, lambda: x % 2, lambda: np.ones(3) // x, lambda: divmod(x, 2)):
        with pytest.raises(DeclarationError, match="Integer quotients and remainders of x are neither convex nor"):
            divide()
    for compare in (lambda: x > 0, lambda: x < 0):
        with pytest.raises(DeclarationError, match="write >= or <= instead"):
            compare()


def test_an_atom_of_a_number_or_with_wrong_bags_raises_an_error(program) -> None:
    bags = Bags(np.eye(3), [0, 1, 3])
    with pytest.raises(DeclarationError, match="bag_max needs an expression over instances, not float"):
        bag_max(1.0)  # type: ignore[arg-type]  # tested on purpose
    with pytest.raises(DeclarationError, match="needs Bags as its second argument, not list"):
        bag_max(program.variables["x"], [bags])  # type: ignore[arg-type]  # tested on purpose
    with pytest.raises(DeclarationError, match="The weight of quad_form must be real numbers"):
        quad_form(program.variables["x"], "abc")


# -- columns ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"rows": {"r": np.ones((3, 2)), "scalar": np.ones(3)}}, "'y' in constraint 'scalar' must have shape"),
        (
            {"rows": {"scalar": np.ones(2), "r": np.ones((2, 2))}},
            "'y' in constraint 'r' must have shape",
        ),
        ({"rows": {"r": np.ones(2)}}, "'y' in constraint 'r' must have shape"),
        ({"rows": {"r": sp.csr_array((3, 3))}}, "'y' in constraint 'r' must have shape"),
        ({"rows": {"r": np.full((3, 2), NAN)}}, "NaN or infinite"),
        ({"rows": {"r": "a"}}, "Expected numbers"),
        ({"rows": {"other": np.ones((3, 2))}}, "no constraint block 'other'"),
        ({"rows": 3}, "rows must be a mapping from constraint blocks"),
        ({"cost": np.ones(3)}, r"The cost of 'y' must have shape \(2,\), not \(3,\)"),
        ({"cost": "a"}, "Expected numbers or an expression, got 'a'"),
        ({"cost": NAN}, "NaN or infinite"),
        ({"lower": 2, "upper": 1}, "lower > upper"),
        ({"lower": np.inf}, "The lower bound of 'y' is inf at entry 0"),
        ({"upper": [1.0, -np.inf]}, "The upper bound of 'y' is -inf at entry 1"),
        ({"shape": 2.5}, "must be a scalar"),
        ({"name": "x"}, "is taken"),
    ],
)
def test_rejected_columns_change_nothing(program, changes, message) -> None:
    with milopt.Session(program, "highs") as session:
        before = state(session.program)
        with pytest.raises(MiloptError, match=message):
            session.variable(**{"name": "y", "shape": 2, "rows": {"r": np.ones((3, 2))}, "cost": 1.0, **changes})
        assert state(session.program) == before
        assert session.solve().objective == pytest.approx(3.0)


def test_columns_enter_vectors_and_scalars(program) -> None:
    with milopt.Session(program, "highs") as session:
        y = session.variable("y", 2, rows={"r": sp.csr_array(np.ones((3, 2))), "scalar": [1.0, 2.0]}, cost=0.1, lower=0)
        result = session.solve()
    assert result.objective == pytest.approx(0.1)
    assert result.value(y).sum() == pytest.approx(1.0)


# -- sessions and results --------------------------------------------------------------------------------------


@pytest.fixture
def other() -> Program:
    """Return another program with the same names and some more."""
    made = Program("other")
    made.variable("x", 3)
    made.variable("y", 2)
    made.parameter("a").value = 2.0
    made.function("f", RBF())
    return made


@pytest.mark.parametrize("expression", [3, "x", None, [1.0], np.ones(3)])
def test_the_value_of_an_invalid_object_raises_an_error(program, expression) -> None:
    with pytest.raises(DeclarationError, match="value expects an expression of program 'made', such as"):
        solve(program, "highs").value(expression)


@pytest.mark.parametrize(
    "declare",
    [
        lambda p: p.variables["x"],
        lambda p: norm(p.variables["y"]) + 1,
        lambda p: p.parameters["a"] + 1,
        lambda p: p.functions["f"](np.eye(2)),
        lambda p: p.functions["f"].norm(),
    ],
)
def test_the_value_of_an_expression_of_another_program_raises_an_error(program, other, declare) -> None:
    with pytest.raises(DeclarationError, match="in the expression to evaluate belongs to another program"):
        solve(program, "highs").value(declare(other))


def test_the_value_of_a_variable_declared_after_the_result_raises_an_error(program) -> None:
    result = solve(program, "highs")
    late = program.variable("late")
    with pytest.raises(DeclarationError, match="'late' was declared after this result; solve again"):
        result.value(late)


def test_an_unknown_name_in_a_result_raises_an_error_with_the_known_names(program) -> None:
    result = solve(program, "highs")
    with pytest.raises(UnknownNameError, match="no multipliers of a constraint block 'rows'; it has r, scalar"):
        result.duals["rows"]
    with pytest.raises(UnknownNameError, match="no variable 'y'; it has x"):
        result.values["y"]
    with pytest.raises(UnknownNameError, match="no function 'f'; it has none"):
        result.functions["f"]
    assert result.values.get("y") is None
    assert pickle.loads(pickle.dumps(result.values)).keys() == {"x"}


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda s, _: s.set_parameter(3, 2), "A session sets parameters, as program.parameter.* not 3; .* has a"),
        (lambda s, _: s.set_parameter("a", 2), "not 'a'"),
        (lambda s, _: s.set_parameter(s.program.variables["x"], 2), "A session sets parameters"),
        (lambda s, p: s.set_parameter(p.parameters["a"], 2), "'a' belongs to another program than 'made'"),
        (lambda s, _: s.set_parameter(s.program.parameters["a"], None), "must be real numbers, not None"),
        (lambda s, _: s.set_parameters_and_minorants(3, {}), "Give a mapping from parameters to their values, not 3"),
        (lambda s, _: s.set_witnesses(3), "Witnesses are a mapping from atoms"),
        (lambda s, _: s.set_witnesses({3: 4}), "Witnesses are minorants or expressions by atom"),
        (lambda s, _: s.set_objective(None), "Expected numbers or an expression, got None"),
        (lambda s, _: s.add_rows(3), "must be a comparison of expressions"),
        (lambda s, _: s.replace_rows("nope", 3), "has no constraint block 'nope'; it has r, scalar"),
        (lambda s, _: s.delete(3), "has no constraint block 3"),
        (lambda s, _: s.switch_program(3), "A session requires a Program, not int"),
        (lambda s, _: s.solve(3), "solve requires a Clock, not 3; to limit the seconds, set time_limit"),
        (lambda s, _: s.certificate_with_minorants(3, {}), "requires an outcome of solve, not 3"),
    ],
)
def test_a_rejected_change_leaves_a_step_session_unchanged(program, other, change, message) -> None:
    program.parameter("a").value = 1.0
    with StepSession(program, "highs") as session:
        before = state(program)
        with pytest.raises(MiloptError, match=message):
            change(session, other)
        assert state(program) == before
        assert session.solve().objective == pytest.approx(3.0)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda s, _: s.set_parameter(3, 2), "A session sets parameters, as program.parameter.* not 3; .* has a"),
        (lambda s, _: s.set_parameter("b", 2), "has no parameter 'b'; it has a"),
        (lambda s, p: s.set_parameter(p.parameters["a"], 2), "'a' belongs to another program than 'made'"),
        (lambda s, _: s.set_parameter("a", None), "must be real numbers, not None"),
        (lambda s, _: s.minimize(None), "Expected numbers or an expression, got None"),
        (lambda s, _: s.maximize(s.program.variables["x"]), "The objective must be a scalar"),
        (lambda s, _: s.subject_to(3), "must be a comparison of expressions"),
        (lambda s, p: s.subject_to(p.variables["x"] >= 1), "x in constraint 'rows2' belongs to another program"),
        (lambda s, _: s.replace("nope", 3), "has no constraint block 'nope'; it has r, scalar"),
        (lambda s, _: s.replace("r", 3), "must be a comparison of expressions"),
        (lambda s, _: s.set_rhs("r", [1.0, 2.0]), r"The right-hand side of 'r' has shape \(3,\), not \(2,\)"),
        (lambda s, _: s.set_rhs("r", NAN), "NaN or infinite"),
        (lambda s, _: s.set_rhs("x", 1), "has no constraint block 'x'; it has r, scalar"),
        (lambda s, _: s.set_coefficients("r", "x", np.ones(3)), r"must have shape \(3, 3\), not \(3,\)"),
        (lambda s, _: s.set_coefficients("r", "y", 1), "has no variable 'y'; it has x"),
        (
            lambda s, _: s.set_coefficients("r", 2 * s.program.variables["x"], 1),
            "Give a variable, its name, or entries",
        ),
        (lambda s, _: s.set_cost("x", [1.0, 2.0]), r"The cost of 'x' must have shape \(3,\), not \(2,\)"),
        (lambda s, _: s.set_bounds("x", lower=2, upper=1), "Variable 'x' has lower > upper at entry 0"),
        (lambda s, _: s.set_bounds("x", lower=INF), "The lower bound of 'x' is inf at entry 0"),
        (lambda s, _: s.set_bounds("x", upper=[1.0, 2.0]), r"must be one number or of shape \(3,\), not \(2,\)"),
        (lambda s, _: s.set_bounds(3, upper=1), "Give a variable, its name, or entries of one such as .*, not 3"),
        (lambda s, _: s.delete(3), "has no constraint block or variable 3; it has r, scalar, x"),
        (lambda s, _: s.delete("r", "y"), "has no constraint block or variable 'y'"),
    ],
)
def test_a_rejected_change_leaves_a_session_unchanged(program, other, change, message) -> None:
    program.parameter("a").value = 1.0
    with milopt.Session(program, "highs") as session:
        before = state(session.program)
        with pytest.raises(MiloptError, match=message):
            change(session, other)
        assert state(session.program) == before
        assert session.solve().objective == pytest.approx(3.0)


def test_the_objective_of_a_session_may_be_a_number(program) -> None:
    with milopt.Session(program, "highs") as session:
        session.minimize(3)
        assert session.solve().objective == pytest.approx(3.0)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda _: StepSession(3, "highs"), "A session requires a Program, not int"),
        (lambda p: StepSession(p, 3), "A session requires a solver or the name of a solver, not 3"),
        (lambda p: StepSession(p, "highs", 3), "options must be an Options object, not 3"),
        (lambda p: StepSession(p, "highs", witnesses=3), "Witnesses are a mapping"),
        (lambda _: milopt.Session(3, "highs"), "A session requires a Program, not int"),
        (lambda p: milopt.Session(p, 3), "A session requires a solver or the name of a solver, not 3"),
        (lambda p: milopt.Session(p, "highs", 3), "options must be an Options object, not 3"),
        (lambda p: milopt.Session(p, "highs", speed=3), "Unknown option 'speed'; options are time_limit"),
        (lambda _: explain(3), "explain requires a Program, not int"),
    ],
)
def test_arguments_of_a_wrong_type_raise_an_error(program, call, message) -> None:
    with pytest.raises(MiloptError, match=message):
        call(program)


# -- options ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "value"),
    [
        *(("extra", value) for value in (3, None, [("a", 1)], {1: 2})),
        *(("lazy", value) for value in ("yes", 1, 0.5)),
        *((name, value) for name in ("polish", "verbose") for value in (3, None, "no")),
        *(("time_limit", value) for value in (True, 0, -1.0, "1", NAN, 1j)),
        *(("threads", value) for value in (True, 0, 1.0, "1", None)),
        *(("tolerance", value) for value in (True, 0, 1, "1e-6", NAN, None)),
        *(("form", value) for value in ("coordinates", 3, None, ["auto"])),
    ],
)
def test_an_option_out_of_its_range_raises_an_error(name, value) -> None:
    with pytest.raises(ParameterError, match=f"^{name} must .*, not "):
        Options(**{name: value})


def test_options_accept_numbers_of_numpy() -> None:
    Options(threads=np.int64(2), time_limit=np.float32(1.5), tolerance=np.float64(1e-5), extra={"presolve": "off"})


# -- where the convex-concave procedure starts -----------------------------------------------------------------


@pytest.mark.parametrize(
    ("start", "message"),
    [
        (np.ones((4, 3)), "the points have 3 features, but the instances have 2"),
        ({"f": 1}, "start must be None or an array .*, not dict"),
        ("mean", "start must be None or an array .*, not str"),
        ([[1.0], [1.0, 2.0]], "start is ragged"),
        (np.full((4, 2), NAN), "NaN or infinite"),
        (np.full((4, 2), 1j), "not an array of complex128"),
        (np.ones((3, 2)), r"4 points, not an array of shape \(3, 2\)"),
        (np.array([6, 2, 3, 5]), "outside its bag"),
    ],
)
def test_an_invalid_start_raises_an_error(start, message) -> None:
    model = MISVM(solver="clarabel", scheme=ConvexConcave(start=start))
    with pytest.raises(ParameterError, match=message):
        model.fit(BAGS, [-1, 1, 1, -1])


@pytest.mark.parametrize("mixing", ["matrix", "parameter"])
def test_starting_points_require_a_function_of_single_instances(mixing) -> None:
    program, bags = Program(), Bags(np.vstack(BAGS), [0, 2, 3, 5, 7])
    f, q = program.function("f", Linear()), program.parameter("q", sign=1)
    q.value = 1.0
    inner = q * f(bags) if mixing == "parameter" else (np.eye(7) + np.eye(7, k=1)) @ f(bags)
    program.minimize(f.norm_squared())
    program.subject_to(bag_max(inner, bags) >= 1)
    with pytest.raises(ParameterError, match="mixed or times a parameter; give indices or function values"):
        solve(program, "clarabel", ConvexConcave(start=np.ones((4, 2))))


# -- labels and estimators -------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("labels", "message"),
    [
        (np.array(["a", 1, "a", 1], dtype=object), "mix strings and numbers"),
        (["a", 1, "a", 1], "mix strings and numbers"),
        ([None] * 4, "label of bag 0 is None"),
        ([1, None, 0, 0], "label of bag 1 is None"),
        ([1.0, 0.0, NAN, 1.0], "label of bag 2 is nan"),
        (np.array(["a", "b", NAN, "a"], dtype=object), "label of bag 2 is nan"),
        (np.array([[1, 0, 1, 0]]), "must be a 1-D array, one entry per bag, not 2-D"),
        (1, "must be a 1-D array, one entry per bag, not 0-D"),
        ([[1], [1, 0], 0, 1], "ragged"),
        (np.array([{}, {1: 2}, {}, {}], dtype=object), "cannot be sorted"),
        ([0.0, 1.5, 0.0, 1.0], "Unknown label type: 1.5 is a continuous value"),
        ([0.0, 1.0, 0.0, INF], "label of bag 3 is infinite"),
        (None, "requires y to be passed"),
        (["a"] * 4, "to one class, a"),
        ([0, 1, 1], "3 labels for 4 bags"),
        ([], "0 labels for 4 bags"),
    ],
)
def test_invalid_labels_raise_an_error(labels, message) -> None:
    for call in (MISVM().fit, MISVM().program):
        with pytest.raises(BagsError, match=message):
            call(BAGS, labels)


def test_a_fitted_model_keeps_its_labels_until_it_is_fitted_again() -> None:
    labels = np.array(["a", "b", "b", "a"])
    model = MISVM(C=10.0, kernel=Linear(), solver="clarabel").fit(BAGS, labels)
    result = model.result_
    model.program(BAGS, [-1, 1, 1, -1])
    with pytest.raises(BagsError, match="3 different labels, and fit solves one program per label"):
        model.program(BAGS, [0, 1, 2, 1])
    with pytest.raises(BagsError):
        model.fit(BAGS, [0, 0, 0, 0])
    with pytest.raises(ParameterError):
        model.set_params(C=-1.0).fit(BAGS, [0, 1, 0, 1])
    assert model.result_ is result
    assert model.classes_.tolist() == ["a", "b"]
    assert model.score(BAGS, labels) == np.mean(model.predict(BAGS) == labels)


def test_a_score_needs_one_label_per_bag() -> None:
    model = MISVM(kernel=Linear(), solver="clarabel").fit(BAGS, [0, 1, 1, 0])
    with pytest.raises(BagsError, match="There are 1 labels for 4 bags"):
        model.score(BAGS, [1])
    with pytest.raises(BagsError, match="1-D"):
        model.score(BAGS, [[1], [0], [0], [1]])
    assert model.score(BAGS, ["a", "b", "a", "b"]) == 0.0


def test_the_repr_of_a_model_shows_its_parameters() -> None:
    assert repr(MISVM()) == "MISVM()"
    assert repr(MISVM(C=2.0, solver="clarabel")) == "MISVM(C=2.0, solver='clarabel')"
    assert repr(MISVM(kernel=Precomputed(np.eye(2)))) == "MISVM(kernel=Precomputed(2 x 2))"


def test_a_model_is_cloned_with_its_parameters_and_without_its_fit() -> None:
    model = MISVM(C=2.0, kernel=Linear(), solver="clarabel").fit(BAGS, [0, 1, 1, 0])
    copy = clone(model)
    assert copy.get_params() == model.get_params() == {**MISVM().get_params(deep=False), **copy.get_params()}
    assert not hasattr(copy, "result_")
    assert not hasattr(copy, "classes_")
    assert copy.set_params(C=3.0) is copy
    assert (copy.C, model.C) == (3.0, 2.0)
    with pytest.raises(ParameterError, match="MISVM has no parameter 'c'; it has C, kernel"):
        copy.set_params(C=4.0, c=1)
    assert copy.C == 3.0


# -- programs with nothing to choose ---------------------------------------------------------------------------


@pytest.mark.parametrize("solver", ["highs", "clarabel", "ecos", "native"])
def test_the_optimum_of_a_program_without_variables_is_its_constant(solver) -> None:
    program = Program()
    program.minimize(3.0)
    result = solve(program, solver)
    assert result.termination is Termination.OPTIMAL
    assert result.objective == 3.0


@pytest.mark.parametrize("solver", ["highs", "clarabel", "ecos", "native"])
@pytest.mark.parametrize("has_variable", [True, False])
def test_constant_constraints_hold_or_are_reported_by_name(solver, has_variable) -> None:
    program = Program()
    program.minimize(1.0 + program.variable("x", lower=0) if has_variable else 1.0)
    program.subject_to(as_expression([1.0, 0.0]) >= 0)
    held = solve(program, solver)
    assert held.termination is Termination.OPTIMAL
    assert held.objective == pytest.approx(1.0)
    with pytest.raises(DeclarationError, match=r"Row 1 of constraint 'broken' has no variables .* -1 >= 0"):
        program.subject_to(as_expression([1.0, -1.0]) >= 0, "broken")
    program.add_unchecked(as_expression([1.0, -1.0]) >= 0, "broken")
    refused = solve(program, solver)
    assert refused.termination is Termination.INFEASIBLE
    assert "'broken' by 1" in refused.message
