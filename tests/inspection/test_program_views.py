"""Views of programs: files have the same optimum in other readers, and summaries state the declaration."""

from __future__ import annotations

import importlib.util
from collections.abc import Callable
from pathlib import Path
from types import ModuleType

import highspy
import numpy as np
import pyomo.environ as pyo
import pytest

import milopt
from milopt import (
    RBF,
    Bags,
    Program,
    bag_max,
    bag_mean,
    bag_sum,
    entropy,
    log1mexp,
    norm,
    norm1,
    quad_form,
    square,
    sum_squares,
)
from milopt.compilation.compile_program import witness_minorants
from milopt.compilation.dual_form import DualForm
from milopt.compilation.features import Feature
from milopt.declaration.bags.bags import as_bags
from milopt.errors import MiloptError, ParameterError, UnknownNameError, UnsupportedError
from milopt.inspection.latex import latex_lines
from milopt.inspection.legal_names import legal_columns, legal_rows
from milopt.models.mi_svm import MISVM
from milopt.models.miles import MILES
from milopt.models.set_kernel_svm import SetKernelSVM
from milopt.solving import registry
from milopt.solving.options import Options
from milopt.solving.step_session import StepSession

DataSet = Callable[[str], tuple[list[np.ndarray], np.ndarray]]


def beside(name: str) -> ModuleType:
    """Import another test file of this directory, which has an independent reader of a format."""
    spec = importlib.util.spec_from_file_location(f"inspection_{name}", Path(__file__).with_name(f"{name}.py"))
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture
def bags() -> Bags:
    rng = np.random.default_rng(7)
    return as_bags([rng.normal(size=(n, 2)) for n in (2, 3, 1, 4, 2, 3)])


Y = np.array([1.0, -1, 1, -1, 1, -1])


def ball(bags: Bags) -> Program:
    """Return a linear objective over the unit ball of a kernel's space."""
    program = Program("ball")
    u = program.function("u", RBF(s=0.5))
    gap = program.variable("gap", lower=0)
    program.minimize(gap - Y @ bag_mean(u(bags)))
    program.subject_to(u.norm() <= 1, name="ball")
    program.subject_to(bag_sum(u(bags))[0] >= 0.1 - gap, name="first")
    return program


def oracle(bags: Bags) -> Program:
    program = Program("weak learning")
    u = program.function("u", RBF(s=1.0), dictionary=bags.instances[:4])
    d = program.parameter("d", len(bags), sign=+1)
    program.maximize((Y * d) @ bag_max(u(bags)))
    program.subject_to(norm1(u.coefficients) <= 1, name="ball")
    return program


def safe(bags: Bags, gamma: float) -> Program:
    program = Program("SAFE")
    f = program.function("f", RBF(s=1.0))
    b = program.variable("b")
    e = f(bags) + b
    weight = np.linspace(0.5, 1.0, e.size)
    program.minimize(0.5 * f.norm_squared() - 0.5 * gamma * quad_form(e, weight) + 0.5 * sum_squares(bag_sum(e) - Y))
    return program


def misvm(bags: object, y: np.ndarray) -> Program:
    return MISVM(C=2.0).program(bags, y)


def one_step(program: Program) -> tuple[dict[object, np.ndarray] | None, float]:
    """Return the first instances as witnesses, and milopt's optimum with them."""
    witnesses = {atom: atom.segments.offsets[:-1] for atom in program.maxima()}
    chosen = witness_minorants(program, witnesses)
    options = Options(tolerance=1e-8)
    with StepSession(program, registry.get_solver("clarabel"), options, witnesses=chosen) as session:
        outcome = session.solve()
    assert outcome.certificate is not None
    assert outcome.certificate.holds(1e-7)
    return witnesses or None, outcome.objective


# -- files, on real data ----------------------------------------------------------------------------------------------


@pytest.mark.thorough(unless={"ending": ["mps"]})
@pytest.mark.parametrize("form", ["primal", "dual"])
@pytest.mark.parametrize("ending", ["lp", "mps"])
@pytest.mark.parametrize("declare", [MILES(), MISVM(C=2.0), SetKernelSVM()], ids=["MILES", "MI-SVM", "set-kernel SVM"])
def test_highs_alone_reads_the_same_optimum_and_names(
    declare: milopt.BagClassifier, ending: str, form: str, data_set: DataSet, tmp_path: Path
) -> None:
    data, y = data_set("musk1")
    program = declare.program(data, y)
    witnesses, expected = one_step(program)
    path = tmp_path / f"program.{ending}"
    write = program.to_lp if ending == "lp" else program.to_mps
    text = write(path, form=form, witnesses=witnesses)
    assert path.read_text() == text
    highs = highspy.Highs()
    highs.setOptionValue("output_flag", False)
    highs.setOptionValue("qp_regularization_value", 1e-10)
    assert highs.readModel(str(path)) == highspy.HighsStatus.kOk
    highs.run()
    sign = -1.0 if form == "dual" else 1.0
    assert sign * highs.getObjectiveValue() == pytest.approx(expected, rel=1e-6, abs=1e-6)
    flat = program.to_standard_form(form, witnesses)
    model = highs.getModel().lp_
    assert set(model.col_names_) == set(legal_columns(flat))
    assert set(model.row_names_) == set(legal_rows(flat))
    names = {"b", "slack(0)", "margin(0)"} if witnesses is None else {"b", "slack(0)"}
    if form == "primal":
        assert names <= {*model.col_names_, *model.row_names_}


@pytest.mark.parametrize("form", ["primal", "dual"])
@pytest.mark.parametrize("declare", [MILES(), MISVM(C=2.0), SetKernelSVM()], ids=["MILES", "MI-SVM", "set-kernel SVM"])
def test_an_independent_reader_of_cbf_finds_the_same_optimum_and_block_names(
    declare: milopt.BagClassifier, form: str, data_set: DataSet
) -> None:
    data, y = data_set("musk1")
    program = declare.program(data, y)
    witnesses, expected = one_step(program)
    text = program.to_cbf(form=form, witnesses=witnesses)
    sign = -1.0 if form == "dual" else 1.0
    solution = beside("test_cbf").read_cbf(text).solve(solver="CLARABEL")
    assert sign * solution == pytest.approx(expected, rel=1e-6, abs=1e-6)
    comments = "\n".join(line for line in text.splitlines() if line.startswith("#"))
    flat = program.to_standard_form(form, witnesses)
    assert all(block.name in comments for block in (*flat.columns, *flat.rows))
    if form == "primal":
        assert all(name in comments for name in ("b", "slack", "margin"))


@pytest.mark.parametrize("declare", [misvm, lambda bags, y: ball(bags)], ids=["MI-SVM", "SOCP"])
def test_cbf_read_back_by_an_independent_reader_has_the_same_optimum(
    declare: Callable[[Bags, np.ndarray], Program], bags: Bags, tmp_path: Path
) -> None:
    program = declare(bags, Y)
    witnesses, expected = one_step(program)
    path = tmp_path / "program.cbf"
    text = program.to_cbf(path, witnesses=witnesses)
    assert path.read_text() == text
    assert beside("test_cbf").read_cbf(text).solve(solver="CLARABEL") == pytest.approx(expected, rel=1e-6, abs=1e-6)


@pytest.mark.parametrize("form", ["primal", "dual"])
def test_cvxpy_and_pyomo_have_the_same_optimum(form: str, bags: Bags) -> None:
    program = misvm(bags, Y)
    witnesses, expected = one_step(program)
    sign = -1.0 if form == "dual" else 1.0
    problem = program.to_cvxpy(form=form, witnesses=witnesses)
    assert sign * problem.solve(solver="CLARABEL") == pytest.approx(expected, rel=1e-6, abs=1e-6)
    model = program.to_pyomo(form=form, witnesses=witnesses)
    pyo.SolverFactory("highs").solve(model)
    assert sign * pyo.value(model.objective) == pytest.approx(expected, rel=1e-5, abs=1e-5)


def test_lp_and_pyomo_reject_cones_and_name_alternatives(bags: Bags) -> None:
    with pytest.raises(UnsupportedError, match="write a CBF file"):
        ball(bags).to_lp()
    with pytest.raises(UnsupportedError, match="second-order cone"):
        ball(bags).to_pyomo()


# -- standard forms and their witnesses -------------------------------------------------------------------------------


def test_the_witnesses_of_a_result_give_its_last_step(bags: Bags) -> None:
    program = misvm(bags, Y)
    result = milopt.solve(program, "clarabel")
    assert program.to_cvxpy(witnesses=result).solve(solver="CLARABEL") == pytest.approx(result.objective, rel=1e-6)
    (atom,) = program.maxima()
    chosen = {atom: atom.segments.argmax(result.value(atom.argument))}
    np.testing.assert_array_equal(
        program.to_standard_form(witnesses=chosen).F.toarray(), program.to_standard_form(witnesses=result).F.toarray()
    )


def test_all_rows_are_written_and_bag_means_are_the_default(bags: Bags) -> None:
    program = misvm(bags, Y)
    negative = int(bags.sizes[Y < 0].sum())
    flat = program.to_standard_form()
    assert flat.m == (Y > 0).sum() + negative
    assert program.to_standard_form("dual").n == flat.m
    assert program.to_standard_form("dual").maximize


def test_invalid_witnesses_are_rejected(bags: Bags) -> None:
    program = misvm(bags, Y)
    (atom,) = program.maxima()
    with pytest.raises(ParameterError, match=r"give 6 instance indices \(counted over all bags\), one per bag"):
        program.to_lp(witnesses={atom: [0, 1]})
    with pytest.raises(ParameterError, match="instance 0 is not in bag 1, which has the instances 2 to 4"):
        program.to_lp(witnesses={atom: np.zeros(6, dtype=int)})
    with pytest.raises(UnknownNameError, match="is not a bag_max of 'MI-SVM'"):
        program.to_lp(witnesses={misvm(bags, Y).maxima()[0]: np.zeros(6, dtype=int)})
    with pytest.raises(ParameterError, match='form must be "primal" or "dual"'):
        program.to_standard_form("coordinates")


def test_a_failed_write_leaves_the_old_file_and_no_other(
    bags: Bags, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    program = misvm(bags, Y)
    path = tmp_path / "program.lp"
    path.write_text("old")

    def fails(self: Path, target: object) -> Path:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(Path, "replace", fails)
    with pytest.raises(MiloptError, match=r"cannot be written to .*program\.lp: No space left on device"):
        program.to_lp(path)
    assert path.read_text() == "old"
    assert list(tmp_path.iterdir()) == [path]
    with pytest.raises(MiloptError, match=r"cannot be written to .*program\.mps: No such file or directory"):
        program.to_mps(tmp_path / "nowhere" / "program.mps")


def test_the_sparsity_plot_is_written_atomically(bags: Bags, tmp_path: Path) -> None:
    path = tmp_path / "pattern.png"
    misvm(bags, Y).spy(path)
    assert path.read_bytes().startswith(b"\x89PNG")
    assert list(tmp_path.iterdir()) == [path]


# -- kinds ------------------------------------------------------------------------------------------------------------


def small(curved: str, integer: bool) -> Program:
    program = Program(curved)
    x = program.variable("x", 3, lower=0, upper=1, integer=integer)
    program.minimize(sum_squares(x) if curved == "QP" else x.sum())
    program.subject_to(x.sum() >= 1, name="cover")
    if curved == "SOCP":
        program.subject_to(milopt.norm(x) <= 1, name="ball")
    return program


@pytest.mark.parametrize(
    ("curved", "integer", "kind"),
    [
        ("LP", False, "LP"),
        ("QP", False, "QP"),
        ("SOCP", False, "SOCP"),
        ("LP", True, "MILP"),
        ("QP", True, "MIQP"),
        ("SOCP", True, "MISOCP"),
    ],
)
def test_kinds(curved: str, integer: bool, kind: str) -> None:
    program = small(curved, integer)
    assert program.kind == kind
    assert program.cones() == ({"second-order"} if curved == "SOCP" else set())


def test_a_maximum_makes_a_program_dc_only_if_it_needs_witnesses(bags: Bags) -> None:
    assert misvm(bags, Y).kind == "DC"
    assert misvm(bags, Y).features() == {Feature.LINEAR, Feature.QUADRATIC}
    program = Program("pessimist")
    f = program.function("f", RBF(s=1.0))
    program.minimize(0.5 * f.norm_squared() + bag_max(f(bags) - 1).sum())
    assert program.kind == "QP"
    assert program.atom_sides()[0].witness.size == 0


def test_kind_needs_no_parameter_values_and_ignores_zero_terms(bags: Bags) -> None:
    assert oracle(bags).kind == "DC"
    x = (program := Program("nothing")).variable("x", 2)
    program.minimize(0.0 * sum_squares(x) + x.sum())
    assert program.kind == "LP"


def test_features_name_a_concave_objective(bags: Bags) -> None:
    assert Feature.NONCONVEX in safe(bags, 5.0).features()
    assert Feature.NONCONVEX not in safe(bags, 0.0).features()


# -- summaries --------------------------------------------------------------------------------------------------------


def test_the_summary_of_mi_svm_on_musk1_states_blocks_and_sizes(data_set: DataSet) -> None:
    data, y = data_set("musk1")
    text = MISVM().program(data, y).summary()
    lines = [" ".join(line.split()) for line in text.splitlines()]
    for line in (
        "MI-SVM: DC (each convex step is of kind QP), minimise 0.5*norm_squared(f) + 10*sum(slack)",
        "b scalar free",
        "slack 92 0 .. inf",
        "margin 92 316 >= 0 [1, 1, 1, ..., -1]*bag_max(f(476 points)) + [1, 1, 1, ..., -1]*b + ... - 1",
        "bag_max(f(476 points)) 'margin' 45 bags convex side (epigraph 269 rows), 47 bags need a witness, 0 dropped",
        "rows 316 all epigraph rows included",
        "columns 93",
        "the offsets 1 1 1.0e+00",
    ):
        assert line in lines
    assert "warnings" not in lines
    assert max(map(len, text.splitlines())) < 130


class Forbidden(RBF):
    """Kernel that must not be evaluated."""

    def __call__(self, A: object, B: object) -> np.ndarray:
        raise AssertionError("a look evaluated the kernel")


def test_a_summary_evaluates_no_kernel(bags: Bags) -> None:
    program = MISVM(kernel=Forbidden(s=1.0)).program(bags, Y)
    assert "lowered rows" in program.summary()
    assert program.to_latex()
    assert program._repr_html_()
    assert program.kind == "DC"


def test_a_large_dictionary_is_not_evaluated() -> None:
    program = Program("large")
    points = np.zeros((3000, 1))
    u = program.function("u", Forbidden(s=1.0), dictionary=points)
    program.minimize(u(points).sum())
    text = program.summary()
    assert "Sizes and ranges are not available: the kernel of u between 3000 points and 3000 dictionary atoms" in text


def test_missing_values_and_sides_are_warnings_and_not_errors(bags: Bags) -> None:
    assert "Sizes and ranges are not available: Parameter 'd' has no value yet" in oracle(bags).summary()
    program = Program("open")
    f = program.function("f", RBF(s=1.0))
    d = program.parameter("d", len(bags))
    program.minimize(d @ bag_max(f(bags)))
    assert "declare the parameter with sign=+1 or sign=-1" in program.summary()


def test_curvature_and_scaling_give_warnings(bags: Bags) -> None:
    assert (
        "quad_form(f(15 points) + b, [0.5, 0.535714, 0.571429, ..., 1]); smallest eigenvalue -"
        in safe(bags, 5.0).summary()
    )
    program = Program("units")
    x = program.variable("x", 2, lower=0)
    program.minimize(np.array([1e-4, 1e4]) @ x)
    program.subject_to(x.sum() >= 1, name="cover")
    assert "The coefficients of the linear objective range from 0.0001 to 1e+04, a factor of 1.0e+08" in str(program)


def test_html_is_escaped_and_repr_is_short(bags: Bags) -> None:
    program = Program("<b>")
    program.variable("<i>x</i>", 2)
    html = program._repr_html_()
    assert "&lt;b&gt;" in html
    assert "&lt;i&gt;x&lt;/i&gt;" in html
    assert "<i>" not in html
    assert html.count("<b>") == html.count("</b>") == 1
    assert repr(program) == "Program('<b>': 1 variable block)"
    assert repr(Program("nothing")) == "Program('nothing': empty)"


# -- LaTeX ------------------------------------------------------------------------------------------------------------


def braces_balance(text: str) -> bool:
    depth = 0
    for before, character in zip(" " + text, text, strict=False):
        if before != "\\":
            depth += (character == "{") - (character == "}")
        if depth < 0:
            return False
    return depth == 0


def hostile(bags: Bags) -> Program:
    program = Program("hostile")
    x = program.variable("a_b {c} $%#&^~\\", 3, lower=-1, upper=[1.0, 2.0, 3.0], integer=True)
    z = program.variable("z", 2, lower=0, upper=1, integer=True)
    rng = np.random.default_rng(0)
    program.minimize(rng.normal(size=3) @ x + 1e-9 * z.sum() - 2.5)
    program.subject_to(rng.normal(size=(4, 3)) @ x == rng.normal(size=4), name="dense rows")
    program.subject_to(x[[2, 0]] <= 3 * z, name="chosen")
    return program


@pytest.mark.parametrize(
    "declare",
    [
        *(lambda b: misvm(b, Y), lambda b: MILES().program(b, Y), lambda b: SetKernelSVM().program(b, Y)),
        *(ball, oracle, lambda b: safe(b, 0.5), hostile, lambda b: Program("empty"), lambda b: small("SOCP", True)),
    ],
)
def test_every_line_can_be_rendered(declare: Callable[[Bags], Program], bags: Bags) -> None:
    from matplotlib.mathtext import MathTextParser

    program = declare(bags)
    parser = MathTextParser("path")
    for line in latex_lines(program):
        assert braces_balance(str(line))
        # TeX and MathJax support these two commands, mathtext does not.
        parser.parse(f"${line}$".replace(r"\#", "").replace(r"\&", ""))
    text = program._repr_latex_()
    assert text.startswith("$$\\begin{aligned}")
    assert text.endswith("\\end{aligned}$$")


def test_mi_svm_reads_like_its_paper(bags: Bags) -> None:
    objective, margin, slack, space = latex_lines(misvm(bags, Y))
    assert objective.head == r"\min_{f, b, \xi}"
    assert objective.body == r"\frac{1}{2} \|f\|^2 + 2 \sum_{i} \xi_{i}"
    assert margin.body == r"y_{i} \left(\max_{x \in B_{i}} f(x) + b\right) \geq 1 - \xi_{i}"
    assert margin.where == r"i = 1, \ldots, 6,\ y \in \{-1, 1\}^{6}"
    assert margin.name == r"\mathrm{margin}"
    assert slack.body == r"\xi_{i} \geq 0"
    assert space.body == r"f \in \mathcal{H}_K"


def test_parameters_norms_means_and_matrices_have_their_symbols(bags: Bags) -> None:
    learning, cap, _ = latex_lines(oracle(bags))
    assert learning.head == r"\max_{u}"
    assert learning.body == r"\sum_{i} y_{i} d_{i} \max_{x \in B_{i}} u(x)"
    assert cap.body == r"\sum_{i} \left|{a^{u}}_{i}\right| \leq 1"
    assert latex_lines(ball(bags))[1].body == r"\|u\| \leq 1"
    margin = latex_lines(SetKernelSVM().program(bags, Y))[1]
    assert r"y_{i} \left(\frac{1}{|B_i|} \sum_{x \in B_i} f(x) + b\right)" in margin.body
    assert (
        r"y_{i} \left(\sum_{j} M_{ij} u_{j} - \sum_{j} M_{ij} v_{j} + b\right)"
        in latex_lines(MILES().program(bags, Y))[1].body
    )
    assert r"-\frac{1}{4} \sum_{i} w_{i} \left(f(x_{i}) + b\right)^2" in latex_lines(safe(bags, 0.5))[0].body.replace(
        "- ", "-"
    )


def test_the_dual_is_compiled_as_in_a_session(bags: Bags) -> None:
    program = misvm(bags, Y)
    with StepSession(program, registry.get_solver("clarabel"), Options(lazy=False, form="dual")) as session:
        theirs = session.live.compiled
    assert isinstance(theirs, DualForm)
    ours = program.to_standard_form("dual")
    np.testing.assert_array_equal(ours.P.dense, theirs.form.P.dense)
    np.testing.assert_array_equal(ours.q, theirs.form.q)


def test_constant_labels_are_removed() -> None:
    program = Program("fit")
    x = program.variable("x", 4)
    program.minimize(sum_squares(x - np.array([1.0, -1.0, -1.0, 1.0])))
    assert r"\left(x_{i} - y_{i}\right)^2" in program.to_latex()


def test_a_summary_names_functions_as_declared() -> None:
    program = Program("written")
    x, t = program.variable("x", 3, lower=0.1, upper=5), program.variable("t")
    program.maximize(entropy(x) - 2 * t)
    program.subject_to(log1mexp(x[0]) - norm(x) >= -t, name="rows")
    program.subject_to(square(-x[0] - t) <= entropy(x), name="other rows")
    shown = str(program.summary())
    assert "maximise entropy(x) - 2*t\n" in shown
    assert "log1mexp(x[0]) - norm(x) + t\n" in shown
    assert "entropy(x) - square(-x[0] - t)\n" in shown
    assert "negative_entropy(x)" not in shown
    program.minimize(-entropy(x))
    assert "minimise -entropy(x)\n" in str(program.summary())
